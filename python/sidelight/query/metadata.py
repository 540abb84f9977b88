"""The metadata channel: titles, aliases, headings, tags, properties and folders.

Exact names stand before partly matched ones. Kept in memory from the note rows; holds no
text of notes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge
from itertools import groupby, islice

import numpy as np
from numpy.typing import NDArray

from sidelight.query.candidates import Ranked
from sidelight.query.labels import Labels, Written
from sidelight.query.lexical import LexicalQuery
from sidelight.store.catalog import Catalog
from sidelight.store.kept import KeptIndex, KeptNames
from sidelight.store.mapped import Dictionary
from sidelight.store.prefixes import PrefixIndex
from sidelight.store.rows import NoteRow, checksums_of_names, folded_names, name_in
from sidelight.store.selection import Selection

# What a whole match of each kind of name is worth, 0..1: a title or an alias is what a
# person would call the note; a folder says least about one note.
FIELD_WORTH = {
    "title": 1.0,
    "alias": 1.0,
    "heading": 0.85,
    "tag": 0.7,
    "property": 0.7,
    "folder": 0.3,
    "attachment": 0.8,
}
EQUAL = 0.9  # at least, where a name is the query to the letter
_WHOLE_NAME = 0.3  # a short name wholly contained in a long question still counts this much
_PREFIX_TERMS = 50  # names an unfinished word may stand for
_REMEMBERED = 4_096  # terms whose place was looked up
_SPARE = 1_000  # notes that may have changed before their numbers are given anew

Counts = NDArray[np.int32] | NDArray[np.intp]
Masses = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Numbers of every name that was taken in, by its number; all of shape (names,)."""

    note: NDArray[np.int32]  # number of its note; ascending
    target: NDArray[np.int32]  # passage of its note that it leads to
    worth: NDArray[np.float64]  # of its kind
    size: NDArray[np.int32]  # terms it has
    whole: NDArray[np.float64]  # what it scores at least where it is the query to the letter
    checksum: NDArray[np.int64]  # of the folded name, 0 until it was first asked for
    place: NDArray[np.int32]  # of each note by its path, shape (notes,)


class MetadataIndex:
    """Which notes' names hold a term. Brought up to date by comparing note rows.

    Names are numbered as they come in, first those of the kept index; a term keeps the numbers of
    those that hold it, so that a word which thousands of headings hold costs a few array
    operations. Numbers of notes that changed since stay unused until half of all are.
    """

    def __init__(self) -> None:
        self._revision = -1
        self._begin(None)

    def _begin(self, kept: KeptIndex | None) -> None:
        self._kept = kept
        names = None if kept is None else kept.names
        self._names = names
        self._paths: list[str] = [] if kept is None else list(kept.paths)  # of notes, by number
        self._number = dict(zip(self._paths, range(len(self._paths)), strict=True))  # of a note
        self._first: list[int] = [] if names is None else names.first[:-1].tolist()
        self._known = np.ones(len(self._paths), bool)  # kept notes that count
        self._gone = np.zeros(
            0 if names is None else len(names.note), bool
        )  # kept names that do not
        self._some_gone = False
        self._rows: list[NoteRow] = []  # of the other notes, also of those that changed since
        self._note, self._worth, self._size = array("i"), array("d"), array("i")
        self._whole, self._target = array("d"), array("i")
        if names is not None:
            worth = np.array([FIELD_WORTH[kind] for kind in names.kinds])
            whole = np.array([_worth_of_whole(kind) for kind in names.kinds])
            self._note.frombytes(names.note.tobytes())
            self._size.frombytes(names.size.tobytes())
            self._target.frombytes(names.target.tobytes())
            self._worth.frombytes(worth[names.kind].tobytes())
            self._whole.frombytes(whole[names.kind].tobytes())
        self._written = Written(names)
        self._place = lru_cache(_REMEMBERED)(_terms_of(names).find)  # of a kept term
        self._holding: dict[str, array[int]] = {}  # names that are not kept
        self._prefixes = PrefixIndex()
        self._columns: _Columns | None = None
        self._labels: dict[int, str] = {}  # folded; each once it was first asked for

    def refresh(self, catalog: Catalog) -> None:
        """Takes in what changed since the last call; costs nothing when nothing did."""
        with catalog.lock:
            if self._revision == catalog.revision:
                return
            notes = catalog.notes
            rows = notes.changed | {path: row for path, (row, _) in catalog.attachments.items()}
            if self._kept is not notes.kept or len(self._rows) > 2 * len(rows) + _SPARE:
                self._begin(notes.kept)
            for number in np.flatnonzero(self._known & ~notes.as_kept).tolist():
                self._drop(self._paths[number])
            first = len(self._known)
            for path in [p for p, n in self._number.items() if n >= first and p not in rows]:
                self._drop(path)
            for path, note in rows.items():
                other = self._number.get(path)
                if other is None or self._rows[other - first] is not note:
                    self._drop(path)
                    self._add(note)
            self._revision = catalog.revision

    def knows(self, term: str) -> bool:
        """Whether some name holds the term."""
        return len(self._holders(term)) > 0

    def names(self) -> Iterator[tuple[str, str, str, bool]]:
        """Titles and aliases: folded, as written, path of the note, whether it is the title."""
        for name in self._called().tolist():
            kind, label = self._written.of(name)
            if name not in self._labels:
                self._labels[name] = folded_names([label])[0]
            yield self._labels[name], label, self._paths[self._note[name]], kind == "title"

    def _called(self) -> NDArray[np.intp]:
        """The numbers of titles and aliases of notes that were indexed."""
        called = ("title", "alias")
        found = np.zeros(len(self._note), bool)
        if self._kept is not None and self._names is not None:
            wanted = [code for code, kind in enumerate(self._names.kinds) if kind in called]
            failed = np.isin(self._names.note, list(self._kept.failed))
            found[: len(self._gone)] = np.isin(self._names.kind, wanted) & ~failed & ~self._gone
        for number in self._number.values():
            row = self._row(number)
            if row is not None and row.error is None:
                kinds = [field.kind in called for field in row.fields]
                found[self._first[number] : self._first[number] + len(kinds)] = kinds
        return np.flatnonzero(found)

    def search(
        self, text: str, query: LexicalQuery, catalog: Catalog, allowed: set[str] | None, pool: int
    ) -> Ranked:
        """Notes whose names match, best first, at most `pool`; scores in 0..1.

        A name scores by the share of it that the query holds times how much of the query it
        explains; a name equal to the whole query scores its kind's full worth.
        """
        with catalog.lock:
            columns = self._numbers()
            held, mass = self._matched(query, len(columns.note))
            names = np.flatnonzero(held > 0)  # of truths it is a tenth of the time
            if allowed is not None and len(names):
                numbers = {self._number[path] for path in allowed if path in self._number}
                names = names[np.isin(columns.note[names], list(numbers))]
            scores = _scores(columns, names, held, mass, query.total_mass or 1.0)
            equal = self._equal(columns, names, text)
            scores[equal] = np.maximum(columns.whole[names[equal]], scores[equal])
            return self._hits(columns, names, scores, catalog, pool)

    def _matched(self, query: LexicalQuery, size: int) -> tuple[Counts, Masses]:
        """For each name: how many of its terms the query holds, and the query mass explained."""
        found: list[tuple[Counts, Masses]] = [(np.zeros(0, np.int32), np.zeros(0))]
        for term in query.terms:
            if not term.query.prefix:
                names = self._holders(term.query.term)
                worth = query.mass_of(term, term.query.term)
                found.append((names, np.full(len(names), max(0.0, worth))))
                continue
            seen = np.zeros(size)  # of the words that it may stand for, the best one counts
            for word in self._starting_with(term.query.term):
                names, worth = self._holders(word), query.mass_of(term, word)
                found.append((names, np.maximum(0.0, worth - seen[names])))
                seen[names] = np.maximum(worth, seen[names])
        names, masses = (np.concatenate(both) for both in zip(*found, strict=True))
        explained = np.bincount(names, masses, size).astype(np.float64, copy=False)
        return np.bincount(names, minlength=size), explained

    def _equal(self, columns: _Columns, names: Counts, text: str) -> NDArray[np.bool_]:
        """Which of the names are `text`, but for case, accents of spelling and white space."""
        sums = columns.checksum[names]
        if len(new := np.flatnonzero(sums == 0)):
            called = map(self._called_by, names[new].tolist())
            columns.checksum[names[new]] = sums[new] = checksums_of_names(called)
        equal: NDArray[np.bool_] = sums == checksums_of_names([text])[0]
        places = np.flatnonzero(equal)  # two names may share a checksum
        asked, *folded = folded_names([text, *map(self._called_by, names[places].tolist())])
        equal[places] = [one == asked for one in folded]
        return equal

    def _hits(
        self, columns: _Columns, names: Counts, scores: Masses, catalog: Catalog, pool: int
    ) -> Ranked:
        """The best `pool` notes, each at what its best name leads to; a letter matches thousands.

        Args:
            columns: of all names.
            names: that match, ascending.
            scores: of each.
            catalog: holds the passages.
            pool: how many.
        """
        if not len(names):
            return Ranked.of((), catalog)
        notes = columns.note[names]
        starts = np.flatnonzero(np.append(True, notes[1:] != notes[:-1]))
        ends = np.append(starts[1:], len(names))
        top = np.maximum.reduceat(scores, starts)
        best = _best(top, columns.place[notes[starts]], pool)
        leading = scores == np.repeat(top, ends - starts)
        targets = np.where(leading, columns.target[names], np.iinfo(np.int32).max)
        led = np.minimum.reduceat(targets, starts)[best]  # of a note's best names the first target
        passages = self._passages(notes[starts[best]], led, catalog)
        there = passages.there()
        best = best[there]
        labels = Labels(self._written, columns.target, names, scores, starts[best], ends[best])
        return Ranked(passages.take(there), top[best], labels)

    def _passages(self, notes: Counts, targets: NDArray[np.integer], catalog: Catalog) -> Selection:
        """The passage of each note, without a number or an object where it has not so many."""
        numbers = np.full(len(notes), -1, np.intp)
        kept = catalog.notes.kept
        as_kept = np.zeros(len(notes), bool)
        if kept is not None and kept is self._kept:
            as_kept[:] = notes < len(kept.paths)
            as_kept[as_kept] = catalog.notes.as_kept[notes[as_kept]]
            begins = kept.passages_from
            place = begins[notes[as_kept]] + targets[as_kept]
            numbers[as_kept] = np.where(place < begins[notes[as_kept] + 1], place, -1)
        others = {}
        for place in np.flatnonzero(~as_kept).tolist():
            chunk = catalog.passage(self._paths[notes[place]], int(targets[place]))
            if chunk is not None and chunk.number < 0:
                others[place] = chunk
            elif chunk is not None:
                numbers[place] = chunk.number
        return Selection(kept, numbers, others, catalog.chunks.at)

    def _numbers(self) -> _Columns:
        """The columns as arrays, made once after each change."""
        if self._columns is None or len(self._columns.note) != len(self._note):
            known = self._columns.checksum if self._columns else self._kept_checksums()
            checksum = np.concatenate([known, np.zeros(len(self._note) - len(known), np.int64)])
            place = np.empty(len(self._paths), np.int32)
            place[sorted(range(len(place)), key=self._paths.__getitem__)] = range(len(place))
            self._columns = _Columns(
                np.array(self._note, np.int32), np.array(self._target, np.int32),
                np.array(self._worth), np.array(self._size, np.int32),
                np.array(self._whole), checksum, place,
            )  # fmt: skip
        return self._columns

    def _kept_checksums(self) -> NDArray[np.int64]:
        names = self._names
        return np.zeros(0, np.int64) if names is None else names.checksum.astype(np.int64)

    def _holders(self, term: str) -> NDArray[np.int32]:
        """The names that hold a term, each once."""
        new = self._holding.get(term)
        place = self._place(term)
        if self._names is None or place < 0:
            return np.array(new or (), np.int32)
        kept = self._names.holding[place]
        if self._some_gone:
            kept = kept[~self._gone[kept]]
        return np.concatenate([kept, np.array(new, np.int32)]) if new else kept

    def _starting_with(self, prefix: str) -> list[str]:
        kept = (term for term, _ in _terms_of(self._names).starting_with(prefix))
        terms = merge(self._prefixes.starting_with(prefix), kept)
        names = (term for term, _ in groupby(terms) if self.knows(term))
        return list(islice(names, _PREFIX_TERMS))

    def _row(self, number: int) -> NoteRow | None:
        """A note that is not kept."""
        first = len(self._known)
        return self._rows[number - first] if number >= first else None

    def _called_by(self, name: int) -> str:
        return name_in(*self._written.of(name))

    def _add(self, note: NoteRow) -> None:
        number = self._number[note.path] = len(self._paths)
        first = len(self._note)
        self._paths.append(note.path)
        self._rows.append(note)
        self._first.append(first)
        self._written.since += note.fields
        for name, field in enumerate(note.fields, first):
            self._note.append(number)
            self._worth.append(FIELD_WORTH[field.kind])
            self._size.append(len(field.terms))
            self._target.append(field.target)
            self._whole.append(_worth_of_whole(field.kind))
            for term in field.terms:
                holding = self._holding.get(term)
                if holding is None:
                    holding = self._holding[term] = array("i")
                    self._prefixes.add(term)
                holding.append(name)

    def _drop(self, path: str) -> None:
        number = self._number.pop(path, None)
        if number is None:
            return
        row, first = self._row(number), self._first[number]
        if row is None and self._names is not None:
            self._known[number] = False
            self._gone[first : self._names.first[number + 1]] = True
            self._some_gone = True
        for name, field in enumerate(() if row is None else row.fields, first):
            self._labels.pop(name, None)
            for term in field.terms:
                self._holding[term].remove(name)


def _terms_of(names: KeptNames | None) -> Dictionary:
    return Dictionary.of(()) if names is None else names.terms


def _scores(
    columns: _Columns, names: Counts, held: Counts, mass: Masses, total_mass: float
) -> Masses:
    """Of each name, unless it is the query to the letter."""
    explained = np.minimum(1.0, mass[names] / total_mass)
    share = np.minimum(1.0, held[names] / columns.size[names])
    part = _WHOLE_NAME + (1 - _WHOLE_NAME) * explained
    scores: Masses = np.round(0.98 * columns.worth[names] * share * part, 9)
    return scores


def _best(scores: Masses, places: NDArray[np.int32], count: int) -> NDArray[np.intp]:
    """Where the `count` highest scores stand, best first, of equal ones the lowest place first."""
    chosen = np.arange(len(scores))
    if len(scores) > count:
        last = np.partition(scores, len(scores) - count)[len(scores) - count]
        higher, equal = np.flatnonzero(scores > last), np.flatnonzero(scores == last)
        missing = count - len(higher)
        first = np.argpartition(places[equal], missing - 1)[:missing]
        chosen = np.concatenate([higher, equal[first]])
    order: NDArray[np.intp] = chosen[np.lexsort((places[chosen], -scores[chosen]))]
    return order


def _worth_of_whole(kind: str) -> float:
    """What a name of this kind scores at least where it is the query to the letter."""
    if kind == "folder":
        return 0.0
    return 1.0 if kind == "attachment" else max(FIELD_WORTH[kind], EQUAL)
