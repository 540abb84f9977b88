"""Which columns do the tables have, and how do rows become values and back?

The form of the index on disk. A change of it raises `SCHEMA_VERSION`, and an index of another
version is made anew from the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sidelight.store.catalog import Vocabulary
from sidelight.store.rows import ChunkRow, NoteDraft, TermRuns, pack
from sidelight.types import PassageKind

SCHEMA_VERSION = 1

CHUNKS = pa.schema(
    [
        ("chunk_id", pa.string()),
        ("path", pa.string()),
        ("content_hash", pa.string()),  # of its note: tells a half-written note
        ("kind", pa.string()),
        ("heading_path", pa.list_(pa.string())),
        ("section_index", pa.int32()),
        ("chunk_index", pa.int32()),
        ("start_line", pa.int32()),
        ("end_line", pa.int32()),
        ("start_column", pa.int32()),
        ("end_column", pa.int32()),
        ("node", pa.string()),
        ("searchable", pa.bool_()),
        ("language", pa.string()),
        ("embed_hash", pa.string()),
        ("text_hash", pa.string()),
        ("text", pa.string()),
        ("context", pa.string()),
        ("terms", pa.string()),
    ]
)
NOTES = pa.schema(
    [
        ("path", pa.string()),
        ("kind", pa.string()),
        ("title", pa.string()),
        ("content_hash", pa.string()),
        ("size", pa.int64()),
        ("mtime_ns", pa.int64()),
        ("chunks", pa.int32()),
        ("indexed_at", pa.float64()),
        ("record", pa.string()),
        ("snapshot", pa.binary()),
    ]
)
HISTORY = pa.schema(
    [
        ("path", pa.string()),
        ("content_hash", pa.string()),
        ("replaced_at", pa.float64()),
        ("snapshot", pa.binary()),
    ]
)
LIGHT_CHUNK = [f.name for f in CHUNKS if f.name not in ("text", "context")]
_OWN = (  # columns whose values hardly repeat
    "chunk_id", "section_index", "chunk_index", "start_line", "end_line", "start_column",
    "end_column", "node", "searchable", "embed_hash", "text_hash",
)  # fmt: skip
LIGHT_NOTE = [f.name for f in NOTES if f.name != "snapshot"]


def chunk_rows(batch: pa.RecordBatch, vocabulary: Vocabulary) -> Iterator[tuple[ChunkRow, str]]:
    """The chunks of a batch of table rows (`LIGHT_CHUNK`), each with its note's content hash."""
    runs = _term_runs(batch["terms"], vocabulary)
    bounds, lengths = runs.bounds.tolist(), runs.lengths.tolist()
    headings = _lists(batch["heading_path"])
    shared = {name: _shared(batch[name]) for name in ("path", "kind", "language", "content_hash")}
    kinds = {kind.value: kind for kind in PassageKind}
    own = {name: batch[name].to_pylist() for name in _OWN}
    for i, chunk_id in enumerate(own["chunk_id"]):
        column = own["start_column"][i]
        searchable = own["searchable"][i]
        terms = slice(bounds[i], bounds[i + 1])
        yield (
            ChunkRow(
                chunk_id=chunk_id,
                path=shared["path"][i],
                kind=kinds[shared["kind"][i]],
                heading_path=headings[i],
                section_index=own["section_index"][i],
                chunk_index=own["chunk_index"][i],
                start_line=own["start_line"][i],
                end_line=own["end_line"][i],
                columns=None if column is None else (column, own["end_column"][i]),
                node=own["node"][i],
                searchable=searchable,
                language=shared["language"][i],
                embed_hash=own["embed_hash"][i],
                text_hash=own["text_hash"][i],
                length=lengths[i] if searchable else 0,
                codes=runs.codes[terms],
                counts=runs.counts[terms],
            ),
            shared["content_hash"][i],
        )


def _term_runs(column: pa.Array, vocabulary: Vocabulary) -> TermRuns:
    """Takes the terms of all rows apart at once.

    They are stored sorted: equal ones are neighbours, so frequencies are run lengths.
    """
    split = pc.split_pattern(column, " ")
    encoded = split.flatten().dictionary_encode()
    code_of = vocabulary.codes(encoded.dictionary.to_pylist())
    tokens = code_of[encoded.indices.to_numpy(zero_copy_only=False)]
    offsets = split.offsets.to_numpy()
    first = np.ones(len(tokens), bool)  # of a run of equal terms; every chunk begins one
    first[1:] = tokens[1:] != tokens[:-1]
    first[offsets[:-1]] = True
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=len(tokens)).astype(np.uint16)
    bounds = np.searchsorted(starts, offsets)
    return TermRuns(bounds, np.diff(offsets), tokens[starts], counts)


def _shared(column: pa.Array) -> list[str]:
    """The values of a column that has few distinct ones: equal ones are one object."""
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    return [values[i] for i in encoded.indices.to_pylist()]


def _lists(column: pa.Array) -> list[tuple[str, ...]]:
    """The values of a column of lists of few distinct strings; equal strings are one object."""
    strings = _shared(column.flatten())
    ends = np.cumsum(pc.list_value_length(column).to_numpy(zero_copy_only=False)).tolist()
    return [tuple(strings[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


def chunk_table(drafts: Sequence[NoteDraft]) -> pa.Table:
    """Rows of the chunks table."""
    of = [draft for note in drafts for draft in note.chunks]
    chunks = [draft.chunk for draft in of]
    columns = {
        "content_hash": [draft.content_hash for draft in of],
        "kind": [chunk.kind.value for chunk in chunks],
        "start_column": [chunk.columns and chunk.columns[0] for chunk in chunks],
        "end_column": [chunk.columns and chunk.columns[1] for chunk in chunks],
        "language": [draft.language for draft in of],
        "embed_hash": [draft.embed_hash for draft in of],
        "text_hash": [draft.text_hash for draft in of],
        "terms": [draft.terms for draft in of],
    }
    for name in CHUNKS.names:
        if name not in columns:
            columns[name] = [getattr(chunk, name) for chunk in chunks]
    return pa.Table.from_pydict(columns, CHUNKS)


def drafted_rows(
    drafts: Sequence[NoteDraft], table: pa.Table, vocabulary: Vocabulary
) -> dict[str, list[ChunkRow]]:
    """The chunks of each note as `chunk_rows` gives them, without reading them back.

    Args:
        drafts: of one note each.
        table: `chunk_table` of them.
        vocabulary: learns their terms.
    """
    runs = _term_runs(table["terms"].combine_chunks(), vocabulary)
    bounds, lengths = runs.bounds.tolist(), runs.lengths.tolist()
    rows: dict[str, list[ChunkRow]] = {}
    at = 0
    for note in drafts:
        own = rows[note.row.path] = []
        for draft in note.chunks:
            chunk, terms = draft.chunk, slice(bounds[at], bounds[at + 1])
            own.append(
                ChunkRow(
                    chunk_id=chunk.chunk_id,
                    path=chunk.path,
                    kind=chunk.kind,
                    heading_path=chunk.heading_path,
                    section_index=chunk.section_index,
                    chunk_index=chunk.chunk_index,
                    start_line=chunk.start_line,
                    end_line=chunk.end_line,
                    columns=chunk.columns,
                    node=chunk.node,
                    searchable=chunk.searchable,
                    language=draft.language,
                    embed_hash=draft.embed_hash,
                    text_hash=draft.text_hash,
                    length=lengths[at] if chunk.searchable else 0,
                    codes=runs.codes[terms],
                    counts=runs.counts[terms],
                )
            )
            at += 1
    return rows


def note_table(drafts: Sequence[NoteDraft]) -> pa.Table:
    """Rows of the notes table."""
    rows = [
        {
            "path": d.row.path,
            "kind": d.row.kind,
            "title": d.row.title,
            "content_hash": d.row.content_hash,
            "size": d.row.size,
            "mtime_ns": d.row.mtime_ns,
            "chunks": d.row.chunks,
            "indexed_at": d.row.indexed_at,
            "record": d.row.record(),
            "snapshot": pack(d.snapshot),
        }
        for d in drafts
    ]
    return pa.Table.from_pylist(rows, schema=NOTES)
