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
from sidelight.evaluation.runs import Evaluation, evaluate
from sidelight.evaluation.topics import read_topics

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
