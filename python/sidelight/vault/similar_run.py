"""Which run of pieces is most like a passage, and is it the only one? (rule 5)

The rule is quadratic as written: every run, scored by difflib. Here a run is scored only if
its length and its longest common subsequence, both upper bounds of the score, still allow it
to matter; beyond a fixed amount of work the answer is a refusal, never a guess.
Pure; which pieces may take part and what a heading path is, the caller knows (`relocate`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from rapidfuzz.distance import LCSseq

from sidelight.vault.pieces import Pieces
from sidelight.vault.similarity import matched

THRESHOLD = 0.75  # the conformance rules
# What one search may cost, in characters compared 64 at a time (about 10 ms a million on the
# reference machine) and in characters scored exactly (about 100 ns each for alike texts).
BOUND_BUDGET = 1_500_000
SCORE_BUDGET = 150_000
_OVERHEAD = 250  # of one comparison, in the same unit
# With too many runs to compare, those that share less than this part of the passage's
# four-character pieces are left out: no text a person edited keeps 3/4 of its characters
# and so few of these.
_SHARED = 0.2
_GRAM = 4
_SAMPLE = 96  # runs tried before all of them are compared
_TABLE = 1 << 16
_MULTIPLIER = np.uint16(40_503)  # odd, near 2^16 divided by the golden ratio (Knuth)


@dataclass(frozen=True, slots=True)
class Run:
    """A run of pieces with its score; `bound` is never below it."""

    first: int
    last: int
    extent: int
    bound: float
    score: float = 0.0

    def touches(self, other: Run) -> bool:
        """Whether the two share a piece."""
        return self.first <= other.last and other.first <= self.last


Spans = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""Runs as rows of first and last piece, shape (n, 2)."""
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""One truth value a piece."""


class TooManyError(Exception):
    """So much is alike that telling it apart would take longer than an answer may."""


def similar_places(
    wanted: str,
    pieces: Pieces,
    free: Sequence[bool],
    max_extent: int,
    own: Callable[[], Mask],
) -> list[Run]:
    """The places that are like the passage, best first, as far as they decide.

    The best run (highest score, then fewest lines, then first) is the first place; the best of
    those that share nothing with it the next, and so on. The list ends early where more places
    cannot change the outcome: after two under the indexed heading path.

    Args:
        wanted: N of the passage.
        pieces: of the note as it is now.
        free: for every piece, whether it may be part of a run.
        max_extent: longest run allowed, in `Pieces.extent`.
        own: for every piece, whether it stands under the indexed heading path; asked only if
            there is more than one place.

    Raises:
        TooManyError: the budget is used up.
    """
    spans = _spans(len(wanted), pieces, free, max_extent)
    if _cost(wanted, spans) > BOUND_BUDGET:
        return _places_in_haystack(wanted, pieces, spans, own)
    return _places(wanted, pieces, _bounded(wanted, pieces, spans), own, _Budget())


def _spans(length: int, pieces: Pieces, free: Sequence[bool], max_extent: int) -> Spans:
    """First and last piece of every run whose length alone does not rule it out."""
    allowed = np.asarray(free, dtype=bool)
    firsts = np.flatnonzero(allowed)
    if not len(firsts):
        return np.empty((0, 2), dtype=np.int64)
    starts, ends, places = pieces.starts_array, pieces.ends_array, np.asarray(pieces.places)
    shortest = -(-length * 3 // 5)  # 2 * min / (sum) >= 3/4 on both sides
    longest = length * 5 // 3
    fences = np.append(np.flatnonzero(~allowed), len(allowed))
    stop = fences[np.searchsorted(fences, firsts)]
    stop = np.minimum(stop, np.searchsorted(ends, starts[firsts] + longest, "right"))
    stop = np.minimum(stop, np.searchsorted(places, places[firsts] + max_extent))
    low = np.maximum(firsts, np.searchsorted(ends, starts[firsts] + shortest))
    counts = np.maximum(stop - low, 0)
    first = np.repeat(firsts, counts)
    step = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack((first, np.repeat(low, counts) + step))


def _cost(wanted: str, spans: Spans) -> int:
    words = -(-len(wanted) // 64)
    return len(spans) * (words * len(wanted) + _OVERHEAD)


def _bounded(wanted: str, pieces: Pieces, spans: Spans) -> list[Run]:
    """The runs whose longest common subsequence allows the threshold, likeliest first."""
    kept = []
    for first, last in spans.tolist():
        text = pieces.text(first, last)
        total = len(wanted) + len(text)
        common = LCSseq.similarity(wanted, text, score_cutoff=-(-3 * total // 8))
        if common:
            kept.append(Run(first, last, pieces.extent(first, last), 2.0 * common / total))
    kept.sort(key=lambda run: (-run.bound, run.extent, run.first))
    return kept


class _Budget:
    def __init__(self) -> None:
        self.left = SCORE_BUDGET

    def spend(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            raise TooManyError


def _best(wanted: str, pieces: Pieces, runs: Iterable[Run], budget: _Budget) -> Run | None:
    """The run with the highest score of at least the threshold; fewest lines, then first."""
    best: Run | None = None
    for run in runs:
        if best and run.bound < best.score:
            break
        text = pieces.text(run.first, run.last)
        total = len(wanted) + len(text)
        needed = max(THRESHOLD, best.score if best else 0.0) * total / 2
        budget.spend(total)
        common = matched(wanted, text, int(needed))
        if common is None or (score := 2.0 * common / total) < THRESHOLD:
            continue
        scored = Run(run.first, run.last, run.extent, run.bound, score)
        if best is None or _order(scored) < _order(best):
            best = scored
    return best


def _order(run: Run) -> tuple[float, int, int]:
    return -run.score, run.extent, run.first


def _places(
    wanted: str,
    pieces: Pieces,
    runs: Sequence[Run],
    own: Callable[[], Mask],
    budget: _Budget,
) -> list[Run]:
    places: list[Run] = []
    while runs:
        best = _best(wanted, pieces, runs, budget)
        if best is None:
            break
        places.append(best)
        runs = [run for run in runs if not run.touches(best)]
        if len(places) > 1:  # only places under the indexed path still matter
            mine = own()
            if sum(bool(mine[place.first]) for place in places) > 1:
                break
            runs = _near_own(runs, mine)
    return places


def _near_own(runs: Sequence[Run], own: Mask) -> list[Run]:
    mine = sorted((run.first, run.last) for run in runs if own[run.first])
    starts = [first for first, _ in mine]
    reach = list(accumulate((last for _, last in mine), max))  # furthest end so far

    def near(run: Run) -> bool:
        at = bisect_right(starts, run.last) - 1
        return at >= 0 and reach[at] >= run.first

    return [run for run in runs if near(run)]


def _places_in_haystack(
    wanted: str, pieces: Pieces, spans: Spans, own: Callable[[], Mask]
) -> list[Run]:
    """The same for a note with very many changed lines.

    Two places under the indexed path, or one with nothing else there, decide whatever stands
    elsewhere, so that path is looked at first.
    """
    under = spans[own()[spans[:, 0]]]
    if _two_apart(wanted, pieces, under):
        raise TooManyError
    alike = _sharing(wanted, pieces, spans)
    budget = _Budget()
    if _cost(wanted, alike) > BOUND_BUDGET:
        mine = alike[own()[alike[:, 0]]]
        if not len(mine) or _cost(wanted, mine) > BOUND_BUDGET:
            raise TooManyError
        places = _places(wanted, pieces, _bounded(wanted, pieces, mine), own, budget)
        if not places:
            raise TooManyError
        return places
    return _places(wanted, pieces, _bounded(wanted, pieces, alike), own, budget)


def _two_apart(wanted: str, pieces: Pieces, spans: Spans) -> bool:
    """Whether a sample of runs holds two that are like the passage and far from each other."""
    seen: int | None = None
    step = max(1, len(spans) // _SAMPLE)
    for run in _bounded(wanted, pieces, spans[::step][:_SAMPLE]):
        if seen is not None and abs(run.first - seen) <= 4 * run.extent:
            continue  # one run might touch both
        text = pieces.text(run.first, run.last)
        needed = THRESHOLD * (len(wanted) + len(text)) / 2
        if matched(wanted, text, -int(-needed // 1)) is not None:
            if seen is not None:
                return True
            seen = run.first
    return False


def _sharing(wanted: str, pieces: Pieces, spans: Spans) -> Spans:
    if len(wanted) < 2 * _GRAM:
        return spans
    known = np.zeros(_TABLE, dtype=bool)
    known[_grams(wanted)] = True
    shared = np.concatenate(([0], np.cumsum(known.take(_grams(pieces.joined)), dtype=np.int32)))
    begins, ends = pieces.starts_array[spans[:, 0]], pieces.ends_array[spans[:, 1]]
    inside = shared[np.maximum(ends - _GRAM + 1, begins)] - shared[begins]
    return spans[inside >= _SHARED * (len(wanted) - _GRAM + 1)]


def _grams(text: str) -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
    """A 16-bit hash of every four characters in a row; sums of products that may overflow."""
    wide = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    codes = wide.astype(np.uint16)  # characters of other planes may collide: a filter only
    count = len(codes) - _GRAM + 1
    mixed = codes[:count].copy()
    for step in range(1, _GRAM):
        mixed *= _MULTIPLIER
        mixed += codes[step : step + count]
    return mixed
