"""A passage on its way through the pipeline, with everything that was found out about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow
from sidelight.store.selection import Selection
from sidelight.types import ChannelHit

CHANNELS = ("metadata", "bm25", "vector", "graph")
_NOTHING: Mapping[str, float] = MappingProxyType({})

# Named tuples: hundreds are made for a query, and a frozen dataclass takes three times as long.


class Hit(NamedTuple):
    """A chunk in one channel's list, best first."""

    chunk: ChunkRow
    score: float
    matched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranked(Sequence[Hit]):
    """A channel's list in columns, best first; a hit is made when someone asks for it.

    Attributes:
        passages: each once.
        scores: of each.
        matched: what of each; () where that is not said.
    """

    passages: Selection
    scores: NDArray[np.float64]
    matched: Sequence[tuple[str, ...]] = ()

    @classmethod
    def of(cls, hits: Sequence[Hit], catalog: Catalog) -> Ranked:
        """The given hits."""
        chunks = [hit.chunk for hit in hits]
        passages = Selection.of(catalog.notes.kept, chunks, catalog.chunks.at)
        scores = np.array([hit.score for hit in hits], np.float64)
        return cls(passages, scores, [hit.matched for hit in hits])

    @classmethod
    def best(cls, passages: Selection, scores: NDArray[np.float64], count: int) -> Ranked:
        """The `count` of highest score, ties by path, section, chunk."""
        order = passages.by_rank(scores)[:count]
        return cls(passages.take(order), scores[order])

    def __len__(self) -> int:
        return len(self.scores)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> list[Hit]: ...
    def __getitem__(self, place: int | slice) -> Hit | list[Hit]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        matched = self.matched[place] if self.matched else ()
        return Hit(self.passages[place], self.scores.item(place), matched)


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
