"""The metadata channel: titles, aliases, headings, tags, properties and folders.

Exact names stand before partly matched ones. Kept in memory from the note rows; holds no
text of notes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sidelight.language.folding import fold, fold_case
from sidelight.query.candidates import Hit
from sidelight.query.lexical import LexicalQuery
from sidelight.store.catalog import Catalog
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

    Names are numbered as they come in; a term keeps the numbers of those that hold it, so that
    a word which thousands of headings hold costs a few array operations. Numbers of notes that
    changed since stay unused until half of all are.
    """

    def __init__(self) -> None:
        self._revision = -1
        self._forget()

    def _forget(self) -> None:
        self._number: dict[str, int] = {}  # of a note, by path
        self._rows: list[NoteRow] = []  # by number, also of notes that changed since
        self._first: list[int] = []  # number of a note's first name
        self._note, self._worth, self._size = array("i"), array("d"), array("i")
        self._whole = array("d")
        self._holding: dict[str, array[int]] = {}
        self._prefixes = PrefixIndex()
        self._columns: _Columns | None = None
        self._labels: dict[int, str] = {}  # folded; each once it was first asked for

    def refresh(self, catalog: Catalog) -> None:
        """Takes in what changed since the last call; costs nothing when nothing did."""
        with catalog.lock:
            if self._revision == catalog.revision:
                return
            rows = dict(catalog.notes)
            rows |= {path: row for path, (row, _) in catalog.attachments.items()}
            if len(self._rows) > 2 * len(rows) + _SPARE:
                self._forget()
            for path in [p for p in self._number if p not in rows]:
                self._drop(path)
            for path, note in rows.items():
                number = self._number.get(path)
                if number is None or self._rows[number] is not note:
                    self._drop(path)
                    self._add(note)
            self._revision = catalog.revision

    def knows(self, term: str) -> bool:
        """Whether some name holds the term."""
        return bool(self._holding.get(term))

    def names(self) -> Iterator[tuple[str, str, str, bool]]:
        """Titles and aliases: folded, as written, path of the note, whether it is the title."""
        for path, number in self._number.items():
            note = self._rows[number]
            for index, field in enumerate(note.fields):
                if field.kind in ("title", "alias") and note.error is None:
                    label = self._label(self._first[number] + index, field)
                    yield label, field.label, path, field.kind == "title"

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
                names = np.array(self._holding.get(word, ()), np.int32)
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
        top = np.zeros(len(self._rows))
        np.maximum.at(top, notes, scores)
        found = np.unique(notes)
        if len(found) > pool:  # all that tie with the last
            last = np.partition(top[found], len(found) - pool)[len(found) - pool]
            found = found[top[found] >= last]
        path = {number: self._rows[number].path for number in found.tolist()}
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

    def _starting_with(self, prefix: str) -> list[str]:
        names = self._prefixes.starting_with(prefix)
        return list(islice((name for name in names if self._holding[name]), _PREFIX_TERMS))

    def _field(self, name: int) -> Field:
        number = self._note[name]
        return self._rows[number].fields[name - self._first[number]]

    def _label(self, name: int, field: Field) -> str:
        if name not in self._labels:
            self._labels[name] = _folded(_name(field))
        return self._labels[name]

    def _add(self, note: NoteRow) -> None:
        number = self._number[note.path] = len(self._rows)
        first = len(self._note)
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
        if number is not None:
            first = self._first[number]
            for name, field in enumerate(self._rows[number].fields, first):
                self._labels.pop(name, None)
                for term in field.terms:
                    self._holding[term].remove(name)


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
    found = catalog.named(path)
    chunks = found[1] if found else ()
    if best.target >= len(chunks):
        return None
    labels = (_label(field) for score, field in fields if score >= top / 2)
    return Hit(chunks[best.target], top, tuple(dict.fromkeys(labels)))


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
