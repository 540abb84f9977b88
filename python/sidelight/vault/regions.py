"""Where are the root blocks CommonMark does not know: `%% comments %%` and `$$ maths $$`?

They are found first and masked as HTML comments of the same lines, so that the Markdown
parser sees one block where Obsidian sees one, and nothing inside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sidelight.types import BlockKind, Problem

OPENING = re.compile(r"[ \t]*(%%|\$\$)")


@dataclass(frozen=True, slots=True)
class Region:
    """Whole lines of the body, 0-based, both ends included."""

    kind: BlockKind
    first: int
    last: int


def find_region(lines: Sequence[str], at: int) -> tuple[Region | None, int, Problem | None]:
    """The region that opens on line `at` of the body, and the line to look on from.

    A comment or formula that closes on its own line is a block only where it stands alone
    between blank lines; inside a paragraph it is inline, as is a formula with text behind its
    end. A comment without its end runs to the end of the note; a formula without one is text.
    """
    match = OPENING.match(lines[at])
    if match is None:
        return None, at + 1, None
    mark = match.group(1)
    kind = BlockKind.COMMENT if mark == "%%" else BlockKind.MATH
    _, closed, behind = lines[at][match.end() :].partition(mark)
    if closed:
        alone = not behind.strip() and _stands_alone(lines, at)
        return (Region(kind, at, at) if alone else None), at + 1, None
    for index in range(at + 1, len(lines)):
        _, closed, behind = lines[index].partition(mark)
        if closed:
            inline = kind is BlockKind.MATH and behind.strip()
            return (None if inline else Region(kind, at, index)), index + 1, None
    if kind is BlockKind.MATH:
        problem = Problem("math-unclosed", "A formula is opened with $$ and not closed.", at)
        return None, at + 1, problem
    problem = Problem("comment-unclosed", "A comment is opened with %% and not closed.", at)
    return Region(kind, at, len(lines) - 1), len(lines), problem


def mask(lines: list[str], region: Region) -> None:
    """Puts an HTML comment of as many lines in place of the region, at its indentation."""
    text = lines[region.first]
    indent = text[: len(text) - len(text.lstrip())]
    for index in range(region.first + 1, region.last):
        lines[index] = ""
    if region.first == region.last:
        lines[region.first] = indent + "<!---->"
    else:
        lines[region.first] = indent + "<!--"
        lines[region.last] = indent + "-->"


def _stands_alone(lines: Sequence[str], at: int) -> bool:
    before = at == 0 or not lines[at - 1].strip()
    after = at + 1 == len(lines) or not lines[at + 1].strip()
    return before and after
