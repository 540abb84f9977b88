"""Remembers which note went where and when, so that citations follow it.

The list is kept in the data folder, is bounded, and losing it only makes references to renamed
notes unresolvable.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sidelight.config import write_private

_KEEP = 5_000  # renames; the oldest are forgotten first


class Rename(NamedTuple):
    """A note that was seen to go from one path to another.

    Attributes:
        content_hash: SHA-256 of its bytes then, hex.
        at: seconds since the epoch; the same as `replaced_at` of the versions that the same
            step put into the history.
    """

    old: str
    new: str
    content_hash: str
    at: float


class Renames:
    """The renames that were seen, in their order."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        try:
            self._seen = [Rename(*row) for row in json.loads(file.read_text("utf-8"))]
        except (FileNotFoundError, ValueError, TypeError):  # none yet, or an earlier form
            self._seen = []

    def record(self, renames: Sequence[Rename]) -> None:
        """Adds renames and writes the file; none writes nothing."""
        if not renames:
            return
        with self._lock:
            for one in renames:
                self._forget_unfinished(one)
            self._seen = [*self._seen, *renames][-_KEEP:]
            write_private(self._file, json.dumps(self._seen, ensure_ascii=False))

    def seen(self) -> list[Rename]:
        """All of them, oldest first."""
        with self._lock:
            return list(self._seen)

    def follow(self, path: str, since: float) -> str | None:
        """Where the note went that stood at `path` until the time `since` or longer.

        A path that a note has left may be taken by another one; times tell the two apart.

        Returns:
            Its path now, the same if it was not seen to go; None if another note was renamed
            to where it stood.
        """
        at, moved = since, False
        while True:
            later = [
                one
                for one in self.seen()
                if path in (one.old, one.new) and (one.at > at or (one.at == at and not moved))
            ]
            if not later:
                return path
            step = min(later, key=lambda one: (one.at, one.old != path))
            if step.old != path:
                return None
            path, at, moved = step.new, step.at, True

    def _forget_unfinished(self, again: Rename) -> None:
        """Drops the same rename of a step that a crash or a full disk cut off: it is done again."""
        paths = {again.old, again.new}
        touching = [one for one in self._seen if paths & {one.old, one.new}]
        for one in touching:
            if one[:3] == again[:3] and one.at == touching[-1].at:
                self._seen.remove(one)
