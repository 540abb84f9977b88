"""Which headings does a body have, where that can be seen without parsing it?

The parser is the authority; these are for the many notes in which every line that starts with
hashes is a heading, and nothing else is one. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# What may hide a heading from a look at line starts: code, HTML, comments, maths, definitions.
_FENCES = ("```", "~~~")
_HIDING = (*_FENCES, "<", "%%", "$$", "]:")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
# An indented heading, or what underlines one if text stands above it.
_SUSPECT = re.compile(r"\n(?:[ \t]+#|[ \t]*(?:=+|-+)[ \t]*(?=\n|\Z))")
_HEADING = re.compile(r"(#{1,6})(|[ \t]+.*?)(?:[ \t]+#+)?[ \t]*")
_SUSPECT_STARTS = frozenset(" \t=-")


def plain_body(lines: Sequence[str]) -> str | None:
    """The lines of a body, each after a line feed, its code blanked.

    None where something else than a line that starts with hashes may be or hide a heading.
    """
    text = "\n".join(lines)
    if any(fence in text for fence in _FENCES):
        text = "\n".join(_without_code(lines))
    if any(mark[0] in text and mark in text for mark in _HIDING):  # one character is quick
        return None
    text = "\n" + text
    if _SUSPECT_STARTS.isdisjoint({line[:1] for line in lines}):
        return text
    for found in _SUSPECT.finditer(text):
        above = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if found[0].endswith("#") or above.strip():
            return None
    return text


def _without_code(lines: Sequence[str]) -> list[str]:
    """Blanks fenced code that starts at the very start of a line: no list or quote holds it."""
    left: list[str] = []
    fence = ""
    for line in lines:
        stripped = line.strip(" \t") if fence else line
        if fence and stripped.startswith(fence) and not stripped.strip(fence[0]):
            inner = len(line) - len(line.lstrip(" ")) < 4 and not line.startswith("\t")
            fence = "" if inner else fence
        elif not fence and (opened := _FENCE.match(line)):
            fence = opened[1] or opened[2]
        elif not fence:
            left.append(line)
            continue
        left.append("")
    return left


def plain_headings(text: str, first: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The headings of a body as `plain_body` gives it; its first line is line `first` of the note."""
    open_headings: list[tuple[int, str]] = []
    number, start = first - 1, 0
    at = text.find("#")  # one character is quick
    while at >= 0:
        if text[at - 1] != "\n":
            at = text.find("#", at + 1)
            continue
        number += text.count("\n", start, at)
        start = at
        end = text.find("\n", at)
        found = _HEADING.fullmatch(text, at, len(text) if end < 0 else end)
        if found:
            level = len(found[1])
            while open_headings and open_headings[-1][0] >= level:
                open_headings.pop()
            open_headings.append((level, found[2].strip()))
            yield number, tuple(text for _, text in open_headings)
        at = text.find("#", at + 1)
