"""Some passages, looked at all at once: those of a kept index by number, any others as objects.

A query looks at some 600 passages and shows 20: columns of numbers are a tenth of the time of an
object and a look-up a passage. Locked by the catalog, as what it looks into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from sidelight.store.rows import ChunkRow

if TYPE_CHECKING:
    from sidelight.store.kept import KeptIndex

Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Selection(Sequence[ChunkRow]):
    """Passages in some order; each is made when someone asks for it.

    Attributes:
        kept: the index that `numbers` count in; None if there is none.
        numbers: of each in the kept index, -1 for one that came since; shape (n,).
        others: those that came since, by their place.
        at: makes one of the kept index, by number.
    """

    kept: KeptIndex | None
    numbers: Numbers
    others: Mapping[int, ChunkRow]
    at: Callable[[int], ChunkRow] | None = None

    @classmethod
    def of(
        cls,
        kept: KeptIndex | None,
        chunks: Sequence[ChunkRow],
        at: Callable[[int], ChunkRow] | None = None,
    ) -> Selection:
        """The given passages."""
        if isinstance(chunks, Selection):
            return chunks
        numbers = np.full(len(chunks), -1, np.intp)
        if kept is not None:
            numbers[:] = np.fromiter(map(attrgetter("number"), chunks), np.intp, len(chunks))
        new = np.flatnonzero(numbers < 0).tolist()
        return cls(kept, numbers, {place: chunks[place] for place in new}, at)

    @classmethod
    def joined(cls, kept: KeptIndex | None, parts: Iterable[Selection]) -> Selection:
        """One after the other."""
        others: dict[int, ChunkRow] = {}
        numbers: list[Numbers] = []
        at = None
        size = 0
        for part in parts:
            at = at or part.at
            others |= {size + place: chunk for place, chunk in part.others.items()}
            numbers.append(part.numbers)
            size += len(part)
        return cls(kept, np.concatenate([np.zeros(0, np.intp), *numbers]), others, at)

    def there(self) -> Numbers:
        """Places where a passage is; there may be none of the number -1."""
        known = self.numbers >= 0
        known[list(self.others)] = True
        return np.flatnonzero(known)

    def take(self, places: Numbers) -> Selection:
        """Those passages alone, in that order."""
        others: Mapping[int, ChunkRow] = {}
        if self.others:
            there = enumerate(places.tolist())
            others = {new: self.others[old] for new, old in there if old in self.others}
        return Selection(self.kept, self.numbers[places], others, self.at)

    def once_each(self) -> tuple[Selection, Numbers]:
        """Each passage at its first place, and at which of these places each stands now."""
        keys = self.numbers.copy()
        known: dict[str, int] = {}
        for place, chunk in self.others.items():
            keys[place] = -1 - known.setdefault(chunk.chunk_id, len(known))
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        now = np.empty(len(first), np.intp)
        now[order] = np.arange(len(first))
        return self.take(first[order]), now[which]

    def by_rank(self, *scores: NDArray[np.float64]) -> Numbers:
        """Their places by scores, the first of them first, higher ones before lower ones.

        Ties by path, section, chunk, as the numbers of a kept index are.
        """
        order = np.lexsort((self.numbers, *(-one for one in reversed(scores))))
        if not self.others:
            return order
        same = np.ones(len(order) - 1, bool)
        for one in scores:
            same &= np.diff(one[order]) == 0
        new = np.flatnonzero(~same) + 1
        for first, end in pairwise([0, *new.tolist(), len(order)]):
            if end - first > 1:
                order[first:end] = sorted(order[first:end], key=lambda place: self[place].order)
        return order

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> ChunkRow: ...
    @overload
    def __getitem__(self, place: slice) -> list[ChunkRow]: ...
    def __getitem__(self, place: int | slice) -> ChunkRow | list[ChunkRow]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        number = self.numbers.item(place)
        if number < 0:
            return self.others[place]
        assert self.at is not None
        return self.at(number)

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

    def paths(self) -> list[str]:
        """Of the note of each."""
        paths = [] if self.kept is None else self.kept.paths
        notes = self.column(lambda kept, numbers: kept.passage_notes[numbers], lambda _: -1, int)
        return [
            paths[note] if note >= 0 else self.others[place].path
            for place, note in enumerate(notes.tolist())
        ]

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
