"""Which notes are there but cannot be read now, and when are they looked at again?

A note in the cloud, without permission, held by another program, on a drive that fails: what was
indexed of it stays, its reason is listed, and it is looked at again by itself, less and less
often. Touches no file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

_FIRST_S = 2.0  # a program that saves holds its file for less; doubled at each try
_CEILING_S = 300.0  # one look costs 10 us, and nobody waits longer for a note without noticing

IN_THE_CLOUD = "its content lies in the cloud only"


@dataclass(slots=True)
class _Waiting:
    reason: str
    wait_s: float
    again_at: float  # on the clock


class OutOfReach:
    """The notes and folders that cannot be read now. One thread changes it.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[str, _Waiting] = {}

    def add(self, path: str, reason: str) -> None:
        """It could not be read, for this reason."""
        known = self._waiting.get(path)
        if known is None:
            again_at = self._clock() + _FIRST_S
            self._waiting = {**self._waiting, path: _Waiting(reason, _FIRST_S, again_at)}
        else:
            known.reason = reason

    def forget(self, paths: Iterable[str]) -> None:
        """They were read, or are gone."""
        gone = set(paths) & self._waiting.keys()
        if gone:
            self._waiting = {p: w for p, w in self._waiting.items() if p not in gone}

    def keep(self, paths: Collection[str]) -> None:
        """Forgets all but these."""
        self.forget(path for path in self._waiting if path not in paths)

    def due(self) -> set[str]:
        """What is to be looked at now; if it stays out of reach, next after twice the time."""
        now = self._clock()
        found = {path for path, waiting in self._waiting.items() if waiting.again_at <= now}
        for path in found:
            waiting = self._waiting[path]
            waiting.wait_s = min(2 * waiting.wait_s, _CEILING_S)
            waiting.again_at = now + waiting.wait_s
        return found

    def wait_s(self) -> float | None:
        """Seconds until something is due; 0 now, None never."""
        if not self._waiting:
            return None
        next_at = min(waiting.again_at for waiting in self._waiting.values())
        return max(0.0, next_at - self._clock())

    def reasons(self) -> dict[str, str]:
        """Why each is out of reach."""
        return {path: waiting.reason for path, waiting in self._waiting.items()}
