"""What does an index need not work out again at the next start?

Arrays beside the tables, mapped: all that opening and recalling want of passages, notes, their
names and links, and of each note its whole record, taken apart when someone asks for the note.
They are derived: they count for a note only while the tables hold the same of it, and as a whole
only while notes are read the same way (`store/keeping.py`). Changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidelight.store.mapped import Arrays, Dictionary, Strings
from sidelight.store.postings import Kept, Segment
from sidelight.store.rows import ChunkRow, NoteRow, TermRuns, links_of
from sidelight.types import Link, PassageKind

Numbers = NDArray[np.int32]
T = TypeVar("T")
NONE = -1  # in a column of numbers
_REMEMBERED = 4_096  # paths of headings
OF_PASSAGES = (  # columns that lie side by side, as a passage is made of one row
    "chunk_id", "passage_note", "passage_kind_code", "heading_code", "section_index",
    "chunk_index", "start_line", "end_line", "start_column", "end_column", "node_code",
    "searchable", "language_code", "passage_embed_hash", "text_hash", "lengths",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Groups:
    """Numbers by key: those of key `k` are `members[starts[k]:starts[k + 1]]`, ascending."""

    starts: NDArray[np.int64]
    members: Numbers

    @classmethod
    def of(cls, keys: NDArray[np.integer], members: NDArray[np.integer], size: int) -> Groups:
        """Groups ascending `members` by their `keys`, which are below `size`."""
        starts = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=size))])
        order = np.argsort(keys, kind="stable")
        return cls(starts.astype(np.int64), members[order].astype(np.int32))

    @classmethod
    def within(cls, arrays: Arrays, name: str) -> Groups:
        """Those that `named` put among arrays."""
        return cls(arrays[f"{name}.starts"], arrays[f"{name}.members"])

    def named(self, name: str) -> dict[str, NDArray[Any]]:
        """As arrays for a file."""
        return {f"{name}.starts": self.starts, f"{name}.members": self.members}

    def gather(self, keys: NDArray[np.integer]) -> tuple[Numbers, NDArray[np.intp]]:
        """The numbers of some keys, one key after the other, and the place of each one's key."""
        starts = self.starts[keys]
        counts = self.starts[keys + 1] - starts
        of = np.repeat(np.arange(len(keys)), counts)
        at = np.arange(len(of)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return self.members[at], of

    def __getitem__(self, key: int) -> Numbers:
        return self.members[self.starts.item(key) : self.starts.item(key + 1)]


@dataclass(frozen=True, slots=True)
class KeptNames:
    """Every name of every note (`Field`), in the order of the notes; shape (names,) each.

    Attributes:
        note, kind, target, size: number of its note, of its kind in `kinds`, of the passage it
            leads to in its note, of its terms.
        checksum: of each name once folded (`checksums_of_names`).
        label: as written.
        first: number of a note's first name, shape (notes + 1,).
        terms, holding: ascending, and the names that hold each.
    """

    note: Numbers
    kind: NDArray[np.uint8]
    kinds: Sequence[str]
    target: Numbers
    size: Numbers
    checksum: NDArray[np.uint32]
    label: Strings
    first: NDArray[np.int64]
    terms: Dictionary
    holding: Groups


class KeptIndex:
    """Passages and notes by number; numbers follow paths, and in a note the order of its passages.

    Args:
        arrays: of one file.

    Attributes:
        paths: of the notes, ascending.
        name_hashes: of each note's name.
        failed: the notes that could not be indexed.
        passages_from: number of a note's first passage, shape (notes + 1,).
        passage_notes: number of each passage's note.
        searchable: numbers of the passages in postings; their rows there are 0, 1, 2, ...
        runs, segment, terms: terms of passages by code, the rows that hold each, the vocabulary.
        embed_hashes, embedded: distinct, and the searchable passages of each.
        names: of the notes.
        languages: of passages, by code.
        link_keys, linking: what links are compared by, ascending, and the notes with such links.
    """

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.paths = list(Strings.within(arrays, "path"))
        self.name_hashes = Strings.within(arrays, "name_hash")
        self.failed = frozenset(arrays["failed"].tolist())
        self.passages_from = arrays["passages_from"]
        self._passages = arrays["passages"]
        self.passage_notes = np.ascontiguousarray(self._passages["passage_note"])
        self.searchable = np.flatnonzero(self._passages["searchable"])
        self.terms = Dictionary.within(arrays, "term")
        self.runs = TermRuns(
            arrays["bounds"], self._passages["lengths"], arrays["codes"], arrays["counts"]
        )
        self.segment = Segment(arrays["starts"], arrays["rows"], arrays["row_counts"])
        self.embed_hashes = arrays["embed_hash"]
        self.embedded = Groups.within(arrays, "embedded")
        self.names = KeptNames(
            arrays["name_note"], arrays["name_kind"], list(Strings.within(arrays, "name_kinds")),
            arrays["name_target"], arrays["name_size"], arrays["name_checksum"],
            Strings.within(arrays, "label"), arrays["first_name"], Dictionary.within(arrays, "name_term"),
            Groups.within(arrays, "holding"),
        )  # fmt: skip
        self.link_keys = Dictionary.within(arrays, "link_key")
        self.linking = Groups.within(arrays, "linking")
        self._kinds = [PassageKind(kind) for kind in Strings.within(arrays, "passage_kind")]
        self.languages = list(Strings.within(arrays, "language"))
        self._headings = Strings.within(arrays, "heading_path")
        self._nodes = Strings.within(arrays, "node")
        # Not of a method: in a circle, an index that was replaced stays until one is looked for.
        self._heading_path = lru_cache(_REMEMBERED)(partial(_heading_path, self._headings))
        self._text = {
            name: Strings.within(arrays, name)
            for name in ("kind", "title", "error", "date", "tags", "properties", "record")
        }

    @cached_property
    def tags(self) -> list[tuple[str, ...]]:
        """Of every note; equal ones are one object, as for the others that filters ask for."""
        return _once_each(self._text["tags"], lambda text: tuple(json.loads(text)))

    @cached_property
    def properties(self) -> list[tuple[tuple[str, Any], ...]]:
        """Of every note, key and value."""
        return _once_each(
            self._text["properties"], lambda text: tuple((k, v) for k, v in json.loads(text))
        )

    @cached_property
    def dates(self) -> list[str]:
        """Of every note, "" for none."""
        return _once_each(self._text["date"], str)

    @property
    def digest(self) -> int:
        """Of all notes, as `Catalog.snapshot` adds it up."""
        return int.from_bytes(self.arrays["digest"].tobytes(), "big")

    def column(self, name: str) -> NDArray[Any]:
        """Numbers or hashes of all notes or all passages."""
        return self.arrays[name]

    def text(self, name: str, note: int) -> str:
        """One of a note's texts."""
        return self._text[name][note]

    def texts(self, name: str) -> list[str]:
        """One of the texts of every note."""
        return list(self._text[name])

    def of_passages(self, name: str, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """A column (`OF_PASSAGES`) of some passages."""
        return self._passages[name][numbers]

    def embed_hashes_by_passage(self) -> list[str]:
        """Of all passages."""
        return strings_of(self._passages["passage_embed_hash"])

    def ids(self) -> list[str]:
        """Of all passages."""
        return strings_of(self._passages["chunk_id"])

    def sorted_passages(self, passage: Callable[[int], ChunkRow]) -> Kept:
        """The searchable passages for postings; `passage` makes one."""
        rows = np.full(len(self.passage_notes), NONE, np.int32)
        rows[self.searchable] = np.arange(len(self.searchable), dtype=np.int32)
        return Kept(
            self.segment, self.runs.lengths[self.searchable], self.searchable,
            self.passage_notes[self.searchable], rows, self.paths, passage, self,
        )  # fmt: skip

    def head(self, note: int) -> KeptHead:
        """As much of a note as costs nothing."""
        return KeptHead(self, note)

    def note(self, number: int) -> NoteRow:
        """A note, taken apart."""
        head = KeptHead(self, number)
        row = {
            "path": head.path, "kind": self.text("kind", number), "title": head.title,
            "content_hash": head.content_hash, "size": head.size, "mtime_ns": head.mtime_ns,
            "chunks": head.chunks, "indexed_at": head.indexed_at,
            "record": self.text("record", number),
        }  # fmt: skip
        return NoteRow.from_table(row)

    def links(self, number: int) -> tuple[Link, ...]:
        """The links of a note, which is not taken apart for them."""
        return links_of(json.loads(self.text("record", number)))

    def chunk(self, number: int) -> ChunkRow:
        """A passage, as an object of its own."""
        return KeptChunk(self, number, self._passages.item(number))

    def late(self, name: str, number: int, row: tuple[Any, ...]) -> Any:
        """What of a passage few ask for: those that are shown, or counted out."""
        if name in ("codes", "counts"):
            bounds = self.runs.bounds
            return getattr(self.runs, name)[bounds.item(number) : bounds.item(number + 1)]
        if name == "heading_path":
            return self._heading_path(row[3])
        if name == "kind":
            return self._kinds[row[2]]
        if name == "columns":
            return None if row[8] == NONE else (row[8], row[9])
        if name == "node":
            return None if row[10] == NONE else self._nodes[row[10]]
        if name == "text_hash":
            return row[14].decode()
        raise AttributeError(name)

    def language(self, code: int) -> str:
        """The language of a code."""
        return self.languages[code]


class KeptChunk(ChunkRow):
    """A passage of a kept index. A query looks at some 500 and shows 20: most of it comes late."""

    __slots__ = ("_kept", "_row")

    def __init__(self, kept: KeptIndex, number: int, row: tuple[Any, ...]) -> None:
        self._kept, self._row, self.number = kept, row, number
        self.chunk_id = row[0].decode()
        self.path = kept.paths[row[1]]
        self.section_index, self.chunk_index = row[4], row[5]
        self.start_line, self.end_line = _known(row[6]), _known(row[7])
        self.searchable = row[11]
        self.language = kept.language(row[12])
        self.embed_hash = row[13].decode()
        self.length = row[15]

    def __getattr__(self, name: str) -> Any:
        value = self._kept.late(name, self.number, self._row)
        setattr(self, name, value)
        return value


class KeptHead:
    """A note of a kept index, as `NoteHead`."""

    __slots__ = ("_kept", "number")

    def __init__(self, kept: KeptIndex, number: int) -> None:
        self._kept = kept
        self.number = number

    @property
    def path(self) -> str:
        """Vault path."""
        return self._kept.paths[self.number]

    @property
    def title(self) -> str:
        """As `NoteRow`; so are the others."""
        return self._kept.text("title", self.number)

    @property
    def content_hash(self) -> str:
        """SHA-256, hex; "" where it could not be read."""
        return str(self._kept.column("content_hash").item(self.number), "ascii")

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self._kept.column("size").item(self.number))

    @property
    def mtime_ns(self) -> int:
        """Nanoseconds since the epoch."""
        return int(self._kept.column("mtime_ns").item(self.number))

    @property
    def chunks(self) -> int:
        """Passages it has."""
        return int(self._kept.column("note_chunks").item(self.number))

    @property
    def indexed_at(self) -> float:
        """Seconds since the epoch."""
        return float(self._kept.column("indexed_at").item(self.number))

    @property
    def tags(self) -> tuple[str, ...]:
        """Of frontmatter and body, without `#`."""
        return self._kept.tags[self.number]

    @property
    def properties(self) -> tuple[tuple[str, Any], ...]:
        """Key and YAML value."""
        return self._kept.properties[self.number]

    @property
    def date(self) -> str | None:
        """ISO date."""
        return self._kept.dates[self.number] or None

    @property
    def lead(self) -> int | None:
        """Chunk index of the lead section."""
        return _known(self._kept.column("lead").item(self.number))

    @property
    def error(self) -> str | None:
        """Why it could not be indexed."""
        failed = self.number in self._kept.failed
        return self._kept.text("error", self.number) if failed else None

    @property
    def has_entities(self) -> bool:
        """Whether they were looked for."""
        return bool(self._kept.column("has_entities").item(self.number))


def _once_each(texts: Strings, made: Callable[[str], T]) -> list[T]:
    """What is made of each text; of equal ones once."""
    known: dict[str, T] = {}
    return [known[text] if text in known else known.setdefault(text, made(text)) for text in texts]


def _heading_path(headings: Strings, number: int) -> tuple[str, ...]:
    return tuple(json.loads(headings[number]))


def _known(number: int) -> int | None:
    return None if number == NONE else number


def strings_of(hashes: NDArray[np.bytes_]) -> list[str]:
    """A column of hashes as strings."""
    return [one.decode("ascii") for one in hashes.tolist()]
