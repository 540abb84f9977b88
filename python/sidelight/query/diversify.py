"""Keeps one note, or one copied text, from filling the list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sidelight.query.candidates import Candidate


def diversify(candidates: Sequence[Candidate], per_note: int | None) -> list[Candidate]:
    """At most `per_note` chunks a note (None: all), one of several with the same text.

    Of equal texts the first in order stays. Order is kept.
    """
    kept: list[Candidate] = []
    of_note: Counter[str] = Counter()
    texts: set[str] = set()
    for candidate in candidates:
        chunk = candidate.chunk
        if per_note is not None and of_note[chunk.path] >= per_note:
            continue
        if chunk.searchable and chunk.text_hash in texts:
            continue
        of_note[chunk.path] += 1
        texts.add(chunk.text_hash)
        kept.append(candidate)
    return kept
