"""Keeps one note, one copied text or a stray copy of a note from filling the list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from sidelight.query.candidates import Candidate


def diversify(
    candidates: Sequence[Candidate],
    per_note: int | None,
    original_of: Callable[[str], str | None] = lambda path: None,
) -> list[Candidate]:
    """At most `per_note` chunks a note (None: all), one of several with the same text.

    Of equal texts the first in order stays. Order is kept, but for sync-conflict copies:
    they follow the note they are copies of.

    Args:
        candidates: best first.
        per_note: see above.
        original_of: the note that a path is a sync-conflict copy of, if it is one.
    """
    kept: list[Candidate] = []
    of_note: Counter[str] = Counter()
    texts: set[str] = set()
    for candidate in _copies_last(candidates, original_of):
        chunk = candidate.chunk
        if per_note is not None and of_note[chunk.path] >= per_note:
            continue
        if chunk.searchable and chunk.text_hash in texts:
            continue
        of_note[chunk.path] += 1
        texts.add(chunk.text_hash)
        kept.append(candidate)
    return kept


def _copies_last(
    candidates: Sequence[Candidate], original_of: Callable[[str], str | None]
) -> list[Candidate]:
    """Each copy right behind the last passage of its original, where that is in the list."""
    last = {c.chunk.path: place for place, c in enumerate(candidates)}
    originals = {path: original_of(path) for path in last}

    def place_of(place: int) -> tuple[int, int]:
        original = originals[candidates[place].chunk.path]
        behind = last.get(original, -1) if original else -1
        return (behind, 1 + place) if behind > place else (place, 0)

    return [candidates[i] for i in sorted(range(len(candidates)), key=place_of)]
