"""Which characters of a passage are marks rather than words? For terms and snippets only.

A passage's own text is never changed; this gives a copy of the same length, so that places in
the one are places in the other.
"""

from __future__ import annotations

import re

# A callout's type with its fold sign, and a block id at the end of a line.
_MARKS = re.compile(
    r"^[ \t>]*>[ \t]*(\[![^\]\n]*\][+-]?)|(?:^|(?<=[\s>]))(\^[A-Za-z0-9-]+)[ \t]*$", re.MULTILINE
)


def without_marks(text: str) -> str:
    """The text with callout types and block ids blanked out, at the same length."""
    if "[!" not in text and "^" not in text:
        return text
    return _MARKS.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    group = 1 if match.group(1) is not None else 2
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    whole = match.group()
    return whole[:start] + " " * (end - start) + whole[end:]
