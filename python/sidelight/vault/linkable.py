"""Where in a note could a link be written? In its running text, not in code, links or headings.

Knows no names and suggests nothing.
"""

from __future__ import annotations

import re

from sidelight.types import BlockKind
from sidelight.vault.frontmatter import read_frontmatter
from sidelight.vault.lines import split_lines
from sidelight.vault.markdown import Body
from sidelight.vault.wikilinks import WIKILINK_BYTES

# Takes the place of every character where no link belongs; no name holds it.
CLOSED = "\0"

# A link in a heading would change the name under which the heading itself is linked; the bar of
# a link's display text would end a table cell.
_CLOSED_BLOCKS = frozenset(
    (
        *(BlockKind.HEADING, BlockKind.TABLE, BlockKind.CODE, BlockKind.MATH),
        *(BlockKind.COMMENT, BlockKind.HTML, BlockKind.YAML),
    )
)
# Brackets of any kind of link or reference, bare addresses, tags, block ids, inline comments.
_CLOSED_TEXT = re.compile(
    r"\[[^\[\]\n]*+\](?:\([^()\n]*+\)|\[[^\[\]\n]*+\])?"
    r"|(?<![\w])(?:[a-zA-Z][a-zA-Z0-9+.-]*://|www\.)[^\s<>]*+"
    r"|(?<![^\s\0])#[^\s#]++"
    r"|(?<=\s)\^[A-Za-z0-9-]++$"
    r"|%%.*?%%",
    re.MULTILINE,
)
_CHARACTER = re.compile(r"[^\n]")


def linkable_lines(text: str) -> list[str]:
    """The lines of a Markdown note, as long as they are, with `CLOSED` where no link belongs.

    Args:
        text: of the whole note, without a byte order mark.
    """
    lines = split_lines(text)
    first = read_frontmatter(lines).frontmatter.body_start_line
    body = Body(lines[first - 1 :], first)
    data, structure = body.stretch.data, body.stretch.structure
    spans = [match.span() for match in WIKILINK_BYTES.finditer(data)]
    spans += structure.opaque
    spans += [(start, end) for _, start, end, _ in structure.links]
    opened = _CLOSED_TEXT.sub(_closed, _close(data, spans)).split("\n")
    for block in body.blocks:
        if block.kind in _CLOSED_BLOCKS:
            for index in range(block.start_line - first, block.end_line - first + 1):
                opened[index] = CLOSED * len(lines[first - 1 + index])
    head = [CLOSED * len(line) for line in lines[: first - 1]]
    return head + opened if len(lines) >= first else head


def _close(data: bytes, spans: list[tuple[int, int]]) -> str:
    """The text with the spans (bytes, in any order) closed."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end <= at:
            continue
        start = max(start, at)
        parts.append(data[at:start].decode())
        parts.append(_CHARACTER.sub(CLOSED, data[start:end].decode()))
        at = end
    parts.append(data[at:].decode())
    return "".join(parts)


def _closed(match: re.Match[str]) -> str:
    return CLOSED * len(match.group())
