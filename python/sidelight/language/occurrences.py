"""Where do a query's terms stand in a text?

For highlights: finds the few terms of a query without cutting the whole text into terms. Words
of scripts without spaces are found wherever their characters stand together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sidelight.language.canonical import canonical_terms
from sidelight.language.folding import Folded, fold
from sidelight.language.identifiers import split_identifier
from sidelight.language.matching import find_spellings
from sidelight.language.query_terms import QueryTerm
from sidelight.language.scripts import ALPHABETIC_END, IDENTIFIER
from sidelight.types import TermKind


class Occurrence(NamedTuple):
    """A place of a query's term, in code points of the text."""

    start: int
    end: int
    term: QueryTerm


def find_terms(text: str, terms: Sequence[QueryTerm]) -> list[Occurrence]:
    """Every place of `terms` in `text`, by start; overlapping ones too."""
    folded = fold(text)
    words = {term.term: term for term in terms if _is_alphabetic(term)}
    found = list(_alphabetic(folded, words))
    for term in terms:
        if term.kind is TermKind.USER:
            places = find_spellings(term.source, text, whole_words=True)
            found.extend(Occurrence(*place, term) for place in places)
        elif not _is_alphabetic(term):
            in_pairs = term.kind in (TermKind.BIGRAM, TermKind.CHAR)
            for match in re.finditer(re.escape(term.term[in_pairs:]), folded.text):
                found.append(Occurrence(*folded.span(*match.span()), term))
    found.sort(key=lambda place: place[:2])
    return found


def _is_alphabetic(term: QueryTerm) -> bool:
    """Whether a term is (part of) an identifier, a date or an amount."""
    if term.kind not in (TermKind.WORD, TermKind.PART):
        return False
    return ALPHABETIC_END.match(term.term) is not None or term.term[0] in "._¥$€£"


def _alphabetic(folded: Folded, words: dict[str, QueryTerm]) -> Iterator[Occurrence]:
    prefixes = tuple(word for word, term in words.items() if term.prefix)

    def wanted(word: str) -> QueryTerm | None:
        if word in words or not word.startswith(prefixes):
            return words.get(word)
        return words[next(prefix for prefix in prefixes if word.startswith(prefix))]

    for match in IDENTIFIER.finditer(folded.text) if words else ():
        at = match.start()
        for piece in split_identifier(match.group()):
            term = wanted(piece.term)
            if term is not None:
                yield Occurrence(*folded.span(at + piece.start, at + piece.end), term)
    if any(word[-1].isdigit() for word in words):
        for word, start, end in canonical_terms(folded.text):
            if word in words:
                yield Occurrence(*folded.span(start, end), words[word])
