"""Which file is the note now that a passage was indexed in?

A path that stands in the index is itself. Of a version that is no longer there, the renames
after it was replaced are followed; only a note that left unseen is sought by its bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sidelight.query.cite import LiveFiles
from sidelight.query.index import Index
from sidelight.query.refs import Ref, path_hash
from sidelight.store.rows import EarlierVersion, NoteHead


def path_now(index: Index, note: NoteHead, files: LiveFiles) -> str | None:
    """The path of an indexed note; another one only where its rename is not yet committed.

    Returns:
        None if another note was renamed to its path.
    """
    live = files.get(note.path)
    if live is not None and live.holds(note.content_hash):
        return note.path
    return index.renames.follow(note.path, math.nextafter(note.indexed_at, math.inf))


def path_after(
    index: Index, wanted: Ref, holders: Sequence[NoteHead], earlier: Sequence[EarlierVersion]
) -> str | None:
    """The path of the note that held the bytes which a reference names, and does no longer.

    Args:
        index: the vault.
        wanted: the reference.
        holders: other notes with these bytes.
        earlier: replaced versions with these bytes, of any note, oldest first.

    Returns:
        None if it is not known, or the note is gone and another one at its path.
    """
    own = [one for one in earlier if path_hash(one.path) == wanted.path_hash]
    since = own[-1].replaced_at if own else 0.0
    path = index.renames.follow(own[-1].path, since) if own else _without_history(index, wanted)
    with index.catalog.lock:
        if path in index.catalog.notes:
            return path
    # It went unseen: the one file that showed up with its bytes since then (conformance
    # rule 1), not a copy that always stood there.
    if len(holders) == 1 and holders[0].indexed_at >= since:
        return holders[0].path
    return path


def _without_history(index: Index, wanted: Ref) -> str | None:
    """The same where the version itself is forgotten: by the renames of its path."""
    left = [one for one in index.renames.seen() if path_hash(one.old) == wanted.path_hash]
    known = [one for one in left if one.content_hash.startswith(wanted.content_hash)]
    if not known:
        with index.catalog.lock:
            standing = [p for p in index.catalog.notes if path_hash(p) == wanted.path_hash]
        if standing:
            return standing[0]
    last = max(known or left, key=lambda one: one.at, default=None)
    return index.renames.follow(last.old, last.at) if last is not None else None
