"""Exact nearest passages from one matrix in memory.

Vectors are addressed by the hash of what was embedded, so a chunk that moves needs none
anew. A matrix product answers in 0.5 ms at 20,000 x 384 where a table scan takes 12 ms
(`scripts/bench.py vectors`). Knows no table: rows are given to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

# Cosines of unrelated texts with the default model, language-centred, and how many texts of a
# vault outweigh them: below some tens its own say little.
_UNRELATED_MEAN, _UNRELATED_SPREAD, _UNRELATED_TEXTS = 0.10, 0.08, 30

Matrix = NDArray[np.float32]
Centre = Callable[[Matrix, Sequence[str]], Matrix]


def uncentred(matrix: Matrix, languages: Sequence[str]) -> Matrix:
    """The identity: for models without language means."""
    del languages
    return matrix


class VectorMatrix:
    """Unit vectors, language-centred, one row a distinct embedded text.

    Args:
        dimension: of every vector.
        centre: maps raw unit vectors, shape (n, d), and their languages to centred ones.
        model_id: of the model they are from, "" where there is none.

    Attributes:
        names: the vectors of the notes' names, apart, as names are no passages.
    """

    def __init__(self, dimension: int, centre: Centre = uncentred, model_id: str = "") -> None:
        self.dimension = dimension
        self.model_id = model_id
        self._centre = centre
        self._rows: Matrix = np.zeros((0, dimension), dtype=np.float32)
        self._slot: dict[str, int] = {}
        self._hashes: list[str] = []
        self.names: VectorMatrix | None = None
        # The last query with its cosines to the rows that count, and what they say of chance.
        self._scored: tuple[NDArray[np.float32], Matrix] | None = None
        self._chance: tuple[NDArray[np.float32], float] | None = None
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
        size = len(self._hashes)
        if size + len(new) > len(self._rows):
            self.make_room(max(size + len(new), len(self._rows) * 9 // 8))
        self._rows[size : size + len(new)] = rows
        for i in new:
            if hashes[i] not in self._slot:
                self._slot[hashes[i]] = len(self._hashes)
                self._hashes.append(hashes[i])
            else:  # twice in one call: keep rows and names aligned
                self._hashes.append("")
        self._scored = self._chance = None

    def forget(self, hashes: set[str]) -> None:
        """Drops the vectors of these texts; the others keep their order."""
        kept = [i for i, h in enumerate(self._hashes) if h and h not in hashes]
        self._rows = self._rows[kept]
        self._hashes = [self._hashes[i] for i in kept]
        self._slot = {h: i for i, h in enumerate(self._hashes)}
        self._unused, self._looked_at, self._used_when = self._unused[:0], None, (-1, -1)
        self._scored = self._chance = None
        if self.names is not None:
            self.names.forget(hashes)

    def similarity(self, query: NDArray[np.float32], hashes: Iterable[str]) -> NDArray[np.float64]:
        """Cosine to each text; NaN where it is not embedded yet.

        In float64 and row by row, so that a score depends on nothing but the two vectors.
        """
        slots = np.fromiter(map(self._slot.get, hashes, repeat(-1)), np.intp)
        known = slots >= 0
        found = np.full(len(slots), np.nan)
        rows = self._rows[slots[known]].astype(np.float64)
        found[known] = np.round(np.vecdot(rows, query.astype(np.float64)), 9)
        return found

    def rows(self, hashes: Iterable[str]) -> Matrix:
        """Centred vectors of the texts that have one, shape (n, d)."""
        return self._rows[[self._slot[h] for h in hashes if h in self._slot]]

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
            self._scored = self._chance = None

    def _scores(self, query: NDArray[np.float32]) -> Matrix:
        """Cosines to all rows, -inf where a text does not count; one product a query."""
        if self._scored is None or self._scored[0] is not query:
            scores = self._rows[: len(self._hashes)] @ query
            scores[self._unused] = -np.inf
            if self._looked_at is not None:  # rows added since `keep_to` wait for the next
                scores[self._looked_at :] = -np.inf
            self._scored = (query, scores)
        return self._scored[1]

    def chance(self, query: NDArray[np.float32]) -> float:
        """The cosine that the best of these texts would reach if none answered; 0.27 if empty.

        Texts of one vault are alike, so a cosine that is telling in one is common in another.
        Expected largest of n normal draws (`mean + deviation * sqrt(2 ln n)`), with the mean
        and deviation of all cosines to `query`, towards those of unrelated texts where few.
        """
        if self._chance is None or self._chance[0] is not query:
            scores = self._scores(query)
            scores = scores[np.isfinite(scores)]
            size = len(scores)
            share = _UNRELATED_TEXTS / (size + _UNRELATED_TEXTS)
            middle = float(scores.mean(dtype=np.float64)) if size else 0.0
            variance = float(scores.var(dtype=np.float64)) if size else 0.0
            mean = share * _UNRELATED_MEAN + (1 - share) * middle
            spread = share * _UNRELATED_SPREAD**2 + (1 - share) * variance
            # Rounded well above what the order of the rows does to the last bits.
            value = round(mean + math.sqrt(spread * 2 * math.log(max(size, 10))), 4)
            self._chance = (query, value)
        return self._chance[1]

    def nearest(
        self, query: NDArray[np.float32], count: int, allowed: set[str] | None
    ) -> list[tuple[str, float]]:
        """The `count` texts nearest to `query`, best first, ties by hash.

        Args:
            query: centred unit vector, shape (d,).
            count: how many.
            allowed: hashes that may answer; None for all.
        """
        size = len(self._hashes)
        if size == 0 or count <= 0:
            return []
        scores = self._scores(query)
        if allowed is not None:
            mask = np.fromiter((h in allowed for h in self._hashes), bool, size)
            scores = np.where(mask, scores, -np.inf)
        # Over-fetch past the cut, then score exactly: the product's last bit depends on
        # where a row lies in the matrix, the answer must not.
        fetch = min(size, count + 50)
        top = np.argpartition(scores, size - fetch)[size - fetch :]
        names = [self._hashes[i] for i in top if np.isfinite(scores[i]) and self._hashes[i]]
        exact = self.similarity(query, names)
        ranked = sorted(zip(names, exact.tolist(), strict=True), key=lambda x: (-x[1], x[0]))
        return ranked[:count]

    def make_room(self, size: int) -> None:
        """Takes memory for so many vectors in all at once, where their number is known."""
        if size > len(self._rows):
            grown = np.zeros((size, self.dimension), np.float32)
            grown[: len(self._rows)] = self._rows
            self._rows = grown
