"""How well does each source answer? Counts, times, reasons and pauses, kept between starts.

A source that fails three times in a row is paused, at first half a minute, then twice as long
each time, up to an hour; one answer ends that. Also kept: the words of questions that a source
answered, for choosing among many. A small private file outside the vault.
"""

from __future__ import annotations

import json
import logging
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sidelight.config import write_private

log = logging.getLogger(__name__)

FAILURES_TO_PAUSE = 3
FIRST_PAUSE_S = 30.0
LONGEST_PAUSE_S = 3_600.0
TIMES_KEPT = 20  # of which the median is the typical time
OUTCOMES_KEPT = 50  # of which the share of failures is the error rate
WORDS_KEPT = 200  # of questions a source answered
SAVE_EVERY_S = 5.0


@dataclass(slots=True)
class Record:
    """What is known of one source; moments are seconds since 1970."""

    last_success: float | None = None
    last_failure: float | None = None
    reason: str = ""  # of the last failure
    remedy: str = ""
    streak: int = 0  # failures since the last success
    paused_until: float = 0.0
    times_ms: list[float] = field(default_factory=list)
    outcomes: list[bool] = field(default_factory=list)
    words: dict[str, int] = field(default_factory=dict)

    @property
    def typical_ms(self) -> float | None:
        """The median time of its answers; None before the first."""
        return round(statistics.median(self.times_ms), 1) if self.times_ms else None

    @property
    def error_rate(self) -> float | None:
        """The share of failures among the last asks; None before the first."""
        if not self.outcomes:
            return None
        return round(self.outcomes.count(False) / len(self.outcomes), 3)


class Health:
    """The records of all sources of one vault. Thread-safe.

    Args:
        path: where they are kept; a file that cannot be read counts as none.
        now: the clock, in seconds since 1970.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._lock = threading.RLock()
        self._saved_at = 0.0
        self._dirty = False
        self._records = _read(path)

    def of(self, name: str) -> Record:
        """What is known of a source."""
        with self._lock:
            return self._records.setdefault(name, Record())

    def pause_left(self, name: str) -> float:
        """Seconds for which a source is still left alone; 0 if it may be asked."""
        return max(0.0, self.of(name).paused_until - self._now())

    def answered(self, name: str, spent_ms: float, words: Iterable[str] = ()) -> None:
        """A source answered; `words` are those of a question it had evidence for."""
        with self._lock:
            record = self.of(name)
            record.last_success = self._now()
            record.streak, record.paused_until = 0, 0.0
            record.times_ms = [*record.times_ms, round(spent_ms, 1)][-TIMES_KEPT:]
            record.outcomes = [*record.outcomes, True][-OUTCOMES_KEPT:]
            for word in words:
                record.words[word] = record.words.get(word, 0) + 1
            if len(record.words) > WORDS_KEPT:
                best = sorted(record.words.items(), key=lambda item: (-item[1], item[0]))
                record.words = dict(best[: WORDS_KEPT // 2])
            self._save_soon()

    def resume(self, name: str) -> None:
        """Ends a pause; the next failure begins one again."""
        with self._lock:
            record = self.of(name)
            record.streak = min(record.streak, FAILURES_TO_PAUSE - 1)
            record.paused_until = 0.0
            self._save_soon()

    def failed(self, name: str, reason: str, remedy: str) -> None:
        """A source failed; after the third time in a row it is paused."""
        with self._lock:
            record = self.of(name)
            record.last_failure = self._now()
            record.reason, record.remedy = reason, remedy
            record.streak += 1
            record.outcomes = [*record.outcomes, False][-OUTCOMES_KEPT:]
            if record.streak >= FAILURES_TO_PAUSE:
                pause = FIRST_PAUSE_S * 2 ** min(record.streak - FAILURES_TO_PAUSE, 20)
                record.paused_until = self._now() + min(pause, LONGEST_PAUSE_S)
            self._save_soon()

    def forget(self, names: Iterable[str]) -> None:
        """Drops what is known of sources that are no longer there."""
        with self._lock:
            kept = set(names)
            gone = [name for name in self._records if name not in kept]
            for name in gone:
                del self._records[name]
            self._dirty = self._dirty or bool(gone)

    def save(self) -> None:
        """Writes what changed; a full disk costs only the memory of it."""
        with self._lock:
            if not self._dirty:
                return
            value = {name: asdict(record) for name, record in self._records.items()}
            self._dirty, self._saved_at = False, time.monotonic()
            try:
                write_private(self._path, json.dumps(value, ensure_ascii=False) + "\n")
            except OSError as error:
                log.warning("source health not kept: %s", error.strerror)

    def _save_soon(self) -> None:
        self._dirty = True
        if time.monotonic() - self._saved_at > SAVE_EVERY_S:
            self.save()


def _read(path: Path) -> dict[str, Record]:
    try:
        value = json.loads(path.read_text("utf-8"))
        return {str(name): _record(one) for name, one in value.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        log.warning("source health begins anew: %s", type(error).__name__)
        return {}


def _record(value: Mapping[str, Any]) -> Record:
    record = Record(**value)
    numbers = (record.streak, record.paused_until, *record.times_ms, *record.words.values())
    if not all(isinstance(number, int | float) for number in numbers):
        raise ValueError("not a record")
    return record
