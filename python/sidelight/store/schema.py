"""Which columns do the tables have, and how do rows become values and back?

The form of the index on disk. A change of it raises `SCHEMA_VERSION`, and an index of another
version is made anew from the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkDraft, ChunkRow, NoteDraft, pack
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
LIGHT_NOTE = [f.name for f in NOTES if f.name != "snapshot"]


def chunk_row(row: dict[str, Any], codes: NDArray[np.int32]) -> ChunkRow:
    """A chunk of a table row; `codes` are those of its terms, with repeats.

    Terms are stored sorted: equal ones are neighbours, so frequencies are run lengths.
    """
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    counts = np.diff(np.concatenate([starts, [len(codes)]]))
    return _chunk_row(row, codes[starts], counts)


def from_draft(draft: ChunkDraft, catalog: Catalog) -> ChunkRow:
    """The chunk of a draft, as it would be read back."""
    counts = Counter(draft.terms or ("",))
    codes = np.fromiter(map(catalog.vocabulary.code, counts), np.int32, len(counts))
    return _chunk_row(
        _chunk_values(draft), codes, np.fromiter(counts.values(), np.int32, len(counts))
    )


def _chunk_row(row: dict[str, Any], codes: NDArray[Any], counts: NDArray[Any]) -> ChunkRow:
    return ChunkRow(
        chunk_id=row["chunk_id"],
        path=row["path"],
        kind=PassageKind(row["kind"]),
        heading_path=tuple(row["heading_path"]),
        section_index=row["section_index"],
        chunk_index=row["chunk_index"],
        start_line=row["start_line"],
        end_line=row["end_line"],
        columns=None if row["start_column"] is None else (row["start_column"], row["end_column"]),
        node=row["node"],
        searchable=row["searchable"],
        language=row["language"],
        embed_hash=row["embed_hash"],
        text_hash=row["text_hash"],
        length=int(counts.sum()) if row["searchable"] else 0,
        codes=codes.astype(np.int32),
        counts=counts.astype(np.int32),
    )


def _chunk_values(draft: ChunkDraft) -> dict[str, Any]:
    chunk = draft.chunk
    start, end = chunk.columns if chunk.columns else (None, None)
    return {
        "chunk_id": chunk.chunk_id,
        "path": chunk.path,
        "content_hash": draft.content_hash,
        "kind": chunk.kind.value,
        "heading_path": list(chunk.heading_path),
        "section_index": chunk.section_index,
        "chunk_index": chunk.chunk_index,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "start_column": start,
        "end_column": end,
        "node": chunk.node,
        "searchable": chunk.searchable,
        "language": draft.language,
        "embed_hash": draft.embed_hash,
        "text_hash": draft.text_hash,
        "text": chunk.text,
        "context": chunk.context,
        "terms": " ".join(draft.terms),
    }


def chunk_table(drafts: Sequence[NoteDraft]) -> pa.Table:
    """Rows of the chunks table."""
    return pa.Table.from_pylist([_chunk_values(c) for d in drafts for c in d.chunks], CHUNKS)


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
