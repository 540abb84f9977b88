"""Where do the vectors of a kept index's texts stand in a matrix? Looked up once, not a query.

Not locked: the catalog's lock covers it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sidelight.store.vectors import VectorMatrix

Numbers = NDArray[np.intp]


class Slots:
    """The rows of some numbered texts.

    Args:
        texts: gives the hash of each, by number.
    """

    def __init__(self, texts: Callable[[], Sequence[str]]) -> None:
        self._texts = texts
        self._matrix: Callable[[], VectorMatrix | None] = lambda: None
        self._forgotten = 0
        self._rows: NDArray[np.int32] = np.zeros(0, np.int32)
        self._looked_up: NDArray[np.int32] = np.zeros(0, np.int32)  # when there were so many rows

    def of(self, vectors: VectorMatrix, numbers: Numbers, hash_of: Callable[[int], str]) -> Numbers:
        """The row of each text, -1 where it is not embedded yet.

        Args:
            vectors: rows are only added to it, unless it says that they moved.
            numbers: of texts.
            hash_of: gives the hash of one, where it had no row when it was looked up.
        """
        if self._matrix() is not vectors or self._forgotten != vectors.forgotten:
            self._rows = vectors.slots(self._texts()).astype(np.int32)
            self._looked_up = np.full(len(self._rows), len(vectors), np.int32)
            self._matrix, self._forgotten = weakref.ref(vectors), vectors.forgotten
        again = (self._rows[numbers] < 0) & (self._looked_up[numbers] < len(vectors))
        for number in numbers[again].tolist():
            self._rows[number] = vectors.slots([hash_of(number)])[0]
            self._looked_up[number] = len(vectors)
        return self._rows[numbers].astype(np.intp)
