"""Where do a query's terms stand in a text?

For highlights: finds the few terms of a query without cutting the whole text into terms. Words
of scripts without spaces are found wherever their characters stand together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from sidelight.language.canonical import canonical_terms
from sidelight.language.folding import Folded, fold
from sidelight.language.identifiers import identifier_terms, is_simple_word, split_identifier
from sidelight.language.matching import find_spellings
from sidelight.language.query_terms import QueryTerm
from sidelight.language.scripts import ALPHABETIC_END, IDENTIFIER, OTHER_LETTER
from sidelight.types import TermKind

_JOINED = str.maketrans("", "", "-_,")  # what a joined term or a number is written without
_MOST_PLACES = 40  # of one term in a text; above, as for a single letter, all of it is cut


class Occurrence(NamedTuple):
    """A place of a query's term, in code points of the text."""

    start: int
    end: int
    term: QueryTerm


def find_terms(text: str, terms: Sequence[QueryTerm]) -> list[Occurrence]:
    """Every place of `terms` in `text`, by start; overlapping ones too."""
    return TermFinder(terms).find(text, fold(text))


class TermFinder:
    """Looks for the terms of one query in many texts."""

    def __init__(self, terms: Sequence[QueryTerm]) -> None:
        self._words = _Words({term.term: term for term in terms if _is_alphabetic(term)})
        others = [term for term in terms if not _is_alphabetic(term)]
        self._users = [term for term in others if term.kind is TermKind.USER]
        # Terms of pairs and of single characters begin with a mark that no text has.
        self._inside = [
            (term.term[term.kind in (TermKind.BIGRAM, TermKind.CHAR) :], term)
            for term in others
            if term.kind is not TermKind.USER
        ]

    def find(self, text: str, folded: Folded) -> list[Occurrence]:
        """Every place of the terms in `text`, by start; overlapping ones too.

        Args:
            text: any.
            folded: the same, folded.
        """
        found = _alphabetic(folded, self._words) if self._words.terms else []
        for term in self._users:
            places = find_spellings(term.source, text, whole_words=True)
            found += [Occurrence(*place, term) for place in places]
        for part, term in self._inside:
            places = _places(part, folded.text)
            found += [Occurrence(*folded.span(*place), term) for place in places]
        found.sort(key=itemgetter(0, 1))
        return found


class _Words:
    """Terms that are (parts of) identifiers.

    Attributes:
        terms: by name.
        has_number: some term ends with a digit, so that dates and amounts may stand for it.
    """

    def __init__(self, terms: dict[str, QueryTerm]) -> None:
        self.terms = terms
        self.has_number = any(word[-1].isdigit() for word in terms)
        self._prefixes = tuple(word for word, term in terms.items() if term.prefix)
        self._beginnings = tuple(dict.fromkeys(map(_beginning, terms)))
        self._inside = re.compile("|".join(map(re.escape, self._beginnings)))
        self._held: dict[str, tuple[Occurrence, ...]] = {}

    def places(self, text: str) -> Sequence[tuple[int, int]]:
        """The parts of a folded text that may hold some term, none of them inside an identifier.

        Fifty identifiers stand in a passage and few hold a term, so the text is searched for how
        terms begin, and only what stands between two blanks around such a place is cut.
        """
        everything = ((0, len(text)),)
        if not text.isascii() and OTHER_LETTER.search(text):
            return everything  # their forms are not spelled as the terms are
        lower = text.lower()
        joined = lower.replace("-", "").replace("_", "").replace(",", "")
        parts: dict[int, int] = {}
        for beginning in self._beginnings:
            count = lower.count(beginning)
            if count > _MOST_PLACES or joined.count(beginning) > count:
                return everything
            at = lower.find(beginning)
            while at >= 0:
                first = max(text.rfind(" ", 0, at), text.rfind("\n", 0, at)) + 1
                ends = (text.find(blank, at) for blank in " \n")
                parts[first] = last = min((end for end in ends if end >= 0), default=len(text))
                at = lower.find(beginning, last)
        return list(parts.items())

    def held_by(self, identifier: str) -> tuple[Occurrence, ...]:
        """The terms it holds, with their places in it; each identifier is looked at once."""
        held = self._held.get(identifier)
        if held is None:
            held = tuple(self._look(identifier)) if self._may_hold(identifier) else ()
            self._held[identifier] = held
        return held

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


def _is_alphabetic(term: QueryTerm) -> bool:
    """Whether a term is (part of) an identifier, a date or an amount."""
    if term.kind not in (TermKind.WORD, TermKind.PART):
        return False
    return ALPHABETIC_END.match(term.term) is not None or term.term[0] in "._¥$€£"


def _alphabetic(folded: Folded, words: _Words) -> list[Occurrence]:
    found = []
    text = folded.text
    for first, last in words.places(text):
        for match in IDENTIFIER.finditer(text, first, last):
            for start, end, term in words.held_by(match.group()):
                at = match.start()
                found.append(Occurrence(*folded.span(at + start, at + end), term))
    if words.has_number:
        for word, start, end in canonical_terms(text):
            if word in words.terms:
                found.append(Occurrence(*folded.span(start, end), words.terms[word]))
    return found


def _any_starts(terms: Sequence[str], prefixes: tuple[str, ...]) -> bool:
    return bool(prefixes) and any(term.startswith(prefixes) for term in terms)


def _places(part: str, text: str) -> list[tuple[int, int]]:
    """Start and end of each place of `part` in `text`, none inside another."""
    places = []
    start = text.find(part)
    while start >= 0:
        end = start + len(part)
        places.append((start, end))
        start = text.find(part, end)
    return places
