"""Which run of pieces is most like a passage, and is it the only one? (rule 5)

The rule is quadratic as written: every run, scored by difflib. Here a run is scored only if
its length and its longest common subsequence, both upper bounds of the score, still allow it
to be the best; beyond a fixed amount of work the answer is a refusal, never a guess.
Pure; which pieces may take part and what a heading path is, the caller knows (`relocate`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate
from math import ceil

import numpy as np
from rapidfuzz.distance import LCSseq

from sidelight.vault.pieces import Pieces
from sidelight.vault.similarity import matched

THRESHOLD = 0.75  # the conformance rules
# What one search may cost, in nanoseconds as measured on the reference machine: one common
# subsequence (bit-parallel: 64 characters of the passage a step), one exact score a character.
BUDGET = 15_000_000
_STEP, _COMPARISON, _SCORING, _QUEUEING = 4, 1_500, 150, 2_500
# With too many runs to compare, those that share less than this part of the passage's
# four-character pieces are left out: no text a person edited keeps 3/4 of its characters
# and so few of these.
_SHARED = 0.2
_GRAM = 4
_SAMPLE = 96  # runs tried before all of them are compared, within a quarter of the budget
_MOST = 50_000  # runs are listed
_FEW = 3_000  # runs can be queued; most are never compared
_LIKELIEST = 4  # of them are scored
_TABLE = 1 << 16
_BY_LENGTH, _BY_SUBSEQUENCE, _SCORED = range(3)  # what is known of a run's score
_MULTIPLIER = np.uint16(40_503)  # odd, near 2^16 divided by the golden ratio (Knuth)


@dataclass(frozen=True, slots=True)
class Run:
    """A run of pieces; its score, or what that is not above."""

    first: int
    last: int
    extent: int
    score: float


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
    those that share nothing with it the next, and so on. Places that cannot change the outcome
    are left out: those under other paths once one under the indexed heading path or two in all
    are known, and all that follow two under that path.

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
    allowed = np.asarray(free, dtype=bool)
    spans = _spans(len(wanted), pieces, allowed, max_extent)
    if spans is None:  # a place under the indexed path decides whatever stands elsewhere
        spans = _spans(len(wanted), pieces, allowed & own(), max_extent)
    if spans is None:
        raise TooManyError
    if len(spans) * _comparison(wanted) > BUDGET:
        spans = _likely(wanted, pieces, spans, own)
    search = _Search(wanted, pieces, spans)
    places: list[Run] = []
    while (best := search.next_place()) is not None:
        places.append(best)
        if search.is_over:
            break
        mine = own()
        if sum(bool(mine[place.first]) for place in places) > 1:
            break
        if len(places) > 1 or mine[best.first]:  # whatever stands under other paths
            search.keep_near(mine)
    return places


def _spans(length: int, pieces: Pieces, allowed: Mask, max_extent: int) -> Spans | None:
    """First and last piece of every run whose length alone does not rule it out.

    None if they are too many even to be listed.
    """
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
    if counts.sum() > _MOST:
        return None
    first = np.repeat(firsts, counts)
    step = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack((first, np.repeat(low, counts) + step))


def _comparison(wanted: str) -> int:
    """Cost of the longest common subsequence with one run."""
    return -(-len(wanted) // 64) * len(wanted) * _STEP + _COMPARISON


def _needed(total: int) -> int:
    """Characters two texts must share to reach the threshold, given both lengths added up."""
    return ceil(THRESHOLD * total / 2)


class _Search:
    """Runs in the order of what their score can still be, each bounded only when it is first.

    A run is bounded by its length, then by its longest common subsequence, then scored; it is a
    place when its score comes first. So the runs around a good one are never looked at.
    """

    def __init__(self, wanted: str, pieces: Pieces, spans: Spans) -> None:
        self._wanted, self._pieces = wanted, pieces
        self._left = BUDGET
        self._spend(len(spans) * _QUEUEING)
        lengths = pieces.ends_array[spans[:, 1]] - pieces.starts_array[spans[:, 0]]
        bounds = 2.0 * np.minimum(lengths, len(wanted)) / (lengths + len(wanted))
        places = np.asarray(pieces.places)
        extents = places[spans[:, 1]] - places[spans[:, 0]] + 1
        columns = (-bounds).tolist(), extents.tolist(), *spans.T.tolist()
        # Of equal values the unscored first, then the fewest lines, then the first.
        self._queue = [
            (bound, _BY_LENGTH, extent, first, last)
            for bound, extent, first, last in zip(*columns, strict=True)
        ]
        heapify(self._queue)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left that might be a place."""
        return not self._queue

    def next_place(self) -> Run | None:
        """The best run that shares no piece with the places so far.

        Raises:
            TooManyError: the budget is used up.
        """
        while self._queue:
            bound, known, extent, first, last = heappop(self._queue)
            run = Run(first, last, extent, -bound)
            if known == _SCORED:
                self._keep_apart_from(run)
                return run
            score = self._by_subsequence(run) if known == _BY_LENGTH else self._by_score(run)
            if score is not None:
                heappush(self._queue, (-score, known + 1, extent, first, last))
        return None

    def _keep_apart_from(self, place: Run) -> None:
        self._keep(lambda first, last: first > place.last or last < place.first)

    def _keep(self, wanted: Callable[[int, int], bool]) -> None:
        self._queue = [entry for entry in self._queue if wanted(*entry[-2:])]
        heapify(self._queue)

    def _by_subsequence(self, run: Run) -> float | None:
        self._spend(_comparison(self._wanted))
        text = self._pieces.text(run.first, run.last)
        total = len(self._wanted) + len(text)
        common = LCSseq.similarity(self._wanted, text, score_cutoff=_needed(total))
        return 2.0 * common / total if common else None

    def _by_score(self, run: Run) -> float | None:
        text = self._pieces.text(run.first, run.last)
        total = len(self._wanted) + len(text)
        self._spend(total * _SCORING)
        common = matched(self._wanted, text, _needed(total))
        return 2.0 * common / total if common else None

    def _spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise TooManyError

    def keep_near(self, own: Mask) -> None:
        """Leaves the runs that start under the indexed path, and those that touch one of them."""
        mine = sorted((first, last) for *_, first, last in self._queue if own[first])
        starts = [first for first, _ in mine]
        reach = list(accumulate((last for _, last in mine), max))  # furthest end so far

        def near(first: int, last: int) -> bool:
            at = bisect_right(starts, last) - 1
            return at >= 0 and reach[at] >= first

        self._keep(near)


def _likely(wanted: str, pieces: Pieces, spans: Spans, own: Callable[[], Mask]) -> Spans:
    """The runs that may decide, of more than can all be compared.

    Two places under the indexed path decide whatever stands elsewhere, and so does a single one.
    """
    mine = own()
    if _two_apart(wanted, pieces, spans[mine[spans[:, 0]]]):
        raise TooManyError
    spans = _sharing(wanted, pieces, spans)
    if len(spans) <= _FEW or len(spans) * _comparison(wanted) <= BUDGET:
        return spans
    return spans[mine[spans[:, 0]]]


def _two_apart(wanted: str, pieces: Pieces, spans: Spans) -> bool:
    """Whether a sample of runs holds two that are like the passage and far from each other."""
    count = max(2, min(_SAMPLE, BUDGET // 4 // _comparison(wanted)))
    sample = []
    for first, last in spans[:: max(1, len(spans) // count)][:count].tolist():
        text = pieces.text(first, last)
        needed = _needed(len(wanted) + len(text))
        if common := LCSseq.similarity(wanted, text, score_cutoff=needed):
            sample.append((needed - common, needed, first, pieces.extent(first, last), text))
    seen: int | None = None
    for _, needed, first, extent, text in sorted(sample)[:_LIKELIEST]:
        if seen is not None and abs(first - seen) <= 4 * extent:
            continue  # one run might touch both
        if matched(wanted, text, needed) is not None:
            if seen is not None:
                return True
            seen = first
    return False


def _sharing(wanted: str, pieces: Pieces, spans: Spans) -> Spans:
    if len(wanted) < 2 * _GRAM:
        return spans
    known = np.zeros(_TABLE, dtype=bool)
    known[_grams(wanted)] = True
    here = known.take(_grams(pieces.joined))
    shared = np.zeros(len(here) + 1, dtype=np.int32)
    np.cumsum(here, out=shared[1:])
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
