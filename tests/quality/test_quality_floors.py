"""Ranking, gate and citations never fall below what they have reached, set by set.

The sample vault's own questions always run; the shared sets where `../shared` is there. Indexes
are kept in `artifacts/evaluation`, as for `scripts/evaluate.py`, which shows the whole picture.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.evaluation.layers import contexts_json, measure_contexts
from sidelight.evaluation.runs import Evaluation, evaluate
from sidelight.evaluation.topics import Topic, read_topics
from sidelight.types import Mode, Origin, SearchRequest

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "artifacts" / "evaluation"
SAMPLE = ROOT / "python" / "sidelight" / "sample"

Floors = dict[str, float]
# Each a little below what was measured, for the noise of the model's quantisation.
SAMPLE_FLOORS: Floors = {"pipeline": 0.80, "hit@1": 0.70, "kept": 0.65, "refused": 0.60}
FLOORS: dict[str, Floors] = {
    "squad2-dev": {"pipeline": 0.98, "vector": 0.97, "bm25": 0.97, "covered": 0.95},
    "fastapi-enzh-dev": {"pipeline": 0.62, "vector": 0.65},
    "xquad-enzh-dev": {"pipeline": 0.96, "vector": 0.97, "bm25": 0.59, "covered": 0.95},
    "obsidian-tasks": {
        "pipeline": 0.72,
        "vector": 0.69,
        "bm25": 0.55,
        "arrived": 0.87,
        "covered": 0.65,
    },
}

# A context of 2,000 tokens: share of the questions with `answers` whose answer is in it; and of
# the notes that together answer an aggregation question, the share among the first ten.
CONTEXT_FLOORS: dict[str, Floors] = {
    "sample": {"answer_in_context": 0.93, "coverage": 0.88},
    "obsidian-tasks": {"answer_in_context": 0.69, "coverage": 0.72},
}
TOKENS = 2_000


@cache
def evaluated(name: str, vault: Path, queries: Path, query_field: str = "query") -> Evaluation:
    """One set's evaluation with the default settings; made once a run."""
    opened = Engine.open(vault, data_dir=CACHE / name, settings=Settings())
    with closing(opened) as engine:
        engine.sync()
        return evaluate(engine, read_topics(queries, query_field))


def figures(evaluation: Evaluation) -> Floors:
    found: dict[str, Any] = evaluation.as_json()
    gate, citations = found["gate"], found["citations"]
    hops = [run for run in evaluation.answerable() if run.topic.kind == "multi-hop"]
    by_system = {
        system: row["all"]["ndcg@10"] for system, row in found["metrics"].items() if row is not None
    }
    return {
        **by_system,
        "hit@1": found["metrics"]["pipeline"]["all"]["hit@1"],
        "auc": gate["auc"] or 0.0,
        "kept": gate["answerable_kept"] or 0.0,
        "refused": gate["unanswerable_refused"] or 0.0,
        "covered": citations["answers_covered"] or 0.0,
        "arrived": sum(run.arrived for run in hops) / len(hops) if hops else 1.0,
    }


def check_floors(evaluation: Evaluation, floors: Floors) -> None:
    """Every figure at once, so that one failure shows them all."""
    found = figures(evaluation)
    fallen = {name: (found.get(name, 0.0), floor) for name, floor in floors.items()}
    fallen = {name: pair for name, pair in fallen.items() if pair[0] < pair[1]}
    assert not fallen, f"below the floor (measured, floor): {fallen}; all figures: {found}"


def test_the_sample_vault_answers_its_own_questions() -> None:
    evaluation = evaluated("sample", SAMPLE / "vault", SAMPLE / "queries.jsonl")
    check_floors(evaluation, SAMPLE_FLOORS)


@pytest.mark.parametrize("name", FLOORS)
def test_a_shared_set_keeps_its_floor(name: str, shared: Path) -> None:
    folder = shared / "golden" / name
    vault = folder / "vault" if (folder / "vault").is_dir() else shared / "vaults" / name
    check_floors(evaluated(name, vault, folder / "queries.jsonl"), FLOORS[name])


@pytest.mark.parametrize("name", list(CONTEXT_FLOORS))
def test_contexts_hold_the_answers_and_coverage_finds_no_fewer_notes(
    name: str, request: pytest.FixtureRequest
) -> None:
    if name == "sample":
        vault, queries = SAMPLE / "vault", SAMPLE / "queries.jsonl"
    else:
        shared = request.getfixturevalue("shared")
        vault, queries = shared / "vaults" / name, shared / "golden" / name / "queries.jsonl"
    topics = read_topics(queries)
    with closing(Engine.open(vault, data_dir=CACHE / name, settings=Settings())) as engine:
        engine.sync()
        contexts = contexts_json(measure_contexts(engine, topics, TOKENS), TOKENS)
        together = [topic for topic in topics if topic.kind == "aggregation"]
        hybrid, coverage = (
            [share_of_notes(engine, topic, mode) for topic in together]
            for mode in (Mode.HYBRID, Mode.COVERAGE)
        )
    found = {
        "answer_in_context": contexts["answer_in_context"],
        "coverage": sum(coverage) / len(coverage),
    }
    assert contexts["over_budget"] == 0
    assert all(wide >= plain for wide, plain in zip(coverage, hybrid, strict=True))
    floors = CONTEXT_FLOORS[name]
    assert all(found[measure] >= floor for measure, floor in floors.items()), (found, floors)


def share_of_notes(engine: Engine, topic: Topic, mode: Mode) -> float:
    """Of the relevant notes those among the first ten different ones."""
    request = SearchRequest(topic.query, mode=mode, limit=40, gate=False)
    direct = [r.path for r in engine.search(request).results if r.origin is Origin.DIRECT]
    return len(topic.relevant.intersection(list(dict.fromkeys(direct))[:10])) / len(topic.relevant)
