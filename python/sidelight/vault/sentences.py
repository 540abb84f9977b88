"""Where do the sentences of a line begin and end? Chinese and Latin marks alike. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A sentence ends after its marks and what closes them: after Chinese marks at once, after
# Latin ones only before white space ("3.5", "a.b" are no ends).
_SENTENCE_END = re.compile(r"[。！？…；]+[”’」』）》】\"')\]]*|[.!?]+[\"'”’)\]]*(?=\s)")
_CLAUSE_END = re.compile(r"[,;:}|)](?=.)|[，、：）]|\s(?=\S)")
# A longer sentence is no prose (minified code, data): its clauses are the pieces.
_LONG_SENTENCE = 240


def sentences(line: str) -> Iterator[tuple[int, int]]:
    """Columns of each sentence of a line, without the white space around it."""
    start = 0
    for end in [*[found.end() for found in _SENTENCE_END.finditer(line)], len(line)]:
        if end - start > _LONG_SENTENCE:
            yield from _clauses(line, start, end)
        elif inner := line[start:end].strip():
            left = line.index(inner, start)
            yield left, left + len(inner)
        start = end


def _clauses(line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for stop in [*[found.end() for found in _CLAUSE_END.finditer(line, start, end)], end]:
        if inner := line[start:stop].strip():
            left = line.index(inner, start)
            yield left, left + len(inner)
        start = stop
