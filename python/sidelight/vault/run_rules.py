"""Which run of pieces is a passage? Rules 4 and 5 of the live citation resolver.

They work on any pieces (lines, sentences, the lines of a card) and know no files. Every rule
prefers no answer to a wrong one; where this is stricter than the rules as published, the
docstring of the function says so. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass
from operator import eq

from sidelight.types import Match, Passage
from sidelight.vault.pieces import Pieces, Span, normalise, normalise_path, raw_columns
from sidelight.vault.rivals import is_another
from sidelight.vault.similar_run import Mask, Run, TooManyError, similar_places
from sidelight.vault.similarity import ratio

# A text of fewer letters and digits is like too many others to be found by likeness.
MIN_LETTERS = 6
# The conformance set says that what it calls similar scores 0.80 by words too, and what it
# refuses at most 0.60.
MIN_WORDS_ALIKE = 0.65
_TASK = re.compile(r"(?<![^ ])\[.\](?= )")


@dataclass(frozen=True, slots=True)
class Found:
    """A run of pieces that is the passage."""

    first: int
    last: int
    match: Match
    why: str
    at: int = 0  # of an exact match: where it starts in `Pieces.joined`


@dataclass(frozen=True, slots=True)
class Lost:
    """Why there is no such run."""

    why: str


class Sought:
    """A passage beside the pieces of the note it was indexed from.

    Args:
        passage: what the index kept of it.
        old: the pieces it is among.
        elsewhere: N of what stood beside these, in other cards of the canvas.
    """

    def __init__(self, passage: Passage, old: Pieces, elsewhere: Container[str] = ()) -> None:
        self.old = old
        self.elsewhere = elsewhere
        self.text = normalise(passage.text)
        self.path = normalise_path(passage.heading_path)
        lines = (passage.start_line or 1, passage.end_line or len(old.lines))
        self.first, self.last = old.covering(lines, passage.columns)
        self.extent = lines[1] - lines[0] + 1
        self.open_start = self.open_end = False
        if passage.columns is not None and self.first <= self.last and old.columns is not None:
            # Cut at a size limit, it need not begin and end where sentences do.
            self.extent = self.last - self.first + 1
            self.open_start = old.columns[self.first][0] < passage.columns[0]
            self.open_end = old.columns[self.last][1] > passage.columns[1]

    def find(self, pieces: Pieces) -> list[Span]:
        """Rule 4's candidates."""
        return pieces.find(self.text, self.open_start, self.open_end)

    def columns(self, pieces: Pieces, found: Found, line: str) -> tuple[int, int]:
        """The columns of a run on its one line; inside its pieces where the passage was cut."""
        assert pieces.columns is not None  # only asked for sentences
        start, end = pieces.columns[found.first][0], pieces.columns[found.last][1]
        if found.match is Match.EXACT and (self.open_start or self.open_end):
            skipped = found.at - pieces.starts[found.first]
            start, end = raw_columns(line, start, end, skipped, len(self.text))
        return start, end

    def unaccounted(self, pieces: Pieces) -> list[bool]:
        """Rule 5: the body pieces that were not there, outside the passage, before.

        Blank lines are no pieces, so they neither count as neighbours nor break a run.
        """
        known = self.old.counts
        inside = set(self.old.norms[self.first : self.last + 1])
        free = [
            norm in inside or (norm not in known and norm not in self.elsewhere)
            for norm in pieces.norms
        ]
        free[: pieces.body] = [False] * pieces.body
        return free


PathOf = Callable[[int], tuple[str, ...]]


def find_run(
    sought: Sought,
    new: Pieces,
    old_path: PathOf,
    new_path: PathOf,
    own: Callable[[], Mask],
    old_own: Callable[[], Mask],
) -> Found | Lost:
    """Rules 4 and 5 on any pieces.

    Args:
        sought: the passage.
        new: the pieces of the note as it is now.
        old_path: normalised heading path of a piece as indexed; asked only if it matters.
        new_path: the same of a piece as it is now.
        own: for every piece of `new`, whether its path is the passage's.
        old_own: the same of the pieces as indexed.
    """
    if not sought.text:
        return Lost("the passage has no text")
    if candidates := sought.find(new):
        return _choose_exact(sought, candidates, new, old_path, new_path)
    return _choose_similar(sought, new, own, old_own)


def _choose_exact(
    sought: Sought,
    candidates: list[Span],
    new: Pieces,
    old_path: PathOf,
    new_path: PathOf,
) -> Found | Lost:
    """Rule 4: the same text; of several the one under the same heading, with the same ordinal."""
    known = sought.find(sought.old)
    here = [span for span in known if (span.first, span.last) == (sought.first, sought.last)]
    if len(here) != 1:
        return Lost("the index does not hold the passage, once, where it says")
    cited = here[0]
    if len(known) == len(candidates) == 1:  # the general case below, without heading paths
        return _exact_at(candidates[0], "the text is found once")
    if sought.open_start or sought.open_end:  # others may be cut out of other sentences
        whole = sought.old.text(cited.first, cited.last)
        known = [span for span in known if sought.old.text(span.first, span.last) == whole]
        candidates = [s for s in candidates if new.text(s.first, s.last) == whole]
    own = [span for span in candidates if new_path(span.first) == sought.path]
    if own:
        known_own = [span for span in known if old_path(span.first) == sought.path]
        if len(own) != len(known_own) or cited not in known_own:
            return Lost("the number of copies under its heading has changed")
        return _exact_at(own[known_own.index(cited)], "the text is found under its heading")
    others = [span for span in known if span != cited]
    taken = {old_path(span.first) for span in others}
    left = [span for span in candidates if new_path(span.first) not in taken]
    if len(left) != 1:
        return Lost("the text is found, but it may be another copy")
    then = Counter(old_path(span.first) for span in known)
    now = Counter(new_path(span.first) for span in candidates)
    vanished = [span for span in others if now[old_path(span.first)] < then[old_path(span.first)]]
    moved = any(now[path] > then[path] for path in taken)
    if vanished and (moved or not _stands_most_like(cited, vanished, sought.old, left[0], new)):
        return Lost("the text is found, but another copy has vanished")
    return _exact_at(left[0], "the only copy that was not there before")


def _exact_at(span: Span, why: str) -> Found:
    """A run with the passage's own text."""
    return Found(span.first, span.last, Match.EXACT, why, span.at)


def _stands_most_like(
    cited: Span,
    vanished: list[Span],
    old: Pieces,
    candidate: Span,
    new: Pieces,
) -> bool:
    """Whether a copy has more of the cited one's neighbours than of any other's.

    Rule 4 alone would take the last copy left for the cited one, whichever of them it is.
    """
    here = new.neighbours(candidate.first, candidate.last)
    own = set(old.norms[cited.first : cited.last + 1])

    def shared(span: Span) -> int:
        return sum(map(eq, old.neighbours(span.first, span.last), here))

    def shared_at_most(span: Span) -> int:  # a copy beside it may be what is gone
        there = old.neighbours(span.first, span.last)
        return sum(was == now or was in own for was, now in zip(there, here, strict=True))

    return shared(cited) > max(map(shared_at_most, vanished))


def _choose_similar(
    sought: Sought, new: Pieces, own: Callable[[], Mask], old_own: Callable[[], Mask]
) -> Found | Lost:
    """Rule 5: the most similar text, if no other place is similar too."""
    try:
        places = similar_places(
            sought.text, new, sought.unaccounted(new), 2 * sought.extent + 2, own
        )
        outcome = _one_place(places, own)
        if isinstance(outcome, Lost):
            return outcome
        if _too_short(sought.text, new.text(outcome.first, outcome.last)):
            return Lost("the text is gone, and too short to be found by likeness")
        if _only_marks_alike(sought.text, new.text(outcome.first, outcome.last)):
            return Lost("what is like the passage has other words")
        place = next(p for p in places if (p.first, p.last) == (outcome.first, outcome.last))
        if is_another(place, (sought.first, sought.last), sought.old, new, own, old_own):
            return Lost("what is like the passage is more like another text that changed too")
    except TooManyError:
        return Lost("too many lines are like the passage")
    return outcome


def _too_short(text: str, now: str) -> bool:
    """Whether a text is like too many others; not if all that changed is the tick of a task."""
    return letters(text) < MIN_LETTERS and _TASK.sub("[ ]", text) != _TASK.sub("[ ]", now)


def _only_marks_alike(text: str, now: str) -> bool:
    """Whether it is brackets, bars and backticks that make two texts alike, not their words."""
    was, here = ("".join(filter(str.isalnum, _TASK.sub("", each))) for each in (text, now))
    return ratio(was, here) < MIN_WORDS_ALIKE


def _one_place(places: list[Run], own: Callable[[], Mask]) -> Found | Lost:
    if not places:
        return Lost("nothing is like the passage")
    if len(places) == 1:
        return Found(places[0].first, places[0].last, Match.SIMILAR, "the text has changed")
    under = own()
    mine = [place for place in places if under[place.first]]
    if len(mine) != 1:
        return Lost("several places are like the passage")
    why = "the text has changed; the only like it under its heading"
    return Found(mine[0].first, mine[0].last, Match.SIMILAR, why)


def letters(text: str) -> int:
    """Letters and digits of a text, of any script."""
    return sum(map(str.isalnum, text))
