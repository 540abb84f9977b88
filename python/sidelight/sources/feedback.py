"""What helped, what did not, and which questions found nothing? A local log, never sent.

One JSON object a line, in a private file outside the vault. The last word on a query and a
result counts. Knows no socket; reads and writes nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidelight.config import write_private
from sidelight.errors import SidelightError, UsageError
from sidelight.source_settings import OWN

HELPFUL, UNHELPFUL, NOTHING, WITHDRAWN = "helpful", "unhelpful", "nothing", "withdrawn"
VERDICTS = (HELPFUL, UNHELPFUL, WITHDRAWN)
MAX_BYTES = 5_000_000  # of the log: 15,000 entries; beyond it the older half is dropped
SHOWN = 20  # lines of a part of the report
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person said of one result of one query."""

    query: str
    ref: str
    verdict: str  # "helpful" | "unhelpful" | "withdrawn"
    source: str = OWN
    path: str = ""
    title: str = ""
    rank: int = 0
    channels: Mapping[str, int] | None = None  # ranks in the channels
    snapshot: str = ""  # of the index


class FeedbackLog:
    """The log of one vault. Thread-safe within a process; lines are appended whole."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now

    def record(self, verdict: Verdict) -> None:
        """Keeps what a person said.

        Raises:
            UsageError: it is no verdict.
            SidelightError: it cannot be written.
        """
        if verdict.verdict not in VERDICTS:
            raise UsageError(f"'verdict' must be one of {', '.join(VERDICTS)}.")
        entry = {name: getattr(verdict, name) for name in Verdict.__dataclass_fields__}
        self._append({**entry, "channels": dict(verdict.channels or {})})

    def found_nothing(self, query: str, snapshot: str) -> None:
        """Keeps that a finished query ended without evidence.

        Raises:
            SidelightError: it cannot be written.
        """
        self._append({"query": query, "verdict": NOTHING, "snapshot": snapshot})

    def entries(self) -> list[dict[str, Any]]:
        """Everything that was kept, oldest first; broken lines are left out."""
        try:
            lines = self._path.read_text("utf-8", "replace").split("\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._failure("read", error) from error
        return [entry for entry in map(_entry, lines) if entry is not None]

    def clear(self) -> int:
        """Deletes the log; how many entries it held."""
        count = len(self.entries())
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise self._failure("deleted", error) from error
        return count

    def _append(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps({"when": round(self._now(), 3), **entry}, ensure_ascii=False)
        data = (line + "\n").encode("utf-8", "replace")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        try:
            with _LOCK:
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._shorten()
                with open(os.open(self._path, flags, 0o600), "ab") as file:
                    file.write(data)
        except OSError as error:
            raise self._failure("written", error) from error

    def _shorten(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_size > MAX_BYTES:
                lines = self._path.read_text("utf-8", "replace").split("\n")
                write_private(self._path, "\n".join(lines[len(lines) // 2 :]))

    def _failure(self, what: str, error: OSError) -> SidelightError:
        return SidelightError(
            f"The feedback log {self._path} cannot be {what} ({error.strerror}).",
            "Check its permissions and free space.",
            code="FEEDBACK_UNAVAILABLE",
        )


def _entry(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line) if line.strip() else None
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    texts = (value.get("query"), value.get("verdict"))
    return value if all(isinstance(text, str) for text in texts) else None


# --------------------------------------------------------------------------- what it says


@dataclass(frozen=True, slots=True)
class Report:
    """What the log says; all counts, best first.

    Attributes:
        nothing: queries with how often they found nothing.
        unhelpful: (source, path) with how often it was unhelpful and how often helpful.
        sources: name with helpful and unhelpful results.
    """

    entries: int
    nothing: Sequence[tuple[str, int]]
    unhelpful: Sequence[tuple[str, str, int, int]]
    sources: Sequence[tuple[str, int, int]]


def report(entries: Sequence[Mapping[str, Any]]) -> Report:
    """The log in numbers."""
    nothing: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for entry in entries:
        if entry["verdict"] == NOTHING:
            key = _key(entry["query"])
            spelled.setdefault(key, entry["query"])
            nothing[key] += 1
    by_result: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    by_source: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in _last_words(entries).values():
        place = (str(entry.get("source", OWN)), str(entry.get("path", "")))
        by_result[place][entry["verdict"]] += 1
        by_source[place[0]][entry["verdict"]] += 1
    bad = [(*p, c[UNHELPFUL], c[HELPFUL]) for p, c in by_result.items() if c[UNHELPFUL]]
    bad.sort(key=lambda one: (-one[2], one[3], one[0], one[1]))
    sources = [(name, c[HELPFUL], c[UNHELPFUL]) for name, c in by_source.items()]
    sources.sort(key=lambda one: (-(one[1] - one[2]), one[0]))
    often = sorted(nothing.items(), key=lambda item: (-item[1], item[0]))
    return Report(len(entries), [(spelled[k], n) for k, n in often], bad, sources)


def render(found: Report) -> str:
    """The report for a terminal."""
    if not found.entries:
        return "The feedback log is empty."
    lines = [f"{found.entries} entries.", "", "Queries that found nothing:"]
    lines += [f"  {n:>4}  {query}" for query, n in found.nothing[:SHOWN]] or ["  none"]
    lines += ["", "Results that did not help (and how often they did):"]
    lines += [
        f"  {bad:>4} ({good})  {source}: {path}"
        for source, path, bad, good in found.unhelpful[:SHOWN]
    ] or ["  none"]
    lines += ["", "Sources by benefit (helpful, unhelpful):"]
    lines += [f"  {name}  {good}, {bad}" for name, good, bad in found.sources] or ["  none"]
    return "\n".join(lines)


def as_json(found: Report) -> dict[str, Any]:
    """The report for programs."""
    return {
        "entries": found.entries,
        "nothing": [{"query": query, "times": n} for query, n in found.nothing],
        "unhelpful": [
            {"source": source, "path": path, "unhelpful": bad, "helpful": good}
            for source, path, bad, good in found.unhelpful
        ],
        "sources": [
            {"source": name, "helpful": good, "unhelpful": bad} for name, good, bad in found.sources
        ],
    }


def topics(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The log as queries for `sidelight eval` and `calibrate`, by first appearance.

    A note of the vault that helped is relevant; notes that did not are neither right nor wrong.
    A query all of whose judged results were unhelpful counts as one the vault does not answer.
    Queries helped by other sources alone say nothing about the vault and are left out.
    """
    spelled: dict[str, str] = {}
    helped: dict[str, dict[str, None]] = defaultdict(dict)
    judged: dict[str, Counter[str]] = defaultdict(Counter)
    for (key, _), entry in _last_words(entries).items():
        spelled.setdefault(key, entry["query"])
        judged[key][entry["verdict"]] += 1
        if entry["verdict"] == HELPFUL and entry.get("source", OWN) == OWN and entry.get("path"):
            helped[key][str(entry["path"])] = None
    exported = []
    for number, (key, query) in enumerate(spelled.items(), 1):
        if helped[key]:
            relevant = [{"path": path} for path in helped[key]]
            exported.append({"id": f"f{number}", "query": query, "kind": "feedback",
                             "answerable": True, "relevant": relevant})  # fmt: skip
        elif not judged[key][HELPFUL]:
            exported.append({"id": f"f{number}", "query": query, "kind": "no-answer",
                             "answerable": False, "relevant": []})  # fmt: skip
    return exported


def export(entries: Sequence[Mapping[str, Any]], target: Path) -> int:
    """Writes `topics` as JSON lines; how many.

    Raises:
        UsageError: there is nothing to write.
    """
    lines = [json.dumps(topic, ensure_ascii=False) for topic in topics(entries)]
    if not lines:
        raise UsageError(
            "There is no feedback on results of the vault yet.",
            "Mark some results as helpful or not in the sidebar first.",
        )
    target.write_text("\n".join(lines) + "\n", "utf-8")
    return len(lines)


def _last_words(
    entries: Iterable[Mapping[str, Any]],
) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The last verdict on each query and result, without those that were withdrawn."""
    last: dict[tuple[str, str], Mapping[str, Any]] = {}
    for entry in entries:
        if entry["verdict"] not in VERDICTS:
            continue
        place = (_key(entry["query"]), str(entry.get("ref", "")))
        if entry["verdict"] == WITHDRAWN:
            last.pop(place, None)
        else:
            last[place] = entry
    return last


def _key(query: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", query).casefold().split())
