"""Which note became which, told from what left its path and what arrived in one step.

A rename keeps the bytes and, nearly always, the time of a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from sidelight.store.renames import Rename
from sidelight.store.rows import NoteHead
from sidelight.types import FileEntry


def renames_in(
    gone: Sequence[NoteHead],
    changed: Sequence[tuple[FileEntry, NoteHead | None]],
    hash_of: Callable[[str], str],
    at: float,
) -> list[Rename]:
    """Pairs what left a path with what arrived at one.

    The same bytes and time at exactly one path before and one after are a rename, also where
    the old path holds another note by now or the new one did before (a swap). The same bytes
    alone are one from a path that is gone to a path that is new. Copies that cannot be told
    apart pair nothing (conformance rule 1 asks for exactly one).

    Args:
        gone: notes whose files are no longer there.
        changed: new and changed files, with the note that was indexed at their path.
        hash_of: reads a file and gives the SHA-256 of its bytes, hex; "" if it cannot. Asked
            only of files that could be one end of a rename.
        at: the time of this step.
    """
    standing = {entry.path for entry, _ in changed}  # perhaps only touched, with the same bytes
    left = [*gone, *(known for _, known in changed if known is not None)]
    left = [row for row in left if row.content_hash]
    stamps = {(row.size, row.mtime_ns) for row in left}
    sizes = {row.size for row in gone}
    hashes = {
        entry.path: hash_of(entry.path)
        for entry, known in changed
        if (entry.size, entry.mtime_ns) in stamps or (known is None and entry.size in sizes)
    }
    found: list[Rename] = []

    def pair(old: dict[str, tuple[str, int]], new: dict[str, tuple[str, int]]) -> None:
        once = _only(new)
        for key, path in _only(old).items():
            if key in once and not (path in standing and hash_of(path) == key[0]):
                found.append(Rename(path, once[key], key[0], at))

    pair(
        {row.path: (row.content_hash, row.mtime_ns) for row in left},
        {e.path: (hashes[e.path], e.mtime_ns) for e, _ in changed if hashes.get(e.path)},
    )
    ends = {path for one in found for path in (one.old, one.new)}
    pair(
        {row.path: (row.content_hash, 0) for row in gone if row.path not in ends},
        {
            entry.path: (hashes[entry.path], 0)
            for entry, known in changed
            if known is None and hashes.get(entry.path) and entry.path not in ends
        },
    )
    return found


def _only(keys: dict[str, tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Path by key, of keys that one path has."""
    counts = Counter(keys.values())
    return {key: path for path, key in keys.items() if counts[key] == 1}
