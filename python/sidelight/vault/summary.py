"""What is a note about, in two lines? Its `summary` property, else its first words and headings.

Extractive: every word stands in the note. No model.
"""

from __future__ import annotations

from sidelight.types import BlockKind, Note, NoteKind

_PROSE = (BlockKind.PARAGRAPH, BlockKind.LIST, BlockKind.BLOCKQUOTE, BlockKind.CALLOUT)
_SHOWN_HEADINGS = 6


def summarise(note: Note, most_chars: int = 240) -> str:
    """A short summary of a parsed note; "" for an empty one.

    Args:
        note: from `parse_note`.
        most_chars: it is cut at a word or sign before it gets longer.
    """
    given = (note.frontmatter.data or {}).get("summary")
    if isinstance(given, str) and given.strip():
        return _cut(given, most_chars)
    if note.kind is NoteKind.CANVAS:
        return _cut(" · ".join(node.text for node in note.canvas_nodes), most_chars)
    lead = next((b for b in note.blocks if b.kind in _PROSE), None)
    words = "\n".join(note.lines[lead.start_line - 1 : lead.end_line]) if lead else ""
    headings = [h.text for h in note.headings if h.text.strip() != note.title]
    shown = " · ".join(headings[:_SHOWN_HEADINGS])
    room = most_chars - len(shown) - 3 if shown else most_chars
    parts = [_cut(words, max(most_chars // 2, room)), shown]
    return _cut(" | ".join(part for part in parts if part), most_chars)


def _cut(text: str, most: int) -> str:
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > most // 2 else cut) + "…"
