"""How does the index stay small? Merges small files, indexes new rows, deletes old versions.

LanceDB keeps every version of a table; each save leaves a few small files. Two steps, because a
reader may still use what the first one replaced: compaction first, deletion once that is old.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import logging
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sidelight.store.catalog import Catalog
from sidelight.store.statements import parts, retry

log = logging.getLogger(__name__)

KEEP_VERSIONS_S = 60.0  # a query that still reads one is long done (limits end at 60 s)
_KEEP_HISTORY_DAYS = 7  # how long a reference to replaced text can be asked about
_KEEP_HISTORY_NOTES = 50  # versions kept in any case
_HISTORY_SHARE = 5  # above, one version for every five notes: the index stays near a fresh one
_ALL = datetime.timedelta(days=36_500)
_ARENA_MAX = -8  # M_ARENA_MAX of glibc's malloc.h
_ARENAS = 2
_UNUSED_SHARE = 4  # unused vectors are deleted once they are more than one in four


def keep_word_index(table: Any, column: str, *, wanted: bool) -> None:
    """Makes LanceDB's full-text index of a column of terms, or drops one that nobody asks.

    Building and merging it is a tenth of a first index and most of every compaction.
    """
    names = word_indexes(table, column)
    if not wanted:
        for name in names:
            log.debug("dropping the full-text index of %s", table.name)
            retry(lambda name=name: table.drop_index(name))  # type: ignore[misc]
    elif not names:
        from sidelight.store.lance import FTS  # see `Folder`

        config = FTS(
            base_tokenizer="whitespace",
            stem=False,
            remove_stop_words=False,
            ascii_folding=False,
            lower_case=False,
            max_token_length=None,
            with_position=False,
        )
        retry(lambda: table.create_index(column, config=config))


def word_indexes(table: Any, column: str) -> list[str]:
    """Names of the indexes of a column."""
    return [index.name for index in table.list_indices() if index.columns == [column]]


def compact(tables: Sequence[Any]) -> None:
    """Merges small files and brings new rows into a full-text index; deletes nothing."""
    _each("compacting", tables, lambda table: table.optimize(cleanup_older_than=_ALL))


def clean_up(tables: Sequence[Any], keep_s: float = KEEP_VERSIONS_S) -> None:
    """Deletes versions older than `keep_s`, and files that a crash left without a version.

    Only the one writer calls it, between two writes: a file without a version is then left over.
    LanceDB spares a deletion file that is newer than the oldest version it keeps: such a leftover
    goes with the next call that finds all other versions older than `keep_s`.

    Args:
        tables: to be cleaned.
        keep_s: age in seconds below which a version stays, as a reader may still use it.
    """
    age = datetime.timedelta(seconds=keep_s)

    def clean(table: Any) -> None:
        if _has_leftovers(Path(table.uri)):
            table.delete("false")  # changes nothing but is a version newer than they are
        table.optimize(cleanup_older_than=age, delete_unverified=True)

    _each("cleaning up", tables, clean)


def _has_leftovers(table: Path) -> bool:
    """Whether deletion files are newer than the newest version, which names none of these."""
    newest = max(map(_written, table.glob("_versions/*.manifest")), default=0)
    return any(_written(file) > newest for file in table.glob("_deletions/*"))


def _written(file: Path) -> int:
    """When, in nanoseconds since the epoch; 0 if it has gone."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def forget_history(history: Any, notes: int) -> None:
    """Deletes replaced versions of notes: old ones, and the oldest beyond a share of the notes.

    Args:
        history: the table.
        notes: how many the index has.
    """
    times = sorted(history.search().select(["replaced_at"]).to_arrow()["replaced_at"].to_pylist())
    horizon = time.time() - _KEEP_HISTORY_DAYS * 86_400
    most = max(_KEEP_HISTORY_NOTES, notes // _HISTORY_SHARE)
    if len(times) > most:
        horizon = max(horizon, times[-most])
    if times and times[0] < horizon:
        retry(lambda: history.delete(f"replaced_at < {horizon!r}"))


def drop_unused(vectors: Any, catalog: Catalog) -> set[str]:
    """Deletes vectors of no chunk and no name, once they are more than a quarter of all; which."""
    stored = vectors.search().select(["embed_hash"]).to_arrow()["embed_hash"].to_pylist()
    with catalog.lock:
        used = {*catalog.by_embedding, *catalog.names.values()}
        unused = {h for h in stored if h not in used}
    if len(unused) * _UNUSED_SHARE <= len(stored):
        return set()
    for part in parts(sorted(unused)):
        retry(lambda where=f"embed_hash IN ({part})": vectors.delete(where))  # type: ignore[misc]
    return unused


def give_back_memory() -> None:
    """Returns what loading and writing took and freed to the system; some milliseconds.

    Arrow's pool and glibc's keep it for later use: 100 MB and more after a start. Other systems'
    allocators give it back by themselves.
    """
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # musl has no such function
            ctypes.CDLL(None).malloc_trim(0)


def share_arenas() -> None:
    """Lets all threads take their memory from two of glibc's arenas; call it before they begin.

    By default there are eight a core, and each keeps what it once had: 100 MB more after a start
    with 30,000 notes, 220 MB more after embedding. Costs no time that could be measured.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # musl has neither arenas nor this
            ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


def _each(activity: str, tables: Sequence[Any], step: Callable[[Any], object]) -> None:
    for table in tables:
        log.debug("%s %s", activity, table.name)
        retry(lambda table=table: step(table))  # type: ignore[misc]
        log.debug("done %s %s", activity, table.name)
