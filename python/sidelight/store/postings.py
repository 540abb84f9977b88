"""Which passages hold a term, how often? An inverted index in memory, scored exactly.

LanceDB's full-text index takes some milliseconds to be asked at all and ranks by how much of a
table is indexed at the moment; this answers in well under one and by exact statistics. Rows are
sorted into segments, which are never changed: new passages wait in a short tail that is searched
through, removed ones are masked. Knows no table; the catalog adds and removes passages.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sidelight.store.rows import ChunkRow
from sidelight.store.selection import Selection

if TYPE_CHECKING:
    from sidelight.store.kept import KeptIndex

# A tail of this many passages is looked through in about a millisecond.
TAIL = 2_000
# So many segments of about one size become one: each passage is sorted two or three times.
_FAN = 8
# Five bytes each. Above, an index on disk recalls: some 400,000 passages, 400 MB.
MOST_POSTINGS = 80_000_000

# Scores are rounded to nine digits: what is a hair below the last shares its place.
_HAIR = 1e-8
_SAMPLED = 16  # one row in so many: 150 of a hundred thousand leave 2,400 to choose from

Codes = Sequence[int]
_NOTHING = (np.zeros(0, np.int32), np.zeros(0, np.uint8))
_NOT_NORMED = ((), np.zeros(0))


@dataclass(frozen=True, slots=True)
class Segment:
    """Passages of some rows, by term: those of code `c` lie at `starts[c]:starts[c + 1]`."""

    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]

    def holders(self, code: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Rows that hold a term, ascending, and how often."""
        if code + 1 >= len(self.starts):
            return self.rows[:0], self.counts[:0]
        where = slice(self.starts[code], self.starts[code + 1])
        return self.rows[where], self.counts[where]

    def by_posting(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        """Code, row and count of every posting."""
        codes = np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))
        return codes, self.rows, self.counts


@dataclass(frozen=True, slots=True)
class Kept:
    """Passages that were sorted at an earlier start; each is numbered among all of them.

    Attributes:
        segment: of those that are searchable; they are its rows.
        lengths, numbers, notes: of each row: terms with repeats, its passage, its note.
        rows: of each passage; -1 for one that is not searchable.
        paths: of the notes.
        passage: makes a passage.
        index: whose they are.
    """

    segment: Segment
    lengths: NDArray[np.int32]
    numbers: NDArray[np.integer]
    notes: NDArray[np.int32]
    rows: NDArray[np.int32]
    paths: Sequence[str]
    passage: Callable[[int], ChunkRow]
    index: KeptIndex


class Postings:
    """The searchable passages of one vault. Not thread-safe: the catalog's lock guards it."""

    def __init__(self) -> None:
        self._kept: Kept | None = None
        self._first = 0  # rows below are of `_kept`
        self._chunks: list[ChunkRow | None] = []  # by row from there on; None once removed
        self._row: dict[ChunkRow, int] = {}  # of those
        self._lengths: NDArray[np.float64] = np.zeros(1024)
        self._live: NDArray[np.bool_] = np.zeros(1024, bool)
        self._gone = 0  # rows that are not live
        self._segments: list[Segment] = []
        self._normed: tuple[tuple[float, ...], NDArray[np.float64]] = _NOT_NORMED
        self._sorted = 0  # rows below are in segments, the others are the tail
        self._tail: Segment | None = None
        self.size = 0  # of all live passages' distinct terms
        self.version = 0  # counts what changes rows

    @property
    def too_many(self) -> bool:
        """Whether the tables should have a full-text index, and be asked instead."""
        return self.size > MOST_POSTINGS

    @property
    def _end(self) -> int:
        return self._first + len(self._chunks)

    def add(self, chunk: ChunkRow) -> None:
        """Takes in a passage."""
        row = self._end
        if row == len(self._lengths):
            self._lengths = np.concatenate([self._lengths, np.zeros(row)])
            self._live = np.concatenate([self._live, np.zeros(row, bool)])
        self._row[chunk] = row
        self._chunks.append(chunk)
        self._lengths[row] = chunk.length
        self._live[row] = True
        self._tail = None
        self.size += len(chunk.codes)
        self.version += 1

    def remove(self, chunk: ChunkRow) -> None:
        """Forgets a passage."""
        row = self._row_of(chunk)
        if row >= self._first:
            del self._row[chunk]
            self._chunks[row - self._first] = None
        self._live[row] = False
        self._gone += 1
        self.size -= len(chunk.codes)
        self.version += 1

    def begin(self, kept: Kept) -> None:
        """Takes passages that are sorted already into an empty index."""
        self._kept, self._first = kept, len(kept.numbers)
        room = max(len(self._lengths), self._first + 1)
        self._lengths, self._live = np.zeros(room), np.zeros(room, bool)
        self._lengths[: self._first] = kept.lengths
        self._live[: self._first] = True
        self._segments, self._sorted, self._tail = [kept.segment], self._first, None
        self.size = len(kept.segment.rows)
        self.version += 1

    def _row_of(self, chunk: ChunkRow) -> int:
        """The row of a passage, -1 for one that is not here."""
        if self._kept is None or chunk.number < 0:
            return self._row.get(chunk, -1)
        row = self._kept.rows.item(chunk.number)
        return row if row >= 0 and self._live[row] else -1

    def _passage(self, row: int) -> ChunkRow:
        """The passage of a live row."""
        if self._kept is not None and row < self._first:
            return self._kept.passage(self._kept.numbers.item(row))
        chunk = self._chunks[row - self._first]
        if chunk is None:
            raise KeyError(row)
        return chunk

    def _passages(self, rows: NDArray[np.intp]) -> Selection:
        """The passages of live rows, ascending."""
        if self._kept is None:
            return Selection.of(None, [self._passage(row) for row in rows.tolist()])
        old = rows[: np.searchsorted(rows, self._first)]
        numbers = np.full(len(rows), -1, np.intp)
        numbers[: len(old)] = self._kept.numbers[old]
        new = enumerate(rows[len(old) :].tolist(), len(old))
        others = {place: self._passage(row) for place, row in new}
        return Selection(self._kept.index, numbers, others, self._kept.passage)

    def _of(self, rows: NDArray[np.integer], paths: Container[str]) -> NDArray[np.bool_]:
        """Which of ascending `rows` are live and of these notes."""
        old = rows[: np.searchsorted(rows, self._first)]
        among = np.zeros(len(rows), bool)
        if self._kept is not None and len(old):
            wanted = np.fromiter((path in paths for path in self._kept.paths), bool)
            among[: len(old)] = self._live[old] & wanted[self._kept.notes[old]]
        new = (self._chunks[row - self._first] for row in rows[len(old) :].tolist())
        among[len(old) :] = [chunk is not None and chunk.path in paths for chunk in new]
        return among

    def settle(self) -> None:
        """Sorts a long tail in, so that no query has to; costs nothing while it is short."""
        if self._end - self._sorted < TAIL:
            return
        if len(self._row) * 2 < len(self._chunks):
            self._begin_anew()
        self._segments.append(self._of_rows(self._sorted, self._end))
        self._sorted, self._tail = self._end, None
        while (same := self._of_one_size()) >= _FAN:
            last = [segment.by_posting() for segment in self._segments[-same:]]
            codes, rows, counts = (np.concatenate(parts) for parts in zip(*last, strict=True))
            self._segments[-same:] = [segment_of(codes, rows, counts)]

    def best(
        self,
        terms: Sequence[tuple[Codes, float]],
        count: int,
        k1: float,
        b: float,
        average: float,
        only: Container[str] | None,
    ) -> tuple[Selection, NDArray[np.float64], NDArray[np.float64]]:
        """The `count` passages of highest BM25, and any that share the last one's place.

        Args:
            terms: codes that count as one term, and what it is worth.
            count: how many.
            k1, b, average: of the formula (Robertson & Zaragoza 2009, with a weight a term).
            only: paths of the notes that may answer; None for all.

        Returns:
            The passages in no order; their scores, above 0; the mass of terms that each row
            holds, as `masses`.
        """
        size = self._end
        norm = self._norm(k1, b, average)
        scores, masses = np.zeros(size), np.zeros(size)
        for codes, mass in terms:  # one by one: larger arrays would be fetched from the system anew
            rows, tf = self._holders(codes)
            places = rows.astype(np.intp)
            np.add.at(scores, places, saturated(tf, norm[places], k1) * mass)
            np.add.at(masses, places, mass)
        if only is None:
            if self._gone:
                scores[~self._live[:size]] = 0.0
            found = np.flatnonzero(scores > max(_reached_by(scores, count) - _HAIR, 0.0))
        else:
            found = np.flatnonzero(scores > 0)
            found = found[self._of(found, only)]
        if len(found) > count:
            reached = scores[found]
            found = found[reached >= np.partition(reached, -count)[-count] - _HAIR]
        return self._passages(found), scores[found], masses

    def masses(self, terms: Sequence[tuple[Codes, float]]) -> NDArray[np.float64]:
        """The mass of the terms that each row holds, shape (rows,); `terms` as for `best`."""
        masses = np.zeros(self._end)
        for codes, mass in terms:
            np.add.at(masses, self._holders(codes)[0].astype(np.intp), mass)
        return masses

    def rows(self, passages: Selection) -> NDArray[np.intp]:
        """The row of each passage, -1 for one that is not here; the same within one `version`."""

        def kept(_: KeptIndex, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
            assert self._kept is not None
            rows = self._kept.rows[numbers]
            return np.where((rows >= 0) & self._live[rows], rows, -1)

        return passages.column(kept, lambda new: list(map(self._row_of, new)), int)

    def _norm(self, k1: float, b: float, average: float) -> NDArray[np.float64]:
        """BM25's part of each row that its length decides; kept until something changes."""
        asked = (k1, b, average, self._end)
        if self._normed[0] != asked:
            lengths = self._lengths[: self._end]
            self._normed = (asked, k1 * (1 - b + b * lengths / average))
        return self._normed[1]

    def _holders(self, codes: Codes) -> tuple[NDArray[np.integer], NDArray[Any]]:
        """Rows that hold any of the codes, each once, ascending; how often they hold them."""
        parts = [s.holders(code) for code in codes for s in self._all_segments()]
        parts = [part for part in parts if len(part[0])] or [_NOTHING]
        if len(parts) == 1:
            return parts[0]
        rows, counts = (np.concatenate(both) for both in zip(*parts, strict=True))
        if len(codes) < 2:
            return rows, counts
        held = np.bincount(rows, counts, self._end).astype(np.float64)
        several = np.flatnonzero(held)
        return several, held[several]

    def _all_segments(self) -> Sequence[Segment]:
        """Sorted ones and the tail, which is made where something came in since."""
        if self._tail is None:
            self._tail = self._of_rows(self._sorted, self._end)
        return (*self._segments, self._tail)

    def _of_rows(self, first: int, end: int) -> Segment:
        rows = [row for row in range(first, end) if self._live[row]]
        chunks = [self._passage(row) for row in rows]
        if not chunks:
            return segment_of(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint8))
        codes = np.concatenate([chunk.codes for chunk in chunks])
        counts = np.concatenate([chunk.counts for chunk in chunks])
        held = np.repeat(np.array(rows, np.int32), [len(chunk.codes) for chunk in chunks])
        # Above 255 BM25 no longer tells one count from the next.
        return segment_of(codes, held, np.minimum(counts, 255).astype(np.uint8))

    def _of_one_size(self) -> int:
        """How many of the last segments are at most `_FAN` times as large as the last."""
        sizes = [len(segment.rows) for segment in reversed(self._segments)]
        return next((i for i, s in enumerate(sizes) if s > _FAN * sizes[0]), len(sizes))

    def _begin_anew(self) -> None:
        """Numbers the live passages anew behind those that were kept; all are tail then."""
        live = [chunk for chunk in self._chunks if chunk is not None]
        self._gone -= len(self._chunks) - len(live)
        self.size -= sum(len(chunk.codes) for chunk in live)
        self._segments = [] if self._kept is None else [self._kept.segment]
        self._chunks, self._row, self._sorted, self._tail = [], {}, self._first, None
        self._live[self._first :], self._normed = False, _NOT_NORMED
        for chunk in live:
            self.add(chunk)


def _reached_by(scores: NDArray[np.float64], count: int) -> float:
    """A score that at least `count` rows reach, so that most others need not be looked at."""
    some = scores[::_SAMPLED]
    return float(np.partition(some, -count)[-count]) if len(some) > count else 0.0


def saturated(tf: NDArray[Any], norm: NDArray[np.float64], k1: float) -> NDArray[np.float64]:
    """BM25's share of a term, 0 to `k1 + 1`, by its frequency and the passage's length."""
    return tf * (k1 + 1) / (tf + norm + 1e-12)


def segment_of(
    codes: NDArray[np.int32], rows: NDArray[np.int32], counts: NDArray[np.uint8], size: int = 0
) -> Segment:
    """Sorts postings by term: two stable passes of 16 bits, which numpy does by radix.

    Args:
        codes, rows, counts: of each posting; equal codes have ascending rows.
        size: of the vocabulary, if terms that nobody holds are to have their place.
    """
    order = np.argsort((codes & 0xFFFF).astype(np.uint16), kind="stable")
    order = order[np.argsort((codes >> 16).astype(np.uint16)[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=size))])
    return Segment(starts.astype(np.int64), rows[order], counts[order])
