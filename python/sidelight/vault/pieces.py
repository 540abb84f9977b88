"""A note cut into the pieces a passage can consist of: its lines, or the sentences of its lines.

Everything the live-citation rules compare is a run of such pieces. A piece without text is
none. Pure; decides nothing (see `relocate`).
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, compress, pairwise
from typing import NamedTuple

import numpy as np

from sidelight.types import Block, Note
from sidelight.vault.frontmatter import body_start_line
from sidelight.vault.lines import decode, split_lines
from sidelight.vault.outline import plain_body, plain_headings
from sidelight.vault.sentences import sentences

# Everything `str.split` takes for white space, but the line feed.
_SPACES = [chr(code) for code in range(0x3001) if chr(code).isspace() and code not in (0x0A, 0x20)]
_ASCII_SPACES = [space for space in _SPACES if space.isascii()]


def normalise(text: str) -> str:
    """N of the citation rules: no leading byte order mark, NFC, white space runs as one space."""
    if text.isascii():
        return " ".join(text.split())
    text = unicodedata.normalize("NFC", text.removeprefix("\ufeff"))
    return " ".join(text.split())


def _normalised_lines(lines: Sequence[str]) -> list[str]:
    """`normalise` of every line, in a few passes over the whole text instead of one a line."""
    given = text = "\n".join(lines)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.replace("\n\ufeff", "\n").removeprefix("\ufeff"))
    for space in _ASCII_SPACES if text.isascii() else _SPACES:
        text = text.replace(space, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return [line.strip() for line in (lines if text is given else text.split("\n"))]


def normalise_path(path: Sequence[str]) -> tuple[str, ...]:
    """N of a heading path, text by text."""
    return tuple(normalise(text) for text in path)


Offsets = np.ndarray[tuple[int], np.dtype[np.int64]]


class Span(NamedTuple):
    """A run of pieces that holds a text: first and last piece, and its start in `joined`."""

    first: int
    last: int
    at: int


class Pieces:
    """The pieces of one note in order, normalised, and runs of them found by their text.

    A run is `(first, last)`, both piece indices, both included.

    Attributes:
        norms: normalised text of each piece, never empty.
        lines: the line each piece stands on, from 1.
        columns: raw columns of each piece, or None where pieces are whole lines.
        places: position of each piece in what run lengths are counted in: the line (blank
            lines count), or the piece itself.
        body: index of the first piece outside the frontmatter.
        apart: whether white space follows each piece; None where it always does.
    """

    def __init__(
        self,
        norms: list[str],
        lines: list[int],
        columns: list[tuple[int, int]] | None,
        body_start_line: int,
        apart: list[bool] | None = None,
    ) -> None:
        self.norms = norms
        self.apart = apart
        self.lines = lines
        self.columns = columns
        self.places: Sequence[int] = lines if columns is None else range(len(lines))
        self.body = bisect_left(lines, body_start_line)

    @cached_property
    def joined(self) -> str:
        """All pieces as one normalised text: N of any run is a slice of it."""
        if self.apart is None:
            return " ".join(self.norms)
        spaced = zip(self.norms, self.apart, strict=True)
        return "".join(norm + " " if apart else norm for norm, apart in spaced).rstrip(" ")

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each text is a piece; not to be changed."""
        return Counter(self.norms)

    def fewer_in(self, other: Pieces) -> set[str]:
        """Texts that are a piece here more often than there."""
        there = other.counts.get
        return {norm for norm, count in self.counts.items() if there(norm, 0) < count}

    @cached_property
    def starts(self) -> list[int]:
        """Where each piece starts in `joined`."""
        if self.apart is None:
            steps = [len(norm) + 1 for norm in self.norms]
        else:
            steps = [len(n) + apart for n, apart in zip(self.norms, self.apart, strict=True)]
        return list(accumulate(steps[:-1], initial=0)) if steps else []

    @cached_property
    def starts_array(self) -> Offsets:
        """`starts`, for looking up many at a time; shape (pieces,)."""
        return np.array(self.starts, dtype=np.int64)

    @cached_property
    def ends_array(self) -> Offsets:
        """Where each piece ends in `joined`; shape (pieces,)."""
        lengths = np.fromiter(map(len, self.norms), dtype=np.int64, count=len(self.norms))
        return self.starts_array + lengths

    def end(self, piece: int) -> int:
        """Where a piece ends in `joined`."""
        return self.starts[piece] + len(self.norms[piece])

    def text(self, first: int, last: int) -> str:
        """N of a run."""
        return self.joined[self.starts[first] : self.end(last)]

    def extent(self, first: int, last: int) -> int:
        """How many lines (or sentences) a run takes, blank lines inside included."""
        return self.places[last] - self.places[first] + 1

    def neighbours(self, first: int, last: int) -> tuple[str, str]:
        """The texts just before and after a run; empty at the ends of the note."""
        before = self.norms[first - 1] if first else ""
        after = self.norms[last + 1] if last + 1 < len(self.norms) else ""
        return before, after

    def find(self, wanted: str, open_start: bool = False, open_end: bool = False) -> list[Span]:
        """Every run of the body whose text is `wanted`, in order.

        Args:
            wanted: normalised, not empty.
            open_start: it may begin inside a piece (a passage cut off at a size limit).
            open_end: it may end inside a piece.

        Cost: linear in the note.
        """
        if self.body >= len(self.norms) or wanted not in self.joined:
            return []
        starts = self._inside(wanted) if open_start else self._at_starts(wanted)
        runs = []
        for at in starts:
            first = bisect_right(self.starts, at) - 1
            end = at + len(wanted)
            last = bisect_left(self.starts, end) - 1
            if open_end or self.end(last) == end:
                runs.append(Span(first, last, at))
        return runs

    def _at_starts(self, wanted: str) -> Iterator[int]:
        piece = self.body
        while piece < len(self.starts):
            at = self.joined.find(wanted, self.starts[piece])
            if at < 0:
                return
            piece = bisect_left(self.starts, at)  # at the text, or after the piece it stands in
            if piece < len(self.starts) and self.starts[piece] == at:
                yield at
                piece += 1

    def _inside(self, wanted: str) -> Iterator[int]:
        at = self.joined.find(wanted, self.starts[self.body])
        while at >= 0:
            yield at
            at = self.joined.find(wanted, at + len(wanted))

    def covering(self, lines: tuple[int, int], columns: tuple[int, int] | None) -> tuple[int, int]:
        """The run of all pieces that touch a line range, or columns of its one line.

        Returns:
            `(first, last)`; `last < first` if no piece does.
        """
        first = bisect_left(self.lines, lines[0])
        last = bisect_right(self.lines, lines[1]) - 1
        if self.columns is None or columns is None:
            return first, last
        while first <= last and self.columns[first][1] <= columns[0]:
            first += 1
        while last >= first and self.columns[last][0] >= columns[1]:
            last -= 1
        return first, last


_Spans = list[tuple[str, int, int]]
"""Normalised text and columns of the sentences of a line."""


def _sentences_of(line: str) -> _Spans:
    as_is = normalise(line) == line and "\ufeff" not in line  # then each sentence is too
    return [
        (norm, start, end)
        for start, end in sentences(line)
        if (norm := line[start:end] if as_is else normalise(line[start:end]))
    ]


class _Cut:
    """Pieces in the making: sentences, and lines that nobody needs cut."""

    def __init__(self, known: dict[str, _Spans]) -> None:
        self._known = known
        self._norms: list[str] = []
        self._numbers: list[int] = []
        self._columns: list[tuple[int, int]] = []
        self._apart: list[bool] = []

    def add_lines(self, whole: Pieces, start: int, stop: int, raw: Sequence[str]) -> None:
        """Pieces that are lines, as they are."""
        self._norms += whole.norms[start:stop]
        self._numbers += whole.lines[start:stop]
        self._columns += [(0, len(raw[number - 1])) for number in whole.lines[start:stop]]
        self._apart += [True] * (stop - start)

    def add_sentences(self, number: int, line: str) -> None:
        """The sentences of a line."""
        spans = self._known.get(line)
        if spans is None:
            spans = self._known[line] = _sentences_of(line)
        if spans:
            self._norms += [norm for norm, _, _ in spans]
            self._numbers += [number] * len(spans)
            self._columns += [(start, end) for _, start, end in spans]
            self._apart += [after[1] > span[2] for span, after in pairwise(spans)]
            self._apart.append(True)

    def build(self, body_start_line: int) -> Pieces:
        """The pieces added so far."""
        return Pieces(self._norms, self._numbers, self._columns, body_start_line, self._apart)


class Text:
    """A note made ready for finding passages in; each view is built when first asked for.

    Args:
        lines: the note's lines, without endings.
        body_start_line: the first line after the frontmatter.
        blocks: gives the root-level blocks; called only where a heading path matters and
            cannot be seen without parsing.
        parsed: the blocks are there already.
    """

    def __init__(
        self,
        lines: Sequence[str],
        body_start_line: int,
        blocks: Callable[[], Sequence[Block]],
        parsed: bool = False,
    ) -> None:
        self.raw = lines
        self._parsed = parsed
        self._body_start_line = body_start_line
        self._blocks = blocks
        self._spans: dict[str, _Spans] = {}  # a line that stands twice is cut once

    @classmethod
    def of(cls, note: Note) -> Text:
        """The text of a parsed note."""
        return cls(note.lines, note.frontmatter.body_start_line, lambda: note.blocks, parsed=True)

    @classmethod
    def read(cls, data: bytes, note: Callable[[], Note]) -> Text:
        """The text of a note that is parsed only if a heading path matters."""
        lines = split_lines(decode(data)[0])
        return cls(lines, body_start_line(lines), lambda: note().blocks)

    def take_over(self, other: Text) -> None:
        """Looks at lines of another version again only where this one has others."""
        self._spans = other._spans
        if "_norms" in self.__dict__:
            return
        head = _equal_at_start(self.raw, other.raw)
        tail = _equal_at_start(self.raw[head:][::-1], other.raw[head:][::-1])
        there = other._norms
        self._norms = [
            *there[:head],
            *_normalised_lines(self.raw[head : len(self.raw) - tail]),
            *there[len(there) - tail :],
        ]

    @cached_property
    def _norms(self) -> list[str]:
        """Of every line, also the blank ones."""
        return _normalised_lines(self.raw)

    @cached_property
    def by_line(self) -> Pieces:
        """Its lines."""
        norms = self._norms
        numbers = list(range(1, len(norms) + 1))
        if "" in norms:
            numbers = list(compress(numbers, norms))
            norms = list(compress(norms, norms))
        return Pieces(norms, numbers, None, self._body_start_line)

    @cached_property
    def by_sentence(self) -> Pieces:
        """The sentences of its lines."""
        pieces = _Cut(self._spans)
        for number, line in enumerate(self.raw, 1):
            pieces.add_sentences(number, line)
        return pieces.build(self._body_start_line)

    def cut_near(self, wanted: str, line: int = 0) -> Pieces:
        """`by_sentence` as far as it matters for finding a text and what stands beside it.

        Lines that the text does not touch, nor is next to, are one piece each, but for `line`.

        Args:
            wanted: normalised.
            line: to be cut in any case.
        """
        whole = self.by_line
        if "\ufeff" in whole.joined:  # N drops the mark at the start of a sentence only
            return self.by_sentence
        chosen = {line}
        at = whole.joined.find(wanted)
        while at >= 0:
            first = bisect_right(whole.starts, at) - 1
            last = bisect_left(whole.starts, at + len(wanted)) - 1
            chosen.update(whole.lines[i] for i in (first, last))
            chosen.update(whole.lines[max(0, first - 1) : first])
            chosen.update(whole.lines[last + 1 : last + 2])
            at = whole.joined.find(wanted, at + 1)
        pieces = _Cut(self._spans)
        done = 0
        for number in sorted(chosen):
            piece = bisect_left(whole.lines, number)
            if whole.lines[piece : piece + 1] == [number]:  # it is not blank
                pieces.add_lines(whole, done, piece, self.raw)
                pieces.add_sentences(number, self.raw[number - 1])
                done = piece + 1
        pieces.add_lines(whole, done, len(whole.lines), self.raw)
        return pieces.build(self._body_start_line)

    def _headings(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """First lines of stretches under one heading path, with the path as written."""
        plain = None if self._parsed else plain_body(self.raw[self._body_start_line - 1 :])
        if plain is not None:
            yield from plain_headings(plain, self._body_start_line)
            return
        last: tuple[str, ...] | None = None
        for block in self._blocks():
            if block.heading_path != last:
                last = block.heading_path
                yield block.start_line, last

    @cached_property
    def _outline(self) -> tuple[list[int], list[tuple[str, ...]]]:
        starts: list[int] = []
        paths: list[tuple[str, ...]] = []
        for line, path in self._headings():
            starts.append(line)
            paths.append(normalise_path(path))
        return starts, paths

    def path_at(self, line: int) -> tuple[str, ...]:
        """Normalised heading path of the last block that starts at or before a line."""
        starts, paths = self._outline
        at = bisect_right(starts, line) - 1
        return paths[at] if at >= 0 else ()

    def under(
        self, path: tuple[str, ...], pieces: Pieces
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """For every piece, whether it stands under a normalised heading path."""
        starts, paths = self._outline
        matches = np.array([path == (), *(known == path for known in paths)])
        matched: np.ndarray[tuple[int], np.dtype[np.bool_]] = matches[
            np.searchsorted(starts, pieces.lines, "right")
        ]
        return matched


def _equal_at_start(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are the same in both, from the first on. Cost: linear, but in C."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def raw_columns(line: str, start: int, end: int, skipped: int, length: int) -> tuple[int, int]:
    """Columns of a part of `line[start:end]`, given where it lies in the normalised text.

    Args:
        line: the raw line.
        start: column the normalised text starts at.
        end: column it ends at.
        skipped: normalised characters before the part.
        length: normalised characters of the part.

    Cost: n log n in the text; only asked for passages cut inside a sentence.
    """

    def column(wanted: int) -> int:  # the shortest raw text with so many normalised characters
        low, high = start, end
        while low < high:
            middle = (low + high) // 2
            if len(normalise(line[start:middle])) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    first = column(skipped + 1) - 1 if skipped else start
    last = column(skipped + length)
    while last < end and unicodedata.combining(line[last]):
        last += 1
    return first, last
