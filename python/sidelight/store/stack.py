"""Rows end to end that grow at their end: those that came first stay where they are, mapped too.

So a note that is saved copies nothing of a matrix that lies on disk, and what was written behind
there need not stay in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

_SPARE = 8  # room for one more in so many, where it is not known how many will come


class Stack(Generic[T]):
    """Rows of one shape and type, the first axis counts them.

    Rows never change: whoever knows of some may read them without a lock while others come in.

    Args:
        first: those it begins with; never copied, never written to.
    """

    def __init__(self, first: NDArray[T]) -> None:
        self._held = (first, np.zeros((0, *first.shape[1:]), first.dtype))  # at once, for readers
        self._count = len(first)

    def __len__(self) -> int:
        return self._count

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        first = self._held[0]
        return int(np.prod(first.shape[1:])) * first.itemsize

    @property
    def later(self) -> int:
        """How many rows lie in memory behind the first."""
        return self._count - len(self._held[0])

    def make_room(self, size: int) -> None:
        """Takes memory for `size` rows in all, where their number is known."""
        first, later = self._held
        if size > len(first) + len(later):
            grown = np.zeros((size - len(first), *first.shape[1:]), first.dtype)
            grown[: self.later] = later[: self.later]
            self._held = (first, grown)

    def add(self, rows: NDArray[T]) -> None:
        """Puts rows behind the last."""
        size = self._count + len(rows)
        if size > sum(map(len, self._held)):
            self.make_room(max(size, self._count + self._count // _SPARE))
        first, later = self._held
        later[self.later : size - len(first)] = rows
        self._count = size

    def rest_on(self, first: NDArray[T]) -> None:
        """Puts the same rows, mapped, in place of those it holds; some or all of them."""
        _, later = self._held
        self._held = (first, later[len(first) - len(self._held[0]) : self.later].copy())

    def take(self, places: NDArray[np.intp]) -> NDArray[T]:
        """The rows at these places, in their order."""
        first, later = self._held
        if not len(later) or not len(places) or places.max() < len(first):
            return first[places]
        found = np.empty((len(places), *first.shape[1:]), first.dtype)
        early = places < len(first)
        found[early], found[~early] = first[places[early]], later[places[~early] - len(first)]
        return found

    def pieces(self, start: int, end: int, most: int) -> Iterator[tuple[int, NDArray[T]]]:
        """The rows from `start` to `end`, at most `most` at a time: where each begins, and it."""
        first, later = self._held
        end = min(end, self._count)
        while start < end:
            held, at = (first, start) if start < len(first) else (later, start - len(first))
            rows = held[at : at + min(most, end - start)]
            yield start, rows
            start += len(rows)
