"""How sure is it that a passage answers? One number on a fixed scale, from two others.

`1 - (1 - s((g - 0.40) / 0.07)) (1 - 0.6 c^2)`: g is the language-centred cosine, c the
weighted share of the query's terms that the passage holds, s the logistic function. Both are
absolute by construction, unlike raw scores, so the same number orders the results and feeds
the gate. Constants fitted on judged questions (docs/ranking.md); they hold on other vaults.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sidelight.query.candidates import Candidate
from sidelight.query.lexical import LexicalQuery
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow

COSINE_MIDDLE = 0.40  # of the default model, language-centred: as likely to answer as not
COSINE_SCALE = 0.07
WORDS_WORTH = 0.6  # a passage that holds every term of the query is this likely to answer
NAME_WORTH = 0.9  # a note whose name is the whole query; see docs/ranking.md


def evidence(
    cosines: NDArray[np.float64], coverages: NDArray[np.float64], names: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Confidence of each passage in 0..1; all shapes (n,).

    Args:
        cosines: language-centred, -1..1; NaN (not embedded, not asked) counts as none.
        coverages: 0..1.
        names: score of the metadata channel, 0..1.
    """
    known = np.nan_to_num(cosines, nan=-1.0)
    meaning = 1 / (1 + np.exp(-(known - COSINE_MIDDLE) / COSINE_SCALE))
    meaning = np.where(np.isnan(cosines), 0.0, meaning)
    missing = (1 - meaning) * (1 - WORDS_WORTH * coverages**2) * (1 - NAME_WORTH * names**2)
    return np.round(1 - missing, 9)


def weigh(
    candidates: Sequence[Candidate],
    query: LexicalQuery | None,
    vector: NDArray[np.float32] | None,
    catalog: Catalog,
) -> list[Candidate]:
    """Adds cosine, coverage and evidence to candidates, and orders them by evidence.

    Ties by fused score, then path, section, chunk. A part whose channel is not asked
    (`query` or `vector` None) counts as nothing.
    """
    cosines, coverages = measure([c.chunk for c in candidates], query, vector, catalog)
    names = np.array([_name_score(c) for c in candidates])
    sure = evidence(cosines, coverages, names).tolist() if candidates else []
    weighed = [
        Candidate(
            c.chunk, c.hits, c.contributions, c.rrf_score, cosine, coverage, value, c.rerank_score
        )
        for c, cosine, coverage, value in zip(
            candidates, cosines.tolist(), coverages.tolist(), sure, strict=True
        )
    ]
    weighed.sort(key=lambda c: (-c.evidence, -c.rrf_score, c.chunk.order))
    return weighed


def _name_score(candidate: Candidate) -> float:
    hit = candidate.hits.get("metadata")
    return hit.score if hit else 0.0


def measure(
    chunks: Sequence[ChunkRow],
    query: LexicalQuery | None,
    vector: NDArray[np.float32] | None,
    catalog: Catalog,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosine (NaN if unknown) and coverage of each chunk."""
    cosines = np.full(len(chunks), np.nan)
    if vector is not None:
        with catalog.lock:
            cosines = catalog.vectors.similarity(vector, (c.embed_hash for c in chunks))
    coverages = np.zeros(len(chunks))
    if query is not None and chunks:
        coverages = query.scores(chunks)[1]
    return cosines, coverages
