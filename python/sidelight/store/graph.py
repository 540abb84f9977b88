"""What do notes mention together? Exact counts of things over passages, and the edges they imply.

An edge is weighted by pointwise mutual information (Church and Hanks 1990), normalised to 0..1
(Bouma 2009) and discounted for small counts (Pantel and Lin 2002):

    pmi(x, y) = log(n c(x, y) / (c(x) c(y)))        npmi = pmi / -log(c(x, y) / n)
    strength = npmi * c(x, y) / (c(x, y) + 1)

c counts passages, n is the number of passages that speak of anything. Only which passage speaks of
what is kept, with the note's own row; no pair is stored: the counts around one thing are taken
from its passages when they are asked for, so they are those of a rebuild after any sequence of
changes, and a saved note costs no more than its own passages. Things and passages are numbers, and
those of what is gone are given out again. Knows no table and no query.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sidelight.language.entities import entity_key

# A thing that more passages than this speak of says nothing about any of them; it also bounds
# what one look-up costs.
MOST_PASSAGES = 500
HUB_SHARE = 0.2  # of all passages; the same in a small vault
_SPELLED_ALIKE = 20  # edges that may fall away as a name within the other
_MOST_REMEMBERED = 2_000  # things whose edges are kept until something changes
_MOST_BESIDE = 64  # things whose neighbours are kept: up to some 100 kB each

Numbers = NDArray[np.int32]
_NOTHING: Numbers = np.zeros(0, np.int32)


class Edge(NamedTuple):
    """A thing that is mentioned together with another."""

    key: str
    strength: float  # 0..1
    together: int  # passages


class EntityGraph:
    """The things of a vault's passages. Not locked: the catalog's lock covers it."""

    def __init__(self) -> None:
        self._code: dict[str, int] = {}
        self._keys: list[str] = []  # code -> key; "" while nobody has the code
        self._free_codes: list[int] = []
        self._spelled: dict[int, dict[str, int]] = {}  # only where not as the key
        self._slot: dict[str, int] = {}  # chunk id -> slot
        self._chunk_ids: list[str] = []  # slot -> chunk id; "" while nobody has the slot
        self._free_slots: list[int] = []
        self._things: list[Numbers] = []  # slot -> codes
        self._passages: list[Numbers] = []  # code -> slots
        self._held: NDArray[np.int64] = np.zeros(1024, np.int64)  # how many each has
        self._edges: dict[tuple[str, int, float, int], list[Edge]] = {}  # of things asked about
        self._beside: dict[int, tuple[Numbers, NDArray[np.int64]]] = {}

    def __len__(self) -> int:
        """Passages that speak of anything."""
        return len(self._slot)

    @property
    def size(self) -> tuple[int, int]:
        """Numbers ever in use at one time: of things, of passages."""
        return len(self._keys), len(self._chunk_ids)

    def add(self, chunk_id: str, labels: Sequence[str]) -> None:
        """Takes in what a new passage speaks of."""
        if not labels:
            return
        self._forget_looks()
        codes = np.unique(np.array([self._take(label) for label in labels], np.int32))
        slot = self._free_slots.pop() if self._free_slots else len(self._chunk_ids)
        if slot == len(self._chunk_ids):
            self._chunk_ids.append(chunk_id)
            self._things.append(codes)
        else:
            self._chunk_ids[slot], self._things[slot] = chunk_id, codes
        self._slot[chunk_id] = slot
        own = np.array([slot], np.int32)
        for code in codes.tolist():
            self._passages[code] = np.concatenate((self._passages[code], own))
        self._held[codes] += 1

    def remove(self, chunk_id: str, labels: Sequence[str]) -> None:
        """Forgets a passage; `labels` as they were added."""
        slot = self._slot.pop(chunk_id, None)
        if slot is None:
            return
        self._forget_looks()
        codes, self._things[slot], self._chunk_ids[slot] = self._things[slot], _NOTHING, ""
        self._free_slots.append(slot)
        for label in labels:
            self._unspell(label)
        self._held[codes] -= 1
        for code in codes.tolist():
            passages = self._passages[code]
            self._passages[code] = passages[passages != slot]
            if not self._held[code]:
                self._give_back(code)

    def fill(self, pairs: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Takes distinct passages into an empty graph: `add`, but all at once."""
        told = [(chunk_id, labels) for chunk_id, labels in pairs if labels]
        self._chunk_ids = [chunk_id for chunk_id, _ in told]
        self._slot = {chunk_id: slot for slot, chunk_id in enumerate(self._chunk_ids)}
        sizes = [len(labels) for _, labels in told]
        every = pa.array(chain.from_iterable(labels for _, labels in told), pa.string())
        encoded = every.dictionary_encode()
        labels, at = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
        counts = np.bincount(at, minlength=len(labels)).tolist()
        code_of = np.fromiter(map(self._take, labels, counts), np.int32, len(labels))
        many = max(1, len(told))
        owners = np.repeat(np.arange(len(told)), sizes)
        pairs_of = np.sort(code_of[at] * np.int64(many) + owners)  # by code, then slot
        pairs_of = pairs_of[np.diff(pairs_of, prepend=-1) > 0]
        codes, slots = (part.astype(np.int32) for part in divmod(pairs_of, many))
        self._passages = _split(slots, codes, len(self._keys))
        order = np.argsort(slots, kind="stable")
        self._things = _split(codes[order], slots[order], len(told))
        self._held = np.bincount(codes, minlength=len(self._held))

    def holds(self, key: str) -> bool:
        """Whether some passage speaks of it."""
        return key in self._code

    def passages(self, key: str) -> set[str]:
        """Ids of the passages that speak of it."""
        return set(self.named(self.slots(key)))

    def slots(self, key: str) -> Numbers:
        """Numbers of the passages that speak of it, in no order; not to be changed."""
        code = self._code.get(key)
        return self._passages[code] if code is not None else _NOTHING

    def named(self, slots: Numbers) -> list[str]:
        """The passages' ids, in the same order."""
        return [self._chunk_ids[slot] for slot in slots.tolist()]

    def marked(self, keys: Iterable[str]) -> NDArray[np.bool_]:
        """Which passages speak of any of the things, by their numbers."""
        mark = np.zeros(len(self._chunk_ids), bool)
        for key in keys:
            mark[self.slots(key)] = True
        return mark

    def spelling(self, key: str) -> str:
        """How the notes write it most often."""
        code = self._code.get(key)
        spelled = self._spelled.get(code) if code is not None else None
        if code is None or not spelled:
            return key
        as_key = int(self._held[code]) - sum(spelled.values())
        best = min(spelled, key=lambda label: (-spelled[label], label))
        return best if spelled[best] >= as_key else key

    def rarity(self, key: str) -> float:
        """How much its presence tells, 0..1: 1 in one passage, 0 in all."""
        held, everywhere = len(self.slots(key)), len(self)
        if held == 0 or everywhere < 2:
            return 0.0
        return float(1 - np.log(held) / np.log(everywhere))

    def together(self, one: str, others: Sequence[str]) -> NDArray[np.int64]:
        """How many passages speak of one thing and each of the others, shape (n,)."""
        if not self.holds(one):
            return np.zeros(len(others), np.int64)
        own = self._code[one]
        codes, counts = self._around(own)
        asked = np.array([self._code.get(key, -1) for key in others], np.int64)
        at = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
        found = np.where(codes[at] == asked, counts[at], 0)
        return np.where(asked == own, 0, found)

    def strengths(self, one: str, others: Sequence[str]) -> NDArray[np.float64]:
        """Weight of the edges between one thing and others, 0..1, 0 where nothing speaks of both.

        Shape (n,).
        """
        both = self.together(one, others)
        found = np.zeros(len(others))
        met = np.flatnonzero(both)
        held = np.array([len(self.slots(others[at])) for at in met.tolist()], np.int64)
        found[met] = _strengths(both[met], len(self.slots(one)), held, len(self))
        return found

    def is_hub(self, key: str) -> bool:
        """Whether so much speaks of it that it leads nowhere."""
        return len(self.slots(key)) > min(MOST_PASSAGES, max(8.0, HUB_SHARE * len(self)))

    def edges(self, key: str, least: int, weakest: float, most: int) -> list[Edge]:
        """The strongest edges of one thing, strongest first, ties by name.

        Args:
            key: of the thing.
            least: passages that must speak of both.
            weakest: strength below which there is no edge.
            most: edges.
        """
        if len(self.slots(key)) < least or self.is_hub(key):
            return []
        asked = (key, least, weakest, most)
        if asked not in self._edges:
            if len(self._edges) >= _MOST_REMEMBERED:
                self._edges.clear()
            self._edges[asked] = self._look_up(*asked)
        return self._edges[asked]

    def _look_up(self, key: str, least: int, weakest: float, most: int) -> list[Edge]:
        own = self._code[key]
        codes, both = self._around(own)
        often = (both >= least) & (codes != own)
        codes, both = codes[often], both[often]
        strengths = _strengths(both, int(self._held[own]), self._held[codes], len(self)).round(9)
        strong = _strongest(strengths, weakest, most + _SPELLED_ALIKE)
        found = [
            Edge(self._keys[code], strength, count)
            for code, strength, count in zip(
                codes[strong].tolist(), strengths[strong].tolist(), both[strong].tolist(),
                strict=True,
            )
        ]  # fmt: skip
        found.sort(key=lambda edge: (-edge.strength, edge.key))
        return list(islice((e for e in found if not _within(key, e.key)), most))

    def _around(self, code: int) -> tuple[Numbers, NDArray[np.int64]]:
        """Codes that stand beside a thing, itself among them, rising, and how often."""
        if code not in self._beside:
            if len(self._beside) >= _MOST_BESIDE:
                self._beside.clear()
            things = self._things
            around = np.concatenate([things[slot] for slot in self._passages[code].tolist()])
            around.sort()  # thousands among as many as a vault has: sooner than counting by code
            first = np.flatnonzero(np.diff(around, prepend=-1))
            self._beside[code] = around[first], np.diff(first, append=len(around))
        return self._beside[code]

    def counts(self) -> dict[str, int]:
        """Every thing with the number of passages that speak of it."""
        return {key: int(self._held[code]) for key, code in self._code.items()}

    def _forget_looks(self) -> None:
        self._edges.clear()
        self._beside.clear()

    def _take(self, label: str, times: int = 1) -> int:
        """The code of the thing that a passage mentions by this label, new if need be."""
        key = entity_key(label)
        code = self._code.get(key)
        if code is None:
            if self._free_codes:
                code = self._free_codes.pop()
                self._keys[code] = key
            else:
                code = len(self._keys)
                self._keys.append(key)
                self._passages.append(_NOTHING)
                if code >= len(self._held):
                    self._held = np.concatenate([self._held, np.zeros(code, np.int64)])
            self._code[key] = code
        if label != key:
            spelled = self._spelled.setdefault(code, {})
            spelled[label] = spelled.get(label, 0) + times
        return code

    def _unspell(self, label: str) -> None:
        key = entity_key(label)
        if label == key:
            return
        spelled = self._spelled[self._code[key]]
        spelled[label] -= 1
        if not spelled[label]:
            del spelled[label]

    def _give_back(self, code: int) -> None:
        """Nothing speaks of the thing any more: its number may be another's."""
        del self._code[self._keys[code]]
        self._keys[code], self._passages[code] = "", _NOTHING
        self._spelled.pop(code, None)
        self._free_codes.append(code)


def of_passages(pairs: Iterable[tuple[str, Sequence[str]]]) -> EntityGraph:
    """The graph of distinct chunk ids with what they speak of, from nothing."""
    graph = EntityGraph()
    graph.fill(pairs)
    return graph


def _split(values: Numbers, owners: Numbers, count: int) -> list[Numbers]:
    """The values of each owner 0..count-1; `owners` rise."""
    ends = np.cumsum(np.bincount(owners, minlength=count)).tolist()
    return [values[a:b] for a, b in zip([0, *ends], ends, strict=False)]


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
    if len(strengths) > most:
        weakest = max(weakest, float(np.partition(strengths, -most)[-most]))
    return np.flatnonzero(strengths >= weakest)


def _within(one: str, other: str) -> bool:
    """Whether one name is a part of the other: they are together by spelling alone."""
    return one in other or other in one
