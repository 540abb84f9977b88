"""Which notes does a query's filter let through?

A filter is a small tree of frozen conditions; `matches` walks it over a note's own view. Reads
no file and no index itself: the view does, as late as it can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol

import re2

from sidelight.language.folding import fold, fold_case
from sidelight.language.matching import holds


class NoteView(Protocol):
    """What conditions ask of a note; everything is asked only when a condition needs it."""

    @property
    def path(self) -> str:
        """Vault path with `/`."""
        ...

    @property
    def tags(self) -> Collection[str]:
        """Tags of body and frontmatter, without `#`."""
        ...

    @property
    def properties(self) -> Mapping[str, Any]:
        """Frontmatter as YAML 1.2 core values; empty where there is none."""
        ...

    @property
    def date(self) -> date | None:
        """The day the note is about: by a property, its name or its last change."""
        ...

    def text(self) -> str:
        """The whole note, frontmatter too, lines joined by a line feed."""
        ...

    def lines(self) -> Sequence[str]:
        """Its lines."""
        ...

    def sections(self) -> Iterable[str]:
        """The text of each section: a heading with what stands before the next heading."""
        ...


class Scope(StrEnum):
    """The part of a note that one condition must find everything in."""

    NOTE = "note"
    PATH = "path"
    FILE = "file"
    LINE = "line"
    SECTION = "section"


@dataclass(frozen=True, slots=True)
class Text:
    """Stands there in any spelling; whole words where it is a bare word of an alphabet."""

    text: str
    whole_words: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression matches (RE2 syntax, any case, linear time)."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Within:
    """Some line (section, the path, ...) fulfils `condition` on its own."""

    scope: Scope
    condition: Filter


@dataclass(frozen=True, slots=True)
class Tag:
    """The note has the tag or one below it, in any case."""

    tag: str


@dataclass(frozen=True, slots=True)
class Has:
    """The note has the property, with a value that fulfils `value` if there is one."""

    name: str
    value: Filter | None = None


@dataclass(frozen=True, slots=True)
class Compare:
    """A property's number or date stands below or above one; `operator` is `<` or `>`."""

    operator: str
    value: str


@dataclass(frozen=True, slots=True)
class Dated:
    """The note's day is `since` or later, and before `until`; a note without a day is out."""

    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Not:
    """`condition` does not hold."""

    condition: Filter


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Some part holds."""

    parts: tuple[Filter, ...]


Filter = Text | Pattern | Within | Tag | Has | Compare | Dated | Not | All | Either

# Cheap conditions are asked first, so that a note's text is read only when it can matter.
_COST: dict[type, int] = {Tag: 0, Has: 0, Dated: 0, Within: 1, Text: 2, Pattern: 2}


def matches(condition: Filter, note: NoteView) -> bool:
    """Whether `note` fulfils `condition`."""
    match condition:
        case All(parts):
            return all(matches(part, note) for part in sorted(parts, key=cost))
        case Either(parts):
            return any(matches(part, note) for part in sorted(parts, key=cost))
        case Not(inner):
            return not matches(inner, note)
        case Tag(tag):
            return has_tag(tag, note.tags)
        case Has(name, value):
            return _has_property(name, value, note.properties)
        case Dated(since, until):
            return _is_dated(note.date, since, until)
        case Within(scope, inner):
            return any(_text_fulfils(inner, part) for part in _parts(scope, note))
        case _:
            return _text_fulfils(condition, _name(note)) or _text_fulfils(condition, note.text())


def with_slashes(condition: Filter) -> Filter:
    """The same of vault paths, which have slashes on Windows, too; patterns stay as they are."""
    match condition:
        case Text(text, whole_words):
            return Text(text.replace("\\", "/"), whole_words)
        case Not(inner):
            return Not(with_slashes(inner))
        case All(parts) | Either(parts):
            return type(condition)(tuple(map(with_slashes, parts)))
        case _:
            return condition


def cost(condition: Filter) -> int:
    """How much of a note a condition must read: 0 none of its text, 1 some, 2 all."""
    match condition:
        case All(parts) | Either(parts):
            return max(map(cost, parts), default=0)
        case Not(inner):
            return cost(inner)
        case Within(scope):
            return 0 if scope in (Scope.PATH, Scope.FILE) else 2
        case _:
            return _COST.get(type(condition), 2)


def has_tag(wanted: str, tags: Iterable[str]) -> bool:
    """Whether one of `tags` is `wanted` or below it: `a` holds `a/b`, not `c/a`."""
    tag = _folded(wanted.lstrip("#").rstrip("/"))
    return any(own == tag or own.startswith(tag + "/") for own in map(_folded, tags))


_DATE = re.compile(
    r"(?<!\d)(\d{4})(?:[-/._年](\d{1,2})(?:[-/._月](\d{1,2})(?!\d)日?)?|(\d{2})(\d{2}))?(?!\d)"
)


def read_date(text: str) -> date | None:
    """The first full date in `text` (2025-01-31, 2025/1/31, 20250131, 2025年1月31日), if real."""
    for match in _DATE.finditer(text):
        year, month, day = match[1], match[2] or match[4], match[3] or match[5]
        if month and day:
            try:
                return date(int(year), int(month), int(day))
            except ValueError:
                continue
    return None


def read_day(text: str) -> date | None:
    """The day that a whole `text` names; the first one of a month or year."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = match[1], match[2] or match[4] or "1", match[3] or match[5] or "1"
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


# JavaScript's way to write a character, which Obsidian's users know and RE2 does not.
_UNICODE_ESCAPE = re.compile(r"\\u\{?([0-9a-fA-F]{4,6})\}?")


@lru_cache(maxsize=100)
def compiled(pattern: str) -> Callable[[str], Any] | None:
    """Search function of a person's regular expression; None if it is not valid.

    RE2 syntax and its guarantee: linear time whatever the pattern. Any case, `^` and `$` at
    lines; a pattern that begins with `(?-i)` tells cases apart.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20  # bytes; RE2's own default
    try:
        return re2.compile("(?im)" + _UNICODE_ESCAPE.sub(r"\\x{\1}", pattern), options).search  # type: ignore[no-any-return]
    except (re2.error, UnicodeError):
        return None


def _parts(scope: Scope, note: NoteView) -> Iterable[str]:
    match scope:
        case Scope.PATH:
            return (note.path,)
        case Scope.FILE:
            return (_name(note),)
        case Scope.LINE:
            return note.lines()
        case Scope.SECTION:
            return note.sections()
        case _:
            return (note.text(),)


def _name(note: NoteView) -> str:
    return note.path.rsplit("/", 1)[-1]


def _text_fulfils(condition: Filter, text: str) -> bool:
    """Whether one piece of text fulfils a condition on text."""
    match condition:
        case Text(wanted, whole_words):
            return holds(wanted, text, whole_words)
        case Pattern(pattern):
            search = compiled(pattern)
            return search is not None and search(_encodable(text)) is not None
        case All(parts):
            return all(_text_fulfils(part, text) for part in parts)
        case Either(parts):
            return any(_text_fulfils(part, text) for part in parts)
        case Not(inner):
            return not _text_fulfils(inner, text)
        case Compare(operator, value):
            return _compares(text, operator, value)
        case _:
            return False


def _encodable(text: str) -> str:
    """`text` without lone surrogates, which RE2 cannot take."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _has_property(name: str, value: Filter | None, properties: Mapping[str, Any]) -> bool:
    wanted = _folded(name)
    for key, own in properties.items():
        if _folded(str(key)) == wanted and (
            value is None or any(_text_fulfils(value, text) for text in _value_texts(own))
        ):
            return True
    return False


def _value_texts(value: Any) -> list[str]:
    """A property's values as written: each of a list; `null` for an empty one."""
    if value is None:
        return ["null"]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, Mapping):
        return [text for own in value.values() for text in _value_texts(own)]
    if isinstance(value, list | tuple):
        return [text for own in value for text in _value_texts(own)] or ["null"]
    return [str(value)]


def _compares(text: str, operator: str, value: str) -> bool:
    """Numbers as numbers, dates as dates; what is neither compares as nothing."""
    try:
        return _in_order(float(text), float(value), operator)
    except ValueError:
        own, other = read_date(text), read_day(value)
        return own is not None and other is not None and _in_order(own, other, operator)


def _in_order(own: Any, other: Any, operator: str) -> bool:
    return bool(own < other if operator == "<" else own > other)


def _is_dated(day: date | None, since: date | None, until: date | None) -> bool:
    if day is None:
        return False
    return (since is None or day >= since) and (until is None or day < until)


def _folded(text: str) -> str:
    return fold_case(fold(text).text)


def expression(condition: Filter) -> str:
    """The filter as one could type it."""
    match condition:
        case Text(text, whole_words):
            return text if whole_words else f'"{text}"'
        case Pattern(pattern):
            return f"/{pattern}/"
        case Within(scope, inner):
            return f"{scope.value}:{_bracketed(inner)}"
        case Tag(tag):
            return f"tag:#{tag.lstrip('#')}"
        case Has(name, value):
            return f'["{name}"]' if value is None else f'["{name}":{_bracketed(value)}]'
        case Compare(operator, value):
            return f"{operator}{value}"
        case Dated(since, until):
            return f"after:{since}" if since is not None else f"before:{until}"
        case Not(inner):
            return f"-{_bracketed(inner)}"
        case All(parts):
            return " ".join(map(_bracketed, parts))
        case Either(parts):
            return " OR ".join(map(_bracketed, parts))


def _bracketed(condition: Filter) -> str:
    typed = expression(condition)
    return f"({typed})" if isinstance(condition, All | Either) else typed
