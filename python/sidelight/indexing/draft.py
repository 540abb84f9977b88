"""From a note's bytes to what the store keeps of it. Pure: no disk, no model."""

from __future__ import annotations

import hashlib
import time
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sidelight.language.detect import detect
from sidelight.language.entities import entities_of
from sidelight.language.terms import Terms
from sidelight.store.rows import ChunkDraft, ChunkRow, Field, NoteDraft, NoteRow
from sidelight.types import Chunk, FileEntry, Note, PassageKind
from sidelight.vault.chunker import chunk_note
from sidelight.vault.dates import note_dates
from sidelight.vault.markdown import parse_note
from sidelight.vault.markup import without_marks

# Changes when chunks, fields or what is embedded change: every note is then read again.
DRAFT_VERSION = "4"


def draft_note(
    entry: FileEntry, data: bytes, terms: Terms, *, things: bool = False, at: float | None = None
) -> NoteDraft:
    """Everything the index keeps of one note.

    Args:
        entry: path, size and time of the file the bytes came from.
        data: raw bytes, as they will be hashed to tell `fresh`.
        terms: the index's own term function.
        things: looks for what each passage speaks of too: as costly as all the rest.
        at: when it is read, seconds since the epoch; None for now.
    """
    note = parse_note(entry.path, data)
    chunks = chunk_note(note)
    drafts = [_draft_chunk(note, chunk, terms) for chunk in chunks]
    lead = _lead(chunks)
    row = NoteRow(
        path=note.path,
        kind=note.kind.value,
        title=note.title,
        content_hash=note.content_hash,
        size=entry.size,
        mtime_ns=entry.mtime_ns,
        aliases=note.aliases,
        tags=_tags(note),
        headings=note.headings,
        properties=tuple((p.key, p.value) for p in note.frontmatter.properties),
        block_ids=note.block_ids,
        links=note.links,
        fields=tuple(_fields(note, chunks, lead, terms)),
        entities=tuple(_entities(note, chunks, terms)) if things else None,
        lead=lead if (summary := _summary(chunks)) is None else summary,
        date=_iso(note_dates(note)),
        problems=note.problems,
        chunks=len(drafts),
        indexed_at=time.time() if at is None else at,
    )
    return NoteDraft(row, data, drafts)


def failed_note(entry: FileEntry, reason: str, at: float) -> NoteDraft:
    """The row of a note that could not be read: listed with its reason, found by nothing."""
    title = entry.path.rpartition("/")[2].rpartition(".")[0]
    kind = "canvas" if entry.path.lower().endswith(".canvas") else "markdown"
    row = NoteRow(
        path=entry.path,
        kind=kind,
        title=title,
        content_hash="",
        size=entry.size,
        mtime_ns=entry.mtime_ns,
        error=reason,
        indexed_at=at,
    )
    return NoteDraft(row, b"", ())


def attachment(path: str, terms: Terms) -> tuple[NoteRow, ChunkRow]:
    """A file that is no note, to be found by its name; what is in it is never read."""
    name = path.rpartition("/")[2]
    identity = hashlib.sha256(f"attachment:{path}".encode("utf-8", "surrogatepass")).hexdigest()
    words = terms.distinct(name)
    row = NoteRow(
        path=path,
        kind="attachment",
        title=name,
        content_hash=identity,
        size=0,
        mtime_ns=0,
        fields=(Field("attachment", name, 0, words),) if words else (),
        lead=0,
    )
    chunk = ChunkRow(
        chunk_id=identity[:32], path=path, kind=PassageKind.NOTE, heading_path=(),
        section_index=0, chunk_index=0, start_line=None, end_line=None, columns=None, node=None,
        searchable=False, language="und", embed_hash="", text_hash=identity[:32], length=0,
        codes=np.zeros(0, np.int32), counts=np.zeros(0, np.uint16),
    )  # fmt: skip
    return row, chunk


def embedded_text(title: str, heading_path: Iterable[str], text: str) -> str:
    """What is embedded of a chunk: title, heading path, text; neither folder nor tags."""
    headings = " > ".join(heading_path)
    return "\n".join(part for part in (title, headings, text) if part)


def _draft_chunk(note: Note, chunk: Chunk, terms: Terms) -> ChunkDraft:
    embedded = embedded_text(note.title, chunk.heading_path, chunk.text)
    searched = ""
    if chunk.searchable:
        # The title is not repeated by the text; headings are, in a section's first chunk.
        words = "\n".join((note.title, *chunk.heading_path[:-1], chunk.context))
        own_heading = chunk.heading_path[-1:] if not _starts_with_heading(chunk) else ()
        words = "\n".join((words, *own_heading, chunk.text))
        searched = " ".join(sorted(terms.index_terms(without_marks(words))))
    return ChunkDraft(
        chunk=chunk,
        content_hash=note.content_hash,
        terms=searched,
        language=detect(chunk.text if len(chunk.text) > 40 else embedded),
        embed_hash=_hash(embedded),
        text_hash=_hash(" ".join(unicodedata.normalize("NFC", chunk.text).split())),
    )


def _entities(note: Note, chunks: list[Chunk], terms: Terms) -> list[tuple[str, ...]]:
    """What each chunk speaks of; one without words of its own (a date, a number) of nothing."""
    texts = [without_marks(chunk.text) for chunk in chunks if chunk.searchable]
    names = (*note.aliases, *_tags(note))
    found = iter(entities_of(note.title, names, texts, terms.user_words))
    return [next(found) if chunk.searchable else () for chunk in chunks]


def _starts_with_heading(chunk: Chunk) -> bool:
    return bool(chunk.heading_path) and chunk.heading_path[-1] in chunk.text.split("\n", 1)[0]


def _lead(chunks: list[Chunk]) -> int | None:
    """The chunk a hit on the note's name brings: its lead section, or what there is."""
    body = [c for c in chunks if c.kind in (PassageKind.LINES, PassageKind.CANVAS)]
    searchable = [c for c in body if c.searchable]
    empty = [c for c in chunks if c.kind is PassageKind.NOTE]
    for group in (searchable, body, empty, chunks):
        if group:
            return group[0].chunk_index
    return None


def _summary(chunks: list[Chunk]) -> int | None:
    for chunk in chunks:
        if chunk.kind is PassageKind.PROPERTY and (chunk.node or "").lower() == "summary":
            return chunk.chunk_index
    return None


def _fields(note: Note, chunks: list[Chunk], lead: int | None, terms: Terms) -> Iterator[Field]:
    if lead is None:
        return
    named = [("title", note.title, lead)]
    named += [("alias", alias, lead) for alias in note.aliases]
    named += [("tag", tag, lead) for tag in _tags(note)]
    folder = note.path.rpartition("/")[0]
    if folder:
        named.append(("folder", folder.replace("/", " "), lead))
    for heading in note.headings:
        named.append(("heading", heading.text, _chunk_at(chunks, heading.line, lead)))
    by_key = {c.node: c.chunk_index for c in chunks if c.kind is PassageKind.PROPERTY}
    for prop in note.frontmatter.properties:
        if prop.key in by_key:
            label = f"{prop.key}: {', '.join(_texts(prop.value))}"
            named.append(("property", label, by_key[prop.key]))
    for kind, label, target in named:
        words = label.partition(": ")[2] if kind == "property" else label
        found = terms.distinct(words)
        if found:
            yield Field(kind, label, target, found)


def _chunk_at(chunks: list[Chunk], line: int, otherwise: int) -> int:
    for chunk in chunks:
        if (
            chunk.kind is PassageKind.LINES
            and chunk.start_line is not None
            and chunk.end_line is not None
            and chunk.start_line <= line <= chunk.end_line
        ):
            return chunk.chunk_index
    return otherwise


def _texts(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [t for v in value for t in _texts(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in _texts(v)]
    return [] if value is None else [str(value)]


def _tags(note: Note) -> tuple[str, ...]:
    """Tags of frontmatter and body, first spelling of each, in order."""
    seen: dict[str, str] = {}
    for tag in (*note.frontmatter_tags, *(t.tag for t in note.body_tags)):
        seen.setdefault(tag.casefold(), tag)
    return tuple(seen.values())


def _iso(date: Any) -> str | None:
    return date.isoformat() if date is not None else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
