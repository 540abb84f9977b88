"""Is this text, or is it data that nobody searches? Drawings, base64, minified code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

# Shorter lines are cheap to index and seldom data.
LONG_LINE = 300
_BLOB = re.compile(r"[A-Za-z0-9+/=_%\-]{120,}")
_PART_OF_BLOB = re.compile(r"[A-Za-z0-9+/=_%\-]{40,}")
_DATA_ADDRESS = re.compile(r"!?\[[^\]]*\]\(data:[^,\s)]*,?")
# Neither says anything about the words around it.
_URL_OR_TAG = re.compile(r"\b[A-Za-z][A-Za-z0-9+.\-]*://[^\s)>\]]+|<[^<>]{1,200}>")
_DRAWING = re.compile(r'"type"\s*:\s*"excalidraw|^[ \t>]*`{3,}[ \t]*compressed-json', re.MULTILINE)
# A line of prose in Latin letters has a blank every six characters or so; minified code and
# data have one in twenty or fewer. Scripts without blanks are told by their letters.
_MIN_BLANKS = 1 / 20
# Prose has one of these marks in thirty characters, minified code and JSON one in five;
# formulas have braces too, and backslashes.
_CODE_MARKS = '{}();="'
_MAX_MARKS = 0.15
_MIN_TEX = 0.01


def is_drawing_note(path: str, data: Mapping[str, Any] | None) -> bool:
    """True for a note that the Excalidraw plug-in keeps a drawing in."""
    return path.lower().endswith(".excalidraw.md") or "excalidraw-plugin" in (data or {})


def is_drawing(text: str) -> bool:
    """True for the JSON of a drawing, plain or compressed."""
    if "excalidraw" not in text and "compressed-json" not in text:
        return False
    return _DRAWING.search(text, 0, 2_000) is not None


class Data(Enum):
    """What a line that is no prose consists of."""

    BLOB = "blob"  # base64 and the like, maybe with words around it
    CODE = "code"  # minified code, JSON, data without blanks


def data_kind(line: str) -> Data | None:
    """What a long line is if it is no prose; None for prose and for shorter lines.

    Addresses and HTML tags do not count: a sentence with a long link is a sentence.
    """
    if len(line) < LONG_LINE:
        return None
    line = _URL_OR_TAG.sub(" ", line)
    if len(line) < LONG_LINE or not has_words(line):  # a ruler is no data
        return None
    if sum(len(match.group()) for match in _BLOB.finditer(line)) >= LONG_LINE:
        return Data.BLOB
    if len(line.encode("utf-8", "replace")) > 1.2 * len(line):
        return None  # mostly letters of other scripts
    blanks = line.count(" ")
    if blanks < len(line) * _MIN_BLANKS:
        return Data.CODE
    marks = sum(map(line.count, _CODE_MARKS))
    minified = marks > len(line) * _MAX_MARKS and line.count("\\") < len(line) * _MIN_TEX
    return Data.CODE if minified else None


def is_data_line(line: str) -> bool:
    """True for a long line that is no prose, or holds a blob."""
    return data_kind(line) is not None


def is_data_part(part: str, kind: Data | None) -> bool:
    """True if a part of a line of that kind is data itself, not words beside a blob."""
    if kind is not Data.BLOB:
        return kind is Data.CODE
    part = _DATA_ADDRESS.sub("", part)
    blob = sum(len(match.group()) for match in _PART_OF_BLOB.finditer(part))
    return blob > len(part) / 2 or not has_words(part)


def has_words(text: str) -> bool:
    """True if there is a letter or digit in the text at all."""
    return any(char.isalnum() for char in text)
