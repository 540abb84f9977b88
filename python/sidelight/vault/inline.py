"""Which links and tags does a stretch of Markdown hold? In document order, with their lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from sidelight.types import BodyTag, Link
from sidelight.vault.structure import Structure, read_structure
from sidelight.vault.tags import TAG_CANDIDATE_BYTES, may_open_tag, tag_after
from sidelight.vault.wikilinks import WIKILINK_BYTES, markdown_link, wikilink

# (line, byte offset in the stretch) orders what different stretches of one note hold.
_Place = tuple[int, int]
_FAR = 1 << 62
_BACKSLASH, _EXCLAMATION = 0x5C, 0x21


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
        self._cursor = (0, 0)  # offset, and the index of its line

    def index_of(self, offset: int) -> int:
        """0-based index of the line that holds a byte offset; cheap in ascending order."""
        at, index = self._cursor
        if offset < at:
            at = index = 0
        index += self.data.count(b"\n", at, offset)
        self._cursor = (offset, index)
        return index

    def line_of(self, offset: int) -> int:
        """Number, in the note, of the line that holds a byte offset."""
        return self.first_line + self.index_of(offset)


def links_in(stretch: Stretch) -> list[tuple[_Place, Link]]:
    """Internal links with their places; unsorted between the two ways of writing."""
    found: list[tuple[_Place, Link]] = []
    data, structure = stretch.data, stretch.structure
    spans: list[tuple[int, int]] = []
    destinations = _destinations(stretch) if structure.links else []
    read_to = 0  # what opened inside a wikilink (a backtick, a dollar) opened nothing
    for match in WIKILINK_BYTES.finditer(data):
        start = match.start()
        if structure.opaque and structure.opened_before(start) >= read_to:
            continue
        if destinations and _inside(destinations, start):
            continue
        before = data[start - 1] if start else 0
        if before == _BACKSLASH and _escaped(data, start):
            continue
        inner = match.group(1).decode()
        if structure.tables and "|" in inner.replace("\\|", "") and structure.in_table(start):
            continue  # the bar ends the cell
        embed = before == _EXCLAMATION and not _escaped(data, start - 1)
        line = stretch.line_of(start)
        source = f"![[{inner}]]" if embed else f"[[{inner}]]"
        link = wikilink(source, inner, embed=embed, line=line)
        if link is not None:
            read_to = match.end()
            spans.append((start, read_to))
            found.append(((line, start), link))
    if structure.links:
        found += _markdown_links(stretch, spans)
    return found


def _markdown_links(
    stretch: Stretch, wikilinks: list[tuple[int, int]]
) -> list[tuple[_Place, Link]]:
    found: list[tuple[_Place, Link]] = []
    for destination, start, end, embed in stretch.structure.links:
        if destination.startswith("[["):
            continue  # `[a]([[b]])`: likewise
        if _inside(wikilinks, start + embed):
            continue  # `[[a]](b)`: the wikilink is what counts
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
        if not may_open_tag(data, offset):
            continue
        if structure.opaque and structure.opened_before(offset) >= 0:
            continue
        tag = tag_after(data, offset)
        if tag is None:
            continue
        if targets is None:
            targets = _link_targets(stretch)
        if _inside(targets, offset):
            continue
        line = stretch.line_of(offset)
        found.append(((line, offset), BodyTag(tag, line)))
    return found


def _link_targets(stretch: Stretch) -> list[tuple[int, int]]:
    """Spans of wikilinks, destinations of Markdown links and autolinks: no tags in there."""
    data = stretch.data
    spans = [match.span() for match in WIKILINK_BYTES.finditer(data)]
    return sorted(spans + _destinations(stretch))


def _destinations(stretch: Stretch) -> list[tuple[int, int]]:
    """Spans of Markdown links from the end of their label on, in order."""
    data = stretch.data
    found = []
    for destination, start, end, _ in stretch.structure.links:
        label = data.rfind(b"](", start, end)
        if label >= 0 and not destination.startswith("[["):  # `[a]([[b]])` is the wikilink
            found.append((label, end))
    return found


def _inside(spans: list[tuple[int, int]], offset: int) -> bool:
    """True in one of the spans, which come in order and do not overlap."""
    at = bisect_right(spans, (offset, _FAR)) - 1
    return at >= 0 and spans[at][1] > offset


def _escaped(data: bytes, at: int) -> bool:
    backslashes = 0
    while at - backslashes > 0 and data[at - backslashes - 1] == _BACKSLASH:
        backslashes += 1
    return backslashes % 2 == 1
