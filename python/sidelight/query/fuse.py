"""Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009), weighted by absolute confidence.

`sum w / (k + rank)`, rank from 1. A weight is a number in 0..1 that means the same for every
query (query coverage, how much of a name matched), never a raw score: plain RRF of a good
and a noisy channel is worse than the good one alone (docs/ranking.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sidelight.query.candidates import Candidate, Hit
from sidelight.query.pool import Found, Pool
from sidelight.store.rows import ChunkRow

Weights = Mapping[str, Sequence[float]]


def fuse(lists: Mapping[str, Sequence[Hit]], weights: Weights, k: int) -> list[Candidate]:
    """Every recalled chunk once, best first; ties by path, section, chunk.

    Args:
        lists: channel name to its hits, best first.
        weights: channel name to the weight of each of its hits, 0..1; without one all count 1.
        k: the constant of the formula.
    """
    return sorted(join(lists, weights, k), key=lambda c: (-c.rrf_score, c.chunk.order))


def join(lists: Mapping[str, Sequence[Hit]], weights: Weights, k: int) -> Pool:
    """As `fuse`, in no order and without evidence: for whoever orders by something else."""
    place_of: dict[str, int] = {}
    chunks: list[ChunkRow] = []
    for ranked in lists.values():
        for hit in ranked:
            if place_of.setdefault(hit.chunk.chunk_id, len(chunks)) == len(chunks):
                chunks.append(hit.chunk)
    size = len(chunks)
    channels = {}
    fused = np.zeros(size)
    for channel, ranked in lists.items():
        places = [place_of[hit.chunk.chunk_id] for hit in ranked]
        order = np.arange(1, len(ranked) + 1)
        ranks, scores, parts = np.zeros(size, np.intp), np.zeros(size), np.zeros(size)
        ranks[places], scores[places] = order, [hit.score for hit in ranked]
        parts[places] = np.asarray(weights.get(channel, np.ones(len(ranked)))) / (k + order)
        matched = {p: hit.matched for p, hit in zip(places, ranked, strict=True) if hit.matched}
        channels[channel] = Found(ranks, scores, parts, matched)
        fused += parts
    unknown, none = np.full(size, np.nan), np.zeros(size)
    return Pool(chunks, channels, fused, unknown, unknown, none, none, none)


def trace_list(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """A fused list as the trace shows it."""
    return [
        {"path": c.chunk.path, "chunk_id": c.chunk.chunk_id, "rank": r, "score": c.rrf_score}
        for r, c in enumerate(candidates, start=1)
    ]
