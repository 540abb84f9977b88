"""Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009), weighted by absolute confidence.

`sum w / (k + rank)`, rank from 1. A weight is a number in 0..1 that means the same for every
query (query coverage, how much of a name matched), never a raw score: plain RRF of a good
and a noisy channel is worse than the good one alone (docs/ranking.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.query.candidates import Candidate, Ranked
from sidelight.query.pool import Found, Pool
from sidelight.store.selection import Selection

Weights = Mapping[str, Sequence[float] | NDArray[np.float64]]


def fuse(lists: Mapping[str, Ranked], weights: Weights, k: int) -> list[Candidate]:
    """Every recalled chunk once, best first; ties by path, section, chunk.

    Args:
        lists: channel name to its hits, best first.
        weights: channel name to the weight of each of its hits, 0..1; without one all count 1.
        k: the constant of the formula.
    """
    pool = join(lists, weights, k)
    return list(pool.take(pool.chunks.by_rank(pool.fused)))


def join(lists: Mapping[str, Ranked], weights: Weights, k: int) -> Pool:
    """As `fuse`, in no order and without evidence: for whoever orders by something else."""
    parts = [ranked.passages for ranked in lists.values()]
    kept = next((part.kept for part in parts if part.kept is not None), None)
    every = Selection.joined(kept, parts)
    passages, places_of = every.once_each()
    size, end = len(passages), 0
    channels = {}
    fused = np.zeros(size)
    for channel, ranked in lists.items():
        places, end = places_of[end : end + len(ranked)], end + len(ranked)
        order = np.arange(1, len(ranked) + 1)
        ranks, scores, added = np.zeros(size, np.intp), np.zeros(size), np.zeros(size)
        ranks[places], scores[places] = order, ranked.scores
        added[places] = np.asarray(weights.get(channel, np.ones(len(ranked)))) / (k + order)
        channels[channel] = Found(ranks, scores, added, ranked.matched)
        fused += added
    unknown, none = np.full(size, np.nan), np.zeros(size)
    return Pool(passages, channels, fused, unknown, unknown, none, none, none)


def trace_list(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """A fused list as the trace shows it."""
    return [
        {"path": c.chunk.path, "chunk_id": c.chunk.chunk_id, "rank": r, "score": c.rrf_score}
        for r, c in enumerate(candidates, start=1)
    ]
