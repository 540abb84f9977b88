"""How long each stage took. Carries no note or query text; logs only durations and sizes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stopwatch:
    """Durations of named stages in milliseconds; nested names by a dot (`recall.bm25`)."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._spent: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Adds the time spent inside to `name`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, (time.perf_counter() - started) * 1000)

    def add(self, name: str, spent_ms: float) -> None:
        """Adds a duration measured elsewhere (another thread)."""
        self._spent[name] = self._spent.get(name, 0.0) + spent_ms

    def timing_ms(self) -> dict[str, Any]:
        """`{"total": …, stage: …, "recall": {channel: …}}`, rounded to microseconds."""
        timing: dict[str, Any] = {"total": round((time.perf_counter() - self._started) * 1000, 3)}
        for name, spent in self._spent.items():
            head, _, tail = name.partition(".")
            if tail:
                timing.setdefault(head, {})[tail] = round(spent, 3)
            else:
                timing[head] = round(spent, 3)
        return timing
