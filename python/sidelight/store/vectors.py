"""Exact nearest passages from one matrix in memory.

Vectors are addressed by the hash of what was embedded, so a chunk that moves needs none
anew. Rounded ones say which are looked at exactly (`store/rounded.py`). Knows no table: rows are
given to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from sidelight.store.rounded import Moments, Rounded
from sidelight.store.stack import Stack

_ROUNDED_AT_ONCE = 10_000
# At most so many exact cosines beyond those that are asked for: copies of one text lie together.
_LOOKED_AT_EXACTLY = 2_000
# Cosines of unrelated texts with the default model, language-centred, and how many texts of a
# vault outweigh them: below some tens its own say little.
_UNRELATED_MEAN, _UNRELATED_SPREAD, _UNRELATED_TEXTS = 0.10, 0.08, 30

Matrix = NDArray[np.float32]
# Rounded rows, their steps, the moments, and which rows are in these.
Prepared = tuple[Stack[np.int8], Stack[np.float32], NDArray[np.float64], NDArray[np.bool_]]
Centre = Callable[[Matrix, Sequence[str]], Matrix]


def uncentred(matrix: Matrix, languages: Sequence[str]) -> Matrix:
    """The identity: for models without language means."""
    del languages
    return matrix


@dataclass(frozen=True, slots=True)
class Standing:
    """The vectors of one moment. No lock is needed: rows are only added behind them."""

    rows: Stack[np.float32]
    hashes: Sequence[str]
    rounded: Rounded
    counted: NDArray[np.bool_]  # which rows count; there may be more by now

    def nearest(
        self, query: NDArray[np.float32], count: int, allowed: set[str] | None
    ) -> list[tuple[str, float]]:
        """The `count` texts nearest to `query`, best first, ties by hash.

        Args:
            query: centred unit vector, shape (d,).
            count: how many.
            allowed: hashes that may answer; None for all.
        """
        size = len(self.counted)
        if size == 0 or count <= 0:
            return []
        scores = self.rounded.cosines(query, size)
        scores[~self.counted] = -np.inf
        if allowed is not None:
            mask = np.fromiter((h in allowed for h in self.hashes[:size]), bool, size)
            scores[~mask] = -np.inf
        near = _highest(scores, count, self.rounded.doubt(query))
        near = near[[bool(self.hashes[row]) for row in near.tolist()]]
        exact = _exact(self.rows, near, query)
        if len(near) > count:
            best = exact >= np.partition(exact, len(near) - count)[len(near) - count]
            near, exact = near[best], exact[best]
        names = [self.hashes[row] for row in near.tolist()]
        found = zip(names, exact.tolist(), strict=True)
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:count]


class VectorMatrix:
    """Unit vectors, language-centred, one row a distinct embedded text.

    Args:
        dimension: of every vector.
        centre: maps raw unit vectors, shape (n, d), and their languages to centred ones.
        model_id: of the model they are from, "" where there is none.

    Attributes:
        names: the vectors of the notes' names, apart, as names are no passages.
        forgotten: counts when rows moved.
    """

    def __init__(self, dimension: int, centre: Centre = uncentred, model_id: str = "") -> None:
        self.dimension = dimension
        self.model_id = model_id
        self._centre = centre
        self._rows = Stack(np.zeros((0, dimension), np.float32))
        self._slot: dict[str, int] = {}
        self.forgotten = 0
        self._hashes: list[str] = []
        self.names: VectorMatrix | None = None
        self._rounded = Rounded(dimension)  # those that were searched; nobody searches in names
        self._moments = Moments(dimension)
        self._counted = np.zeros(0, bool)  # the rows in them
        self._counted_when = ((-1, -1), -1)
        self._unused = np.zeros(0, np.intp)  # rows that do not count
        self._looked_at: int | None = None  # nor do rows from here on; None for no such row
        self._used_when = (-1, -1)

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, embed_hash: object) -> bool:
        return embed_hash in self._slot

    def add(self, hashes: Sequence[str], raw: Matrix, languages: Sequence[str]) -> None:
        """Takes in vectors of texts not yet known; known ones are left as they are."""
        new = [i for i, h in enumerate(hashes) if h not in self._slot]
        if not new:
            return
        rows = self._centre(
            np.ascontiguousarray(raw[new], dtype=np.float32), [languages[i] for i in new]
        )
        self._rows.add(rows)
        for i in new:
            if hashes[i] not in self._slot:
                self._slot[hashes[i]] = len(self._hashes)
                self._hashes.append(hashes[i])
            else:  # twice in one call: keep rows and names aligned
                self._hashes.append("")

    def begin(self, rows: Matrix, hashes: list[str]) -> None:
        """Takes in centred vectors as they are, mapped ones too, in place of what was there.

        Args:
            rows: shape (n, d).
            hashes: of each.
        """
        self.forgotten += 1
        self._rows, self._hashes = Stack(rows), hashes
        self._slot = {h: i for i, h in enumerate(hashes) if h}
        self._rounded, self._moments = Rounded(self.dimension), Moments(self.dimension)
        self._counted, self._counted_when = self._counted[:0], ((-1, -1), -1)

    def begin_prepared(
        self,
        rounded: NDArray[np.int8],
        steps: NDArray[np.float32],
        moments: NDArray[np.float64],
        counted: NDArray[np.bool_],
    ) -> None:
        """After `begin`: what `prepared` gave of the same rows, or of those before them."""
        self._rounded.begin(rounded, steps)
        self._moments.begin(moments, int(counted.sum()))
        self._counted, self._counted_when = counted, ((-1, -1), -1)

    def prepared(self) -> Prepared:
        """What `prepare` makes: rounded rows with their steps, the moments and the rows in them."""
        self.prepare()
        return *self._rounded.all(), self._moments.all(), self._counted

    @property
    def hashes(self) -> Sequence[str]:
        """Of each row; "" for one that counts no more."""
        return self._hashes

    def all_rows(self) -> Stack[np.float32]:
        """All centred vectors, in the order of `hashes`."""
        return self._rows

    def forget(self, hashes: set[str]) -> None:
        """Drops the vectors of these texts; the others keep their order."""
        self.forgotten += 1
        kept = [i for i, h in enumerate(self._hashes) if h and h not in hashes]
        self._rows = Stack(self._rows.take(np.array(kept, np.intp)))
        self._hashes = [self._hashes[i] for i in kept]
        self._slot = {h: i for i, h in enumerate(self._hashes)}
        self._unused, self._looked_at, self._used_when = self._unused[:0], None, (-1, -1)
        self._rounded, self._moments = Rounded(self.dimension), Moments(self.dimension)
        self._counted, self._counted_when = self._counted[:0], ((-1, -1), -1)
        if self.names is not None:
            self.names.forget(hashes)

    def similarity(self, query: NDArray[np.float32], hashes: Iterable[str]) -> NDArray[np.float64]:
        """Cosine to each text; NaN where it is not embedded yet."""
        return self.cosines(query, self.slots(hashes))

    def slots(self, hashes: Iterable[str]) -> NDArray[np.intp]:
        """The row of each text, -1 where it is not embedded yet; true until rows move."""
        return np.fromiter(map(self._slot.get, hashes, repeat(-1)), np.intp)

    def cosines(self, query: NDArray[np.float32], slots: NDArray[np.intp]) -> NDArray[np.float64]:
        """Cosine to each row; NaN for -1."""
        known = slots >= 0
        found = np.full(len(slots), np.nan)
        found[known] = _exact(self._rows, slots[known], query)
        return found

    def rows(self, hashes: Iterable[str]) -> Matrix:
        """Centred vectors of the texts that have one, shape (n, d)."""
        return self._rows.take(
            np.array([self._slot[h] for h in hashes if h in self._slot], np.intp)
        )

    def keep_to(self, used: Container[str], revision: int) -> None:
        """From now on only texts in `used` count: those of replaced notes stay until clean-up.

        Args:
            used: hashes of the texts that some passage has.
            revision: changes whenever `used` does.
        """
        if self._used_when != (revision, len(self._hashes)):
            self._used_when = (revision, len(self._hashes))
            self._looked_at = len(self._hashes)
            self._unused = np.array([i for i, h in enumerate(self._hashes) if h not in used], int)

    def prepare(self) -> None:
        """What the first search would do else: 0.6 s for 100,000 vectors."""
        self._round()
        self._count()

    def _round(self) -> None:
        """Takes the rows that came in since into the rounded ones."""
        size = len(self._hashes)
        self._rounded.make_room(size)
        for _, rows in self._rows.pieces(self._rounded.count, size, _ROUNDED_AT_ONCE):
            self._rounded.add(rows)

    def _counting(self) -> NDArray[np.bool_]:
        """Which rows count: rows added since `keep_to` wait for the next."""
        counting = np.ones(len(self._hashes), bool)
        counting[self._unused] = False
        if self._looked_at is not None:
            counting[self._looked_at :] = False
        return counting

    def _count(self) -> None:
        """Brings the moments up to the rows that count."""
        counting = self._counting()
        if self._counted_when == (now := (self._used_when, len(counting))):
            return
        before = np.zeros(len(counting), bool)
        before[: len(self._counted)] = self._counted
        self._moments.remove(self._rows.take(np.flatnonzero(before & ~counting)))
        self._moments.add(self._rows.take(np.flatnonzero(counting & ~before)))
        self._counted, self._counted_when = counting, now

    def chance(self, query: NDArray[np.float32]) -> float:
        """The cosine that the best of these texts would reach if none answered; 0.27 if empty.

        Texts of one vault are alike, so a cosine that is telling in one is common in another.
        Expected largest of n normal draws (`mean + deviation * sqrt(2 ln n)`), with the mean
        and deviation of all cosines to `query`, towards those of unrelated texts where few.
        """
        self._count()
        size = self._moments.count
        share = _UNRELATED_TEXTS / (size + _UNRELATED_TEXTS)
        middle, variance = self._moments.of(query)
        mean = share * _UNRELATED_MEAN + (1 - share) * middle
        spread = share * _UNRELATED_SPREAD**2 + (1 - share) * variance
        # Rounded well above what the order of the rows does to the last bits.
        return round(mean + math.sqrt(spread * 2 * math.log(max(size, 10))), 4)

    def standing(self) -> Standing:
        """The vectors as they stand now, to be searched while others come in."""
        self._count()
        self._round()
        return Standing(self._rows, self._hashes, self._rounded, self._counted)

    def nearest(
        self, query: NDArray[np.float32], count: int, allowed: set[str] | None
    ) -> list[tuple[str, float]]:
        """See `Standing.nearest`."""
        return self.standing().nearest(query, count, allowed)

    def make_room(self, size: int) -> None:
        """Takes memory for so many vectors in all at once, where their number is known."""
        self._rows.make_room(size)


def _exact(
    rows: Stack[np.float32], slots: NDArray[np.intp], query: NDArray[np.float32]
) -> NDArray[np.float64]:
    """In float64 and row by row, so that a score depends on nothing but the two vectors."""
    exact = np.vecdot(rows.take(slots).astype(np.float64), query.astype(np.float64))
    return np.asarray(np.round(exact, 9))


def _highest(scores: Matrix, count: int, doubt: float) -> NDArray[np.intp]:
    """Where the `count` highest scores stand, and those that are lower by no more than `doubt`."""
    last = -np.inf
    if len(scores) > count:
        last = float(np.partition(scores, len(scores) - count)[len(scores) - count])
    high = np.flatnonzero((scores >= last - doubt) & (scores > -np.inf))
    most = count + _LOOKED_AT_EXACTLY
    if len(high) > most:
        high = high[np.argpartition(scores[high], len(high) - most)[len(high) - most :]]
    return high
