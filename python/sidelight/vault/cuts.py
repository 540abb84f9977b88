"""Where may a block that is too large be cut? Between items, rows, lines, then sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sidelight.types import Block, BlockKind
from sidelight.vault.noise import data_kind, is_data_line, is_data_part
from sidelight.vault.sentences import sentences
from sidelight.vault.sizes import LIMIT, WHOLE, cut_columns, size

_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}|~{3,})")


@dataclass(slots=True)
class Piece:
    """Consecutive lines of one block, or part of one long line; never changed once made."""

    block: Block
    first: int  # line
    last: int
    size: float
    columns: tuple[int, int] | None = None
    context: str = ""  # header row of a table that this part does not hold
    noise: bool = False

    @classmethod
    def whole(cls, block: Block, spent: float) -> Piece:
        """A block that is not cut."""
        return cls(block, block.start_line, block.end_line, spent)

    @property
    def alone(self) -> bool:
        """It cannot share a chunk: a part of a line, or data."""
        return self.columns is not None or self.noise


def cut_block(block: Block, lines: Sequence[str]) -> list[Piece]:
    """Pieces of a block, each within the limit, covering all of its lines that are not blank.

    Args:
        lines: the block's own lines.
    """
    header = lines[0].strip() if block.kind is BlockKind.TABLE else ""
    pieces: list[Piece] = []
    for first, end in _units(block, lines):
        pieces += _unit_pieces(block, lines, first, end)
    return list(_joined(pieces, header))


def _units(block: Block, lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines that belong together: list items; else every line."""
    if block.kind is not BlockKind.LIST:
        yield from ((index, index + 1) for index in range(len(lines)))
        return
    start, fence = 0, ""
    for index, line in enumerate(lines):
        opened = _FENCE.match(line)
        if fence:
            stripped = line.strip(" \t>")
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
            continue
        if _ITEM.match(line) and index > start:
            yield start, index
            start = index
        if opened:
            fence = opened.group(1)
    yield start, len(lines)


def _unit_pieces(block: Block, lines: Sequence[str], first: int, end: int) -> Iterator[Piece]:
    """The unit whole if it fits; else its lines, and the sentences of lines too long."""
    while end > first + 1 and not lines[end - 1].strip():
        end -= 1
    unit = lines[first:end]
    total = size("\n".join(unit))
    at = block.start_line
    if end - first > 1 and total <= LIMIT and not any(is_data_line(line) for line in unit):
        yield Piece(block, at + first, at + end - 1, total)
        return
    for index in range(first, end):
        line = lines[index]
        if not line.strip():
            continue
        kind = data_kind(line)
        cost = size(line)
        if cost <= WHOLE:
            noise = is_data_part(line, kind)
            yield Piece(block, at + index, at + index, cost, noise=noise)
            continue
        for start, stop in cut_text(line):
            part = line[start:stop]
            noise = is_data_part(part, kind)
            yield Piece(block, at + index, at + index, size(part), (start, stop), noise=noise)


def _joined(pieces: Sequence[Piece], header: str) -> Iterator[Piece]:
    """Neighbouring units put together up to the limit, so that parts are few and full."""
    run: list[Piece] = []
    spent, started = 0.0, False

    def flush() -> Iterator[Piece]:
        if run:
            context = header if header and run[0].first > run[0].block.start_line else ""
            yield Piece(
                run[0].block,
                run[0].first,
                run[-1].last,
                spent,
                run[0].columns,
                context,
                run[0].noise,
            )

    for piece in pieces:
        apart = started and (piece.columns is not None or run[-1].columns is not None)
        if run and (apart or piece.noise != run[-1].noise or spent + piece.size > LIMIT):
            yield from flush()
            run, spent = [], 0.0
        run.append(piece)
        spent += piece.size
        started = True
    yield from flush()


def cut_text(text: str) -> list[tuple[int, int]]:
    """Columns of the parts of one long text: whole sentences up to the limit.

    A sentence that no limit can hold is cut at the limit as a last resort.
    """
    parts: list[tuple[int, int]] = []
    spent = LIMIT + 1.0  # of the last part, which may take more sentences; none yet
    for start, end in sentences(text):
        cost = size(text[start:end])
        if cost > LIMIT:
            parts += cut_columns(text, start, end, LIMIT)
            spent = LIMIT + 1.0
            continue
        gap = size(text[parts[-1][1] : start]) if parts else 0.0
        if spent + gap + cost <= LIMIT:
            parts[-1] = (parts[-1][0], end)
            spent += gap + cost
        else:
            parts.append((start, end))
            spent = cost
    return parts
