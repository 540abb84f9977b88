"""Which terms can a word, identifier, path or version be found by?

`split_identifier` gives the whole and its parts with their places: path and host components,
pieces between joiners, runs of dotted pieces, camel-case and digit pieces, the joined spelling
of what is hyphenated, forms without accents and English stems. Knows no dictionary and no
Chinese.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from sidelight.language.canonical import is_canonical_date
from sidelight.language.folding import fold_case, strip_accents
from sidelight.language.stemming import stem
from sidelight.types import TermKind


class Piece(NamedTuple):
    """A term of an identifier; `start` and `end` are places inside it."""

    term: str
    start: int
    end: int
    kind: TermKind


# A whole longer than this is nobody's query (minified code, base64); its parts still count.
_MAX_WHOLE = 100
_MAX_PART = 64
# A dotted name with more pieces than this (a sentence without spaces) gives no runs.
_MAX_DOTTED = 6
# Joiners from the loosest to the tightest.
_JOINERS = (":/\\?&=~,", "@", "+#%", ".", "-", "_", "'")
_LEVELS = tuple((joiners, re.compile(f"[^{re.escape(joiners)}]+")) for joiners in _JOINERS)
_HYPHENATED = re.compile(r"[^\W\d_]{1,12}(?:[-_][^\W_]{1,12}){1,3}")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_VERSION = re.compile(r"[vV](\d[\w.\-]*)")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


@lru_cache(maxsize=16_384)  # what the passages of an answer hold, again for each answer
def split_identifier(text: str) -> tuple[Piece, ...]:
    """Terms of one run of letters, digits and joiners, the whole first.

    No term comes twice for one place or for a place inside it.

    Args:
        text: folded, in its own case, without white space.
    """
    return _split(text)


@lru_cache(maxsize=65_536)  # the words of a vault that come again, by Zipf's law
def identifier_terms(text: str) -> tuple[str, ...]:
    """The terms of `split_identifier`, without their places."""
    if text.isascii() and is_simple_word(text):  # nearly all are
        term = text.lower()
        root = stem(term)
        terms = (term,) if root == term else (term, root)
        return terms if len(term) <= _MAX_WHOLE else ()
    return tuple([piece.term for piece in _split(text)])


def is_simple_word(text: str) -> bool:
    """Whether it has no parts: letters alone, none but the first a capital."""
    return text.isalpha() and (text.islower() or text[1:].islower())


def _split(text: str) -> tuple[Piece, ...]:
    if is_simple_word(text):
        return _simple_word(text)
    pieces = _Pieces()
    if not is_canonical_date(text):
        pieces.add(text, 0, len(text), TermKind.WORD)
    if _THOUSANDS.fullmatch(text):
        pieces.add(text.replace(",", ""), 0, len(text), TermKind.PART)
    pieces.split(text, 0, 0)
    return tuple(pieces.kept)


def _simple_word(text: str) -> tuple[Piece, ...]:
    """A word without joiners and inner capitals, and its other forms."""
    pieces = _Pieces()
    pieces.add(text, 0, len(text), TermKind.WORD)
    return tuple(pieces.kept)


class _Pieces:
    """Collects the terms of one identifier."""

    def __init__(self) -> None:
        self.kept: list[Piece] = []
        self._places: dict[str, list[tuple[int, int]]] = {}

    def add(self, text: str, start: int, end: int, kind: TermKind) -> None:
        """Keep a term and the forms people type for it."""
        term = fold_case(text)
        if len(term) > (_MAX_WHOLE if kind is TermKind.WORD else _MAX_PART):
            return
        self._keep(term, start, end, kind)
        bare = strip_accents(term)
        if bare and bare != term:
            self._keep(bare, start, end, TermKind.PART)
        root = stem(term)
        if root != term:
            self._keep(root, start, end, TermKind.PART)

    def _keep(self, term: str, start: int, end: int, kind: TermKind) -> None:
        places = self._places.setdefault(term, [])
        if not any(first <= start and end <= last for first, last in places):
            places.append((start, end))
            self.kept.append(Piece(term, start, end, kind))

    def split(self, text: str, offset: int, level: int) -> None:
        """Add the parts of `text`, which stands at `offset`, from joiner `level` on."""
        while level < len(_LEVELS) and not any(joiner in text for joiner in _LEVELS[level][0]):
            level += 1
        if level == len(_LEVELS):
            self._split_capitals(text, offset)
            return
        joiners, piece = _LEVELS[level]
        parts = [match.span() for match in piece.finditer(text)]
        if joiners == ".":
            self._add_runs(text, parts, offset)
        if joiners in "-_" and _HYPHENATED.fullmatch(text):
            joined = text.replace("-", "").replace("_", "")
            self.add(joined, offset, offset + len(text), TermKind.PART)
        for start, end in parts:
            self.add(text[start:end], offset + start, offset + end, TermKind.PART)
            self.split(text[start:end], offset + start, level + 1)

    def _split_capitals(self, text: str, offset: int) -> None:
        """Add camel-case and digit pieces; a single letter is no piece."""
        if text.isdigit() or (text.isalpha() and (text.islower() or text.isupper())):
            return
        parts = [match.span() for match in _CAMEL.finditer(text)]
        if len(parts) < 2:
            return
        for start, end in parts:
            if end - start > 1 or text[start].isdigit():
                self.add(text[start:end], offset + start, offset + end, TermKind.PART)

    def _add_runs(self, text: str, parts: list[tuple[int, int]], offset: int) -> None:
        """Add runs of two or more dotted pieces: `azure.com` of `portal.azure.com`."""
        version = _VERSION.match(text)
        if version:
            start, end = version.span(1)
            self.add(version[1], offset + start, offset + end, TermKind.PART)
        if not 2 < len(parts) <= _MAX_DOTTED:
            return
        for first, (start, _) in enumerate(parts):
            for _, end in parts[first + 1 :]:
                self.add(text[start:end], offset + start, offset + end, TermKind.PART)
