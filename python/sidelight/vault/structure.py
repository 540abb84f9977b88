"""What blocks does the Markdown parser see, and where do links and tags not count?

One pass over the parser's events. Offsets are UTF-8 bytes of the body. Knows no Obsidian
rule but the closing dollar.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import pyromark

_MARKDOWN = pyromark.Markdown(
    options=pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_MATH
)
# CommonMark 0.31 lets blanks and tabs follow a closing fence, the parser blanks alone.
_TAB_AFTER_FENCE = re.compile(r"(?<=```|~~~)(?= *\t)[ \t]*+$", re.MULTILINE)
# Events of the inside of a text in which links and tags do not count.
_OPAQUE = frozenset(("Code", "InlineHtml", "InlineMath", "DisplayMath"))
# What is no block; a row's missing cells are empty and lie past the end of their table.
_INLINE = frozenset(("Link", "Image", "Emphasis", "Strong", "TableHead", "TableRow", "TableCell"))

_FAR = 1 << 62
_LINE_FEED = 0x0A
_BLANKS = b" \t"


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
    failed: bool = False

    def opened_before(self, offset: int) -> int:
        """Start of the opaque span around an offset: links and tags do not count; else -1."""
        index = bisect_right(self.opaque, (offset, _FAR)) - 1
        return self.opaque[index][0] if index >= 0 and self.opaque[index][1] > offset else -1

    def in_table(self, offset: int) -> bool:
        """True inside a table, at any depth."""
        index = bisect_right(self.tables, (offset, _FAR)) - 1
        return index >= 0 and self.tables[index][1] > offset


def read_structure(text: str, data: bytes) -> Structure:
    """The blocks and spans of a Markdown text; `failed` if the parser gave up on it.

    Args:
        text: lines end at line feeds only.
        data: the same in UTF-8.
    """
    if "\t" in text and ("```" in text or "~~~" in text):
        text = _TAB_AFTER_FENCE.sub(lambda blanks: " " * len(blanks.group()), text)
    try:
        return _read(text, data)
    except BaseException as error:
        # A panic in the parser's Rust code is no Exception; no note may stop an index.
        if type(error).__name__ != "PanicException":
            raise
        return Structure(failed=True)


def _read(text: str, data: bytes) -> Structure:
    found = Structure()
    root_end = 0
    roots, opaque, nodes = found.roots, found.opaque, found.nodes
    events: Any = _MARKDOWN.events_with_range(text, merge_text=True)
    for event, span in events:  # tens of thousands a megabyte: the order of tests matters
        if event.__class__ is str:
            if event == "Rule" and span["start"] >= root_end:
                root_end = span["end"]
                roots.append(("Rule", span["start"], root_end))
            continue
        if "Text" in event or "End" in event:
            continue
        tag = event.get("Start")
        if tag is None:
            if not _OPAQUE.isdisjoint(event):
                start, end = span["start"], span["end"]
                # Obsidian: a dollar followed by a digit closes no formula.
                if "InlineMath" not in event or not data[end : end + 1].isdigit():
                    opaque.append((start, end))
            continue
        if tag.__class__ is str:
            name = tag
        else:
            (name,) = tag
        if name in _INLINE:
            if name == "Link" or name == "Image":
                _add_link(found, tag[name], name, span["start"], span["end"])
            continue
        start, end = span["start"], span["end"]
        while data[start] <= 32 and start + 1 < end:  # a nested item begins at its indentation
            start += 1
        nodes.append((name, start, end))
        if start >= root_end:
            if name == "FootnoteDefinition" and _in_footnote(roots, span["start"], data):
                roots[-1] = (name, roots[-1][1], _text_end(data, start, end))
            else:
                roots.append((name, start, _text_end(data, start, end)))
            root_end = end
            if name == "Heading":
                found.headings[start] = int(tag["Heading"]["level"][1])
        if name == "CodeBlock" or name == "HtmlBlock":
            opaque.append((start, end))
            found.literal.append((start, end))
        elif name == "Table":
            found.tables.append((start, end))
    return found


def _in_footnote(roots: list[tuple[str, int, int]], start: int, data: bytes) -> bool:
    """True for a footnote inside the one before it, which the parser ends where this begins.

    It stands in the other's own line, or is indented as what belongs to that.
    """
    if not roots or roots[-1][0] != "FootnoteDefinition":
        return False
    return start > 0 and data[start - 1] != _LINE_FEED


def _text_end(data: bytes, start: int, end: int) -> int:
    """Without the indentation of the next block, which the parser may count to this one."""
    while end - 1 > start and data[end - 1] in _BLANKS:
        end -= 1
    return end


def _add_link(found: Structure, link: Any, name: str, start: int, end: int) -> None:
    kind = link["link_type"]
    if kind == "Inline":
        found.links.append((link["dest_url"], start, end, name == "Image"))
    elif kind == "Autolink" or kind == "Email":
        found.opaque.append((start, end))
