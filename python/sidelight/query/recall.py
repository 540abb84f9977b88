"""Three channels side by side, a pool of candidates each.

A channel that fails or is late drops out and is reported; the rest answer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidelight.query.candidates import Ranked
from sidelight.query.lexical import LexicalQuery
from sidelight.store.catalog import Catalog
from sidelight.store.selection import Selection
from sidelight.store.tables import Tables
from sidelight.trace import Stopwatch
from sidelight.types import Degraded

log = logging.getLogger(__name__)

_OVERFETCH = 4  # LanceDB's order differs from ours; recall this many times the pool
_MOST_TERMS = 64  # of a query that reach the table; the heaviest: a pasted page has thousands

Channel = Callable[[], Ranked]


@dataclass(frozen=True, slots=True)
class Recalled:
    """The channels' lists, and those that did not take part."""

    hits: Mapping[str, Ranked]
    degraded: tuple[Degraded, ...]


def recall(
    channels: Mapping[str, Channel],
    pool: ThreadPoolExecutor,
    timeout_ms: int,
    stopwatch: Stopwatch,
    meanwhile: Callable[[], None] = lambda: None,
) -> Recalled:
    """Runs the channels at the same time; the time limit counts from the start of the query.

    Args:
        channels: by name.
        pool: runs them.
        timeout_ms: for all of them.
        stopwatch: is told what each took.
        meanwhile: is called once only the last one is waited for.
    """
    deadline = time.perf_counter() + timeout_ms / 1000
    # Meaning first: it takes longest, and most of that without the interpreter's lock.
    order = sorted(channels, key=lambda name: name != "vector")
    begun = {name: pool.submit(_timed, channels[name]) for name in order}
    hits: dict[str, Ranked] = {}
    degraded = []
    for left, name in zip(reversed(range(len(channels))), channels, strict=True):
        if not left:
            meanwhile()
        try:
            found, spent_ms = _wait(begun[name], deadline)
        except FutureTimeoutError:
            degraded.append(Degraded(name, f"no answer within {timeout_ms} ms", partial=False))
            continue
        except Exception as error:  # one channel must not take the others down
            log.error("channel %s failed: %s", name, type(error).__name__)
            log.debug("in detail", exc_info=True)
            degraded.append(Degraded(name, f"failed ({type(error).__name__})", partial=False))
            continue
        hits[name] = found
        stopwatch.add(f"recall.{name}", spent_ms)
    return Recalled(hits, tuple(degraded))


def recall_bm25(
    query: LexicalQuery, catalog: Catalog, tables: Tables, allowed: set[str] | None, pool: int
) -> Ranked:
    """Passages that hold terms of the query, by exact BM25."""
    on_disk = catalog.postings.too_many and tables.indexes_words  # not before it is made
    with catalog.lock:
        if not on_disk:
            return _by_words(*query.best(catalog.postings, pool, allowed), pool)
    known = sorted(query.known(), key=lambda term: -term.mass)[:_MOST_TERMS]
    groups: dict[float, list[str]] = {}
    for term in known:
        names = [catalog.vocabulary.term(code) for code in term.codes]
        groups.setdefault(term.query.weight, []).extend(names)
    ids = tables.match(
        [(names, weight) for weight, names in groups.items()],
        pool * _OVERFETCH,
        *_shorter(allowed, catalog),
    )
    with catalog.lock:
        chunks = [catalog.chunks[i] for i in ids if i in catalog.chunks]
    scores, _ = query.scores(chunks)
    found = Selection.of(catalog.notes.kept, chunks, catalog.chunks.at)
    return _by_words(found, scores, pool)


def recall_vectors(
    vector: NDArray[np.float32], catalog: Catalog, allowed: set[str] | None, pool: int
) -> Ranked:
    """Passages nearest to the query's centred vector, by exact cosine."""
    with catalog.lock:
        hashes = None
        if allowed is not None:
            hashes = {c.embed_hash for p in allowed for c in catalog.by_note.get(p, ())}
        catalog.vectors.keep_to(catalog.by_embedding.hashes, catalog.revision)
        standing = catalog.vectors.standing()
    nearest = standing.nearest(vector, pool, hashes)  # the longest part: words go on meanwhile
    with catalog.lock:
        passages, which = catalog.by_embedding.select([embed_hash for embed_hash, _ in nearest])
    scores = np.array([score for _, score in nearest], np.float64)[which]
    if allowed is not None:
        there = np.flatnonzero([path in allowed for path in passages.paths()])
        passages, scores = passages.take(there), scores[there]
    return Ranked.best(passages, scores, pool)


def _shorter(allowed: set[str] | None, catalog: Catalog) -> tuple[set[str] | None, set[str] | None]:
    """The allowed notes or, where they are fewer, all the others: (only, without)."""
    if allowed is None:
        return None, None
    with catalog.lock:
        others = catalog.notes.keys() - allowed
    return (allowed, None) if len(allowed) <= len(others) else (None, others)


def _by_words(passages: Selection, scores: NDArray[np.float64], pool: int) -> Ranked:
    held = np.flatnonzero(scores > 0)
    return Ranked.best(passages.take(held), scores[held], pool)


def _timed(run: Channel) -> tuple[Ranked, float]:
    started = time.perf_counter()
    return run(), (time.perf_counter() - started) * 1000


def _wait(future: Future[tuple[Ranked, float]], deadline: float) -> tuple[Ranked, float]:
    return future.result(timeout=max(0.0, deadline - time.perf_counter()))
