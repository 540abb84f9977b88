"""What do notes mention together? Exact counts of things over passages, and the edges they imply.

An edge is weighted by pointwise mutual information (Church and Hanks 1990), normalised to 0..1
(Bouma 2009) and discounted for small counts (Pantel and Lin 2002):

    pmi(x, y) = log(n c(x, y) / (c(x) c(y)))        npmi = pmi / -log(c(x, y) / n)
    strength = npmi * c(x, y) / (c(x, y) + 1)

c counts passages, n is the number of passages that speak of anything. Only which passage speaks of
what is kept, with the note's own row; no pair is stored: the counts around one thing are taken
from its passages when they are asked for, so they are those of a rebuild after any sequence of
changes, and a saved note costs no more than its own passages. Knows no table and no query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.language.entities import entity_key

# A thing that more passages than this speak of says nothing about any of them; it also bounds
# what one look-up costs.
MOST_PASSAGES = 500
HUB_SHARE = 0.2  # of all passages; the same in a small vault
_SPELLED_ALIKE = 20  # edges that may fall away as a name within the other
_MOST_REMEMBERED = 2_000  # things whose edges are kept until something changes


class Edge(NamedTuple):
    """A thing that is mentioned together with another."""

    key: str
    strength: float  # 0..1
    together: int  # passages


class EntityGraph:
    """The things of a vault's passages. Not locked: the catalog's lock covers it."""

    def __init__(self) -> None:
        self._code: dict[str, int] = {}
        self._keys: list[str] = []
        self._spelled: dict[int, Counter[str]] = {}  # only where not as the key
        self._things: dict[str, NDArray[np.int32]] = {}  # chunk id -> codes
        self._passages: list[set[str]] = []  # code -> chunk ids
        self._edges: dict[tuple[str, int, float, int], list[Edge]] = {}  # of things asked about
        self._held: NDArray[np.int64] = np.zeros(1024, np.int64)  # how many each has

    def __len__(self) -> int:
        """Passages that speak of anything."""
        return len(self._things)

    def add(self, chunk_id: str, labels: Sequence[str]) -> None:
        """Takes in what a new passage speaks of."""
        if not labels:
            return
        self._edges.clear()
        codes = [self._count(label, 1) for label in labels]
        self._things[chunk_id] = np.array(sorted(set(codes)), np.int32)
        for code in codes:
            self._tell(code).add(chunk_id)
            self._held[code] = len(self._passages[code])

    def remove(self, chunk_id: str, labels: Sequence[str]) -> None:
        """Forgets a passage; `labels` as they were added."""
        if self._things.pop(chunk_id, None) is None:
            return
        self._edges.clear()
        for label in labels:
            code = self._count(label, -1)
            self._passages[code].discard(chunk_id)
            self._held[code] = len(self._passages[code])

    def holds(self, key: str) -> bool:
        """Whether some passage speaks of it."""
        code = self._code.get(key)
        return code is not None and bool(self._passages[code])

    def passages(self, key: str) -> set[str]:
        """Ids of the passages that speak of it; not to be changed."""
        code = self._code.get(key)
        return self._passages[code] if code is not None else set()

    def spelling(self, key: str) -> str:
        """How the notes write it most often."""
        code = self._code.get(key)
        spelled = self._spelled.get(code) if code is not None else None
        if code is None or not spelled:
            return key
        as_key = len(self._passages[code]) - spelled.total()
        best = min(spelled, key=lambda label: (-spelled[label], label))
        return best if spelled[best] >= as_key else key

    def rarity(self, key: str) -> float:
        """How much its presence tells, 0..1: 1 in one passage, 0 in all."""
        held, everywhere = len(self.passages(key)), len(self)
        if held == 0 or everywhere < 2:
            return 0.0
        return float(1 - np.log(held) / np.log(everywhere))

    def together(self, one: str, other: str) -> int:
        """How many passages speak of both."""
        return len(self.passages(one) & self.passages(other))

    def strength(self, one: str, other: str) -> float:
        """Weight of the edge between two things, 0..1, 0 where nothing speaks of both."""
        both = np.array([self.together(one, other)])
        ones, others = len(self.passages(one)), np.array([len(self.passages(other))])
        return float(_strengths(both, ones, others, len(self))[0]) if both[0] else 0.0

    def is_hub(self, key: str) -> bool:
        """Whether so much speaks of it that it leads nowhere."""
        return len(self.passages(key)) > min(MOST_PASSAGES, max(8.0, HUB_SHARE * len(self)))

    def edges(self, key: str, least: int, weakest: float, most: int) -> list[Edge]:
        """The strongest edges of one thing, strongest first, ties by name.

        Args:
            key: of the thing.
            least: passages that must speak of both.
            weakest: strength below which there is no edge.
            most: edges.
        """
        if not self.holds(key) or self.is_hub(key):
            return []
        asked = (key, least, weakest, most)
        if asked not in self._edges:
            if len(self._edges) >= _MOST_REMEMBERED:
                self._edges.clear()
            self._edges[asked] = self._look_up(*asked)
        return self._edges[asked]

    def _look_up(self, key: str, least: int, weakest: float, most: int) -> list[Edge]:
        own = self._code[key]
        around = np.concatenate([self._things[chunk_id] for chunk_id in self._passages[own]])
        counted = np.bincount(around)
        counted[own] = 0
        codes = np.flatnonzero(counted >= least)
        both = counted[codes]
        strengths = _strengths(both, len(self._passages[own]), self._held[codes], len(self))
        strong = _strongest(strengths, weakest, most + _SPELLED_ALIKE)
        found = [
            Edge(self._keys[code], round(strength, 9), count)
            for code, strength, count in zip(
                codes[strong].tolist(), strengths[strong].tolist(), both[strong].tolist(),
                strict=True,
            )
        ]  # fmt: skip
        found.sort(key=lambda edge: (-edge.strength, edge.key))
        return list(islice((e for e in found if not _within(key, e.key)), most))

    def counts(self) -> dict[str, int]:
        """Every thing with the number of passages that speak of it."""
        held = zip(self._keys, self._passages, strict=True)
        return {key: len(passages) for key, passages in held if passages}

    def _tell(self, code: int) -> set[str]:
        if code >= len(self._held):
            self._held = np.concatenate([self._held, np.zeros(len(self._held), np.int64)])
        return self._passages[code]

    def _count(self, label: str, by: int) -> int:
        key = entity_key(label)
        code = self._code.get(key)
        if code is None:
            code = self._code[key] = len(self._keys)
            self._keys.append(key)
            self._passages.append(set())
        if label != key:
            spelled = self._spelled.setdefault(code, Counter())
            spelled[label] += by
            if spelled[label] <= 0:
                del spelled[label]
        return code


def of_passages(pairs: Iterable[tuple[str, Sequence[str]]]) -> EntityGraph:
    """The graph of chunk ids with what they speak of, from nothing."""
    graph = EntityGraph()
    for chunk_id, labels in pairs:
        graph.add(chunk_id, labels)
    return graph


def _strengths(
    both: NDArray[np.int64], ones: int, others: NDArray[np.int64], everywhere: int
) -> NDArray[np.float64]:
    """Strength of edges between one thing and others; all shapes (n,)."""
    if not len(both):
        return np.zeros(0)
    shared = both / everywhere
    pmi = np.log(both * everywhere / (ones * others))
    widest = -np.log(np.minimum(shared, 1 - 1e-12))
    return np.clip(pmi / widest, 0.0, 1.0) * both / (both + 1)


def _strongest(strengths: NDArray[np.float64], weakest: float, most: int) -> NDArray[np.int64]:
    """Places of the strongest, at least `most` where there are so many, with all their equals."""
    strengths = np.round(strengths, 9)
    if len(strengths) > most:
        weakest = max(weakest, float(np.partition(strengths, -most)[-most]))
    return np.flatnonzero(strengths >= weakest)


def _within(one: str, other: str) -> bool:
    """Whether one name is a part of the other: they are together by spelling alone."""
    return one in other or other in one
