"""Is this text, or is it data that nobody searches? Drawings, base64, minified code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Shorter lines are cheap to index and seldom data.
LONG_LINE = 300
_BLOB = re.compile(r"[A-Za-z0-9+/=_%\-]{120,}")
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


def is_data_line(line: str) -> bool:
    """True for a long line that is no prose: base64, minified code, data without blanks."""
    if len(line) < LONG_LINE:
        return False
    blob = sum(len(match.group()) for match in _BLOB.finditer(line))
    if blob > len(line) / 2:
        return True
    if len(line.encode("utf-8", "replace")) > 1.2 * len(line):
        return False  # mostly letters of other scripts
    if line.count(" ") < len(line) * _MIN_BLANKS:
        return True
    marks = sum(map(line.count, _CODE_MARKS))
    return marks > len(line) * _MAX_MARKS and line.count("\\") < len(line) * _MIN_TEX


def has_words(text: str) -> bool:
    """True if there is a letter or digit in the text at all."""
    return any(char.isalnum() for char in text)
