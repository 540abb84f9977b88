"""A note cut into the pieces a passage can consist of: its lines, or the sentences of its lines.

Everything the live-citation rules compare is a run of such pieces. A piece without text is
none. Pure; decides nothing (see `relocate`).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sidelight.types import Block, Note
from sidelight.vault.frontmatter import body_start_line
from sidelight.vault.lines import decode, split_lines

# A sentence ends after its marks and what closes them: after Chinese marks at once, after
# Latin ones only before white space ("3.5", "a.b" are no ends).
_SENTENCE_END = re.compile(r"[。！？…；]+[”’」』）》】\"')\]]*|[.!?]+[\"'”’)\]]*(?=\s)")
_CLAUSE_END = re.compile(r"[,;:}|)](?=.)|[，、：）]|\s(?=\S)")
# Everything `str.split` takes for white space, but the line feed.
_SPACES = [chr(code) for code in range(0x3001) if chr(code).isspace() and code not in (0x0A, 0x20)]
_ASCII_SPACES = [space for space in _SPACES if space.isascii()]
# What may hide a heading from a look at line starts: code, HTML, comments, maths, definitions.
_HIDING = ("```", "~~~", "<", "%%", "$$", "]:")
# An indented heading, or what underlines one if text stands above it.
_SUSPECT = re.compile(r"\n(?:[ \t]+#|[ \t]*(?:=+|-+)[ \t]*(?=\n|\Z))")
_HEADING = re.compile(r"(#{1,6})(|[ \t]+.*?)(?:[ \t]+#+)?[ \t]*")
# A longer sentence is no prose (minified code, data): its clauses are the pieces.
_LONG_SENTENCE = 240


def normalise(text: str) -> str:
    """N of the citation rules: no leading byte order mark, NFC, white space runs as one space."""
    if text.isascii():
        return " ".join(text.split())
    text = unicodedata.normalize("NFC", text.removeprefix("\ufeff"))
    return " ".join(text.split())


def _normalised_lines(lines: Sequence[str]) -> list[str]:
    """`normalise` of every line, in a few passes over the whole text instead of one a line."""
    text = "\n".join(lines)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.replace("\n\ufeff", "\n").removeprefix("\ufeff"))
    for space in _ASCII_SPACES if text.isascii() else _SPACES:
        if space in text:
            text = text.replace(space, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.replace(" \n", "\n").replace("\n ", "\n").strip(" ").split("\n")


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
    def _lengths(self) -> Offsets:
        return np.fromiter(map(len, self.norms), dtype=np.int64, count=len(self.norms))

    @cached_property
    def starts_array(self) -> Offsets:
        """Where each piece starts in `joined`; shape (pieces,)."""
        spaces = np.ones(len(self.norms), dtype=np.int64) if self.apart is None else self.apart
        steps: Offsets = self._lengths + spaces
        starts: Offsets = np.cumsum(steps) - steps
        return starts

    @cached_property
    def ends_array(self) -> Offsets:
        """Where each piece ends in `joined`; shape (pieces,)."""
        return self.starts_array + self._lengths

    @cached_property
    def starts(self) -> list[int]:
        """`starts_array`, for looking up one at a time."""
        starts: list[int] = self.starts_array.tolist()
        return starts

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

    def line_of_only(self, wanted: str) -> int | None:
        """The body line that holds a text which stands nowhere else in the note."""
        at = self.joined.find(wanted) if wanted else -1
        if at < 0 or self.joined.find(wanted, at + 1) >= 0:
            return None
        piece = bisect_right(self.starts, at) - 1
        within = piece >= self.body and at + len(wanted) <= self.end(piece)
        return self.lines[piece] if within else None

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

    @classmethod
    def of(cls, note: Note) -> Text:
        """The text of a parsed note."""
        return cls(note.lines, note.frontmatter.body_start_line, lambda: note.blocks, parsed=True)

    @classmethod
    def read(cls, data: bytes, note: Callable[[], Note]) -> Text:
        """The text of a note that is parsed only if a heading path matters."""
        lines = split_lines(decode(data)[0])
        return cls(lines, body_start_line(lines), lambda: note().blocks)

    @cached_property
    def by_line(self) -> Pieces:
        """Its lines."""
        norms = _normalised_lines(self.raw)
        numbers = [number for number, norm in enumerate(norms, 1) if norm]
        return Pieces([norm for norm in norms if norm], numbers, None, self._body_start_line)

    @cached_property
    def by_sentence(self) -> Pieces:
        """The sentences of its lines."""
        norms: list[str] = []
        numbers: list[int] = []
        columns: list[tuple[int, int]] = []
        apart: list[bool] = []
        for number, line in enumerate(self.raw, 1):
            for start, end in sentences(line):
                if not (norm := normalise(line[start:end])):
                    continue
                if numbers and numbers[-1] == number:
                    apart[-1] = start > columns[-1][1]
                norms.append(norm)
                numbers.append(number)
                columns.append((start, end))
                apart.append(True)
        return Pieces(norms, numbers, columns, self._body_start_line, apart)

    def _headings(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """First lines of stretches under one heading path, with the path as written."""
        if not self._parsed and _is_plain(self.raw[self._body_start_line - 1 :]):
            yield from _plain_headings(self.raw, self._body_start_line)
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


def _is_plain(lines: Sequence[str]) -> bool:
    """Whether every line of a body that starts with hashes is a heading, and no other is."""
    text = "\n" + "\n".join(lines)
    if any(mark in text for mark in _HIDING):
        return False
    for found in _SUSPECT.finditer(text):
        above = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
        if found[0].endswith("#") or above.strip():
            return False
    return True


def _plain_headings(
    lines: Sequence[str], body_start_line: int
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The headings of a note in which nothing can hide one or look like one."""
    open_headings: list[tuple[int, str]] = []
    for number, line in enumerate(lines[body_start_line - 1 :], body_start_line):
        if not line.startswith("#") or not (found := _HEADING.fullmatch(line)):
            continue
        level = len(found[1])
        while open_headings and open_headings[-1][0] >= level:
            open_headings.pop()
        open_headings.append((level, found[2].strip()))
        yield number, tuple(text for _, text in open_headings)


def sentences(line: str) -> Iterator[tuple[int, int]]:
    """Columns of each sentence of a line, without the white space around it."""
    start = 0
    for end in [*[found.end() for found in _SENTENCE_END.finditer(line)], len(line)]:
        if end - start > _LONG_SENTENCE:
            yield from _clauses(line, start, end)
        elif inner := line[start:end].strip():
            left = line.index(inner, start)
            yield left, left + len(inner)
        start = end


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


def _clauses(line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for stop in [*[found.end() for found in _CLAUSE_END.finditer(line, start, end)], end]:
        if inner := line[start:stop].strip():
            left = line.index(inner, start)
            yield left, left + len(inner)
        start = stop
