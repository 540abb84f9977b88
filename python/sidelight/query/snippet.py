"""Which short part of a passage shows best why it was found?

Picks the window with the most of the query in it, on one line, and marks what matched by code
points of the snippet. Whole words and characters only: a mark never ends inside a character
that is written with several code points. Reads nothing and ranks nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from sidelight.language.folding import fold
from sidelight.language.matching import find_spellings, spelling_pattern
from sidelight.language.occurrences import TermFinder
from sidelight.language.query_terms import QueryTerm
from sidelight.types import Snippet

_PHRASE_WEIGHT = 3.0
# Below this a term is a function word, or a pair inside a word that is marked as a whole.
_MIN_WEIGHT = 0.15
# A longer text is first narrowed to this many characters around its densest matches.
_MAX_TOKENIZED = 6_000
_LOOKED_FOR = 10  # heaviest terms that are looked for in a long text
_PER_TERM = 200  # places of one term that are looked at in a long text
_MAX_SHIFT = 24  # code points that a cut may move to spare a word or a character
_ELLIPSIS = "…"
# White space, control characters and halves of surrogate pairs: one space on one line.
_BLANK = r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]"
_BLANKS = re.compile(f"{_BLANK}+")
# Where a text loses some: first and wherever there are several. The second for a text that has
# only white space, in a third of the time.
_SHORTENED = re.compile(rf"\A{_BLANK}+|{_BLANK}{{2,}}")
_SHORTENED_SPACES = re.compile(r"\A\s+|\s{2,}")


class _Mark(NamedTuple):
    start: int
    end: int
    source: str
    weight: float


def snippet(
    text: str, query_terms: Sequence[QueryTerm], phrases: Sequence[str] = (), width: int = 200
) -> Snippet:
    """The part of `text` that holds most of the query, with the matches marked.

    Args:
        text: a passage; 400 kB are no trouble.
        query_terms: of `Terms.query_terms`, with `prefix` where the last word is unfinished.
        phrases: exact phrases, which count more than any word.
        width: code points of the passage shown at most, about.

    Returns:
        One line; highlights in order, apart from one another; `…` where the passage goes on.
    """
    return Snippets(query_terms, phrases).of(text, width)


class Snippets:
    """The snippets of one query.

    Args:
        query_terms, phrases: as for `snippet`.
    """

    def __init__(self, query_terms: Sequence[QueryTerm], phrases: Sequence[str] = ()) -> None:
        self._terms, self._phrases = query_terms, phrases
        # Weak terms are looked for where no other is; while the last word is unfinished among
        # all, as a word that it may stand for can be another term itself.
        self._typing = any(term.prefix for term in query_terms)
        strong = [t for t in query_terms if self._typing or t.weight >= _MIN_WEIGHT]
        self._strong = TermFinder(strong)

    @cached_property
    def _weak(self) -> TermFinder:
        return TermFinder([term for term in self._terms if term.weight < _MIN_WEIGHT])

    def of(self, text: str, width: int = 200) -> Snippet:
        """As `snippet`."""
        offset = 0
        if len(text) > _MAX_TOKENIZED:
            offset = _densest(text, self._terms, self._phrases)
        part = text[offset : offset + _MAX_TOKENIZED]
        marks = self._marks(part)
        start, end = _window(part, marks, width)
        start, end = _clean_start(part, start, marks), _clean_end(part, end, marks)
        cut = (offset + start > 0, offset + end < len(text))
        return _on_one_line(part, start, end, _merged(marks, start, end), cut)

    def _marks(self, text: str) -> list[_Mark]:
        """Every match of the query in `text`, by place."""
        marks = [
            _Mark(start, end, phrase, _PHRASE_WEIGHT)
            for phrase in self._phrases
            for start, end in find_spellings(phrase, text)
        ]
        folded = fold(text)
        words = self._strong.find(text, folded)
        if self._typing:
            words = [place for place in words if place.term.weight >= _MIN_WEIGHT]
        if not words and not marks:
            words = self._weak.find(text, folded)
        marks += [_Mark(start, end, term.source, term.weight) for start, end, term in words]
        return sorted(marks)


def _densest(text: str, terms: Sequence[QueryTerm], phrases: Sequence[str]) -> int:
    """Where a long text's part with the most different matches begins."""
    heaviest = sorted(terms, key=lambda term: -term.weight)[:_LOOKED_FOR]
    looked_for = [*phrases, *(t.source for t in heaviest if t.weight >= _MIN_WEIGHT)]
    places: list[_Mark] = []
    for source in dict.fromkeys(looked_for):
        pattern = spelling_pattern(source)
        if pattern is not None:
            found = islice(pattern.finditer(text), _PER_TERM)
            places.extend(_Mark(*match.span(), source, 1.0) for match in found)
    best, _ = _best_window(sorted(places), _MAX_TOKENIZED // 2)
    return max(0, best - _MAX_TOKENIZED // 4)


def _window(text: str, marks: Sequence[_Mark], width: int) -> tuple[int, int]:
    """The best `width` code points, with some text before the first match."""
    if len(text) <= width:
        return 0, len(text)
    first, last = _best_window(marks, width)
    spare = max(0, width - (last - first))
    start = max(0, first - min(spare // 2, width // 4))
    start = min(start, max(0, len(text) - width))
    return start, min(len(text), start + max(width, last - start))


def _best_window(marks: Sequence[_Mark], width: int) -> tuple[int, int]:
    """Start and end of the marks that weigh most together within `width`; the first of equals.

    Each source counts once in full, repeats a hundredth. Linear in the number of marks.
    """
    best, best_span = 0.0, (0, 0)
    weights: Counter[str] = Counter()
    score, left = 0.0, 0
    for right, mark in enumerate(marks):
        score += mark.weight if not weights[mark.source] else mark.weight / 100
        weights[mark.source] += 1
        while left < right and mark.end - marks[left].start > width:
            gone = marks[left]
            weights[gone.source] -= 1
            score -= gone.weight if not weights[gone.source] else gone.weight / 100
            left += 1
        if score > best + 1e-9:
            best, best_span = score, (marks[left].start, min(mark.end, marks[left].start + width))
    return best_span


def _clean_start(text: str, place: int, marks: Sequence[_Mark]) -> int:
    """`place` or a little after or before it, where no word and no character is cut."""
    if place == 0:
        return 0
    first = min((mark.start for mark in marks if mark.start >= place), default=len(text))
    for shift in range(_MAX_SHIFT):
        if place + shift <= first and not _is_inside_word(text, place + shift):
            return place + shift
    return _whole_character(text, place)


def _clean_end(text: str, place: int, marks: Sequence[_Mark]) -> int:
    if place >= len(text):
        return len(text)
    last = max((mark.end for mark in marks if mark.end <= place), default=0)
    for shift in range(_MAX_SHIFT):
        if place - shift >= last and not _is_inside_word(text, place - shift):
            return place - shift
    return _whole_character(text, place)


def _is_inside_word(text: str, place: int) -> bool:
    """Whether a cut at `place` divides a word of an alphabet, a number or a character."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if before.isalnum() and after.isalnum() and before < "\u2e80" and after < "\u2e80":
        return True
    return _joins(before, after)


def _whole_character(text: str, place: int) -> int:
    """`place` or the next earlier one that divides no character."""
    earlier = place
    while 0 < earlier < len(text) and _joins(text[earlier - 1], text[earlier]):
        earlier -= 1
    return earlier if place - earlier < 2 * _MAX_SHIFT else place


def _joins(before: str, after: str) -> bool:
    """Whether two code points belong to one character as people see it (roughly UAX 29)."""
    if after == "\u200d" or before == "\u200d" or "\ufe00" <= after <= "\ufe0f":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if "\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff":
        return True
    if "\u1160" <= after <= "\u11ff":  # vowel and final of a Hangul syllable
        return True
    return unicodedata.category(after) in ("Mn", "Mc", "Me")


def _merged(marks: Sequence[_Mark], start: int, end: int) -> list[tuple[int, int]]:
    """Marks inside the window, overlapping and touching ones as one."""
    merged: list[tuple[int, int]] = []
    for mark in marks:
        first, last = max(mark.start, start), min(mark.end, end)
        if first >= last:
            continue
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _on_one_line(
    text: str, start: int, end: int, marks: Sequence[tuple[int, int]], cut: tuple[bool, bool]
) -> Snippet:
    """The window with white space and control characters as single spaces, marks moved along."""
    window = text[start:end]
    plain, shortened = " ".join(window.split()), _SHORTENED_SPACES
    if not plain.isprintable():
        plain, shortened = _BLANKS.sub(" ", window).strip(" "), _SHORTENED
    blanks = []
    if marks and len(plain) < len(window):
        blanks = [match.span() for match in shortened.finditer(window)]
    opening = _ELLIPSIS if cut[0] else ""
    line = opening + plain
    highlights = (
        (len(opening) + _moved(first - start, blanks), len(opening) + _moved(last - start, blanks))
        for first, last in marks
    )
    kept = ((first, min(last, len(line))) for first, last in highlights)
    return Snippet(line + (_ELLIPSIS if cut[1] else ""), tuple((f, t) for f, t in kept if f < t))


def _moved(place: int, blanks: Sequence[tuple[int, int]]) -> int:
    """Where a place of the window is once each run of blanks is one space, the first none."""
    gone = 0
    for first, last in blanks:
        if first >= place:
            break
        one_stays = first > 0 and place >= last
        gone += min(place, last) - first - one_stays
    return place - gone
