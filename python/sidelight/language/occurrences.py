"""Where do a query's terms stand in a text?

For highlights: finds the few terms of a query without cutting the whole text into terms. Words
of scripts without spaces are found wherever their characters stand together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sidelight.language.canonical import canonical_terms
from sidelight.language.folding import Folded, fold
from sidelight.language.identifiers import identifier_terms, split_identifier
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
    words, others = _by_script(tuple(terms))
    found = list(_alphabetic(folded, words))
    for term in others:
        if term.kind is TermKind.USER:
            places = find_spellings(term.source, text, whole_words=True)
            found.extend(Occurrence(*place, term) for place in places)
        else:
            in_pairs = term.kind in (TermKind.BIGRAM, TermKind.CHAR)
            for place in _places(term.term[in_pairs:], folded.text):
                found.append(Occurrence(*folded.span(*place), term))
    found.sort(key=lambda place: place[:2])
    return found


@lru_cache(maxsize=64)  # the passages of an answer are looked through for the same terms
def _by_script(
    terms: tuple[QueryTerm, ...],
) -> tuple[dict[str, QueryTerm], tuple[QueryTerm, ...]]:
    """The terms that are (parts of) identifiers, by name, and the others."""
    words = {term.term: term for term in terms if _is_alphabetic(term)}
    return words, tuple(term for term in terms if not _is_alphabetic(term))


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
        terms = identifier_terms(match.group())
        if words.keys().isdisjoint(terms) and not _any_starts(terms, prefixes):
            continue
        for piece in split_identifier(match.group()):
            term = wanted(piece.term)
            if term is not None:
                yield Occurrence(*folded.span(at + piece.start, at + piece.end), term)
    if any(word[-1].isdigit() for word in words):
        for word, start, end in canonical_terms(folded.text):
            if word in words:
                yield Occurrence(*folded.span(start, end), words[word])


def _any_starts(terms: Sequence[str], prefixes: tuple[str, ...]) -> bool:
    return bool(prefixes) and any(term.startswith(prefixes) for term in terms)


def _places(part: str, text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each place of `part` in `text`, none inside another."""
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + len(part))
