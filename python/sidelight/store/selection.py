"""Some passages, looked at all at once: those of a kept index by number, any others as objects.

A query looks at some 600 passages and shows 20: columns of numbers are a tenth of the time of an
object and a look-up a passage. Locked by the catalog, as what it looks into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sidelight.store.rows import ChunkRow

if TYPE_CHECKING:
    from sidelight.store.kept import KeptIndex

Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Selection:
    """Passages in some order.

    Attributes:
        kept: the index that `numbers` count in; None if there is none.
        numbers: of each in the kept index, -1 for one that came since; shape (n,).
        others: those that came since, by their place.
    """

    kept: KeptIndex | None
    numbers: Numbers
    others: Mapping[int, ChunkRow]

    @classmethod
    def of(cls, kept: KeptIndex | None, chunks: Sequence[ChunkRow]) -> Selection:
        """The given passages."""
        numbers = np.full(len(chunks), -1, np.intp)
        if kept is not None:
            numbers[:] = np.fromiter(map(attrgetter("number"), chunks), np.intp, len(chunks))
        new = np.flatnonzero(numbers < 0).tolist()
        return cls(kept, numbers, {place: chunks[place] for place in new})

    @classmethod
    def joined(cls, kept: KeptIndex | None, parts: Iterable[Selection]) -> Selection:
        """One after the other."""
        others: dict[int, ChunkRow] = {}
        numbers: list[Numbers] = []
        size = 0
        for part in parts:
            others |= {size + place: chunk for place, chunk in part.others.items()}
            numbers.append(part.numbers)
            size += len(part)
        return cls(kept, np.concatenate([np.zeros(0, np.intp), *numbers]), others)

    def __len__(self) -> int:
        return len(self.numbers)

    def column(
        self,
        kept: Callable[[KeptIndex, Numbers], NDArray[Any]],
        others: Callable[[Sequence[ChunkRow]], Any],
        kind: type,
    ) -> NDArray[Any]:
        """One value of each passage.

        Args:
            kept: gives those of passages of the kept index, by number.
            others: gives those of passages that came since.
            kind: of the values.
        """
        values: NDArray[Any] = np.zeros(len(self), kind)
        if self.kept is not None:
            old = self.numbers >= 0
            values[old] = kept(self.kept, self.numbers[old])
        if self.others:
            values[list(self.others)] = others(list(self.others.values()))
        return values

    def lengths(self) -> NDArray[np.int32]:
        """How many terms each has, with repeats."""
        return self.column(
            lambda kept, numbers: kept.of_passages("lengths", numbers),
            lambda chunks: [chunk.length for chunk in chunks],
            int,
        )

    def other_languages(self, languages: Sequence[str]) -> NDArray[np.bool_]:
        """Which are in none of these languages."""

        def in_kept(kept: KeptIndex, numbers: Numbers) -> NDArray[np.bool_]:
            others = np.array([one not in languages for one in kept.languages], bool)
            found: NDArray[np.bool_] = others[kept.of_passages("language_code", numbers)]
            return found

        return self.column(in_kept, lambda new: [c.language not in languages for c in new], bool)

    def codes(self, place: int) -> NDArray[np.int32]:
        """The distinct terms of one."""
        if place in self.others:
            return self.others[place].codes
        assert self.kept is not None
        bounds, number = self.kept.runs.bounds, self.numbers[place]
        return self.kept.runs.codes[bounds[number] : bounds[number + 1]]
