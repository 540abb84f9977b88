"""What is in a note? Headings, blocks, links, tags, block ids and properties, with lines.

`parse_note` is pure and never raises on content: what is wrong stands in `Note.problems`.
The order of work: lines, frontmatter, regions that Markdown does not know, one pass of the
Markdown parser, then Obsidian's own rules on what it saw.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right

from sidelight.types import (
    Block,
    BlockKind,
    BodyTag,
    Heading,
    Link,
    Note,
    NoteKind,
    Problem,
)
from sidelight.vault.block_ids import read_block_ids
from sidelight.vault.canvas import parse_canvas
from sidelight.vault.frontmatter import (
    frontmatter_aliases,
    frontmatter_tags,
    read_frontmatter,
)
from sidelight.vault.inline import Stretch, links_in, tags_in
from sidelight.vault.lines import decode, split_lines
from sidelight.vault.regions import OPENING, Region, find_region, mask

_KINDS = {
    "Paragraph": BlockKind.PARAGRAPH,
    "Heading": BlockKind.HEADING,
    "List": BlockKind.LIST,
    "CodeBlock": BlockKind.CODE,
    "Table": BlockKind.TABLE,
    "BlockQuote": BlockKind.BLOCKQUOTE,
    "HtmlBlock": BlockKind.HTML,
    "Rule": BlockKind.THEMATIC_BREAK,
    "FootnoteDefinition": BlockKind.FOOTNOTE_DEFINITION,
}
# What Markdown takes for one kind of block may be another to Obsidian.
_SEVERAL = (BlockKind.HTML, BlockKind.BLOCKQUOTE)
_CALLOUT = re.compile(r"[ \t]*>[ \t]*\[![^\]]+\]")
_ATX = re.compile(r"[ \t]*#{1,6}(?:[ \t]+|$)")
_FENCE = re.compile(r"[ \t>]*(?:[-*+] +|\d+[.)] +)*(`{3,}|~{3,})")
# Bounds the work on a hostile note; beyond it a fence inside a comment may hide later regions.
_MAX_PARSES = 8


def parse_note(path: str, data: bytes) -> Note:
    """Reads one Markdown note or canvas.

    Args:
        path: vault path; its extension decides.
        data: the file's bytes.
    """
    if path.lower().endswith(".canvas"):
        return parse_canvas(path, data)
    text, problems = decode(data)
    lines = split_lines(text)
    head = read_frontmatter(lines)
    first_line = head.frontmatter.body_start_line
    body = lines[first_line - 1 :]
    read = Body(body, first_line)
    blocks = list(read.blocks)
    if head.frontmatter.exists:
        blocks.insert(0, Block(BlockKind.YAML, 1, first_line - 1, ()))
    return Note(
        path=path,
        kind=NoteKind.MARKDOWN,
        title=title_of(path),
        content_hash=hashlib.sha256(data).hexdigest(),
        size=len(data),
        lines=tuple(lines),
        frontmatter=head.frontmatter,
        aliases=frontmatter_aliases(head.frontmatter.data),
        frontmatter_tags=frontmatter_tags(head.frontmatter.data),
        body_tags=tuple(read.tags),
        headings=tuple(read.headings),
        blocks=tuple(blocks),
        block_ids=tuple(read_block_ids(read.stretch, blocks)) if b"^" in data else (),
        links=head.links + tuple(read.links),
        problems=problems + head.problems + tuple(read.problems),
    )


def title_of(path: str) -> str:
    """A note's title is its file name without extension, as in Obsidian."""
    name = path.rpartition("/")[2]
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


class Body:
    """The body of a note as read: everything below the frontmatter."""

    def __init__(self, lines: list[str], first_line: int) -> None:
        """Reads.

        Args:
            lines: of the body, without endings.
            first_line: number of the first of them in the note.
        """
        self.first_line = first_line
        self.problems: list[Problem] = []
        self.stretch = Stretch(lines, first_line)
        self.regions: dict[int, Region] = {}
        hidden: list[Stretch] = []
        if b"%%" in self.stretch.data or b"$$" in self.stretch.data:
            hidden = self._mask_regions(lines)
        if self.stretch.structure.failed:
            message = "The Markdown parser gave up on the note; it is read as plain paragraphs."
            self.problems.append(Problem("markdown-unreadable", message))
        self.headings: list[Heading] = []
        self.blocks: list[Block] = []
        self._read_blocks()
        found_links, found_tags = links_in(self.stretch), tags_in(self.stretch)
        for comment in hidden:
            found_links += links_in(comment)
            found_tags += tags_in(comment)
        if len(found_links) > 1:
            found_links.sort(key=_place)
        if hidden:
            found_tags.sort(key=_place)
        self.links: list[Link] = [link for _, link in found_links]
        self.tags: list[BodyTag] = [tag for _, tag in found_tags]

    def _mask_regions(self, lines: list[str]) -> list[Stretch]:
        """Masks comments and formulas; the comments' own lines, to be read for links."""
        masked, at, hidden = list(lines), 0, []
        literal, parses = self._literal_lines(), 0
        while at < len(masked):
            if not OPENING.match(masked[at]) or _holding(literal, at):
                at += 1
                continue
            region, following, problem = find_region(masked, at)
            if problem is not None:
                line = self.first_line + at
                self.problems.append(Problem(problem.code, problem.message, line))
            at = following
            if region is None:
                continue
            if region.kind is BlockKind.COMMENT:
                inside = lines[region.first : region.last + 1]
                if any("[" in line or "#" in line for line in inside):
                    hidden.append(Stretch(inside, self.first_line + region.first))
            self.regions[region.first] = region
            mask(masked, region)
            # A fence opened inside the region seemed to swallow what follows: look again.
            swallowed = at < len(masked) and _holding(literal, at)
            if swallowed and parses < _MAX_PARSES:
                self.stretch = Stretch(masked, self.first_line)
                literal, parses = self._literal_lines(), parses + 1
        if self.regions:
            self.stretch = Stretch(masked, self.first_line)
        return hidden

    def _literal_lines(self) -> list[tuple[int, int]]:
        index_of = self.stretch.index_of
        spans = self.stretch.structure.literal
        return [(index_of(start), index_of(max(start, end - 1))) for start, end in spans]

    def _read_blocks(self) -> None:
        path: list[tuple[int, str]] = []  # level and text
        texts: tuple[str, ...] = ()
        covered = 0  # body lines already in a block
        lines, data, regions = self.stretch.lines, self.stretch.data, self.regions
        at = first = 0
        for name, start, end in self.stretch.structure.roots:
            first += data.count(b"\n", at, start)
            at = start
            last = first + data.count(b"\n", start, end - 1)
            while last > first and not lines[last].strip():
                last -= 1
            if first > covered:
                self._read_gap(covered, first, texts)
            kind = _KINDS[name]
            if kind in _SEVERAL:
                kind = self._kind(kind, first)
            if regions and first in regions:
                last = max(last, regions[first].last)
            if kind is BlockKind.HEADING:
                heading = self._heading(self.stretch.structure.headings[start], first, last)
                self.headings.append(heading)
                while path and path[-1][0] >= heading.level:
                    path.pop()
                path.append((heading.level, heading.text))
                texts = tuple([text for _, text in path])
            elif kind is BlockKind.CODE:
                self._check_fence(first, last)
            self._add(kind, first, last, texts)
            covered = last + 1
        self._read_gap(covered, len(lines), texts)

    def _add(self, kind: BlockKind, first: int, last: int, path: tuple[str, ...]) -> None:
        self.blocks.append(Block(kind, self.first_line + first, self.first_line + last, path))

    def _read_gap(self, first: int, end: int, path: tuple[str, ...]) -> None:
        """Lines that give no event (link definitions) are paragraphs: nothing is left out."""
        lines = self.stretch.lines
        at = first
        while at < end:
            if not lines[at].strip():
                at += 1
                continue
            last = at
            while last + 1 < end and lines[last + 1].strip():
                last += 1
            self._add(BlockKind.PARAGRAPH, at, last, path)
            at = last + 1

    def _kind(self, kind: BlockKind, first: int) -> BlockKind:
        if kind is BlockKind.HTML:
            region = self.regions.get(first)
            return kind if region is None else region.kind
        return BlockKind.CALLOUT if _CALLOUT.match(self.stretch.lines[first]) else kind

    def _heading(self, level: int, first: int, last: int) -> Heading:
        lines = self.stretch.lines
        opening = _ATX.match(lines[first])
        if opening and first == last:
            text = lines[first][opening.end() :].rstrip()
            without = text.rstrip("#")  # a closing sequence, unless it ends a word: "C#"
            if not without or without[-1] in " \t":
                text = without
        else:
            text = " ".join(line.strip() for line in lines[first:last])
        return Heading(level, text.strip(), self.first_line + first)

    def _check_fence(self, first: int, last: int) -> None:
        opening = _FENCE.match(self.stretch.lines[first])
        if opening is None:
            return
        fence = opening.group(1)
        closing = self.stretch.lines[last].strip(" \t>")
        closed = last > first and closing.startswith(fence) and not closing.strip(fence[0])
        if not closed:
            line = self.first_line + first
            message = "A code fence is opened and not closed."
            self.problems.append(Problem("fence-unclosed", message, line))


def _holding(spans: list[tuple[int, int]], line: int) -> bool:
    """True if one of the spans of lines, which come in order, holds the line."""
    at = bisect_right(spans, (line, 1 << 62)) - 1
    return at >= 0 and spans[at][1] >= line


def _place(item: tuple[tuple[int, int], object]) -> tuple[int, int]:
    return item[0]
