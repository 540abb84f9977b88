"""Which files are never read? Obsidian's own setting, `.sidelightignore` and ours.

Excluded means: not opened, not searched; the name may still be a link's target. Hidden
means: as if it were not there (names that start with a dot, the configuration folder).
"""

from __future__ import annotations

import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pathspec
import re2

from sidelight.config import Settings
from sidelight.types import Problem

IGNORE_FILE = ".sidelightignore"
_MOST_RULES = 10_000_000  # bytes of a file of rules; a larger one is none
# What an expression can fail with: the engines have errors of their own, and Python's gives up
# on huge repeats and deep nesting in its own ways.
_NOT_UNDERSTOOD = (ValueError, re.error, re2.error, OverflowError, RecursionError)
_POSIX_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "word": "0-9A-Z_a-z", "xdigit": "0-9A-Fa-f", "space": " \t", "blank": " \t",
}  # fmt: skip


class Expression(Protocol):
    """A compiled regular expression of either engine."""

    def search(self, string: str, /) -> Any:
        """A match anywhere, or None."""


@dataclass(frozen=True)
class Exclusions:
    """The rules in force for one vault; immutable, load again after a change."""

    folders: tuple[str, ...] = ()  # lower-cased path prefixes from userIgnoreFilters
    patterns: tuple[Expression, ...] = ()
    ignore: pathspec.GitIgnoreSpec | None = None
    config_folder: str = ".obsidian"
    faults: tuple[tuple[str, Problem], ...] = ()  # of rules, with the file they stand in

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the rules; a wrong one excludes nothing."""
        return tuple(problem for _, problem in self.faults)

    @classmethod
    def load(cls, vault: Path, settings: Settings) -> Exclusions:
        """Reads `app.json` of the configuration folder and `.sidelightignore`.

        A file that cannot be read or parsed excludes nothing and is named in `faults`.
        """
        config_folder = settings.config_folder.strip("/")
        of_app: list[Problem] = []
        of_file: list[Problem] = []
        of_setting: list[Problem] = []
        folders, patterns = _user_ignore_filters(vault / config_folder / "app.json", of_app)
        lines = _understood(_ignore_lines(vault / IGNORE_FILE, of_file), of_file)
        lines += _understood(settings.excluded, of_setting)
        named = (
            (f"{config_folder}/app.json", of_app),
            (IGNORE_FILE, of_file),
            ("the setting excluded", of_setting),
        )
        return cls(
            folders=folders,
            patterns=patterns,
            ignore=_specification(lines) if lines else None,
            config_folder=config_folder,
            faults=tuple((place, problem) for place, found in named for problem in found),
        )

    def hidden(self, path: str) -> bool:
        """True for what does not exist in Obsidian: dot names and the configuration folder."""
        if path.startswith(".") or "/." in path:
            return True
        folder, path = _nfc(self.config_folder), _nfc(path)
        return bool(folder) and (path == folder or path.startswith(folder + "/"))

    def excluded(self, path: str) -> bool:
        """True for files that must never be read."""
        if self.hidden(path):
            return True
        path = _nfc(path)  # macOS and people spell é in two ways; a rule means both
        lowered = path.lower()
        if any(lowered.startswith(folder) for folder in self.folders):
            return True
        if any(pattern.search(path) for pattern in self.patterns):
            return True
        return self.ignore is not None and self.ignore.match_file(path)


def _user_ignore_filters(
    file: Path, problems: list[Problem]
) -> tuple[tuple[str, ...], tuple[Expression, ...]]:
    """Obsidian's excluded files: a path prefix, or a regular expression between slashes."""
    try:
        content = json.loads(_text_of(file))
    except FileNotFoundError:
        return (), ()
    except (OSError, ValueError, RecursionError) as error:
        message = f"Obsidian's settings ({file.name}) cannot be read: {error}."
        problems.append(Problem("app-json-unreadable", message))
        return (), ()
    filters = content.get("userIgnoreFilters") if isinstance(content, dict) else None
    folders, patterns = [], []
    for entry in filters if isinstance(filters, list) else ():
        if not isinstance(entry, str) or not entry.strip():
            continue
        if len(entry) > 2 and entry.startswith("/") and entry.endswith("/"):
            try:
                patterns.append(_expression(_nfc(entry[1:-1])))
            except _NOT_UNDERSTOOD as error:
                message = f"The excluded-files expression {entry[:80]} is not understood: {error}."
                problems.append(Problem("exclusion-invalid", message))
        else:
            folders.append(_nfc(entry).lstrip("/").lower())
    return tuple(folders), tuple(patterns)


def _expression(pattern: str) -> Expression:
    """A person's regular expression, in linear time wherever RE2 understands it.

    Obsidian's are JavaScript's: one that looks around (RE2 cannot) still has to exclude what
    it names, so Python's own engine takes it.
    """
    options = re2.Options()
    options.log_errors = False  # it would write the pattern to standard error
    try:
        compiled: Expression = re2.compile(f"(?i){pattern}", options)
    except re2.error:
        compiled = re.compile(pattern, re.IGNORECASE)
    return compiled


def _ignore_lines(file: Path, problems: list[Problem]) -> list[str]:
    try:
        return re.split(r"\r\n|\r|\n", _text_of(file))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        problems.append(Problem("ignore-unreadable", f"{IGNORE_FILE} cannot be read: {error}."))
        return []


def _text_of(file: Path) -> str:
    """The text of a file of rules; a pipe in its place is not waited for.

    Raises:
        OSError, ValueError: it cannot be read, or is no text.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(file, flags), "rb") as opened:
        about = os.fstat(opened.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError("it is no file")
        if about.st_size > _MOST_RULES:
            raise OSError("it is too large")
        return opened.read(_MOST_RULES).decode("utf-8-sig")


def _understood(lines: Iterable[str], problems: list[Problem]) -> list[str]:
    kept = []
    for line in lines:
        pattern = _without_classes(_nfc(line))
        try:
            _specification([pattern])
        except _NOT_UNDERSTOOD as error:
            said = error.args[0] if error.args else error
            said = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
            problems.append(Problem("exclusion-invalid", f"Pattern '{line[:80]}': {said}."))
        else:
            kept.append(pattern)
    return kept


def _specification(lines: list[str]) -> pathspec.GitIgnoreSpec:
    """The lines as one; its expressions are compiled when it is first asked."""
    specification = pathspec.GitIgnoreSpec.from_lines(lines)
    specification.match_file("a")
    return specification


def _without_classes(line: str) -> str:
    """`[[:digit:]]` as `[0-9]`: gitignore knows the classes, pathspec takes them literally."""
    return re.sub(r"\[:(\w+):\]", lambda found: _POSIX_CLASSES.get(found[1], found[0]), line)


def _nfc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)
