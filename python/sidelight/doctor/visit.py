"""What do the checks look at? One visit to a vault, with its costly parts made once."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from sidelight.config import Places, Settings
from sidelight.errors import ModelError, SidelightError
from sidelight.models.embedder import Embedder
from sidelight.models.registry import load_embedder
from sidelight.types import Finding, IndexState, NoteState, Problem, Progress
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import is_note, scan

_CLOCKS_DIFFER_NS = 86_400 * 10**9  # a day: time zones of careless programs are less
SHOWN = 5  # names given in one finding; the rest are counted


class OpenIndex(Protocol):
    """What of an open engine the doctor asks."""

    def status(self) -> tuple[IndexState, Progress]:
        """What the index covers and what goes on."""

    @property
    def problem(self) -> str:
        """Why the vault is waited for or scanned instead of watched; "" if all is well."""

    def failed_notes(self) -> Sequence[NoteState]:
        """The notes that could not be indexed, or only in part."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a walk over the vault found; paths of files that are notes."""

    files: tuple[str, ...]  # all that can be a link's target
    notes: tuple[str, ...]  # to be read
    excluded: tuple[str, ...]
    too_large: tuple[str, ...]
    placeholders: tuple[str, ...]  # in the cloud only
    from_the_future: tuple[str, ...]  # by the computer's clock
    problems: tuple[tuple[str, Problem], ...]
    folders: int


@dataclass
class Visit:
    """A vault, its settings and its index, as they are now."""

    places: Places
    settings: Settings
    index: OpenIndex | None
    index_error: SidelightError | None
    settings_error: SidelightError | None
    allowed_origins: Sequence[str]
    vault_error: SidelightError | None = None  # why the vault cannot be looked into
    loaded: Embedder | None = None  # the model, where the caller has it loaded already

    @cached_property
    def model(self) -> Embedder | ModelError:
        """The embedding model, or why it cannot be loaded."""
        if self.loaded is not None:
            return self.loaded
        try:
            return load_embedder(self.settings.embedding_model)
        except ModelError as error:
            return error

    @cached_property
    def discovery(self) -> dict[str, Any] | None:
        """What a daemon of this vault left of its address; None if none did."""
        try:
            content = json.loads(self.places.discovery.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    @property
    def daemon_pid(self) -> int | None:
        """The process of that daemon, which may have ended."""
        pid = self.discovery.get("pid") if self.discovery is not None else None
        return pid if isinstance(pid, int) else None

    @cached_property
    def exclusions(self) -> Exclusions:
        """The rules in force."""
        return Exclusions.load(self.places.vault, self.settings)

    @cached_property
    def listing(self) -> Listing:
        """One walk over the vault; opens no note."""
        groups: dict[str, list[str]] = {"notes": [], "excluded": [], "large": [], "cloud": []}
        problems: list[tuple[str, Problem]] = []
        folders = {""}
        files: list[str] = []
        future: list[str] = []
        soon = time.time_ns() + _CLOCKS_DIFFER_NS

        def report(path: str, problem: Problem) -> None:
            problems.append((path, problem))

        for entry in scan(self.places.vault, self.exclusions, self.settings, report):
            folders.add(entry.path.rpartition("/")[0])
            files.append(entry.path)
            if entry.mtime_ns > soon:
                future.append(entry.path)
            if not is_note(entry.path):
                continue
            if self.exclusions.excluded(entry.path):
                groups["excluded"].append(entry.path)
            elif entry.placeholder:
                groups["cloud"].append(entry.path)
            elif entry.size > self.settings.max_note_bytes:
                groups["large"].append(entry.path)
            else:
                groups["notes"].append(entry.path)
        return Listing(
            files=tuple(files),
            notes=tuple(groups["notes"]),
            excluded=tuple(groups["excluded"]),
            too_large=tuple(groups["large"]),
            placeholders=tuple(groups["cloud"]),
            from_the_future=tuple(future),
            problems=tuple(problems),
            folders=len(folders),
        )


def ok(check: str, finding: str) -> Finding:
    """All is well."""
    return Finding(check, "ok", finding)


def info(check: str, finding: str, remedy: str = "") -> Finding:
    """Worth knowing; nothing has to be done."""
    return Finding(check, "info", finding, remedy)


def warning(check: str, finding: str, remedy: str) -> Finding:
    """Something works less well than it could."""
    return Finding(check, "warning", finding, remedy)


def error(check: str, finding: str, remedy: str) -> Finding:
    """Something does not work."""
    return Finding(check, "error", finding, remedy)


def named(items: Sequence[str]) -> str:
    """The first few items, and how many more there are."""
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return "; ".join(items[:SHOWN]) + more


def counted(number: int, noun: str, verb: str = "") -> str:
    """`1 note is`, `2 notes are`: a number with its noun and, if one is given, its verb."""
    plural = {"is": "are", "has": "have", "looks": "look", "lies": "lie"}
    said = f"{number:,} {noun}" + ("" if number == 1 else "s")
    return said if not verb else f"{said} {verb if number == 1 else plural[verb]}"
