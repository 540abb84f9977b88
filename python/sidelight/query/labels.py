"""How are the names of a note that matched put into words? Only for those that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sidelight.store.kept import KeptNames
from sidelight.store.rows import Field


class Written:
    """How names are written: those of the kept index, and behind them those that came since.

    Numbers given anew begin another one, so a query keeps to the one that it was answered from.
    """

    def __init__(self, kept: KeptNames | None) -> None:
        self._kept = kept
        self._first = 0 if kept is None else len(kept.note)
        self.since: list[Field] = []

    def of(self, name: int) -> tuple[str, str]:
        """The kind of a name and its label."""
        if self._kept is None or name >= self._first:
            field = self.since[name - self._first]
            return field.kind, field.label
        return self._kept.kinds[self._kept.kind.item(name)], self._kept.label[name]


@dataclass(frozen=True, slots=True)
class Labels(Sequence[tuple[str, ...]]):
    """Which names of each found note match, put into words when asked: of 150 notes 20 are shown.

    Attributes:
        written: how they are.
        targets: of all names.
        names, scores: that match, and what each scores.
        starts, ends: which of these are a note's, of each note.
    """

    written: Written
    targets: NDArray[np.int32]
    names: NDArray[np.int32] | NDArray[np.intp]
    scores: NDArray[np.float64]
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> list[tuple[str, ...]]: ...
    def __getitem__(self, place: int | slice) -> tuple[str, ...] | list[tuple[str, ...]]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        part = slice(self.starts[place], self.ends[place])
        names, scores = self.names[part], self.scores[part]
        near = scores >= scores.max() / 2
        written = map(self.written.of, names[near].tolist())
        targets = self.targets[names[near]].tolist()
        best = sorted(
            zip((-scores[near]).tolist(), targets, written, strict=True),
            key=lambda found: (found[0], found[1], found[2][1]),
        )
        return tuple(dict.fromkeys(_label(*name) for _, _, name in best))


def _label(kind: str, label: str) -> str:
    if kind in ("title", "folder", "attachment"):
        return kind
    if kind == "tag":
        return f"tag: #{label}"
    return f"{kind}: {label}"
