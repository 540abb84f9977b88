"""Remembers which note became which, so that citations follow a rename.

A rename is seen as one path gone and one path new with the same bytes. The list is kept
in the data folder, is bounded, and losing it only makes old references unresolvable.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from sidelight.config import write_private

_KEEP = 5_000  # renames; the oldest are forgotten first


def renamed_to(gone: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Pairs paths that are gone with new paths of the same content hash.

    A hash that is gone or new at several paths pairs nothing: which became which is not
    known (conformance rule 1 asks for exactly one).
    """
    gone_count, new_count = Counter(gone.values()), Counter(new.values())
    path_of = {content_hash: path for path, content_hash in new.items()}
    return {
        path: path_of[content_hash]
        for path, content_hash in gone.items()
        if content_hash and gone_count[content_hash] == 1 and new_count[content_hash] == 1
    }


class Renames:
    """Old path to new path, following chains."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        try:
            loaded = json.loads(file.read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            loaded = {}
        self._to: dict[str, str] = loaded if isinstance(loaded, dict) else {}

    def record(self, pairs: Mapping[str, str]) -> None:
        """Adds renames and writes the file; an empty mapping writes nothing."""
        if not pairs:
            return
        with self._lock:
            for old, new in pairs.items():
                self._to.pop(new, None)  # what was renamed away lives again
                self._to.pop(old, None)
                self._to[old] = new
            while len(self._to) > _KEEP:
                self._to.pop(next(iter(self._to)))
            write_private(self._file, json.dumps(self._to, ensure_ascii=False))

    def current(self, path: str) -> str:
        """The path a note has now, as far as renames were seen."""
        with self._lock:
            for _ in range(100):  # a chain longer than this is a cycle
                if path not in self._to:
                    break
                path = self._to[path]
            return path
