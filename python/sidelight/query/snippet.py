"""A short part of a passage with the matched words marked (first version)."""

from __future__ import annotations

from collections.abc import Sequence

from sidelight.language.terms import QueryTerm
from sidelight.types import Snippet


def snippet(
    text: str, query_terms: Sequence[QueryTerm], phrases: Sequence[str] = (), width: int = 200
) -> Snippet:
    """The part of `text` around its first match, matches marked by code points."""
    flat = " ".join(text.split())
    lowered = flat.lower() if len(flat.lower()) == len(flat) else flat
    words = [w.lower() for w in (*phrases, *(t.source for t in query_terms if t.weight >= 0.3))]
    places = sorted((lowered.find(w), len(w)) for w in words if w and w in lowered)
    start = max(0, places[0][0] - width // 4) if places else 0
    part, low = flat[start : start + width], lowered[start : start + width]
    marks: list[tuple[int, int]] = []
    for word in words:
        at = low.find(word) if word else -1
        while at >= 0:
            marks.append((at, at + len(word)))
            at = low.find(word, at + len(word))
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(marks):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return Snippet(part, tuple(merged))
