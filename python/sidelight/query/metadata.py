"""The metadata channel: titles, aliases, headings, tags, properties and folders.

Exact names stand before partly matched ones. Kept in memory from the note rows; holds no
text of notes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge, nsmallest
from itertools import groupby, islice

import numpy as np
from numpy.typing import NDArray

from sidelight.language.folding import fold, fold_case
from sidelight.query.candidates import Hit
from sidelight.query.lexical import LexicalQuery
from sidelight.store.catalog import Catalog
from sidelight.store.kept import KeptIndex, KeptNames
from sidelight.store.mapped import Dictionary
from sidelight.store.prefixes import PrefixIndex
from sidelight.store.rows import Field, NoteRow

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

    note: NDArray[np.int32]  # number of its note
    worth: NDArray[np.float64]  # of its kind
    size: NDArray[np.int32]  # terms it has
    whole: NDArray[np.float64]  # what it scores at least where it is the query to the letter
    label: NDArray[np.int64]  # hash of the folded name, 0 until it was first asked for


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
        self._rows: list[NoteRow] = []  # of the other notes, also of those that changed since
        self._note, self._worth, self._size = array("i"), array("d"), array("i")
        self._whole = array("d")
        if names is not None:
            worth = np.array([FIELD_WORTH[kind] for kind in names.kinds])
            whole = np.array([_worth_of_whole(kind) for kind in names.kinds])
            self._note.frombytes(names.note.tobytes())
            self._size.frombytes(names.size.tobytes())
            self._worth.frombytes(worth[names.kind].tobytes())
            self._whole.frombytes(whole[names.kind].tobytes())
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
            field = self._field(name)
            path = self._paths[self._note[name]]
            yield self._label(name, field), field.label, path, field.kind == "title"

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
    ) -> list[Hit]:
        """Notes whose names match, best first, at most `pool`; scores in 0..1.

        A name scores by the share of it that the query holds times how much of the query it
        explains; a name equal to the whole query scores its kind's full worth.
        """
        with catalog.lock:
            columns = self._numbers()
            held, mass = self._matched(query, len(columns.note))
            names = np.flatnonzero(held)
            if allowed is not None and len(names):
                numbers = {self._number[path] for path in allowed if path in self._number}
                names = names[np.isin(columns.note[names], list(numbers))]
            scores = _scores(columns, names, held, mass, query.total_mass or 1.0)
            equal = self._equal(columns, names, _folded(text))
            scores[equal] = np.maximum(columns.whole[names[equal]], scores[equal])
            return self._hits(columns.note[names], names, scores, catalog, pool)

    def _matched(self, query: LexicalQuery, size: int) -> tuple[Counts, Masses]:
        """For each name: how many of its terms the query holds, and the query mass explained."""
        held, mass = np.zeros(size, np.int32), np.zeros(size)
        for term in query.terms:
            unfinished = term.query.prefix
            words = self._starting_with(term.query.term) if unfinished else [term.query.term]
            seen = np.zeros(size) if unfinished else None
            for word in words:
                names = self._holders(word)
                worth = query.mass_of(term, word)
                held[names] += 1
                if seen is None:
                    mass[names] += max(0.0, worth)
                else:  # of the words that it may stand for, the best one counts
                    mass[names] += np.maximum(0.0, worth - seen[names])
                    seen[names] = np.maximum(worth, seen[names])
        return held, mass

    def _equal(self, columns: _Columns, names: Counts, asked: str) -> NDArray[np.bool_]:
        """Which of the names are `asked`, but for case, accents of spelling and white space."""
        for name in names[columns.label[names] == 0].tolist():
            columns.label[name] = hash(_folded(_name(self._field(name)))) or 1
        equal: NDArray[np.bool_] = columns.label[names] == (hash(asked) or 1)
        for place in np.flatnonzero(equal).tolist():  # two texts may share a hash
            equal[place] = _folded(_name(self._field(int(names[place])))) == asked
        return equal

    def _hits(
        self, notes: Counts, names: Counts, scores: Masses, catalog: Catalog, pool: int
    ) -> list[Hit]:
        """The best `pool` notes, each at what its best name leads to; a letter matches thousands.

        Args:
            notes: the note of each name.
            names: that match.
            scores: of each.
        """
        if not len(names):
            return []
        top = np.zeros(len(self._paths))
        np.maximum.at(top, notes, scores)
        found = np.unique(notes)
        if len(found) > pool:  # all that tie with the last
            last = np.partition(top[found], len(found) - pool)[len(found) - pool]
            found = found[top[found] >= last]
        path = {number: self._paths[number] for number in found.tolist()}
        best = nsmallest(pool, path, key=lambda number: (-top[number], path[number]))
        fields: dict[int, list[tuple[float, Field]]] = {number: [] for number in best}
        chosen = np.flatnonzero(np.isin(notes, best))
        for number, name, score in zip(
            notes[chosen].tolist(), names[chosen].tolist(), scores[chosen].tolist(), strict=True
        ):
            fields[number].append((score, self._field(name)))
        hits = (_hit(path[number], fields[number], catalog) for number in best)
        return [hit for hit in hits if hit is not None]

    def _numbers(self) -> _Columns:
        """The columns as arrays, made once after each change."""
        if self._columns is None or len(self._columns.note) != len(self._note):
            known = np.zeros(0, np.int64) if self._columns is None else self._columns.label
            label = np.concatenate([known, np.zeros(len(self._note) - len(known), np.int64)])
            self._columns = _Columns(
                np.array(self._note, np.int32), np.array(self._worth), np.array(self._size, np.int32),
                np.array(self._whole), label,
            )  # fmt: skip
        return self._columns

    def _holders(self, term: str) -> NDArray[np.int32]:
        """The names that hold a term, each once."""
        new = np.array(self._holding.get(term, ()), np.int32)
        place = self._place(term)
        if self._names is None or place < 0:
            return new
        kept = self._names.holding[place]
        return np.concatenate([kept[~self._gone[kept]], new])

    def _starting_with(self, prefix: str) -> list[str]:
        kept = (term for term, _ in _terms_of(self._names).starting_with(prefix))
        terms = merge(self._prefixes.starting_with(prefix), kept)
        names = (term for term, _ in groupby(terms) if self.knows(term))
        return list(islice(names, _PREFIX_TERMS))

    def _row(self, number: int) -> NoteRow | None:
        """A note that is not kept."""
        first = len(self._known)
        return self._rows[number - first] if number >= first else None

    def _field(self, name: int) -> Field:
        number = self._note[name]
        row = self._row(number)
        if row is not None:
            return row.fields[name - self._first[number]]
        assert self._names is not None
        return self._names.field(name)

    def _label(self, name: int, field: Field) -> str:
        if name not in self._labels:
            self._labels[name] = _folded(_name(field))
        return self._labels[name]

    def _add(self, note: NoteRow) -> None:
        number = self._number[note.path] = len(self._paths)
        first = len(self._note)
        self._paths.append(note.path)
        self._rows.append(note)
        self._first.append(first)
        for name, field in enumerate(note.fields, first):
            self._note.append(number)
            self._worth.append(FIELD_WORTH[field.kind])
            self._size.append(len(field.terms))
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


def _worth_of_whole(kind: str) -> float:
    """What a name of this kind scores at least where it is the query to the letter."""
    if kind == "folder":
        return 0.0
    return 1.0 if kind == "attachment" else max(FIELD_WORTH[kind], EQUAL)


def _hit(path: str, fields: list[tuple[float, Field]], catalog: Catalog) -> Hit | None:
    """A note by the passage that its best name leads to."""
    fields.sort(key=lambda pair: (-pair[0], pair[1].target, pair[1].label))
    top, best = fields[0]
    chunk = catalog.passage(path, best.target)
    if chunk is None:
        return None
    labels = (_label(field) for score, field in fields if score >= top / 2)
    return Hit(chunk, top, tuple(dict.fromkeys(labels)))


def _name(field: Field) -> str:
    return field.label.partition(": ")[2] if field.kind == "property" else field.label


def _label(field: Field) -> str:
    if field.kind in ("title", "folder", "attachment"):
        return field.kind
    if field.kind == "tag":
        return f"tag: #{field.label}"
    return f"{field.kind}: {field.label}"


def _folded(text: str) -> str:
    return " ".join(fold_case(fold(text).text).split())
