"""Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009), weighted by absolute confidence.

`sum w / (k + rank)`, rank from 1. A weight is a number in 0..1 that means the same for every
query (query coverage, how much of a name matched), never a raw score: plain RRF of a good
and a noisy channel is worse than the good one alone (docs/ranking.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sidelight.query.candidates import Candidate, Hit
from sidelight.store.rows import ChunkRow
from sidelight.types import ChannelHit


def fuse(
    lists: Mapping[str, Sequence[Hit]], weights: Mapping[str, Mapping[str, float]], k: int
) -> list[Candidate]:
    """Every recalled chunk once, best first; ties by path, section, chunk.

    Args:
        lists: channel name to its hits, best first.
        weights: channel name to chunk id to weight in 0..1; missing ones are 1.
        k: the constant of the formula.
    """
    return sorted(join(lists, weights, k), key=lambda c: (-c.rrf_score, c.chunk.order))


def join(
    lists: Mapping[str, Sequence[Hit]], weights: Mapping[str, Mapping[str, float]], k: int
) -> list[Candidate]:
    """As `fuse`, in no order: for whoever orders by something else."""
    found: dict[str, tuple[ChunkRow, dict[str, ChannelHit], dict[str, float]]] = {}
    for channel, ranked in lists.items():
        weight_of = weights.get(channel, {})
        for rank, (chunk, score, matched) in enumerate(ranked, start=1):
            name = chunk.chunk_id
            known = found.get(name)
            if known is None:
                known = found[name] = (chunk, {}, {})
            known[1][channel] = ChannelHit(rank, score, matched)
            known[2][channel] = weight_of.get(name, 1.0) / (k + rank)
    return [
        Candidate(chunk, hits, parts, sum(parts.values())) for chunk, hits, parts in found.values()
    ]


def trace_list(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """A fused list as the trace shows it."""
    return [
        {"path": c.chunk.path, "chunk_id": c.chunk.chunk_id, "rank": r, "score": c.rrf_score}
        for r, c in enumerate(candidates, start=1)
    ]
