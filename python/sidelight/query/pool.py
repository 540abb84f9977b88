"""Every recalled passage with what was found out about it, in columns.

A query recalls some 450 passages and shows 20: a candidate is made when someone asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sidelight.query.candidates import Candidate
from sidelight.store.selection import Selection
from sidelight.types import ChannelHit

Numbers = NDArray[np.float64]
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Found:
    """What one channel says of the pool's passages; shape (n,) each.

    Attributes:
        ranks: from 1; 0 where it did not find the passage.
        scores: 0 there.
        parts: what it added to the fused score, 0 there.
        matched: what of each passage, by rank; () where it does not say that.
    """

    ranks: Places
    scores: Numbers
    parts: Numbers
    matched: Sequence[tuple[str, ...]]

    def take(self, places: Places) -> Found:
        """Of those passages, in that order."""
        return Found(self.ranks[places], self.scores[places], self.parts[places], self.matched)


@dataclass(frozen=True, slots=True)
class Pool(Sequence[Candidate]):
    """The passages of all channels, each once.

    Attributes:
        chunks: in some order, each made when someone asks for it.
        channels: by name.
        fused: reciprocal rank fusion.
        cosines, titles, coverages, evidence, grounded: as of `Candidate`.
    """

    chunks: Selection
    channels: Mapping[str, Found]
    fused: Numbers
    cosines: Numbers
    titles: Numbers
    coverages: Numbers
    evidence: Numbers
    grounded: Numbers

    def scores(self, channel: str) -> Numbers:
        """What a channel says of each passage, 0 where nothing."""
        found = self.channels.get(channel)
        return np.zeros(len(self)) if found is None else found.scores

    def take(self, places: Iterable[int]) -> Pool:
        """Those passages alone, in that order."""
        chosen = np.fromiter(places, np.intp)
        return replace(
            self,
            chunks=self.chunks.take(chosen),
            channels={name: found.take(chosen) for name, found in self.channels.items()},
            fused=self.fused[chosen],
            cosines=self.cosines[chosen],
            titles=self.titles[chosen],
            coverages=self.coverages[chosen],
            evidence=self.evidence[chosen],
            grounded=self.grounded[chosen],
        )

    def __len__(self) -> int:
        return len(self.chunks)

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> list[Candidate]: ...
    def __getitem__(self, place: int | slice) -> Candidate | list[Candidate]:
        if isinstance(place, slice):
            return [self._candidate(one) for one in range(*place.indices(len(self)))]
        if not -1 < place < len(self):
            raise IndexError(place)
        return self._candidate(place)

    def _candidate(self, place: int) -> Candidate:
        hits: dict[str, ChannelHit] = {}
        parts: dict[str, float] = {}
        for name, found in self.channels.items():
            if rank := found.ranks.item(place):
                matched = found.matched[rank - 1] if found.matched else ()
                hits[name] = ChannelHit(rank, found.scores.item(place), matched)
                parts[name] = found.parts.item(place)
        return Candidate(
            self.chunks[place],
            hits,
            parts,
            self.fused.item(place),
            self.cosines.item(place),
            self.titles.item(place),
            self.coverages.item(place),
            self.evidence.item(place),
            None,
            self.grounded.item(place),
        )
