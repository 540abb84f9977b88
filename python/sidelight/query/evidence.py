"""How sure is it that a passage answers? One number on a fixed scale, from two others.

`1 - (1 - s((g - 0.42) / 0.07)) (1 - 0.8 c^2)`: g is the language-centred cosine, c the
weighted share of the query's terms that the passage holds, s the logistic function. Both are
absolute by construction, unlike raw scores, so the same number orders the results and feeds
the gate. Constants fitted on judged questions (docs/ranking.md); they hold on other vaults.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sidelight.query.candidates import Candidate
from sidelight.query.lexical import LexicalQuery
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow

COSINE_MIDDLE = 0.42  # of the default model, language-centred: as likely to answer as not
COSINE_SCALE = 0.07
WORDS_WORTH = 0.8  # a passage that holds every term of the query is this likely to answer
NAME_WORTH = 0.9  # a note whose name is the whole query; see docs/ranking.md


def evidence(cosine: float, coverage: float, name: float = 0.0) -> float:
    """Confidence in 0..1; a cosine of NaN (not embedded, not asked) counts as none.

    Args:
        cosine: language-centred, -1..1.
        coverage: 0..1.
        name: score of the metadata channel, 0..1.
    """
    meaning = 0.0
    if not math.isnan(cosine):
        meaning = 1 / (1 + math.exp(-(cosine - COSINE_MIDDLE) / COSINE_SCALE))
    missing = (1 - meaning) * (1 - WORDS_WORTH * coverage**2) * (1 - NAME_WORTH * name**2)
    return round(1 - missing, 9)


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
    weighed = []
    for candidate, cosine, coverage in zip(candidates, cosines, coverages, strict=True):
        hit = candidate.hits.get("metadata")
        sure = evidence(float(cosine), float(coverage), hit.score if hit else 0.0)
        weighed.append(
            replace(candidate, cosine=float(cosine), coverage=float(coverage), evidence=sure)
        )
    weighed.sort(key=lambda c: (-c.evidence, -c.rrf_score, c.chunk.order))
    return weighed


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
