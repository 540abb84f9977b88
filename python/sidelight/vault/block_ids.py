"""Which block does a `^id` name? Obsidian's rules, on what the Markdown parser saw."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from sidelight.types import Block, BlockId, BlockKind
from sidelight.vault.inline import Stretch

# White space, `^`, Latin letters, digits and dashes, at the end of a line.
_ID = re.compile(rb"\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)
_BEFORE = b" \t\n>"
_PREFIX = re.compile(r"[ \t>]*")
_QUOTES = (BlockKind.BLOCKQUOTE, BlockKind.CALLOUT)
_CARRIERS = frozenset(
    (
        *_QUOTES,
        BlockKind.PARAGRAPH,
        BlockKind.LIST,
        BlockKind.TABLE,
        BlockKind.HEADING,
        BlockKind.FOOTNOTE_DEFINITION,
    )
)


def read_block_ids(stretch: Stretch, blocks: Sequence[Block]) -> list[BlockId]:
    """Block ids of the body in document order; the same id twice is kept twice.

    Args:
        stretch: the body.
        blocks: all root blocks of the note in order.
    """
    found: list[BlockId] = []
    reader: _Reader | None = None
    data = stretch.data
    for match in _ID.finditer(data):
        if match.start() and data[match.start() - 1] not in _BEFORE:
            continue
        if stretch.structure.opened_before(match.start()) >= 0:
            continue
        reader = reader or _Reader(stretch, blocks)
        span = reader.named(match.start())
        if span is not None:
            found.append(BlockId(match.group(1).decode(), *span))
    return found


class _Reader:
    """The blocks of one body, made ready for looking up by place."""

    def __init__(self, stretch: Stretch, blocks: Sequence[Block]) -> None:
        self.stretch = stretch
        self.blocks = blocks
        self.block_starts = [block.start_line for block in blocks]
        nodes = stretch.structure.nodes
        self.line_starts = [0, *accumulate(len(line) + 1 for line in stretch.data.split(b"\n"))]
        self.node_lines = {self.line_of(start) for _, start, _ in nodes}
        self.items = [(start, end) for name, start, end in nodes if name == "Item"]
        self.parents = _parents(self.items)
        self.texts = [(start, end) for name, start, end in nodes if name == "Paragraph"]

    def named(self, offset: int) -> tuple[int, int] | None:
        """Lines of the block that the id at a byte offset names; None if it names none."""
        line = self.line_of(offset)
        index = bisect_right(self.block_starts, line) - 1
        if index < 0 or self.blocks[index].kind not in _CARRIERS:
            return None
        block = self.blocks[index]
        if line > block.end_line or not self._ends_a_text(block, line):
            return None
        text = self._text(line)
        lonely = line if _PREFIX.fullmatch(text[: text.rindex("^")]) else None
        if block.kind is BlockKind.TABLE:
            # Directly below a table it is a row of its own to the Markdown parser.
            last_row = lonely == block.end_line and line > block.start_line
            return (block.start_line, line - 1) if last_row else None
        if block.kind is BlockKind.LIST:
            return self._item(offset, line, lonely)
        if block.kind in _QUOTES:
            return self._quoted(block, offset, line, lonely)
        if lonely == block.start_line:
            return self._before(index)
        return block.start_line, block.end_line - (lonely is not None)

    def line_of(self, offset: int) -> int:
        """Number of the line that holds a byte offset, in any order."""
        return self.stretch.first_line + bisect_right(self.line_starts, offset) - 1

    def _text(self, line: int) -> str:
        return self.stretch.lines[line - self.stretch.first_line]

    def _ends_a_text(self, block: Block, line: int) -> bool:
        """True if the text of `line` does not go on in the next line."""
        if line >= block.end_line or _PREFIX.fullmatch(self._text(line + 1)):
            return True
        return line + 1 in self.node_lines

    def _before(self, index: int) -> tuple[int, int] | None:
        """An id alone in its paragraph names the block before it."""
        if index == 0 or self.blocks[index - 1].kind is BlockKind.YAML:
            return None
        return self.blocks[index - 1].start_line, self.blocks[index - 1].end_line

    def _item(self, offset: int, line: int, lonely: int | None) -> tuple[int, int] | None:
        """Lines of the innermost list item around `offset`, without the items nested in it."""
        at = bisect_right(self.items, (offset, 1 << 62)) - 1
        while at >= 0 and self.items[at][1] <= offset:
            at = self.parents[at]
        if at < 0:
            return None
        start, end = self.items[at]
        first = self.line_of(start)
        has_nested = at + 1 < len(self.items) and self.items[at + 1][0] < end
        last = self.line_of(self.items[at + 1][0] if has_nested else end - 1)
        return first, self._trimmed(first, max(last - has_nested, line), lonely)

    def _quoted(
        self, block: Block, offset: int, line: int, lonely: int | None
    ) -> tuple[int, int] | None:
        item = self._item(offset, line, lonely)
        if item is not None:
            return item
        if line == block.end_line:
            return block.start_line, self._trimmed(block.start_line, line, lonely)
        at = bisect_right(self.texts, (offset, 1 << 62)) - 1
        if at < 0 or self.texts[at][1] <= offset:
            return None
        first = self.line_of(self.texts[at][0])
        return first, self._trimmed(first, line, lonely)

    def _trimmed(self, first: int, last: int, lonely: int | None) -> int:
        """`last` moved up over blank lines and the line of a lonely id."""
        while last > first and (last == lonely or _PREFIX.fullmatch(self._text(last))):
            last -= 1
        return last


def _parents(items: Sequence[tuple[int, int]]) -> list[int]:
    """Index of the item around each item, -1 for none; items come in document order."""
    parents: list[int] = []
    open_items: list[int] = []
    for index, (start, _) in enumerate(items):
        while open_items and items[open_items[-1]][1] <= start:
            open_items.pop()
        parents.append(open_items[-1] if open_items else -1)
        open_items.append(index)
    return parents
