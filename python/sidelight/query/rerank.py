"""Lets a model read query and passage together; optional, and never able to ruin a list.

The model's order and the order by evidence are fused by rank, so that a bad reranker can
move a passage only so far. Past the time limit the unreranked list goes out.
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
_K = 10  # of the rank fusion: with so short a list 60 would let no model matter


def rerank(
    query: str,
    ordered: Sequence[Candidate],
    texts: Callable[[Sequence[str]], Sequence[str]],
    reranker: Reranker,
    workers: ThreadPoolExecutor,
    timeout_ms: int,
) -> tuple[list[Candidate], Degraded | None]:
    """Reorders the first 30 candidates.

    Args:
        query: as asked.
        ordered: by evidence.
        texts: gives the texts of chunks by their ids, in the same order.
        reranker: the model.
        workers: runs it, so that the time limit holds.
        timeout_ms: for all of it.

    Returns:
        The candidates, and what kept the model out if anything did.
    """
    head, tail = list(ordered[:DEPTH]), list(ordered[DEPTH:])
    deadline = time.monotonic() + timeout_ms / 1000
    passages = texts([c.chunk.chunk_id for c in head])
    late = lambda: time.monotonic() > deadline  # noqa: E731 - two words beat a nested def
    future = workers.submit(reranker.score, query, passages, late)
    try:
        scores = future.result(timeout=timeout_ms / 1000)
    except FutureTimeoutError:
        return list(ordered), Degraded("rerank", f"no answer within {timeout_ms} ms", False)
    except (SidelightError, RuntimeError) as error:
        log.error("the reranker failed: %s", type(error).__name__)
        return list(ordered), Degraded("rerank", f"failed ({type(error).__name__})", False)
    scored = [
        c._replace(rerank_score=round(float(s), 6)) for c, s in zip(head, scores, strict=True)
    ]
    return fused(scored) + tail, None


def fused(scored: Sequence[Candidate]) -> list[Candidate]:
    """Candidates by the sum of reciprocal ranks of the given order and of the model's."""
    by_model = sorted(range(len(scored)), key=lambda i: (-(scored[i].rerank_score or 0.0), i))
    total = {i: 1 / (_K + i + 1) for i in range(len(scored))}
    for rank, index in enumerate(by_model, start=1):
        total[index] += 1 / (_K + rank)
    return [scored[i] for i in sorted(total, key=lambda i: (-total[i], i))]
