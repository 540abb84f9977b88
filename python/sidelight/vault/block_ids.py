"""Which block does a `^id` name? Obsidian's rules, on what the Markdown parser saw."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sidelight.types import Block, BlockId, BlockKind
from sidelight.vault.inline import Stretch

# White space, `^`, Latin letters, digits and dashes, at the end of a line.
_ID = re.compile(rb"(?:^|(?<=[\s>]))\^([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)
_PREFIX = re.compile(r"[ \t>]*")
_CARRIERS = frozenset(
    (
        BlockKind.PARAGRAPH,
        BlockKind.LIST,
        BlockKind.BLOCKQUOTE,
        BlockKind.CALLOUT,
        BlockKind.HEADING,
        BlockKind.FOOTNOTE_DEFINITION,
    )
)


def read_block_ids(stretch: Stretch, blocks: Sequence[Block]) -> list[BlockId]:
    """Block ids of the body in document order; the same id twice is kept twice.

    Args:
        blocks: all root blocks of the note in order.
    """
    found: list[BlockId] = []
    for match in _ID.finditer(stretch.data):
        if stretch.structure.is_opaque(match.start()):
            continue
        span = _named(stretch, blocks, match.start())
        if span is not None:
            found.append(BlockId(match.group(1).decode(), *span))
    return found


def _named(stretch: Stretch, blocks: Sequence[Block], offset: int) -> tuple[int, int] | None:
    """Lines of the block that the id at `offset` names."""
    line = stretch.line_of(offset)
    index = next((i for i, b in enumerate(blocks) if b.start_line <= line <= b.end_line), None)
    if index is None or blocks[index].kind not in _CARRIERS:
        return None
    block = blocks[index]
    if not _ends_a_text(stretch, block, line):
        return None
    text = stretch.lines[line - stretch.first_line]
    alone = bool(_PREFIX.fullmatch(text[: text.rindex("^")]))
    if block.kind is BlockKind.LIST:
        return _item(stretch, offset, line, alone)
    if block.kind in (BlockKind.BLOCKQUOTE, BlockKind.CALLOUT):
        return _quoted(stretch, block, offset, line, alone)
    if alone and block.start_line == line:
        if index == 0 or blocks[index - 1].kind is BlockKind.YAML:
            return None
        return blocks[index - 1].start_line, blocks[index - 1].end_line
    return block.start_line, block.end_line - alone


def _ends_a_text(stretch: Stretch, block: Block, line: int) -> bool:
    """True if the text of `line` does not go on in the next line."""
    following = line + 1 - stretch.first_line
    if line == block.end_line or following >= len(stretch.lines):
        return True
    text = stretch.lines[following]
    if _PREFIX.fullmatch(text):
        return True
    first, last = stretch.starts[following], stretch.starts[following + 1]
    return any(first <= start < last for _, start, _ in stretch.structure.nodes)


def _item(stretch: Stretch, offset: int, line: int, alone: bool) -> tuple[int, int] | None:
    """Lines of the innermost list item around `offset`, without the items nested in it."""
    items = [n for n in stretch.structure.nodes if n[0] == "Item" and n[1] <= offset < n[2]]
    if not items:
        return None
    _, start, end = max(items, key=lambda node: node[1])
    nested = [n[1] for n in stretch.structure.nodes if n[0] == "Item" and start < n[1] < end]
    first = stretch.line_of(start)
    last = stretch.line_of(min(nested)) - 1 if nested else stretch.line_of(end - 1)
    last = max(last, line)
    return first, _trimmed(stretch, first, last, line if alone else None)


def _quoted(
    stretch: Stretch, block: Block, offset: int, line: int, alone: bool
) -> tuple[int, int] | None:
    item = _item(stretch, offset, line, alone)
    if item is not None:
        return item
    without = line if alone else None
    if line == block.end_line:
        return block.start_line, _trimmed(stretch, block.start_line, line, without)
    texts = [n for n in stretch.structure.nodes if n[0] == "Paragraph" and n[1] <= offset < n[2]]
    if not texts:
        return None
    first = stretch.line_of(max(texts, key=lambda node: node[1])[1])
    return first, _trimmed(stretch, first, line, without)


def _trimmed(stretch: Stretch, first: int, last: int, without: int | None) -> int:
    """`last` moved up over blank lines and the line of a lonely id."""
    while last > first:
        text = stretch.lines[last - stretch.first_line]
        if last != without and not _PREFIX.fullmatch(text):
            break
        last -= 1
    return last
