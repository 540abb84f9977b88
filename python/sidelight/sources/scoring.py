"""How much of a query does a text of another source hold? Our own terms, coverage and BM25.

The masses of the terms are those of the vault's own `LexicalQuery`, so coverage means the
same for a passage of the vault and for one of any source. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from sidelight.language.terms import QueryTerm, Terms
from sidelight.query.evidence import NAME_WORTH
from sidelight.query.lexical import LexicalQuery, inverse_document_frequency

K1, B = 1.2, 0.75  # Robertson & Zaragoza 2009, as for the vault
# The share of the query's terms, by weight, that an outside passage must hold to count, by
# strictness of the gate. Chosen, not fitted: half of a query or more is seldom chance.
FLOORS: Mapping[str, float] = {"lenient": 0.4, "balanced": 0.5, "strict": 0.65, "off": 0.0}


def shares(query: LexicalQuery) -> dict[str, float]:
    """What holding each term is worth, as a share of the whole query."""
    total = query.total_mass
    return {t.query.term: t.mass / total for t in query.terms} if total else {}


def held_terms(query_terms: Sequence[QueryTerm], counts: Mapping[str, int]) -> dict[str, int]:
    """How often a text with these term counts holds each term of the query."""
    held = {}
    for term in query_terms:
        count = counts.get(term.term, 0)
        if term.prefix and not count:
            count = sum(n for name, n in counts.items() if name.startswith(term.term))
        if count:
            held[term.term] = count
    return held


def coverage(
    query_terms: Sequence[QueryTerm], mass: Mapping[str, float], held: Container[str]
) -> float:
    """The weighted share of a query's terms in `held`, 0..1."""
    total = sum(mass.get(t.term, 0.0) for t in query_terms if t.term in held)
    return min(1.0, round(total, 9))


def evidence_of(text_coverage: float, title_coverage: float, words_worth: float) -> float:
    """Confidence that a passage answers, 0..1, on the scale of `query/evidence.py`.

    Its formula without a cosine: the words of the text, and the title where it holds the whole
    query; `words_worth` is the setting.
    """
    name = title_coverage if title_coverage > 0.99 else 0.0
    missing = (1 - words_worth * text_coverage**2) * (1 - NAME_WORTH * name**2)
    return round(1 - missing, 9)


@dataclass(frozen=True, slots=True)
class Measured:
    """A text against a query."""

    coverage: float  # of title and text together
    evidence: float


def measure(
    terms: Terms,
    query_terms: Sequence[QueryTerm],
    mass: Mapping[str, float],
    text: str,
    title: str,
    words_worth: float,
) -> Measured:
    """Coverage and evidence of one passage with its title."""
    title_held = held_terms(query_terms, Counter(terms.index_terms(title)))
    held = held_terms(query_terms, Counter(terms.index_terms(text))) | title_held
    both = coverage(query_terms, mass, held)
    named = coverage(query_terms, mass, title_held)
    return Measured(both, evidence_of(both, named, words_worth))


class Collection:
    """Texts of one source with exact term statistics, searched by BM25.

    Memory is about that of the texts' distinct terms; not to be changed once it is searched.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._lengths: list[int] = []
        self._total = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: str) -> None:
        """Adds the next text; its number is the count of those before."""
        number = len(self._lengths)
        counts = Counter(self._terms.index_terms(text))
        length = sum(counts.values())
        self._lengths.append(length)
        self._total += length
        for term, count in counts.items():
            self._postings.setdefault(term, []).append((number, count))

    def search(self, query_terms: Sequence[QueryTerm], limit: int) -> list[int]:
        """Numbers of the texts that hold some of the query, best first; ties in order.

        Terms are weighted as in the query and by their rarity among these texts.
        """
        scores: dict[int, float] = {}
        average = self._total / len(self._lengths) if self._total else 1.0
        for term in query_terms:
            found = self._found(term)
            mass = term.weight * inverse_document_frequency(len(found), len(self))
            for number, count in found.items():
                norm = K1 * (1 - B + B * self._lengths[number] / average)
                scores[number] = scores.get(number, 0.0) + mass * count * (K1 + 1) / (count + norm)
        best = sorted(scores, key=lambda n: (-round(scores[n], 9), n))
        return best[:limit]

    def _found(self, term: QueryTerm) -> dict[int, int]:
        names = [term.term]
        if term.prefix:
            names = [name for name in self._postings if name.startswith(term.term)]
        found: dict[int, int] = {}
        for name in names:
            for number, count in self._postings.get(name, ()):
                found[number] = found.get(number, 0) + count
        return found
