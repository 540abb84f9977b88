"""What blocks does the Markdown parser see, and where do links and tags not count?

One pass over the parser's events. Offsets are UTF-8 bytes of the body. Knows no Obsidian
rule but the closing dollar.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import pyromark

_MARKDOWN = pyromark.Markdown(
    options=pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_MATH
)
# Events of the inside of a text in which links and tags do not count.
_OPAQUE = ("Code", "InlineHtml", "InlineMath", "DisplayMath")
_BLANK = b" \t\n"
_NODES = frozenset(("Paragraph", "Item", "HtmlBlock", "List", "BlockQuote", "CodeBlock", "Table"))


@dataclass(slots=True)
class Structure:
    """What one pass found; spans are `(start, end)` in bytes, in document order."""

    roots: list[tuple[str, int, int]] = field(default_factory=list)  # name of the event, span
    headings: dict[int, int] = field(default_factory=dict)  # start of a root heading: level
    nodes: list[tuple[str, int, int]] = field(default_factory=list)  # blocks at any depth
    opaque: list[tuple[int, int]] = field(default_factory=list)
    literal: list[tuple[int, int]] = field(default_factory=list)  # code and HTML blocks
    tables: list[tuple[int, int]] = field(default_factory=list)
    links: list[tuple[str, int, int, bool]] = field(default_factory=list)  # destination, embed
    autolinks: list[tuple[int, int]] = field(default_factory=list)

    def is_opaque(self, offset: int) -> bool:
        """True where links and tags do not count."""
        return _within(self.opaque, offset)

    def in_table(self, offset: int) -> bool:
        """True inside a table, at any depth."""
        return _within(self.tables, offset)


def read_structure(text: str, data: bytes) -> Structure:
    """The blocks and spans of a Markdown text.

    Args:
        text: lines end at line feeds only.
        data: the same in UTF-8.
    """
    found = Structure()
    root_end = 0
    roots, nodes, opaque = found.roots, found.nodes, found.opaque
    events: Any = _MARKDOWN.events_with_range(text, merge_text=True)
    for event, span in events:
        if event.__class__ is str:
            if event == "Rule" and span["start"] >= root_end:
                root_end = span["end"]
                roots.append(("Rule", span["start"], root_end))
            continue
        if "Text" in event or "End" in event:
            continue
        if "Start" not in event:
            for name in _OPAQUE:
                if name in event:
                    end = span["end"]
                    # Obsidian: a dollar followed by a digit closes no formula.
                    if name != "InlineMath" or not data[end : end + 1].isdigit():
                        opaque.append((span["start"], end))
                    break
            continue
        tag = event["Start"]
        start, end = span["start"], span["end"]
        while start < end and data[start] in _BLANK:  # a nested item begins at its indentation
            start += 1
        if tag.__class__ is str:
            name = tag
        else:
            (name,) = tag
        if name == "Link" or name == "Image":
            link = tag[name]
            kind = link["link_type"]
            if kind == "Inline":
                found.links.append((link["dest_url"], start, end, name == "Image"))
            elif kind == "Autolink" or kind == "Email":
                found.autolinks.append((start, end))
            continue
        if start >= root_end:
            root_end = end
            roots.append((name, start, end))
            if name == "Heading":
                found.headings[start] = int(tag["Heading"]["level"][1])
        if name in _NODES:
            nodes.append((name, start, end))
            if name == "CodeBlock" or name == "HtmlBlock":
                opaque.append((start, end))
                found.literal.append((start, end))
            elif name == "Table":
                found.tables.append((start, end))
    return found


def _within(spans: list[tuple[int, int]], offset: int) -> bool:
    index = bisect_right(spans, (offset, 1 << 62)) - 1
    return index >= 0 and spans[index][1] > offset
