"""What the index keeps of a note and of a chunk, in memory and as table rows.

Does no I/O and knows neither LanceDB nor Arrow.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sidelight.language.folding import fold, fold_case
from sidelight.types import BlockId, Chunk, Heading, Link, LinkKind, PassageKind, Problem

_LINK_FIELDS = tuple(field.name for field in fields(Link))
_LINK_KINDS = {kind.value: kind for kind in LinkKind}
NAME = "name:"  # begins the hash of a note's name among the hashes of what is embedded


@dataclass(frozen=True, slots=True)
class Field:
    """A piece of a note's metadata that a query can hit, and the chunk that hit brings."""

    kind: str  # "title" | "alias" | "heading" | "tag" | "property" | "folder"
    label: str  # as written
    target: int  # chunk_index
    terms: tuple[str, ...]  # distinct, sorted

    @property
    def name(self) -> str:
        """Without the key of a property."""
        return name_in(self.kind, self.label)

    def __reduce__(self) -> tuple[Any, ...]:
        return _field_from, (self.kind, self.label, self.target, " ".join(self.terms))


class NoteHead(Protocol):
    """What is asked of every note at once, a `NoteRow` or not: it costs no taking apart."""

    @property
    def path(self) -> str:
        """Vault path."""
        ...

    @property
    def title(self) -> str:
        """As people call it."""
        ...

    @property
    def content_hash(self) -> str:
        """SHA-256, hex; "" where it could not be read."""
        ...

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    @property
    def mtime_ns(self) -> int:
        """Nanoseconds since the epoch."""
        ...

    @property
    def chunks(self) -> int:
        """How many it has."""
        ...

    @property
    def indexed_at(self) -> float:
        """Seconds since the epoch."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """Of frontmatter and body, without `#`."""
        ...

    @property
    def properties(self) -> tuple[tuple[str, Any], ...]:
        """Key and YAML value."""
        ...

    @property
    def date(self) -> str | None:
        """ISO date of a property or the file name."""
        ...

    @property
    def lead(self) -> int | None:
        """Chunk index of the lead section."""
        ...

    @property
    def error(self) -> str | None:
        """Why it could not be indexed."""
        ...

    @property
    def has_entities(self) -> bool:
        """Whether they were looked for."""
        ...


@dataclass(frozen=True, slots=True)
class NoteRow:
    """One note as indexed; written last, so its presence means the note is whole."""

    path: str
    kind: str
    title: str
    content_hash: str  # "" where the file could not be read
    size: int
    mtime_ns: int
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    headings: tuple[Heading, ...] = ()
    properties: tuple[tuple[str, Any], ...] = ()  # key, YAML value
    block_ids: tuple[BlockId, ...] = ()
    links: tuple[Link, ...] = ()
    fields: tuple[Field, ...] = ()
    # What each chunk speaks of (`language/entities.py`); None: not looked for, the graph was off.
    entities: tuple[tuple[str, ...], ...] | None = None
    lead: int | None = None  # chunk_index of the lead section (or `summary` property)
    date: str | None = None  # ISO date from properties or file name
    problems: tuple[Problem, ...] = ()
    error: str | None = None  # why it could not be indexed
    chunks: int = 0
    indexed_at: float = 0.0  # seconds since the epoch

    @property
    def has_entities(self) -> bool:
        """Whether they were looked for."""
        return self.entities is not None

    def record(self) -> str:
        """The nested parts as JSON, for one table column."""
        return json.dumps(
            {
                "aliases": self.aliases,
                "tags": self.tags,
                "headings": [(h.level, h.text, h.line) for h in self.headings],
                "properties": self.properties,
                "block_ids": [(b.id, b.start_line, b.end_line) for b in self.block_ids],
                "fields": [(f.kind, f.label, f.target, " ".join(f.terms)) for f in self.fields],
                "entities": self.entities,
                "lead": self.lead,
                "links": [_without_defaults(link) for link in self.links],
                "date": self.date,
                "problems": [asdict(p) for p in self.problems],
                "error": self.error,
            },
            ensure_ascii=False,
            default=str,
        )

    @classmethod
    def from_table(cls, row: Mapping[str, Any]) -> NoteRow:
        """The note of a table row (without its snapshot)."""
        nested = json.loads(row["record"])
        return cls(
            path=row["path"],
            kind=row["kind"],
            title=row["title"],
            content_hash=row["content_hash"],
            size=row["size"],
            mtime_ns=row["mtime_ns"],
            aliases=tuple(nested["aliases"]),
            tags=tuple(nested["tags"]),
            headings=tuple([Heading(*h) for h in nested["headings"]]),
            properties=tuple([(k, v) for k, v in nested["properties"]]),
            block_ids=tuple([BlockId(*b) for b in nested["block_ids"]]),
            fields=tuple([_field_from(*field) for field in nested["fields"]]),
            entities=None if (held := nested.get("entities")) is None else tuple(map(tuple, held)),
            lead=nested["lead"],
            links=links_of(nested),
            date=nested["date"],
            problems=tuple(Problem(**p) for p in nested["problems"]),
            error=nested["error"],
            chunks=row["chunks"],
            indexed_at=row["indexed_at"],
        )


@dataclass(slots=True, eq=False, weakref_slot=True)
class ChunkRow:
    """A chunk's place and statistics; its text stays on disk. Nobody changes one.

    Within one index a passage is one object for as long as anyone holds it. Not frozen, as a query
    makes some 250 of them, and a frozen one takes three times as long.
    """

    chunk_id: str
    path: str
    kind: PassageKind
    heading_path: tuple[str, ...]
    section_index: int
    chunk_index: int
    start_line: int | None
    end_line: int | None
    columns: tuple[int, int] | None
    node: str | None
    searchable: bool
    language: str
    embed_hash: str  # of exactly what is embedded
    text_hash: str  # of the normalised text: equal for copies
    length: int  # terms, with repeats
    codes: NDArray[np.int32]  # distinct terms, vocabulary codes
    counts: NDArray[np.uint16]  # their frequencies; a chunk is far too short for more
    number: int = -1  # in the kept file it came from (`store/kept.py`); -1 for none

    @property
    def order(self) -> tuple[str, int, int]:
        """The tie rule of every ranking: path, section, chunk."""
        return (self.path, self.section_index, self.chunk_index)


@dataclass(frozen=True, slots=True)
class TermRuns:
    """The terms of some passages as codes: those of passage `i` lie at `bounds[i]:bounds[i + 1]`.

    Attributes:
        bounds: shape (passages + 1,).
        lengths: terms with repeats, of each passage.
        codes: distinct terms, by the vocabulary.
        counts: how often each stands there.
    """

    bounds: NDArray[np.int64]
    lengths: NDArray[np.int32]
    codes: NDArray[np.int32]
    counts: NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk on its way into the store: the chunk itself and what was computed from it."""

    chunk: Chunk
    content_hash: str  # of its note
    terms: str  # sorted, with repeats, separated by spaces
    language: str
    embed_hash: str
    text_hash: str


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """A note on its way into the store."""

    row: NoteRow
    snapshot: bytes  # the raw bytes that were indexed
    chunks: Sequence[ChunkDraft]


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """A note as it was before it was changed, renamed or deleted."""

    path: str
    replaced_at: float  # seconds since the epoch
    snapshot: bytes  # its raw bytes


def name_hash(title: str) -> str:
    """Under which the vector of a note's name is kept; equal names share one."""
    return NAME + hashlib.sha256(title.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def name_in(kind: str, label: str) -> str:
    """What a piece of metadata is called: of a property without its key."""
    return label.partition(": ")[2] if kind == "property" else label


def folded_names(names: Iterable[str]) -> list[str]:
    """Names but for case, spelling and white space; as one text, a tenth of one by one."""
    lines = [name.replace("\n", " ") for name in names]
    folded = fold_case(fold("\n".join(lines)).text).split("\n")
    return [" ".join(line.split()) for line in folded[: len(lines)]]


def checksums_of_names(names: Iterable[str]) -> NDArray[np.int64]:
    """One above 0 for each name, the same for names that are equal once folded."""
    folded = (name.encode("utf-8", "surrogatepass") for name in folded_names(names))
    return np.fromiter((zlib.crc32(name) or 1 for name in folded), np.int64)


def pack(snapshot: bytes) -> bytes:
    """Compresses a snapshot (zlib: in the standard library, about a third of the size)."""
    return zlib.compress(snapshot, 6)


def unpack(packed: bytes) -> bytes:
    """The raw bytes of a packed snapshot."""
    return zlib.decompress(packed)


def _without_defaults(link: Link) -> dict[str, Any]:
    values = ((name, getattr(link, name)) for name in _LINK_FIELDS)  # a third of `asdict`'s time
    return {name: value for name, value in values if value not in (None, False, "")}


def _field_from(kind: str, label: str, target: int, terms: str) -> Field:
    """Kinds and terms are one object each, however many names of a vault share them."""
    return Field(sys.intern(kind), label, target, (*map(sys.intern, terms.split(" ")),))


def links_of(record: Mapping[str, Any]) -> tuple[Link, ...]:
    """The links in a note's record (`NoteRow.record`), taken out of JSON."""
    return tuple([_link_from(link) for link in record["links"]])


def _link_from(values: Mapping[str, Any]) -> Link:
    return Link(
        source_text=values.get("source_text", ""),
        target=values.get("target", ""),
        subpath=values.get("subpath", ""),
        display=values.get("display"),
        embed=values.get("embed", False),
        is_asset=values.get("is_asset", False),
        kind=_LINK_KINDS[values["kind"]],
        line=values.get("line"),
        node=values.get("node"),
    )
