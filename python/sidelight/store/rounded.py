"""About how near are many vectors to another one, without reading them?

A query is compared with every vector, so what a vector takes in memory decides how long that takes.
Rounded to a byte a number they are a quarter, and are read in a fifth of the time; what is off by
that is less than `doubt`, so that the exact cosines of some hundreds give the exact list. Mean
and variance of all cosines follow from the vectors' sum and that of their products.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import simsimd
from numpy.typing import NDArray

from sidelight.store.stack import Stack

Matrix = NDArray[np.float32]

_MOST = 127  # of a byte with a sign
# Roundings are as good as independent, so that what a cosine is off by is nearly normal: one in
# 10^15 lies so many deviations away.
_DEVIATIONS = 8
_COMPARED = 16_384  # rows at once, by whichever of two threads is free: 0.7 ms of one
_SUMMED = 8_192  # rows multiplied at once: as many single precision adds without harm


class Rounded:
    """Unit vectors of `dimension` numbers, a byte each, by row."""

    def __init__(self, dimension: int) -> None:
        self._rows = Stack(np.zeros((0, dimension), np.int8))
        self._steps = Stack(np.zeros(0, np.float32))  # what 1 stands for in a row
        self._largest_step = 0.0
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="cosines")

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._steps)

    def make_room(self, size: int) -> None:
        """See `Stack.make_room`."""
        self._rows.make_room(size)
        self._steps.make_room(size)

    def add(self, rows: Matrix) -> None:
        """Takes in rows behind the last."""
        rounded, steps = _rounded(rows)
        self._largest_step = max(self._largest_step, float(steps.max(initial=0.0)))
        self._rows.add(rounded)
        self._steps.add(steps)

    def begin(self, rows: NDArray[np.int8], steps: NDArray[np.float32]) -> None:
        """Takes in what `all` gave, mapped too, where there is nothing yet."""
        self._rows, self._steps = Stack(rows), Stack(steps)
        self._largest_step = float(steps.max(initial=0.0))

    def all(self) -> tuple[Stack[np.int8], Stack[np.float32]]:
        """The rounded rows and what 1 stands for in each."""
        return self._rows, self._steps

    def cosines(self, query: NDArray[np.float32], count: int) -> Matrix:
        """The cosines of the first `count` rows, each off by less than half of `doubt`."""
        rounded, step = _rounded(query[None])
        found = np.empty((1, count), np.float32)
        parts = iter(list(self._rows.pieces(0, count, _COMPARED)))

        def compare() -> None:
            for first, rows in parts:  # the other thread takes the next
                out = found[:, first : first + len(rows)]
                simsimd.cdist(rounded, rows, metric="dot", out=out)

        helped = self._beside.submit(compare) if count > _COMPARED else None
        compare()
        if helped and not helped.cancel():
            helped.result()
        for first, steps in self._steps.pieces(0, count, count):
            found[0, first : first + len(steps)] *= steps
        cosines: Matrix = found[0] * step[0]
        return cosines

    def doubt(self, query: NDArray[np.float32]) -> float:
        """How far a row may lie below another one and still be nearer.

        A number is off by at most half a step, by its step / sqrt(12) on average, and a sum of
        products with a unit vector by as much.
        """
        off = math.hypot(float(_rounded(query[None])[1][0]), self._largest_step) / math.sqrt(12)
        return 2 * _DEVIATIONS * off


class Moments:
    """Mean and variance of a vector's cosines to many others, which are counted in and out."""

    def __init__(self, dimension: int) -> None:
        self._sum = np.zeros(dimension)
        self._products = np.zeros((dimension, dimension))
        self.count = 0

    def add(self, rows: Matrix) -> None:
        """Counts vectors in, shape (n, d)."""
        self._change(rows, 1)

    def remove(self, rows: Matrix) -> None:
        """Counts vectors out that were counted in."""
        self._change(rows, -1)

    def begin(self, numbers: NDArray[np.float64], count: int) -> None:
        """Takes in what `all` gave of `count` vectors."""
        dimension = len(self._sum)
        self._sum = numbers[:dimension].copy()
        self._products = numbers[dimension:].reshape(dimension, dimension).copy()
        self.count = count

    def all(self) -> NDArray[np.float64]:
        """Every number of it in one row."""
        return np.concatenate([self._sum, self._products.reshape(-1)])

    def _change(self, rows: Matrix, sign: int) -> None:
        for first in range(0, len(rows), _SUMMED):
            part = rows[first : first + _SUMMED]
            self._sum += sign * part.sum(axis=0, dtype=np.float64)
            self._products += sign * (part.T @ part)
        self.count += sign * len(rows)

    def of(self, query: NDArray[np.float32]) -> tuple[float, float]:
        """Mean and variance; 0 where nothing was counted."""
        if not self.count:
            return 0.0, 0.0
        vector = query.astype(np.float64)
        mean = float(self._sum @ vector) / self.count
        return mean, max(0.0, float(vector @ self._products @ vector) / self.count - mean**2)


def _rounded(rows: Matrix) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each row in steps of its own, up to `_MOST`, and the steps."""
    steps = np.abs(rows).max(axis=1, initial=0.0) / np.float32(_MOST)
    whole = np.rint(rows / np.where(steps > 0, steps, 1)[:, None])
    return whole.astype(np.int8), steps.astype(np.float32)
