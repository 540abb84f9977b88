"""A passage on its way through the pipeline, with everything that was found out about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from sidelight.store.rows import ChunkRow
from sidelight.types import ChannelHit

CHANNELS = ("metadata", "bm25", "vector", "graph")
_NOTHING: Mapping[str, float] = MappingProxyType({})

# Named tuples: hundreds are made for a query, and a frozen dataclass takes three times as long.


class Hit(NamedTuple):
    """A chunk in one channel's list, best first."""

    chunk: ChunkRow
    score: float
    matched: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """A recalled chunk.

    Attributes:
        hits: its place in each channel that found it.
        contributions: what each channel added to `rrf_score`; they sum to it.
        cosine: language-centred, -1..1; NaN where the chunk has no vector.
        title: the same of the note's name.
        coverage: weighted share of the query's terms that it holds, 0..1.
        evidence: calibrated confidence that it answers, 0..1, on one absolute scale.
        grounded: the same without chains of mentions; what the gate reads.
        credibility: how far its note is to be believed, 0..1; None where nobody asked.
    """

    chunk: ChunkRow
    hits: Mapping[str, ChannelHit]
    contributions: Mapping[str, float] = _NOTHING
    rrf_score: float = 0.0
    cosine: float = math.nan
    title: float = math.nan
    coverage: float = 0.0
    evidence: float = 0.0
    rerank_score: float | None = None
    grounded: float = 0.0
    credibility: float | None = None
