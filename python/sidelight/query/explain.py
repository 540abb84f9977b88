"""How did an answer come about? Every candidate of every channel, for `--explain`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sidelight.query.asked import Asked
from sidelight.query.candidates import Candidate
from sidelight.query.fuse import fuse, trace_list
from sidelight.query.gate import Decision
from sidelight.query.index import Index
from sidelight.query.recall import Recalled


def trace(
    index: Index,
    asked: Asked,
    recalled: Recalled,
    ordered: Sequence[Candidate],
    decision: Decision,
) -> dict[str, Any]:
    """Every candidate of every channel and what each contributed; they add up to `rrf_score`."""
    return {
        "mode": asked.mode.value,
        "k": index.settings.rrf_k,
        "chance": _chance(index, asked),
        "channels": {
            name: [
                {
                    "path": hit.chunk.path,
                    "chunk_id": hit.chunk.chunk_id,
                    "rank": rank,
                    "score": hit.score,
                    "matched": list(hit.matched),
                }
                for rank, hit in enumerate(hits, start=1)
            ]
            for name, hits in recalled.hits.items()
        },
        "fused_plain": trace_list(fuse(recalled.hits, {}, index.settings.rrf_k)),
        "candidates": [_explained(c) for c in ordered],
        "gate": {
            "confidence": decision.confidence,
            "threshold": decision.threshold,
            "passed": decision.passed,
            "features": dict(decision.features),
        },
    }


def _explained(candidate: Candidate) -> dict[str, Any]:
    chunk = candidate.chunk
    return {
        "path": chunk.path,
        "chunk_id": chunk.chunk_id,
        "heading_path": list(chunk.heading_path),
        "lines": None if chunk.start_line is None else [chunk.start_line, chunk.end_line],
        "contributions": dict(candidate.contributions),
        "rrf_score": candidate.rrf_score,
        "cosine": _known(candidate.cosine),
        "title": _known(candidate.title),
        "coverage": candidate.coverage,
        "evidence": candidate.evidence,
        "rerank_score": candidate.rerank_score,
    }


def _known(cosine: float) -> float | None:
    return None if math.isnan(cosine) else cosine


def _chance(index: Index, asked: Asked) -> float:
    """See `VectorMatrix.chance`; 0 where meaning is not asked."""
    if asked.vector is None:
        return 0.0
    with index.catalog.lock:
        return index.catalog.vectors.chance(asked.vector)
