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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from sidelight.config import Settings
from sidelight.language.detect import UNKNOWN
from sidelight.query.candidates import Candidate
from sidelight.query.lexical import LexicalQuery
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow

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


def _across(language: str, chunks: Sequence[ChunkRow]) -> NDArray[np.bool_]:
    """Which chunks are in another language than the query; not those without words."""
    known = language != UNKNOWN
    return np.array([known and c.language not in (language, UNKNOWN) for c in chunks], bool)


def _likely(cosines: Numbers, middle: float) -> Numbers:
    """How likely a passage of this cosine answers; 0 where there is none."""
    known = np.nan_to_num(cosines, nan=-1.0)
    likely = 1 / (1 + np.exp(-(known - middle) / COSINE_SCALE))
    return np.where(np.isnan(cosines), 0.0, likely)


def weigh(
    candidates: Sequence[Candidate],
    query: LexicalQuery | None,
    vector: NDArray[np.float32] | None,
    language: str,
    catalog: Catalog,
    settings: Settings,
) -> list[Candidate]:
    """Adds cosine, coverage and evidence to candidates, and orders them by evidence.

    Ties by fused score, then path, section, chunk. A part whose channel is not asked
    (`query` or `vector` None) counts as nothing.
    """
    names, chains = (_scores_of(candidates, channel) for channel in ("metadata", "graph"))
    chunks = [c.chunk for c in candidates]
    measured = measure(chunks, query, vector, language, catalog, settings, names)
    sure = with_chains(measured.evidence, chains, settings)
    rows = zip(candidates, measured.rows(), sure.tolist(), strict=True)
    weighed = [
        Candidate(
            c.chunk,
            c.hits,
            c.contributions,
            c.rrf_score,
            cosine,
            title,
            coverage,
            all_of_it,
            None,
            own,
        )
        for c, (cosine, title, coverage, own), all_of_it in rows
    ]
    return _ordered(weighed)


def _scores_of(candidates: Sequence[Candidate], channel: str) -> Numbers:
    """What a channel says of each candidate, 0 where nothing."""
    scores = np.zeros(len(candidates))
    for place, candidate in enumerate(candidates):
        if (hit := candidate.hits.get(channel)) is not None:
            scores[place] = hit.score
    return scores


def _ordered(weighed: Sequence[Candidate]) -> list[Candidate]:
    """By evidence, ties by fused score, then path, section, chunk."""
    evidence = np.array([c.evidence for c in weighed])
    fused = np.array([c.rrf_score for c in weighed])
    order = np.lexsort((-fused, -evidence))
    evidence, fused = evidence[order], fused[order]
    new = np.flatnonzero((np.diff(evidence) != 0) | (np.diff(fused) != 0)) + 1
    ordered = [weighed[place] for place in order.tolist()]
    for first, end in pairwise([0, *new.tolist(), len(ordered)]):
        if end - first > 1:
            ordered[first:end] = sorted(ordered[first:end], key=lambda c: c.chunk.order)
    return ordered


@dataclass(frozen=True, slots=True)
class Measured:
    """Numbers of some chunks, all of shape (n,)."""

    cosines: Numbers  # as `evidence` takes them; NaN if unknown
    titles: Numbers  # the same
    coverages: Numbers
    evidence: Numbers

    def rows(self) -> Iterator[tuple[float, float, float, float]]:
        """Cosine, that of the title, coverage and evidence of each chunk."""
        columns = (self.cosines, self.titles, self.coverages, self.evidence)
        return zip(*(column.tolist() for column in columns), strict=True)


def measure(
    chunks: Sequence[ChunkRow],
    query: LexicalQuery | None,
    vector: NDArray[np.float32] | None,
    language: str,
    catalog: Catalog,
    settings: Settings,
    names: Numbers | None = None,
) -> Measured:
    """The numbers of each chunk, and the evidence that follows from them.

    Args:
        chunks: any, also none.
        query: its terms; None if words are not asked.
        vector: of the query; None if meaning is not asked.
        language: of the query, as `detect` says.
        catalog: holds the vectors.
        settings: as for `evidence`.
        names: score of the metadata channel for each chunk; None for none.
    """
    cosines = titles = np.full(len(chunks), np.nan)
    chance = 0.0
    if vector is not None:
        with catalog.lock:
            vectors = catalog.vectors
            vectors.keep_to(catalog.by_embedding.hashes, catalog.revision)
            chance = vectors.chance(vector)
            cosines = vectors.similarity(vector, map(attrgetter("embed_hash"), chunks))
            cosines = cosines + ACROSS * _across(language, chunks)
            if vectors.names is not None:
                hashes = (catalog.names.get(c.path, "") for c in chunks)
                titles = vectors.names.similarity(vector, hashes)
    coverages = np.zeros(len(chunks))
    if query is not None and chunks:
        coverages = query.coverages(chunks)
    known = np.zeros(len(chunks)) if names is None else names
    wordless = np.array([c.length == 0 for c in chunks], bool)  # a picture: its name is its text
    coverages = np.where(wordless, np.maximum(coverages, known), coverages)
    sure = evidence(cosines, titles, coverages, known, chance, settings)
    return Measured(cosines, titles, coverages, sure)
