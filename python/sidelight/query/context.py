"""How does a numbered piece look in the context that a model reads? Text from values, nothing else.

Each piece is one `<note>` element, so that a model can tell the words of a note from what it is
told to do; no note can close its own element or open another. Notes are data: nothing that stands
in one is obeyed here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from sidelight.types import Citation, CitationStatus, PassageKind

SEPARATOR = "\n"
_MARKUP = re.compile(r"<(?=\s*/?\s*note\b)", re.IGNORECASE)


def render_piece(
    number: int, path: str, heading_path: Sequence[str], citation: Citation, text: str
) -> str:
    """One piece with its number, where it stands, and the headings its text does not show."""
    attributes = [f'n="{number}"', f'at="{_attribute(place(path, citation))}"']
    above = heading_path[:-1] if text.startswith("#") else heading_path
    if above:
        attributes.append(f'under="{_attribute(" > ".join(above))}"')
    if citation.status is CitationStatus.SOURCE_CHANGED:
        attributes.append('status="source_changed"')
    return f"<note {' '.join(attributes)}>\n{_MARKUP.sub('&lt;', text)}\n</note>"


def place(path: str, citation: Citation) -> str:
    """`path:start-end`, or the path and the card of a canvas."""
    if citation.start_line is not None:
        end = citation.end_line or citation.start_line
        return f"{path}:{citation.start_line}-{end}"
    if citation.kind is PassageKind.CANVAS and citation.node:
        return f"{path}#{citation.node}"
    return path


def _attribute(text: str) -> str:
    return escape(" ".join(text.split()), quote=True)
