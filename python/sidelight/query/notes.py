"""What does a note say now? Its lines as they are on disk, not as they were indexed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sidelight.config import Settings
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.lines import decode, split_lines
from sidelight.vault.reading import read_inside


def read_note(
    vault: Path,
    path: str,
    exclusions: Exclusions,
    settings: Settings,
    lines: tuple[int | None, int | None],
) -> tuple[str, str, int]:
    """Lines of a note: their text, SHA-256 of the whole file, number of lines it has.

    Args:
        vault: real path.
        path: of the note in it.
        exclusions: in force.
        settings: its limit and the links that are followed.
        lines: first and last, 1-based and inclusive; None for the note's own.

    Raises:
        AccessError, NotFoundError: as `vault/reading.py`.
    """
    data = read_inside(vault, path, exclusions, settings.max_note_bytes, settings.followed_links)
    start, end = lines
    found = split_lines(decode(data)[0])
    chosen = found[max(1, start or 1) - 1 : len(found) if end is None else end]
    return "\n".join(chosen), hashlib.sha256(data).hexdigest(), len(found)
