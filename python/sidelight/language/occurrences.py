"""Where do a query's terms stand in a text?

For highlights: finds the few terms of a query without cutting the whole text into terms. Words
of scripts without spaces are found wherever their characters stand together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sidelight.language.canonical import canonical_terms
from sidelight.language.folding import Folded, fold
from sidelight.language.identifiers import identifier_terms, is_simple_word, split_identifier
from sidelight.language.matching import find_spellings
from sidelight.language.query_terms import QueryTerm
from sidelight.language.scripts import ALPHABETIC_END, IDENTIFIER
from sidelight.types import TermKind

_JOINED = str.maketrans("", "", "-_,")  # what a joined term or a number is written without


class Occurrence(NamedTuple):
    """A place of a query's term, in code points of the text."""

    start: int
    end: int
    term: QueryTerm


def find_terms(text: str, terms: Sequence[QueryTerm]) -> list[Occurrence]:
    """Every place of `terms` in `text`, by start; overlapping ones too."""
    folded = fold(text)
    words, others = _by_script(tuple(terms))
    found = _alphabetic(folded, words) if words.terms else []
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


class _Words:
    """Terms that are (parts of) identifiers.

    Attributes:
        terms: by name.
        held: the identifiers that hold some of them, with their places in it.
    """

    def __init__(self, terms: dict[str, QueryTerm]) -> None:
        self.terms = terms
        self._prefixes = tuple(word for word, term in terms.items() if term.prefix)
        self._beginnings = tuple(map(_beginning, terms))
        self._inside = re.compile("|".join(map(re.escape, self._beginnings)))
        self.held: dict[str, tuple[Occurrence, ...]] = {}
        self._seen: set[str] = set()

    def look(self, identifiers: Sequence[str]) -> None:
        """Adds to `held` what these hold; each is looked at once."""
        new = set(identifiers) - self._seen
        self._seen |= new
        for identifier in filter(self._may_hold, new):
            held = tuple(self._look(identifier))
            if held:
                self.held[identifier] = held

    def _look(self, identifier: str) -> Iterator[Occurrence]:
        terms = identifier_terms(identifier)
        if self.terms.keys().isdisjoint(terms) and not _any_starts(terms, self._prefixes):
            return
        for piece in split_identifier(identifier):
            term = self._wanted(piece.term)
            if term is not None:
                yield Occurrence(piece.start, piece.end, term)

    def _may_hold(self, identifier: str) -> bool:
        """False for nearly all that hold no term, at a tenth of the cost of cutting them."""
        if not identifier.isascii():
            return True
        lower = identifier.lower()
        if lower.startswith(self._beginnings):
            return True
        if is_simple_word(identifier):
            return False
        if self._inside.search(lower):
            return True
        return not lower.isalnum() and bool(self._inside.search(lower.translate(_JOINED)))

    def _wanted(self, word: str) -> QueryTerm | None:
        if word in self.terms or not word.startswith(self._prefixes):
            return self.terms.get(word)
        return self.terms[next(p for p in self._prefixes if word.startswith(p))]


def _beginning(term: str) -> str:
    """What stands in every ASCII identifier that holds the term, in lower case or without joiners.

    A term is a piece of it, perhaps joined or as a stem; and a stem is how its word begins, but
    for a last letter y or i (`ties`, `ty`; `happy`, `happi`).
    """
    return term[:-1] if len(term) > 1 and term[-1] in "iy" else term


@lru_cache(maxsize=8)  # the passages of an answer are looked through for the same terms
def _by_script(terms: tuple[QueryTerm, ...]) -> tuple[_Words, tuple[QueryTerm, ...]]:
    """The terms that are (parts of) identifiers, and the others."""
    words = {term.term: term for term in terms if _is_alphabetic(term)}
    return _Words(words), tuple(term for term in terms if not _is_alphabetic(term))


def _is_alphabetic(term: QueryTerm) -> bool:
    """Whether a term is (part of) an identifier, a date or an amount."""
    if term.kind not in (TermKind.WORD, TermKind.PART):
        return False
    return ALPHABETIC_END.match(term.term) is not None or term.term[0] in "._¥$€£"


def _alphabetic(folded: Folded, words: _Words) -> list[Occurrence]:
    found = []
    identifiers = IDENTIFIER.findall(folded.text)  # fifty a passage, and few hold a term
    words.look(identifiers)
    if not words.held.keys().isdisjoint(identifiers):
        at = 0
        for identifier in identifiers:
            at = folded.text.find(identifier, at)  # between two of them stands none
            for start, end, term in words.held.get(identifier, ()):
                found.append(Occurrence(*folded.span(at + start, at + end), term))
            at += len(identifier)
    if any(word[-1].isdigit() for word in words.terms):
        for word, start, end in canonical_terms(folded.text):
            if word in words.terms:
                found.append(Occurrence(*folded.span(start, end), words.terms[word]))
    return found


def _any_starts(terms: Sequence[str], prefixes: tuple[str, ...]) -> bool:
    return bool(prefixes) and any(term.startswith(prefixes) for term in terms)


def _places(part: str, text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each place of `part` in `text`, none inside another."""
    start = text.find(part)
    while start >= 0:
        yield start, start + len(part)
        start = text.find(part, start + len(part))
