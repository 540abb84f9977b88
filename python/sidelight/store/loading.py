"""How does what lies in the tables, and beside them, become a catalog?

Takes the kept index where there is one, and of the tables only what differs from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sidelight.store.catalog import Catalog
from sidelight.store.keeping import Found
from sidelight.store.kept import KeptIndex, strings_of
from sidelight.store.rows import ChunkRow, NoteRow
from sidelight.store.schema import LIGHT_CHUNK, LIGHT_NOTE, chunk_rows
from sidelight.store.statements import STATEMENT_VALUES, parts

_LOADED_AT_ONCE = 16_384  # chunks: their terms take some 25 MB, and each term is looked up once
# One note in so many may differ from what is kept, or as many as one statement names, but at most
# half of them: else all are read.
_MOST_CHANGED = 20


class Source(Protocol):
    """The tables of one index."""

    def chunks(self) -> Any:
        """The table of chunks."""

    def notes(self) -> Any:
        """The table of notes."""

    def stamp(self) -> str:
        """What their files are."""


def load(
    source: Source, catalog: Catalog, found: Found | None
) -> tuple[list[str], set[str] | None]:
    """Fills an empty catalog.

    Args:
        source: the tables.
        catalog: to be filled.
        found: the kept index, if one counts.

    Returns:
        Paths with rows that a crash left half written, which are not in the catalog. Paths of
        which the kept index does not tell what the catalog has; None if it was of no use.
    """
    if found is not None and _begin(catalog, found):
        differing = differing_notes(source, found)
        if few(len(differing), len(found.index.paths)):
            for path in differing:
                catalog.remove(path)
            torn = _take_in(source, catalog, sorted(differing)) if differing else []
            return torn, differing
        catalog.begin_anew()
    return _take_in(source, catalog, None), None


def _begin(catalog: Catalog, found: Found) -> bool:
    """Takes a kept index in; False, with an empty catalog, if it is damaged."""
    try:
        catalog.begin(found.index)
    except Exception:
        if found.is_sound:
            raise
    if not found.is_sound:
        catalog.begin_anew()
    return found.is_sound


def few(changed: int, notes: int) -> bool:
    """Whether what is kept of `notes` notes is worth having although some changed."""
    return changed <= max(min(STATEMENT_VALUES, notes // 2), notes // _MOST_CHANGED)


def differing_notes(source: Source, found: Found) -> set[str]:
    """Paths of all notes of which the kept index does not tell what the tables hold."""
    if found.label.stamp and found.label.stamp == source.stamp():
        return set(found.label.changed)
    kept, paths = found.index, found.index.paths
    notes = source.notes().search().select(LIGHT_NOTE).to_arrow().combine_chunks()
    columns = ["chunk_id", "path", "content_hash"]
    chunks = source.chunks().search().select(columns).to_arrow().combine_chunks()
    known = pa.array(paths, pa.string())
    note_of = _places(notes["path"], known)
    same = np.zeros(len(paths), bool)
    same[note_of[note_of >= 0]] = _as_kept(notes, note_of, kept)[note_of >= 0]
    same &= _whole(chunks, _places(chunks["path"], known), kept)
    new = set(notes["path"].to_pylist()) | set(pc.unique(chunks["path"]).to_pylist())
    return {paths[number] for number in np.flatnonzero(~same).tolist()} | (new - set(paths))


def _as_kept(notes: pa.Table, places: NDArray[np.int64], kept: KeptIndex) -> NDArray[np.bool_]:
    """Which rows of notes are as they are kept at these places."""
    same = places >= 0
    at = np.maximum(places, 0)
    if not len(kept.paths):
        return same
    for column, name in (
        ("size", "size"), ("mtime_ns", "mtime_ns"), ("chunks", "note_chunks"),
        ("indexed_at", "indexed_at"),
    ):  # fmt: skip
        same &= notes[column].to_numpy() == kept.column(name)[at]
    texts = {name: pa.array(kept.texts(name), pa.string()) for name in ("kind", "title", "record")}
    texts["content_hash"] = pa.array(strings_of(kept.column("content_hash")), pa.string())
    for name, column in texts.items():
        equal = pc.equal(notes[name], column.take(pa.array(at)))
        same &= equal.to_numpy().astype(bool)
    return same


def _whole(chunks: pa.Table, note_of: NDArray[np.int64], kept: KeptIndex) -> NDArray[np.bool_]:
    """Of which kept notes the table has all passages, of the same content, and no others."""
    size = len(kept.paths)
    passage = _places(chunks["chunk_id"], pa.array(kept.ids(), pa.string()))
    hashes = pa.array(strings_of(kept.column("content_hash")), pa.string())
    of_content = pc.equal(chunks["content_hash"], hashes.take(pa.array(np.maximum(note_of, 0))))
    here = note_of >= 0
    same = here & (passage >= 0) & of_content.to_numpy().astype(bool)
    same[same] &= kept.passage_notes[passage[same]] == note_of[same]
    all_of_it, known = (np.bincount(note_of[one], minlength=size) for one in (here, same))
    wanted = np.diff(kept.passages_from)
    return np.asarray((all_of_it == wanted) & (known == wanted))


def _places(values: pa.ChunkedArray, among: pa.Array) -> NDArray[np.int64]:
    found = pc.fill_null(pc.index_in(values, value_set=among), -1)
    return np.asarray(found.to_numpy(), np.int64)


def _take_in(source: Source, catalog: Catalog, paths: Sequence[str] | None) -> list[str]:
    """Reads notes from the tables, all for None; those that are half written."""
    notes = {row["path"]: NoteRow.from_table(row) for row in _note_rows(source, paths)}
    by_path: dict[str, list[ChunkRow]] = {}
    torn = set()
    for chunk, content_hash in _chunk_rows(source, catalog, paths):
        note = notes.get(chunk.path)
        if note is None or note.content_hash != content_hash:
            torn.add(chunk.path)
        by_path.setdefault(chunk.path, []).append(chunk)
    whole = []
    for path, note in sorted(notes.items()):
        rows = sorted(by_path.get(path, ()), key=lambda c: c.chunk_index)
        if path in torn or len(rows) != note.chunks:
            torn.add(path)
        else:
            whole.append((note, rows))
    if paths is None:
        catalog.fill(whole)
    else:
        for note, rows in whole:
            catalog.replace(note, rows)
    catalog.settle()
    return sorted(torn)


def _note_rows(source: Source, paths: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    for search in _searches(source.notes(), paths):
        for batch in search.select(LIGHT_NOTE).to_batches():
            yield from batch.to_pylist()


def _chunk_rows(
    source: Source, catalog: Catalog, paths: Sequence[str] | None
) -> Iterator[tuple[ChunkRow, str]]:
    """Chunks, each with its note's content hash."""
    for search in _searches(source.chunks(), paths):
        for batch in search.select(LIGHT_CHUNK).to_batches(_LOADED_AT_ONCE):
            yield from chunk_rows(batch, catalog.vocabulary)


def _searches(table: Any, paths: Sequence[str] | None) -> Iterator[Any]:
    if paths is None:
        yield table.search()
    else:
        for part in parts(paths):
            yield table.search().where(f"path IN ({part})")
