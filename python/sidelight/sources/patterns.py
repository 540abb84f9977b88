"""Which expression finds every text that holds some of a query? For searching without an index.

A term becomes a pattern of all its spellings (case, width, traditional and simplified), and
those of the weightiest terms are joined. Finds more than the terms do, never ranks. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidelight.language.matching import spelling_pattern
from sidelight.language.terms import BIGRAM_PREFIX, CHAR_PREFIX, QueryTerm

MAX_TERMS = 24  # of a pasted page; the lighter ones say little
MIN_WEIGHT = 0.15  # function words, and pairs inside a word that is looked for as a whole


def pattern_of(terms: Sequence[QueryTerm]) -> str | None:
    """An expression that every text with a weighty term of the query matches; None without one.

    Valid for Python's `re`, for RE2 and for ripgrep; linear in the text with each of them.
    """
    weighty = [t for t in terms if t.weight >= MIN_WEIGHT] or list(terms)
    weighty.sort(key=lambda term: -term.weight)
    looked_for: dict[str, None] = {}
    for term in weighty[:MAX_TERMS]:
        plain = term.term.removeprefix(BIGRAM_PREFIX).removeprefix(CHAR_PREFIX)
        looked_for.update(dict.fromkeys((plain, term.source)))
    found = (spelling_pattern(text) for text in looked_for if text.strip())
    return "|".join(dict.fromkeys(p.pattern for p in found if p is not None)) or None
