"""Where does a piece of text stand in another, whatever its spelling?

A phrase becomes a pattern in which every character stands for all its spellings (case, width,
traditional and simplified, composed and decomposed), so that long texts are searched without
being folded and every match has its place in the original. No words, no ranking.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import cache, lru_cache

from sidelight.language.folding import (
    INVISIBLE,
    composing_characters,
    fold,
    fold_character,
    folded_forms,
)

_BETWEEN = f"[{INVISIBLE}]*"
# Han characters and kana: words of theirs begin and end anywhere, and so do words beside them.
_UNSPACED = "\u3040-\u9fff\U00020000-\U0003ffff"


@lru_cache(maxsize=1_000)
def spelling_pattern(phrase: str, whole_words: bool = False) -> re.Pattern[str] | None:
    """Pattern of every spelling of `phrase`; white space matches any white space.

    Args:
        phrase: text as a person wrote it.
        whole_words: letters of alphabets may not go on at either end (`art` is not in
            `start`). Han characters and kana have no such ends.

    Returns:
        A pattern that runs in linear time, or None for a phrase without characters.
    """
    words = fold(phrase).text.split()
    if not words:
        return None
    spelled = r"\s+".join(_BETWEEN.join(map(_spellings, word)) for word in words)
    if whole_words:
        before = rf"(?<![^\W_{_UNSPACED}])" if _ends_open(words[0][0]) else ""
        after = rf"(?![^\W_{_UNSPACED}])" if _ends_open(words[-1][-1]) else ""
        spelled = f"{before}{spelled}{after}"
    return re.compile(spelled)


def find_spellings(phrase: str, text: str, whole_words: bool = False) -> list[tuple[int, int]]:
    """Places of `phrase` in `text` (code points, end exclusive), not overlapping, in order."""
    pattern = spelling_pattern(phrase, whole_words)
    if pattern is None:
        return []
    places = [match.span() for match in pattern.finditer(text)]
    if places or not _needs_folding(text):
        return places
    folded = fold(text)
    return [folded.span(*match.span()) for match in pattern.finditer(folded.text)]


def holds(phrase: str, text: str, whole_words: bool = False) -> bool:
    """Whether `phrase` stands in `text` in any spelling; an empty phrase stands in every text."""
    pattern = spelling_pattern(phrase, whole_words)
    if pattern is None or pattern.search(text):
        return True
    return _needs_folding(text) and pattern.search(fold(text).text) is not None


def is_whole_word(text: str, start: int, end: int) -> bool:
    """Whether no letters of alphabets go on at either end of a place in a text."""
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    goes_on = before and _ends_open(before) and _ends_open(text[start])
    return not (goes_on or (after and _ends_open(after) and _ends_open(text[end - 1])))


def _needs_folding(text: str) -> bool:
    """Whether `text` has ligatures or composed spellings that no pattern lists."""
    return not text.isascii() and not _unlisted().isdisjoint(text)


def _ends_open(character: str) -> bool:
    """Whether a word that ends with `character` could go on: letters and digits of alphabets."""
    return (
        character.isalnum() and not "\u3040" <= character <= "\u9fff" and character < "\U00020000"
    )


@cache
def _spellings(character: str) -> str:
    """A pattern for one folded character in all its spellings."""
    lower = fold_character(character)
    cased = {lower, lower.upper(), lower.title(), character}
    single = {c for c in cased if len(c) == 1}
    for form in tuple(single):
        single.update(_sources().get(form, ()))
    listed = "".join(re.escape(c) for c in sorted(single))
    decomposed = sorted({unicodedata.normalize("NFD", c) for c in cased if len(c) == 1} - single)
    choices = [f"[{listed}]", *map(re.escape, decomposed)]
    return choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})"


@cache
def _sources() -> dict[str, set[str]]:
    """Characters of the basic plane by the single character they fold to."""
    sources: dict[str, set[str]] = defaultdict(set)
    for character, form in folded_forms().items():
        if len(form) == 1 and character < "\U00010000":
            sources[form].add(character)
    return sources


@cache
def _unlisted() -> frozenset[str]:
    """Characters that `_spellings` does not list: ligatures, composing marks, the upper planes."""
    changing = {c for c, form in folded_forms().items() if len(form) > 1 or c >= "\U00010000"}
    return frozenset(changing | composing_characters())
