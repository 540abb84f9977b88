"""How does this vault's search do on judged questions? One run, every channel and the pipeline.

Asks the engine as any client would; changes nothing. The JSON is that of `sidelight eval --json`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TextIO
from urllib.parse import quote

import numpy as np

from sidelight.config import Settings
from sidelight.evaluation.citations import NoteReader, holds_an_answer
from sidelight.evaluation.metrics import auc, mean_measures, measure, note_ranking
from sidelight.evaluation.topics import Topic
from sidelight.types import Mode, Origin, Result, SearchRequest, SearchResult

CHANNELS = ("metadata", "bm25", "vector", "graph")
SYSTEMS = ("pipeline", *CHANNELS, "rrf_plain")
DEPTH = 10  # notes that the measures look at
FIRST_DIRECT = 5  # a multi-hop answer must be among these or the linked results


class Searcher(NoteReader, Protocol):
    """What of the engine a run needs."""

    @property
    def settings(self) -> Settings:
        """The vault's settings."""

    def search(self, request: SearchRequest) -> SearchResult:
        """One search."""


@dataclass(frozen=True, slots=True)
class QueryRun:
    """What came of one question."""

    topic: Topic
    rankings: Mapping[str, tuple[str, ...] | None]  # by system; None: it did not take part
    accepted: bool  # the gate let it through
    confidence: float
    threshold: float | None
    arrived: bool  # a relevant note among the first direct results or the linked ones
    covered: bool | None  # a cited range holds an answer; None: not asked
    covered_in_relevant: bool | None  # the same, of ranges in relevant notes alone
    latency_ms: float
    features: Mapping[str, float]  # what the gate saw

    def measures(self, system: str) -> dict[str, float] | None:
        """Every measure of one system on this question; None if it did not take part."""
        ranking = self.rankings.get(system)
        return None if ranking is None else measure(ranking, self.topic.relevant)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All questions of one file on one vault."""

    runs: tuple[QueryRun, ...]

    def answerable(self) -> list[QueryRun]:
        """The questions that the vault answers: ranking is measured on these."""
        return [run for run in self.runs if run.topic.answerable]

    def values(self, system: str, name: str) -> list[float]:
        """One measure of one system on each answerable question; 0 where it took no part."""
        rows = (run.measures(system) for run in self.answerable())
        return [row[name] if row else 0.0 for row in rows]

    def as_json(self) -> dict[str, Any]:
        """The evaluation JSON of the contract."""
        latencies = [run.latency_ms for run in self.runs]
        return {
            "queries": len(self.runs),
            "answerable": len(self.answerable()),
            "metrics": {system: self._metrics(system) for system in SYSTEMS},
            "gate": gate_figures(self.runs),
            "citations": self._citations(),
            "latency_ms": {
                "p50": float(np.percentile(latencies, 50)),
                "p95": float(np.percentile(latencies, 95)),
            },
        }

    def _metrics(self, system: str) -> dict[str, Any] | None:
        rows = [(run.topic.kind, run.measures(system)) for run in self.answerable()]
        if rows and all(row is None for _, row in rows):
            return None  # the channel did not run at all, for example words only
        nothing = measure((), ())
        measured = [(kind, row or nothing) for kind, row in rows]
        kinds = sorted({kind for kind, _ in measured})
        return {
            "all": mean_measures([row for _, row in measured]),
            "by_kind": {k: mean_measures([r for kind, r in measured if kind == k]) for k in kinds},
        }

    def _citations(self) -> dict[str, Any]:
        checked = [run for run in self.runs if run.covered is not None]
        return {
            "checked": len(checked),
            "answers_covered": _share([bool(run.covered) for run in checked]),
            "answers_covered_in_relevant": _share([bool(r.covered_in_relevant) for r in checked]),
        }


def evaluate(
    engine: Searcher,
    topics: Sequence[Topic],
    *,
    limit: int | None = None,
    rerank: bool = False,
    mode: Mode = Mode.HYBRID,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Asks every question twice: once timed, as a person would, and once for the ranking.

    Args:
        engine: an open engine with its index up to date.
        topics: the questions.
        limit: direct passages a query; default: enough for 10 notes.
        rerank: with the model reranker.
        mode: which channels take part.
        progress: called with (questions done, questions in all).
    """
    limit = limit or DEPTH * engine.settings.results_per_note
    if topics:  # the first search also loads the model: not what a query costs
        engine.search(SearchRequest(text=topics[0].query, mode=mode))
    runs = []
    for done, topic in enumerate(topics, start=1):
        runs.append(_run(engine, topic, limit=limit, rerank=rerank, mode=mode))
        if progress is not None:
            progress(done, len(topics))
    return Evaluation(tuple(runs))


def _run(engine: Searcher, topic: Topic, *, limit: int, rerank: bool, mode: Mode) -> QueryRun:
    asked = SearchRequest(text=topic.query, mode=mode, rerank=rerank)
    started = time.perf_counter()
    accepted = engine.search(asked).ok
    latency_ms = (time.perf_counter() - started) * 1000
    ranked = engine.search(
        SearchRequest(
            text=topic.query, mode=mode, limit=limit, rerank=rerank, explain=True, gate=False
        )
    )
    trace = ranked.trace or {}
    gate = trace.get("gate", {})
    rankings = _rankings(ranked, topic)
    covered, in_relevant = _coverage(engine, topic, ranked, rankings["pipeline"] or ())
    return QueryRun(
        topic=topic,
        rankings=rankings,
        accepted=accepted,
        confidence=ranked.confidence,
        threshold=gate.get("threshold"),
        arrived=_arrived(topic, ranked.results),
        covered=covered,
        covered_in_relevant=in_relevant,
        latency_ms=latency_ms,
        features=gate.get("features", {}),
    )


def _rankings(ranked: SearchResult, topic: Topic) -> dict[str, tuple[str, ...] | None]:
    trace = ranked.trace or {}
    lists: dict[str, Sequence[Mapping[str, Any]] | None] = {
        **{name: trace.get("channels", {}).get(name) for name in CHANNELS},
        "rrf_plain": trace.get("fused_plain"),
    }
    rankings: dict[str, tuple[str, ...] | None] = {
        "pipeline": tuple(note_ranking((r.path for r in ranked.results), topic.also))
    }
    for system, candidates in lists.items():
        paths = None if candidates is None else [str(c["path"]) for c in candidates]
        rankings[system] = None if paths is None else tuple(note_ranking(paths, topic.also))
    return rankings


def _arrived(topic: Topic, results: Sequence[Result]) -> bool:
    direct = [r.path for r in results if r.origin is Origin.DIRECT][:FIRST_DIRECT]
    linked = [r.path for r in results if r.origin is Origin.LINKED]
    relevant = set(note_ranking(topic.relevant))
    return any(path in relevant for path in note_ranking([*direct, *linked]))


def _coverage(
    engine: Searcher, topic: Topic, ranked: SearchResult, notes: Sequence[str]
) -> tuple[bool | None, bool | None]:
    """Whether a cited range holds an answer: any, and in relevant notes; None if not asked."""
    relevant = set(note_ranking(topic.relevant))
    if not topic.answers or relevant.isdisjoint(notes[:DEPTH]):
        return None, None
    inside = [r for r in ranked.results if not relevant.isdisjoint(note_ranking([r.path]))]
    if holds_an_answer(engine, inside, topic.answers):
        return True, True
    return holds_an_answer(engine, ranked.results, topic.answers), False


def gate_figures(runs: Sequence[QueryRun]) -> dict[str, Any]:
    """How well the gate tells what the vault answers, over all questions."""
    answerable = [run for run in runs if run.topic.answerable]
    others = [run for run in runs if not run.topic.answerable]
    thresholds = Counter(run.threshold for run in runs if run.threshold is not None)
    by_kind: dict[str, dict[str, float | int | None]] = {}
    for kind in sorted({run.topic.kind for run in runs}):
        for name, group in (("kept", answerable), ("refused", others)):
            decided = [r.accepted == (name == "kept") for r in group if r.topic.kind == kind]
            if decided:
                by_kind.setdefault(kind, {"n": 0})[name] = _share(decided)
                by_kind[kind]["n"] = int(by_kind[kind]["n"] or 0) + len(decided)
    return {
        "threshold": thresholds.most_common(1)[0][0] if thresholds else None,
        "auc": auc([r.confidence for r in answerable], [r.confidence for r in others]),
        "answerable_kept": _share([run.accepted for run in answerable]),
        "unanswerable_refused": _share([not run.accepted for run in others]),
        "by_kind": by_kind,
    }


def _share(facts: Sequence[bool]) -> float | None:
    return sum(facts) / len(facts) if facts else None


def write_trec_run(evaluation: Evaluation, file: TextIO, tag: str = "sidelight") -> None:
    """Writes the pipeline's ranking of notes in TREC's run format, answerable questions only.

    Fields are parted by blanks there, so blanks (and `%`) of ids and paths are percent-encoded.
    """
    for run in evaluation.answerable():
        for rank, note in enumerate(run.rankings["pipeline"] or (), start=1):
            fields = (_field(run.topic.id), "Q0", _field(note), rank, f"{1 / rank:.6f}", tag)
            file.write(" ".join(map(str, fields)) + "\n")


def _field(text: str) -> str:
    return "".join(quote(c) if c.isspace() or c == "%" else c for c in text)
