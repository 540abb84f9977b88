"""What does the index cover: how many notes, how many by meaning, and which not, why?

Reads the catalog only; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sidelight.store.catalog import Catalog
from sidelight.types import IndexState, NoteState, Problem
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import is_note
from sidelight.vault.left_out import REMEDIES


def index_state(catalog: Catalog, constants: str, *, vectors: bool, unread: int) -> IndexState:
    """The whole index.

    Args:
        catalog: of the index.
        constants: what besides the notes decides an answer; part of the snapshot.
        vectors: whether passages without a vector wait for one.
        unread: notes whose words wait.
    """
    with catalog.lock:
        return IndexState(
            snapshot=catalog.snapshot(constants),
            notes=len(catalog.notes),
            chunks=catalog.searchable,
            embedded_chunks=catalog.embedded(),
            pending=(catalog.waiting() if vectors else 0) + unread,
        )


def note_state(catalog: Catalog, path: str, exclusions: Exclusions) -> NoteState:
    """One note; an unknown path is not indexed."""
    with catalog.lock:
        note = catalog.notes.get(path)
        if note is None:
            reason = "excluded" if exclusions.excluded(path) else None
            return NoteState(path, False, 0, 0, None, reason, (), None)
        rows = [c for c in catalog.by_note.get(path, ()) if c.searchable]
        embedded = sum(row.embed_hash in catalog.vectors for row in rows)
    return NoteState(
        path=path,
        indexed=note.error is None,
        chunks=len(rows),
        embedded=embedded,
        content_hash=note.content_hash or None,
        error=note.error,
        problems=note.problems,
        indexed_at=note.indexed_at,
    )


def failed_notes(
    catalog: Catalog,
    exclusions: Exclusions,
    out_of_reach: Mapping[str, str],
    unlisted: Iterable[tuple[str, Problem]] = (),
) -> list[NoteState]:
    """Notes that could not be indexed, or not by meaning, each with its reason.

    Folders that could not be listed and rules of exclusion that are not understood follow.

    What is wrong in notes that were indexed as far as they could be read stands in `note_state`.

    Args:
        catalog: of the index.
        exclusions: in force.
        out_of_reach: notes that cannot be read now, with the reason.
        unlisted: what the last scan left out; folder links, left out on purpose, do not count.
    """
    with catalog.lock:
        paths = sorted(note.path for note in catalog.notes.heads() if note.error)
        partly = {
            chunk.path: reason
            for embed_hash, reason in catalog.unembeddable.items()
            for chunk in catalog.by_embedding.get(embed_hash, ())
        }
    words_only = [
        replace(
            note_state(catalog, path, exclusions),
            error=f"a passage is found by its words only, as the model failed on it ({reason})",
        )
        for path, reason in sorted(partly.items())
    ]
    waiting = [
        replace(note_state(catalog, path, exclusions), error=reason)
        for path, reason in sorted(out_of_reach.items())
    ]
    left_out = [
        NoteState(
            path, False, 0, 0, None, f"{problem.message} {_remedy(problem)}", (problem,), None
        )
        for path, problem in (*unlisted, *exclusions.faults)
        if is_note(path) or problem.code != "link-not-followed"
    ]
    failed = [note_state(catalog, p, exclusions) for p in paths if p not in out_of_reach]
    return failed + words_only + waiting + left_out


def _remedy(problem: Problem) -> str:
    return REMEDIES.get(problem.code, "Until it is corrected it excludes nothing.")
