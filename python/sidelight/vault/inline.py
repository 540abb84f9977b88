"""Which links and tags does a stretch of Markdown hold? In document order, with their lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from sidelight.types import BodyTag, Link
from sidelight.vault.structure import Structure, read_structure
from sidelight.vault.tags import TAG_CANDIDATE_BYTES, tag_at
from sidelight.vault.wikilinks import WIKILINK_BYTES, markdown_link, wikilink

# (line, byte offset in the stretch) orders what different stretches of one note hold.
_Place = tuple[int, int]


class Stretch:
    """Consecutive lines of a note with what the Markdown parser saw in them.

    Attributes:
        data: the lines in UTF-8, joined by line feeds.
        structure: offsets refer to `data`.
    """

    def __init__(self, lines: Sequence[str], first_line: int, text: str | None = None) -> None:
        """Parses.

        Args:
            lines: without endings.
            first_line: number of the first of them in the note.
            text: the lines joined, where the caller has that already.
        """
        self.lines = lines
        self.first_line = first_line
        self.text = "\n".join(lines) if text is None else text
        self.data = self.text.encode()
        self.structure: Structure = read_structure(self.text, self.data)
        # Start of each line; one past the end, so that bisecting never falls off.
        self.starts = [0, *accumulate(len(line) + 1 for line in self.data.split(b"\n"))]

    def index_of(self, offset: int) -> int:
        """0-based index of the line that holds a byte offset."""
        return bisect_right(self.starts, offset, 0, len(self.starts) - 1) - 1

    def line_of(self, offset: int) -> int:
        """Number, in the note, of the line that holds a byte offset."""
        return self.first_line + self.index_of(offset)


def links_in(stretch: Stretch) -> list[tuple[_Place, Link]]:
    """Internal links with their places; unsorted between the two ways of writing."""
    found: list[tuple[_Place, Link]] = []
    data, structure = stretch.data, stretch.structure
    spans: list[tuple[int, int]] = []
    for match in WIKILINK_BYTES.finditer(data):
        start = match.start()
        if structure.is_opaque(start) or _escaped(data, start):
            continue
        inner = match.group(1).decode()
        if "|" in inner.replace("\\|", "") and structure.in_table(start):
            continue  # the bar ends the cell
        embed = data[start - 1 : start] == b"!" and not _escaped(data, start - 1)
        source = ("!" if embed else "") + match.group().decode()
        line = stretch.line_of(start)
        link = wikilink(source, inner, embed=embed, line=line)
        if link is not None:
            spans.append(match.span())
            found.append(((line, start - embed), link))
    found += _markdown_links(stretch, spans)
    return found


def _markdown_links(
    stretch: Stretch, wikilinks: list[tuple[int, int]]
) -> list[tuple[_Place, Link]]:
    found: list[tuple[_Place, Link]] = []
    for destination, start, end, embed in stretch.structure.links:
        at = bisect_right(wikilinks, (start + embed, 1 << 62)) - 1
        if at >= 0 and wikilinks[at][1] > start + embed:
            continue  # `[[a]](b)`: the wikilink is what Obsidian sees
        line = stretch.line_of(start)
        source = stretch.data[start:end].decode()
        link = markdown_link(source, destination, embed=embed, line=line)
        if link is not None:
            found.append(((line, start), link))
    return found


def tags_in(stretch: Stretch) -> list[tuple[_Place, BodyTag]]:
    """Tags with their places, in order."""
    found: list[tuple[_Place, BodyTag]] = []
    data, structure = stretch.data, stretch.structure
    targets: list[tuple[int, int]] | None = None
    for match in TAG_CANDIDATE_BYTES.finditer(data):
        offset = match.start()
        if structure.is_opaque(offset):
            continue
        index = stretch.index_of(offset)
        column = len(data[stretch.starts[index] : offset].decode())
        tag = tag_at(stretch.lines[index], column)
        if tag is None:
            continue
        if targets is None:
            targets = _link_targets(stretch)
        at = bisect_right(targets, (offset, 1 << 62)) - 1
        if at >= 0 and targets[at][1] > offset:
            continue
        line = stretch.first_line + index
        found.append(((line, offset), BodyTag(tag, line)))
    return found


def _link_targets(stretch: Stretch) -> list[tuple[int, int]]:
    """Spans of wikilinks, destinations of Markdown links and autolinks: no tags in there."""
    data = stretch.data
    spans = [match.span() for match in WIKILINK_BYTES.finditer(data)]
    spans += stretch.structure.autolinks
    for _, start, end, _ in stretch.structure.links:
        label = data.rfind(b"](", start, end)
        spans.append((label if label >= 0 else start, end))
    return sorted(spans)


def _escaped(data: bytes, at: int) -> bool:
    backslashes = 0
    while at - backslashes > 0 and data[at - backslashes - 1] == 0x5C:
        backslashes += 1
    return backslashes % 2 == 1
