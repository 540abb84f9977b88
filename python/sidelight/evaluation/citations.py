"""Do the cited lines hold the answer? Reads what a citation names from disk, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sidelight.errors import SidelightError
from sidelight.types import Citation, PassageKind, Result
from sidelight.vault.markdown import parse_note


class NoteReader(Protocol):
    """What of the engine is needed: a note's lines as they stand on disk."""

    @property
    def vault(self) -> Path:
        """The vault's folder."""

    def read_note(
        self, path: str, start_line: int | None = None, end_line: int | None = None
    ) -> tuple[str, str, int]:
        """Text of the lines, hash of the file, number of its lines."""


def holds_an_answer(reader: NoteReader, results: Sequence[Result], answers: Sequence[str]) -> bool:
    """Whether one of the cited ranges, read from disk, holds one of the answers.

    White space counts for nothing: an answer may be wrapped or indented in the note.
    """
    wanted = [squeezed for answer in answers if (squeezed := squeeze(answer))]
    for result in results:
        text = squeeze(cited_text(reader, result.path, result.citation))
        if any(answer in text for answer in wanted):
            return True
    return False


def cited_text(reader: NoteReader, path: str, citation: Citation) -> str:
    """What stands on disk where a citation points; "" for a citation without a place."""
    if citation.kind is PassageKind.CANVAS:
        return _canvas_node(reader.vault / path, citation.node)
    if citation.start_line is None:
        return ""
    try:
        text, _, _ = reader.read_note(path, citation.start_line, citation.end_line)
    except SidelightError:
        return ""  # a place that cannot be read covers nothing
    if citation.columns is not None:
        start, end = citation.columns
        return text[start:end]
    return text


def _canvas_node(file: Path, node_id: str | None) -> str:
    try:
        note = parse_note(file.name, file.read_bytes())
    except OSError:
        return ""
    return next((node.text for node in note.canvas_nodes if node.id == node_id), "")


def squeeze(text: str) -> str:
    """A text without white space: an answer may be wrapped or indented in a note."""
    return re.sub(r"\s+", "", text)
