"""Several questions, one answer: each is searched alone, and the lists are fused by rank.

Every part keeps its own gate: a part without evidence brings nothing, and the answer names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sidelight.types import Origin, Reason, Result, SearchResult

UNCOVERED = "uncovered"  # the kind of the reason that names a part without evidence


def merge(
    answers: Sequence[tuple[str, SearchResult]], limit: int, per_note: int | None, k: int
) -> SearchResult:
    """The first answer with the passages of all, by reciprocal rank fusion.

    Args:
        answers: the question itself first, then each sub-query, with its answer.
        limit: direct passages wanted.
        per_note: of one note at most; None for all.
        k: the constant of the formula.
    """
    first = answers[0][1]
    direct = _fused(answers, Origin.DIRECT, k)
    of_note: dict[str, int] = {}
    kept: list[Result] = []
    for result in direct:
        of_note[result.path] = of_note.get(result.path, 0) + 1
        if len(kept) < limit and (per_note is None or of_note[result.path] <= per_note):
            kept.append(result)
    shown = {result.ref for result in kept}
    linked = [r for r in _fused(answers, Origin.LINKED, k) if r.ref not in shown][:10]
    results = tuple(replace(r, rank=rank) for rank, r in enumerate((*kept, *linked), start=1))
    ok = any(answer.ok for _, answer in answers)
    return replace(
        first,
        ok=ok,
        reasons=_reasons(answers, ok),
        results=results,
        near_misses=() if ok else first.near_misses,
        confidence=max(answer.confidence for _, answer in answers),
        degraded=tuple(dict.fromkeys(d for _, answer in answers for d in answer.degraded)),
        timing_ms={
            **first.timing_ms,
            "total": round(sum(float(a.timing_ms["total"]) for _, a in answers), 3),
        },
    )


def uncovered(answers: Sequence[tuple[str, SearchResult]]) -> list[str]:
    """The parts for which there is no evidence."""
    return [query for query, answer in answers if not answer.ok]


def _fused(answers: Sequence[tuple[str, SearchResult]], origin: Origin, k: int) -> list[Result]:
    found: dict[str, Result] = {}
    score: dict[str, float] = {}
    for query, answer in answers:
        ranked = [r for r in answer.results if r.origin is origin]
        for rank, result in enumerate(ranked, start=1):
            held = found.get(result.ref)
            best = held if held is not None and held.evidence >= result.evidence else result
            queries = (*(held.queries if held is not None else ()), query)
            found[result.ref] = replace(best, queries=queries)
            score[result.ref] = score.get(result.ref, 0.0) + 1 / (k + rank)
    return sorted(found.values(), key=lambda r: (-score[r.ref], r.path, r.rank))


def _reasons(answers: Sequence[tuple[str, SearchResult]], ok: bool) -> tuple[Reason, ...]:
    if not ok:
        return answers[0][1].reasons
    missing = [
        Reason(UNCOVERED, f"Nothing in the vault answers: {query}")
        for query in uncovered(answers[1:])
    ]
    return (*(r for _, a in answers if a.ok for r in a.reasons), *missing)
