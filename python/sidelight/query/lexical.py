"""BM25 and query coverage from exact statistics.

Whatever recalls, these scores order. They depend on the committed content alone, so they are
the same before and after compaction, after a restart and on a fresh index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sidelight.language.terms import QueryTerm
from sidelight.store.catalog import Catalog
from sidelight.store.postings import Postings, saturated
from sidelight.store.rows import ChunkRow
from sidelight.store.selection import Selection


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A query term with what the index knows of it.

    Attributes:
        codes: vocabulary codes it stands for: one, several for an unfinished word, or none
            where no passage holds it.
        named: of one that no passage holds: whether some title, tag or other name does.
        idf: `ln(1 + (N - df + 0.5) / (df + 0.5))` (Robertson & Zaragoza 2009, never negative).
    """

    query: QueryTerm
    codes: tuple[int, ...]
    idf: float
    named: bool = False

    @property
    def mass(self) -> float:
        """What holding this term is worth: weight times idf.

        A function word that no passage holds ("or" in a Chinese vault) says nothing about any.
        """
        return 0.0 if self.query.stop and not self.codes else self.query.weight * self.idf


class LexicalQuery:
    """A query's terms, weighted against one catalog."""

    def __init__(
        self,
        terms: Sequence[QueryTerm],
        catalog: Catalog,
        k1: float,
        b: float,
        named: Callable[[str], bool] = lambda term: False,
    ) -> None:
        self._k1, self._b = k1, b
        self._count = catalog.searchable
        self._average = catalog.average_length()
        texts = [term.term for term in terms]
        known = dict(zip(texts, catalog.vocabulary.find_all(texts), strict=True))
        self.terms = tuple(self._weighted(term, known, catalog, named) for term in terms)
        self._wholes = tuple(w for term in self.terms if (w := self._whole(term, catalog)))
        scored = (*self.terms, *self._wholes)
        self._scored_terms = scored
        self.total_mass = sum(term.mass for term in scored)
        self._masses = np.array([term.mass for term in scored])
        self._vocabulary = len(catalog.vocabulary)
        self._catalog = catalog
        # The mass of terms that each row of the postings holds, and at which version of them.
        self._held_at: tuple[int, NDArray[np.float64]] = (-1, np.zeros(0))

    @cached_property
    def _columns(self) -> list[NDArray[np.int32]]:
        """See `_columns_of`; as long as the vocabulary, so not made unless it is needed."""
        return _columns_of(self._scored_terms, self._vocabulary)

    def _weighted(
        self,
        term: QueryTerm,
        known: Mapping[str, int | None],
        catalog: Catalog,
        named: Callable[[str], bool],
    ) -> WeightedTerm:
        vocabulary = catalog.vocabulary
        found = [known[term.term]]
        if term.prefix:
            found = vocabulary.find_all(vocabulary.starting_with(term.term))
        codes = [code for code in found if code is not None]
        df = max((vocabulary.df(code) for code in codes), default=0)
        idf = inverse_document_frequency(df, self._count)
        return WeightedTerm(term, tuple(codes), idf, not codes and named(term.term))

    def _whole(self, term: WeightedTerm, catalog: Catalog) -> WeightedTerm | None:
        """What an unfinished word is worth on top where it stands whole: as much as if finished.

        So a finished search never finds more evidence than the same one while it is typed.
        """
        code = catalog.vocabulary.find(term.query.term) if term.query.prefix else None
        if code is None:
            return None
        idf = inverse_document_frequency(catalog.vocabulary.df(code), self._count)
        return WeightedTerm(term.query, (code,), idf - term.idf) if idf > term.idf else None

    def mass_of(self, term: WeightedTerm, name: str) -> float:
        """What `name`, one of the words that `term` stands for, is worth."""
        extra = sum(w.mass for w in self._wholes if w.query is term.query and name == w.query.term)
        return term.mass + extra

    def known(self) -> list[WeightedTerm]:
        """Terms that some passage of the vault holds."""
        return [term for term in self.terms if term.codes]

    def unknown(self) -> list[WeightedTerm]:
        """Terms that the vault has never seen, neither in a passage nor in a name."""
        return [term for term in self.terms if not term.codes and not term.named]

    def frequencies(self, chunks: Sequence[ChunkRow]) -> NDArray[np.float64]:
        """How often each chunk holds each term, shape (chunks, terms)."""
        return self._frequencies(chunks)[:, : len(self.terms)]

    def _frequencies(self, chunks: Sequence[ChunkRow]) -> NDArray[np.float64]:
        """The same, and behind the terms what stands whole."""
        table = np.zeros((len(chunks), len(self._masses)))
        if not chunks or not self.terms:
            return table
        codes = np.concatenate([chunk.codes for chunk in chunks])
        counts = np.concatenate([chunk.counts for chunk in chunks])
        ends = np.cumsum([len(chunk.codes) for chunk in chunks])
        for column in self._columns:
            inside = np.flatnonzero(codes < len(column))  # not of a note saved meanwhile
            held = inside[column[codes[inside]] >= 0]
            rows = np.searchsorted(ends, held, side="right")
            np.add.at(table, (rows, column[codes[held]]), counts[held])
        return table

    def best(
        self, postings: Postings, count: int, only: set[str] | None
    ) -> tuple[Selection, NDArray[np.float64]]:
        """The passages of highest BM25, in no order, and that; see `Postings.best`."""
        passages, bm25, masses = postings.best(
            self._known_terms, count, self._k1, self._b, self._average, only
        )
        self._held_at = (postings.version, masses)
        return passages, np.round(bm25, 9)

    @cached_property
    def _known_terms(self) -> list[tuple[tuple[int, ...], float]]:
        """Codes and mass of each term that some passage holds."""
        return [(term.codes, term.mass) for term in self._scored_terms if term.codes]

    @cached_property
    def _terms_of_code(self) -> dict[int, list[int]]:
        """Which of the known terms a code stands for."""
        found: dict[int, list[int]] = {}
        for term, (codes, _) in enumerate(self._known_terms):
            for code in codes:
                found.setdefault(code, []).append(term)
        return found

    def coverages(self, passages: Selection) -> NDArray[np.float64]:
        """Weighted share of the terms that each passage holds, 0..1; as `scores`, but quicker."""
        with self._catalog.lock:
            postings = self._catalog.postings
            if self._held_at[0] != postings.version:
                self._held_at = (postings.version, postings.masses(self._known_terms))
            rows = postings.rows(passages)
            masses = self._held_at[1].take(np.maximum(rows, 0), mode="clip")
        for place in np.flatnonzero(rows < 0).tolist():  # a title alone, or of a note saved since
            codes = passages.codes(place).tolist()
            held = {term for code in codes for term in self._terms_of_code.get(code, ())}
            masses[place] = sum(self._known_terms[term][1] for term in sorted(held))
        return self._coverage(masses)

    def scores(self, chunks: Sequence[ChunkRow]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """BM25 (0 and up) and coverage (0..1) of each chunk.

        Terms are summed in query order, so equal content gives equal scores to the bit.
        Source of BM25: Robertson & Zaragoza 2009, with a weight for each term.
        """
        tf = self._frequencies(chunks)
        lengths = np.array([chunk.length for chunk in chunks], np.float64)
        norm = self._k1 * (1 - self._b + self._b * lengths / self._average)
        bm25, masses = np.zeros(len(chunks)), np.zeros(len(chunks))
        for column, mass in enumerate(self._masses.tolist()):  # in the order of `Postings.best`
            bm25 += saturated(tf[:, column], norm, self._k1) * mass
            masses += (tf[:, column] > 0) * mass
        return np.round(bm25, 9), self._coverage(masses)

    def _coverage(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        coverage: NDArray[np.float64] = np.minimum(masses / (self.total_mass or 1.0), 1.0)
        return np.round(coverage, 9)


def _columns_of(terms: Sequence[WeightedTerm], vocabulary: int) -> list[NDArray[np.int32]]:
    """The term of each vocabulary code, -1 for none; one array unless terms share codes."""
    layers: list[NDArray[np.int32]] = []
    for index, term in enumerate(terms):
        codes = list(term.codes)
        layer = next((layer for layer in layers if (layer[codes] < 0).all()), None)
        if layer is None:
            layer = np.full(vocabulary, -1, np.int32)
            layers.append(layer)
        layer[codes] = index
    return layers


def inverse_document_frequency(df: int, count: int) -> float:
    """Robertson's idf in the form that is never negative."""
    return math.log(1 + (count - df + 0.5) / (df + 0.5))
