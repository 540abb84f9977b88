"""Lets a model read query and passage together; optional, and never able to ruin a list.

    0.6 * what the model says + 0.3 * evidence + 0.1 * how far the note is to be believed

each in 0..1 on a scale that means the same for every query, whichever channels answered. Where the
model is missing, fails or is late, the other two carry on with their weights, and that is reported.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

from sidelight.errors import SidelightError
from sidelight.models.reranker import Reranker
from sidelight.query.candidates import Candidate
from sidelight.types import Degraded

log = logging.getLogger(__name__)

DEPTH = 30  # passages the model reads; the rest keep their order behind them
# The composite of the systems it is taken from (docs/graph.md); not fitted here.
MODEL_SHARE, EVIDENCE_SHARE, CREDIBILITY_SHARE = 0.6, 0.3, 0.1


def rerank(
    query: str,
    ordered: Sequence[Candidate],
    texts: Callable[[Sequence[str]], Sequence[str]],
    believed: Callable[[str], float],
    reranker: Reranker | None,
    workers: ThreadPoolExecutor,
    timeout_ms: int,
) -> tuple[list[Candidate], Degraded | None]:
    """Reorders the first 30 candidates.

    Args:
        query: as asked.
        ordered: by evidence.
        texts: gives the texts of chunks by their ids, in the same order.
        believed: how far the note at a path is to be believed, 0..1.
        reranker: the model; None where there is none.
        workers: runs it, so that the time limit holds.
        timeout_ms: for all of it.

    Returns:
        The candidates, and what kept the model out if anything did.
    """
    head, tail = list(ordered[:DEPTH]), list(ordered[DEPTH:])
    head = [c._replace(credibility=believed(c.chunk.path)) for c in head]
    scores: Sequence[float | None] = [None] * len(head)
    degraded: Degraded | None = None
    if reranker is None:
        degraded = Degraded("rerank", "no reranker is loaded", False)
    else:
        deadline = time.monotonic() + timeout_ms / 1000
        passages = texts([c.chunk.chunk_id for c in head])
        late = lambda: time.monotonic() > deadline  # noqa: E731 - two words beat a nested def
        future = workers.submit(reranker.score, query, passages, late)
        try:
            scores = [round(float(s), 6) for s in future.result(timeout=timeout_ms / 1000)]
        except FutureTimeoutError:
            degraded = Degraded("rerank", f"no answer within {timeout_ms} ms", False)
        except (SidelightError, RuntimeError) as error:
            log.error("the reranker failed: %s", type(error).__name__)
            degraded = Degraded("rerank", f"failed ({type(error).__name__})", False)
    scored = [c._replace(rerank_score=s) for c, s in zip(head, scores, strict=True)]
    return by_composite(scored) + tail, degraded


def by_composite(scored: Sequence[Candidate]) -> list[Candidate]:
    """Candidates by their composite, best first; equal ones keep their order."""
    return sorted(scored, key=lambda candidate: -composite(candidate))


def composite(candidate: Candidate) -> float:
    """Model, evidence and credibility as one number in 0..1; without the model the other two."""
    rest = without_model(candidate.evidence, candidate.credibility or 0.0)
    if candidate.rerank_score is None:
        return rest
    return round(MODEL_SHARE * candidate.rerank_score + (1 - MODEL_SHARE) * rest, 9)


def without_model(evidence: float, believed: float) -> float:
    """Evidence and credibility by their weights, as one number in 0..1."""
    both = EVIDENCE_SHARE * evidence + CREDIBILITY_SHARE * believed
    return round(both / (EVIDENCE_SHARE + CREDIBILITY_SHARE), 9)
