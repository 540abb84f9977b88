"""Every note's row, by path: those of a kept index are taken apart when someone asks for them.

Not locked: the catalog's lock covers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sidelight.store.kept import KeptIndex
from sidelight.store.rows import NoteHead, NoteRow
from sidelight.types import Link

_REMEMBERED = 1_024  # notes taken apart, some 10 kB each


class Notes(MutableMapping[str, NoteRow]):
    """The notes of one index.

    Attributes:
        kept: what it began with; None if it began empty.
        as_kept: which of its notes still stand as they are there.
        changed: the rows of all others.
    """

    def __init__(self) -> None:
        self.kept: KeptIndex | None = None
        self.as_kept: NDArray[np.bool_] = np.zeros(0, bool)
        self.changed: dict[str, NoteRow] = {}
        self._number: dict[str, int] = {}
        self._taken_apart: Callable[[int], NoteRow] | None = None

    def begin(self, kept: KeptIndex) -> None:
        """Takes in the notes of a kept index; there are none before."""
        self.kept = kept
        self.as_kept = np.ones(len(kept.paths), bool)
        self._number = dict(zip(kept.paths, range(len(kept.paths)), strict=True))
        self._taken_apart = lru_cache(_REMEMBERED)(kept.note)

    def __getitem__(self, path: str) -> NoteRow:
        row = self.changed.get(path)
        if row is not None:
            return row
        number = self._number[path]
        assert self._taken_apart is not None
        return self._taken_apart(number)

    def __setitem__(self, path: str, row: NoteRow) -> None:
        self._leave(path)
        self.changed[path] = row

    def __delitem__(self, path: str) -> None:
        if not self._leave(path):
            del self.changed[path]

    def __contains__(self, path: object) -> bool:
        return path in self._number or path in self.changed

    def __iter__(self) -> Iterator[str]:
        yield from self._number
        yield from self.changed

    def __len__(self) -> int:
        return len(self._number) + len(self.changed)

    def head(self, path: str) -> NoteHead | None:
        """As much of a note as costs nothing; None for an unknown path."""
        number = self._number.get(path)
        if number is None or self.kept is None:
            return self.changed.get(path)
        return self.kept.head(number)

    def links(self, path: str) -> tuple[Link, ...]:
        """Of a note, which is not taken apart for them; none of an unknown path."""
        number = self._number.get(path)
        if number is not None and self.kept is not None:
            return self.kept.links(number)
        row = self.changed.get(path)
        return () if row is None else row.links

    def heads(self) -> Iterator[NoteHead]:
        """Of all notes."""
        if self.kept is not None:
            yield from map(self.kept.head, self._number.values())
        yield from self.changed.values()

    def last_at(self) -> float:
        """When the newest was indexed, seconds since the epoch; 0 if there is none."""
        times = [row.indexed_at for row in self.changed.values()]
        if self.kept is not None:
            times += self.kept.column("indexed_at")[self.as_kept].tolist()
        return max(times, default=0.0)

    def read(self, path: str) -> NoteRow:
        """A note for a pass over all of them: it is not remembered."""
        number = self._number.get(path)
        if number is None or self.kept is None:
            return self.changed[path]
        return self.kept.note(number)

    def linking(self, key: str) -> Iterator[str]:
        """Paths of kept notes that stand as they are there and have a link with this key."""
        if self.kept is not None:
            place = self.kept.link_keys.find(key)
            numbers = [] if place < 0 else self.kept.linking[place].tolist()
            yield from (self.kept.paths[number] for number in numbers if self.as_kept[number])

    def _leave(self, path: str) -> bool:
        """A note does not stand any more as it is kept; whether it did."""
        number = self._number.pop(path, None)
        if number is None:
            return False
        self.as_kept[number] = False
        return True
