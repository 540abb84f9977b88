"""Which terms has each passage, without cutting its column of terms again?

A file of arrays beside the tables, mapped at the next start: codes, counts and the sorted
postings of all passages. It is derived: what it holds of a passage counts only while the table
has the same passage of the same content, and the whole file only while notes are read the same
way (`made_with`). Losing it costs one slow start.
"""

from __future__ import annotations

import json
import logging
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sidelight.config import write_private
from sidelight.store.catalog import Catalog
from sidelight.store.postings import Segment
from sidelight.store.rows import ChunkRow, TermRuns

log = logging.getLogger(__name__)

_FORM = 1  # of the file
_NAMED = "words.json"  # names the file in use; removing it is what makes the file count no more
_FILES = "words-*.arrow"
_BINARY = getattr(os, "O_BINARY", 0)  # Windows asks for it
_READ_AT_ONCE = 1 << 20  # bytes
_KINDS = {
    "chunk_ids": pa.string(), "content_hashes": pa.string(), "terms": pa.string(),
    "bounds": pa.int64(), "lengths": pa.int32(), "codes": pa.int32(), "counts": pa.uint16(),
    "starts": pa.int64(), "rows": pa.int32(), "row_counts": pa.uint8(),
}  # fmt: skip
_SCHEMA = pa.schema([(name, pa.large_list(kind)) for name, kind in _KINDS.items()])


@dataclass(frozen=True, slots=True)
class Words:
    """Terms of passages as they were when the file was written; searchable passages first.

    Attributes:
        chunk_ids, content_hashes: of each passage and of its note then.
        terms: the vocabulary, by code.
        runs: the terms of each passage.
        segment: the searchable passages by term; a row is a passage's place.
        searchable: how many of the passages are.
    """

    chunk_ids: pa.Array
    content_hashes: pa.Array
    terms: pa.Array
    runs: TermRuns
    segment: Segment
    searchable: int

    def places(self, chunk_ids: pa.Array, content_hashes: pa.Array) -> NDArray[np.int64]:
        """Where each passage stands; -1 for those that are not here as they are now."""
        found = pc.index_in(chunk_ids, value_set=self.chunk_ids)
        same = pc.equal(self.content_hashes.take(found), content_hashes)
        places = pc.if_else(pc.fill_null(same, fill_value=False), found, -1)
        return np.asarray(places.to_numpy(zero_copy_only=False), np.int64)


def read(folder: Path, made_with: str) -> Words | None:
    """The words that were kept, mapped; None if there are none that count."""
    try:
        named = json.loads((folder / _NAMED).read_text("utf-8"))
        if (named["form"], named["made_with"]) != (_FORM, made_with):
            return None
        file = folder / named["file"]
        if _checksum(file) != named["checksum"]:
            log.warning("the file of words is damaged; it is made anew")
            return None
        with pa.memory_map(str(file)) as source:
            batch = pa.ipc.open_file(source).get_batch(0)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("the file of words cannot be read (%s); it is made anew", type(error).__name__)
        return None
    held = {name: batch[name].values for name in _KINDS}
    array = {name: held[name].to_numpy() for name, kind in _KINDS.items() if kind != pa.string()}
    return Words(
        held["chunk_ids"], held["content_hashes"], held["terms"],
        TermRuns(array["bounds"], array["lengths"], array["codes"], array["counts"]),
        Segment(array["starts"], array["rows"], array["row_counts"]),
        named["searchable"],
    )  # fmt: skip


def write(folder: Path, catalog: Catalog, made_with: str) -> None:
    """Keeps the words of a catalog that was just filled; a full disk only costs the next start."""
    chunks, segment = catalog.postings.in_one_segment()
    others = [chunk for chunk in catalog.chunks.values() if not chunk.searchable]
    batch = _batch([*chunks, *others], segment, catalog)
    temporary = folder / f".words-{os.getpid()}.tmp"  # `sweep` knows the ending
    try:
        private = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
        with os.fdopen(private, "wb") as handle:
            with pa.ipc.new_file(handle, _SCHEMA) as writer:
                writer.write_batch(batch)
            handle.flush()
            os.fsync(handle.fileno())
        checksum = _checksum(temporary)
        file = folder / f"words-{checksum:08x}.arrow"
        os.replace(temporary, file)
        named = {
            "form": _FORM, "made_with": made_with, "file": file.name, "checksum": checksum,
            "searchable": len(chunks),
        }  # fmt: skip
        write_private(folder / _NAMED, json.dumps(named) + "\n")
    except OSError as error:
        log.warning("the file of words cannot be written (%s)", error.strerror)
        temporary.unlink(missing_ok=True)
        _delete_but(folder, "")
    else:
        _delete_but(folder, file.name)


def forget(folder: Path) -> None:
    """What is kept counts no more: notes are read anew.

    Raises:
        OSError: the folder cannot be written.
    """
    (folder / _NAMED).unlink(missing_ok=True)
    _delete_but(folder, "")


def _batch(chunks: Sequence[ChunkRow], segment: Segment, catalog: Catalog) -> pa.RecordBatch:
    """One row of lists, as the arrays are of different lengths."""
    ends = np.cumsum([0, *(len(chunk.codes) for chunk in chunks)])
    values: dict[str, Any] = {
        "chunk_ids": [chunk.chunk_id for chunk in chunks],
        "content_hashes": [catalog.notes[chunk.path].content_hash for chunk in chunks],
        "terms": catalog.vocabulary.all_terms(),
        "bounds": ends,
        "lengths": [chunk.length for chunk in chunks],
        "codes": np.concatenate([chunk.codes for chunk in chunks]),
        "counts": np.concatenate([chunk.counts for chunk in chunks]),
        "starts": segment.starts,
        "rows": segment.rows,
        "row_counts": segment.counts,
    }
    columns = [
        pa.LargeListArray.from_arrays([0, len(values[name])], pa.array(values[name], kind))
        for name, kind in _KINDS.items()
    ]
    return pa.record_batch(columns, schema=_SCHEMA)


def _checksum(file: Path) -> int:
    found = 0
    with file.open("rb") as handle:
        while part := handle.read(_READ_AT_ONCE):
            found = zlib.crc32(part, found)
    return found


def _delete_but(folder: Path, name: str) -> None:
    for file in folder.glob(_FILES):
        if file.name != name:
            try:
                file.unlink(missing_ok=True)
            except OSError:  # Windows, while it is mapped: the next one that writes deletes it
                log.debug("a file of words stays for now")
