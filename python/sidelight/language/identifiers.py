"""Which parts can an identifier, path, version or compound word be found by?

`split_identifier` gives the whole and its parts with their places: path and host components,
pieces between joiners, runs of dotted pieces, camel-case and digit pieces, and the joined
spelling of what is hyphenated. Knows no dictionary and no Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from sidelight.language.folding import fold_case, strip_accents
from sidelight.types import TermKind


class Piece(NamedTuple):
    """A term of an identifier; `start` and `end` are places inside it."""

    term: str
    start: int
    end: int
    kind: TermKind


Add = Callable[[str, int, int, TermKind], None]

# A whole longer than this is nobody's query (minified code, base64); its parts still count.
_MAX_WHOLE = 100
# Longer parts are data, not words.
_MAX_PART = 64
# Joiners from the loosest to the tightest.
_LEVELS = tuple(
    re.compile(pattern)
    for pattern in (r"://|[/\\?&=~,]+", r"[@:]+", r"[+#%]+", r"\.+", r"-+", r"_+", r"'+")
)
_DOTTED = _LEVELS[3]
_JOINED = re.compile(r"[^\W\d_]{1,12}(?:[-_][^\W_]{1,12}){1,3}")
_CAMEL = re.compile(
    r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+",
)
_VERSION = re.compile(r"[vV](\d[\w.\-]*)")
# A dotted name with more pieces than this (a long sentence without spaces) gives no runs.
_MAX_DOTTED = 6


@lru_cache(maxsize=100_000)
def split_identifier(text: str) -> tuple[Piece, ...]:
    """Terms of one run of letters, digits and joiners, whole first, without repeats.

    Args:
        text: folded, in its own case, without white space.
    """
    found: dict[tuple[str, int, int], Piece] = {}

    def add(term: str, start: int, end: int, kind: TermKind) -> None:
        folded = fold_case(term)
        if len(folded) <= (_MAX_WHOLE if kind is TermKind.WORD else _MAX_PART):
            found.setdefault((folded, start, end), Piece(folded, start, end, kind))
            bare = strip_accents(folded)
            if bare and bare != folded:
                found.setdefault((bare, start, end), Piece(bare, start, end, TermKind.PART))

    add(text, 0, len(text), TermKind.WORD)
    _split(text, 0, 0, add)
    return _without_repeats(found.values())


def _without_repeats(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The first piece of each term that covers the same or an overlapping place."""
    kept: list[Piece] = []
    for piece in pieces:
        if not any(
            old.term == piece.term and old.start <= piece.start and piece.end <= old.end
            for old in kept
        ):
            kept.append(piece)
    return tuple(kept)


def _split(text: str, offset: int, level: int, add: Add) -> None:
    """Add the parts of `text`, which stands at `offset`, from joiner `level` on."""
    if level == len(_LEVELS):
        _split_atom(text, offset, add)
        return
    pieces = _between(_LEVELS[level], text)
    if len(pieces) == 1 and pieces[0] == (0, len(text)):
        _split(text, offset, level + 1, add)
        return
    if _LEVELS[level] is _DOTTED:
        _add_runs(text, pieces, offset, add)
    if _JOINED.fullmatch(text):
        add(re.sub("[-_]", "", text), offset, offset + len(text), TermKind.PART)
    for start, end in pieces:
        add(text[start:end], offset + start, offset + end, TermKind.PART)
        _split(text[start:end], offset + start, level + 1, add)


def _split_atom(text: str, offset: int, add: Add) -> None:
    """Add camel-case and digit pieces; a single letter is no piece."""
    pieces = [match.span() for match in _CAMEL.finditer(text)]
    if len(pieces) < 2:
        return
    for start, end in pieces:
        if end - start > 1 or text[start].isdigit():
            add(text[start:end], offset + start, offset + end, TermKind.PART)


def _add_runs(text: str, pieces: list[tuple[int, int]], offset: int, add: Add) -> None:
    """Add runs of two or more dotted pieces (`azure.com` of `portal.azure.com`, `3.2`)."""
    version = _VERSION.match(text)
    if version:
        add(version[1], offset + version.start(1), offset + version.end(1), TermKind.PART)
    if not 2 < len(pieces) <= _MAX_DOTTED:
        return
    for first, (start, _) in enumerate(pieces):
        for _, end in pieces[first + 1 :]:
            add(text[start:end], offset + start, offset + end, TermKind.PART)


def _between(joiner: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    """Places of the non-empty pieces between joiners."""
    pieces = []
    start = 0
    for match in joiner.finditer(text):
        if match.start() > start:
            pieces.append((start, match.start()))
        start = match.end()
    if start < len(text):
        pieces.append((start, len(text)))
    return pieces
