"""How sure is it that a passage answers? One number on a fixed scale, from four others.

    1 - (1 - s((g - m) / 0.07)) (1 - 0.7 s((t - 0.50) / 0.07)) (1 - 0.8 c^2) (1 - 0.9 n^2)

g and t are the language-centred cosines of the query with the passage (raised by 0.08 where the
two are in different languages) and with the name of its note, c the weighted share of the query's
terms that the passage holds, n how much the query is the name of the note, s the logistic
function. Where a chain of mentions leads to the passage h surely (`query/chains.py`), it is as sure
as `graph_worth` times h at least: relations are no second opinion on what words and meaning say,
and taken for one they cost where those suffice (docs/graph.md). The gate reads the number without
chains: they order what was found, and never make nonsense an answer.

m = 0.26 + 0.4 b, where b is the cosine that the best of the vault's passages would reach by chance
(`VectorMatrix.chance`): in a vault on one subject every passage is near every question. All are
absolute by construction, unlike raw scores, so the same number orders the results and feeds the
gate. Constants fitted on judged questions, each set without itself (docs/ranking.md); 0.7 and 0.8
are the settings `titles_worth` and `words_worth`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sidelight.config import Settings
from sidelight.language.detect import UNKNOWN
from sidelight.query.lexical import LexicalQuery
from sidelight.query.pool import Pool
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow
from sidelight.store.selection import Selection

# Of the default model, language-centred. A passage at the middle is as likely to answer as not;
# names are shorter, so theirs lies higher, and a note of the right name may still not answer.
MIDDLE_START, MIDDLE_SHARE = 0.26, 0.4  # m above
# A question and its own paragraph have a cosine of .46 to .47 within a language and of .32 to .40
# across two, unrelated ones none either way (parallel text in 12 languages, none of it in a test
# set). Two thirds of the difference are given back: with all of it a vault in two languages puts
# what only shares a subject before what answers (docs/ranking.md).
ACROSS = 0.08
TITLE_MIDDLE = 0.50
COSINE_SCALE = 0.07
NAME_WORTH = 0.9  # a note whose name is the whole query

Numbers = NDArray[np.float64]


def evidence(
    cosines: Numbers,
    titles: Numbers,
    coverages: Numbers,
    names: Numbers,
    chance: float,
    settings: Settings,
) -> Numbers:
    """Confidence of each passage in 0..1; all shapes (n,).

    Args:
        cosines: language-centred, -1..1; NaN (not embedded, not asked) counts as none; with
            `ACROSS` where languages differ.
        titles: the same of the note's name.
        coverages: 0..1.
        names: score of the metadata channel, 0..1.
        chance: cosine of the best passage if none answered.
        settings: say what words and titles are worth.
    """
    missing = (
        (1 - _likely(cosines, MIDDLE_START + MIDDLE_SHARE * chance))
        * (1 - settings.titles_worth * _likely(titles, TITLE_MIDDLE))
        * (1 - settings.words_worth * coverages**2)
        * (1 - NAME_WORTH * names**2)
    )
    return np.round(1 - missing, 9)


def with_chains(evidence: Numbers, chains: Numbers, settings: Settings) -> Numbers:
    """The evidence where chains of mentions also count; `chains` are scores of that channel."""
    return np.maximum(evidence, np.round(settings.graph_worth * chains, 9))


def _likely(cosines: Numbers, middle: float) -> Numbers:
    """How likely a passage of this cosine answers; 0 where there is none."""
    known = np.nan_to_num(cosines, nan=-1.0)
    likely = 1 / (1 + np.exp(-(known - middle) / COSINE_SCALE))
    return np.where(np.isnan(cosines), 0.0, likely)


@dataclass(frozen=True, slots=True)
class Measured:
    """Numbers of some passages, all of shape (n,)."""

    cosines: Numbers  # as `evidence` takes them; NaN if unknown
    titles: Numbers  # the same
    coverages: Numbers
    evidence: Numbers

    def of(self, place: int) -> tuple[float, float, float, float]:
        """Cosine, that of the title, coverage and evidence of one."""
        columns = (self.cosines, self.titles, self.coverages, self.evidence)
        cosine, title, coverage, evidence = (column.item(place) for column in columns)
        return cosine, title, coverage, evidence


@dataclass(frozen=True)
class Scale:
    """What evidence is measured against: one query.

    Args:
        query: its terms; None if words are not asked.
        vector: of the query; None if meaning is not asked.
        language: of the query, as `detect` says.
        catalog: holds the vectors.
        settings: as for `evidence`.
    """

    query: LexicalQuery | None
    vector: NDArray[np.float32] | None
    language: str
    catalog: Catalog
    settings: Settings

    @cached_property
    def _chance(self) -> float:
        return 0.0 if self.vector is None else self.catalog.vectors.chance(self.vector)

    def measure_chunks(self, chunks: Sequence[ChunkRow]) -> Measured:
        """As `measure`."""
        return self.measure(Selection.of(self.catalog.notes.kept, chunks))

    def measure(self, passages: Selection, names: Numbers | None = None) -> Measured:
        """The numbers of each passage, and the evidence that follows from them.

        Args:
            passages: any, also none.
            names: score of the metadata channel for each passage; None for none.
        """
        cosines = titles = np.full(len(passages), np.nan)
        if self.vector is not None:
            with self.catalog.lock:
                vectors = self.catalog.vectors
                vectors.keep_to(self.catalog.by_embedding.hashes, self.catalog.revision)
                _ = self._chance
                cosines = self.catalog.cosines(self.vector, passages)
                titles = self.catalog.name_cosines(self.vector, passages)
            cosines = cosines + ACROSS * self._across(passages)
        coverages = np.zeros(len(passages))
        if self.query is not None and len(passages):
            coverages = self.query.coverages(passages)
        known = np.zeros(len(passages)) if names is None else names
        # A picture has no words: its name is its text.
        wordless = passages.lengths() == 0
        coverages = np.where(wordless, np.maximum(coverages, known), coverages)
        sure = evidence(cosines, titles, coverages, known, self._chance, self.settings)
        return Measured(cosines, titles, coverages, sure)

    def _across(self, passages: Selection) -> NDArray[np.bool_]:
        """Which passages are in another language than the query; not those without words."""
        if self.language == UNKNOWN:
            return np.zeros(len(passages), bool)
        return passages.other_languages((self.language, UNKNOWN))


def weigh(pool: Pool, scale: Scale) -> Pool:
    """Adds cosine, coverage and evidence to candidates, and orders them by evidence.

    Ties by fused score, then path, section, chunk. A part whose channel is not asked
    counts as nothing.
    """
    measured = scale.measure(pool.chunks, pool.scores("metadata"))
    weighed = replace(
        pool,
        cosines=measured.cosines,
        titles=measured.titles,
        coverages=measured.coverages,
        evidence=with_chains(measured.evidence, pool.scores("graph"), scale.settings),
        grounded=measured.evidence,
    )
    return weighed.take(weighed.chunks.by_rank(weighed.evidence, weighed.fused))
