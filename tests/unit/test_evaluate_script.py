"""`scripts/evaluate.py` tells which stage earns its place: its tables, on figures known by hand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from evaluation_fakes import Answer, FakeEngine

from sidelight.evaluation.runs import Evaluation, evaluate
from sidelight.evaluation.topics import Topic

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("script_evaluate", SCRIPTS / "evaluate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def channels(**found: list[str]) -> dict[str, list[str]]:
    return {"metadata": [], "bm25": [], "vector": [], **found}


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    answers = {
        "words": Answer(["a.md"], (), channels(bm25=["a.md"]), ["a.md"], confidence=0.9),
        "意思": Answer(["b.md", "a.md"], (), channels(vector=["a.md"]), ["a.md"], confidence=0.8),
        "both": Answer(["a.md"], (), channels(bm25=["a.md"], vector=["a.md"]), ["a.md"]),
        "hop": Answer(["b.md"], ["a.md"], channels(), []),
        "lost": Answer(["b.md"], (), channels(), [], ok=False),
        "none": Answer((), (), channels(), [], ok=False, confidence=0.1),
    }
    kinds = {"hop": "multi-hop", "lost": "multi-hop", "none": "no-answer"}
    topics = [
        Topic(
            query,
            query,
            "und",
            kinds.get(query, "paraphrase"),
            query != "none",
            frozenset() if query == "none" else frozenset({"a.md"}),
        )
        for query in answers
    ]
    return evaluate(FakeEngine(tmp_path, answers), topics)


def test_what_only_one_channel_finds_is_counted(script: ModuleType, evaluation: Evaluation) -> None:
    assert script.only_channel(evaluation) == {
        "metadata": 0,
        "bm25": 1,
        "vector": 1,
        "graph": 0,
        "none": 2,
    }


def test_the_pipeline_is_compared_with_the_best_single_channel(
    script: ModuleType, evaluation: Evaluation
) -> None:
    found = script.summary({"one": evaluation})
    against = found["sets"]["one"]["against_best_channel"]
    assert against["channel"] in ("bm25", "vector")  # each answers two of five
    low, high = against["interval"]
    assert low <= against["difference"] <= high
    ours = found["mean_ndcg@10"]["pipeline"]
    assert against["difference"] == pytest.approx(ours - found["mean_ndcg@10"]["bm25"])


def test_a_multi_hop_question_counts_when_a_link_brings_its_note(
    script: ModuleType, evaluation: Evaluation
) -> None:
    hops = script.summary({"one": evaluation})["sets"]["one"]["multi_hop"]
    assert hops == {"n": 2, "arrived": 1, "missed": ["lost"]}


def test_the_adversarial_set_is_left_out_of_the_gates_mean(
    script: ModuleType, evaluation: Evaluation
) -> None:
    alone = script.summary({script.ADVERSARIAL: evaluation})["gate_mean"]
    assert set(alone.values()) == {None}
    both = script.summary({script.ADVERSARIAL: evaluation, "one": evaluation})["gate_mean"]
    assert both["answerable_kept"] == pytest.approx(0.8)
    assert both["unanswerable_refused"] == 1


def test_every_set_stands_in_every_table(script: ModuleType, evaluation: Evaluation) -> None:
    text = script.render({"一": evaluation, "two": evaluation})
    for heading in ("nDCG@10", "Gate as shipped", "Multi-hop", "one channel only", "Citations"):
        assert heading in text
    assert text.count("\ntwo ") >= 4
    assert "two: 1 of 2 (missed: lost)" in text
    assert "95 % interval" in text
    assert "lost" in script.worst({"two": evaluation})


def test_a_vault_lies_beside_its_queries_or_among_the_shared_vaults(
    script: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "golden" / "own" / "vault").mkdir(parents=True)
    assert script.vault_of(tmp_path, "own") == tmp_path / "golden" / "own" / "vault"
    assert script.vault_of(tmp_path, "other") == tmp_path / "vaults" / "other"


def test_without_the_shared_material_the_script_says_what_to_do(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIDELIGHT_SHARED", "/no/such/folder")
    monkeypatch.setattr(sys, "argv", ["evaluate.py"])
    assert script.main() == 1
    assert "SIDELIGHT_SHARED" in capsys.readouterr().err
