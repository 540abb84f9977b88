"""The metadata channel: titles, aliases, headings, tags, properties and folders.

Exact names stand before partly matched ones. Kept in memory from the note rows; holds no
text of notes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice

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


@dataclass(slots=True)
class _Entry:
    note: NoteRow
    labels: dict[int, str]  # folded, by field; each once it was first asked for


class MetadataIndex:
    """Which notes' names hold a term. Brought up to date by comparing note rows."""

    def __init__(self) -> None:
        self._postings: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self._entries: dict[str, _Entry] = {}
        self._revision = -1
        self._prefixes = PrefixIndex()

    def refresh(self, catalog: Catalog) -> None:
        """Takes in what changed since the last call; costs nothing when nothing did."""
        with catalog.lock:
            if self._revision == catalog.revision:
                return
            rows = dict(catalog.notes)
            rows |= {path: row for path, (row, _) in catalog.attachments.items()}
            for path in [p for p in self._entries if p not in rows]:
                self._drop(path)
            for path, note in rows.items():
                entry = self._entries.get(path)
                if entry is None or entry.note is not note:
                    self._drop(path)
                    self._add(note)
            self._revision = catalog.revision

    def knows(self, term: str) -> bool:
        """Whether some name holds the term."""
        return bool(self._postings.get(term))

    def names(self) -> Iterator[tuple[str, str, str, bool]]:
        """Titles and aliases: folded, as written, path of the note, whether it is the title."""
        for path, entry in self._entries.items():
            for index, field in enumerate(entry.note.fields):
                if field.kind in ("title", "alias") and entry.note.error is None:
                    yield _label_of(entry, index), field.label, path, field.kind == "title"

    def search(
        self, text: str, query: LexicalQuery, catalog: Catalog, allowed: set[str] | None, pool: int
    ) -> list[Hit]:
        """Notes whose names match, best first, at most `pool`; scores in 0..1.

        A name scores by the share of it that the query holds times how much of the query it
        explains; a name equal to the whole query scores its kind's full worth.
        """
        with catalog.lock:
            matched = self._matched(query)
            asked = _folded(text)
            best: dict[str, list[tuple[float, Field]]] = defaultdict(list)
            for (path, index), (held, mass) in matched.items():
                if allowed is not None and path not in allowed:
                    continue
                entry = self._entries[path]
                field = entry.note.fields[index]
                score = self._score(_label_of(entry, index), field, asked, held, mass, query)
                best[path].append((score, field))
            return _hits(best, catalog, pool)

    def _matched(self, query: LexicalQuery) -> dict[tuple[str, int], tuple[int, float]]:
        """For each name: how many of its terms the query holds, and the query mass explained."""
        found: dict[tuple[str, int], tuple[int, float]] = {}
        for term in query.terms:
            names = self._starting_with(term.query.term) if term.query.prefix else [term.query.term]
            seen: dict[tuple[str, int], float] = {}
            for name in names:
                for place in self._postings.get(name, ()):
                    held, mass = found.get(place, (0, 0.0))
                    worth = query.mass_of(term, name)
                    before = seen.get(place, 0.0)
                    found[place] = (held + 1, mass + max(0.0, worth - before))
                    seen[place] = max(worth, before)
        return found

    def _score(
        self, label: str, field: Field, asked: str, held: int, mass: float, query: LexicalQuery
    ) -> float:
        worth = FIELD_WORTH[field.kind]
        if label == asked and field.kind != "folder":
            return 1.0 if field.kind == "attachment" else max(worth, EQUAL)
        explained = min(1.0, mass / (query.total_mass or 1.0))
        whole = min(1.0, held / len(field.terms))
        return round(0.98 * worth * whole * (_WHOLE_NAME + (1 - _WHOLE_NAME) * explained), 9)

    def _starting_with(self, prefix: str) -> list[str]:
        names = self._prefixes.starting_with(prefix)
        return list(islice((name for name in names if self._postings[name]), _PREFIX_TERMS))

    def _add(self, note: NoteRow) -> None:
        self._entries[note.path] = _Entry(note, {})
        for index, field in enumerate(note.fields):
            place = (note.path, index)
            for term in field.terms:
                if term not in self._postings:
                    self._prefixes.add(term)
                self._postings[term].add(place)

    def _drop(self, path: str) -> None:
        entry = self._entries.pop(path, None)
        if entry is not None:
            for index, field in enumerate(entry.note.fields):
                for term in field.terms:
                    self._postings[term].discard((path, index))


def _hits(
    best: Mapping[str, Sequence[tuple[float, Field]]], catalog: Catalog, pool: int
) -> list[Hit]:
    """The best `pool` notes, each at what its best name leads to; a letter matches thousands."""
    top = {path: max(score for score, _ in fields) for path, fields in best.items()}
    hits = []
    for path in nsmallest(pool, top, key=lambda path: (-top[path], path)):
        fields = sorted(best[path], key=lambda pair: (-pair[0], pair[1].target, pair[1].label))
        found = catalog.named(path)
        chunks = found[1] if found else ()
        if fields[0][1].target < len(chunks):
            labels = tuple(_label(f) for score, f in fields if score >= top[path] / 2)
            hits.append(Hit(chunks[fields[0][1].target], top[path], tuple(dict.fromkeys(labels))))
    return hits


def _label_of(entry: _Entry, index: int) -> str:
    if index not in entry.labels:
        entry.labels[index] = _folded(_name(entry.note.fields[index]))
    return entry.labels[index]


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
