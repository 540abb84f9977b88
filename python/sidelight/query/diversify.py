"""Keeps one note, one copied text or a stray copy of a note from filling the list."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from sidelight.query.candidates import Candidate


def diversify(
    candidates: Sequence[Candidate],
    per_note: int | None,
    original_of: Callable[[str], str | None] = lambda path: None,
) -> Iterator[Candidate]:
    """At most `per_note` chunks a note (None: all), one of several with the same text.

    One after the other: as far as the list is shown, so far is it looked through.

    Of equal texts the first in order stays. Order is kept, but for sync-conflict copies:
    they follow the note they are copies of.

    Args:
        candidates: best first.
        per_note: see above.
        original_of: the note that a path is a sync-conflict copy of, if it is one.
    """
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
        yield candidate


def _copies_last(
    candidates: Sequence[Candidate], original_of: Callable[[str], str | None]
) -> Iterator[Candidate]:
    """Each copy right behind the last passage of its original, where that is in the list."""
    last: dict[str, int] = {}
    waiting: dict[int, list[Candidate]] = defaultdict(list)
    for place, candidate in enumerate(candidates):
        original = original_of(candidate.chunk.path)
        if original and not last:  # few lists have a copy
            last = {c.chunk.path: place for place, c in enumerate(candidates)}
        behind = last.get(original, -1) if original else -1
        if behind > place:
            waiting[behind].append(candidate)
        else:
            yield candidate
        yield from waiting.pop(place, ())
