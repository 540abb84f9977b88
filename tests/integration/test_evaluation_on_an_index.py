"""Evaluation and calibration on a real index: the figures come from what the engine answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from sidelight.config import Settings
from sidelight.doctor import diagnose
from sidelight.engine import Engine
from sidelight.errors import UsageError
from sidelight.evaluation.calibration import calibrate, save
from sidelight.evaluation.laboratory import chosen
from sidelight.evaluation.recollection import recollect
from sidelight.evaluation.runs import evaluate
from sidelight.evaluation.topics import Topic
from sidelight.models.session import Array
from sidelight.types import SearchRequest

NOTES = {
    "日记/小票.md": "# 咖啡\n\n桂花乌龙生椰拿铁 26 元，在静安寺买的。\n",
    "技术/OOM.md": "# Out of memory\n\nThe kernel killed the worker: ERR_OOM_KILL_001.\n",
    "技术/TLS.md": "# Certificates\n\nRenew the certificate with certbot before it expires.\n",
    "控制/闭环.md": "# 闭环控制\n\n稳态误差用终值定理来算，见 [[拉普拉斯变换]]。\n",
    "控制/拉普拉斯变换.md": "# 拉普拉斯变换\n\n终值定理要求极点都在左半平面。\n",
    "garden.md": "# Garden\n\nTomatoes need water every morning in July.\n",
}


def asked(query: str, *relevant: str, answers: tuple[str, ...] = ()) -> Topic:
    kind = "paraphrase" if relevant else "no-answer"
    return Topic(query, query, "und", kind, bool(relevant), frozenset(relevant), answers=answers)


TOPICS = (
    asked("生椰拿铁 多少钱", "日记/小票.md", answers=("生椰拿铁 26 元",)),
    asked("ERR_OOM_KILL_001", "技术/OOM.md", answers=("kernel killed the worker",)),
    asked("renew certificate", "技术/TLS.md", answers=("Renew the certificate with certbot",)),
    asked("终值定理 极点", "控制/拉普拉斯变换.md", answers=("左半平面",)),
    asked("tomatoes water", "garden.md", answers=("Tomatoes need water",)),
    asked("量子纠缠实验"),
    asked("marathon training schedule"),
)


@pytest.fixture
def engine(tmp_path: Path, isolated_home: Path) -> Iterator[Engine]:
    vault = tmp_path / "vault"
    for path, text in NOTES.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    opened = Engine.open(vault, lexical_only=True, settings=Settings())
    opened.sync(lexical_only=True)
    yield opened
    opened.close()


def test_words_alone_answer_every_easy_question_in_both_languages(engine: Engine) -> None:
    figures = evaluate(engine, TOPICS).as_json()
    assert (figures["queries"], figures["answerable"]) == (7, 5)
    assert figures["metrics"]["pipeline"]["all"]["hit@1"] == 1
    assert figures["metrics"]["bm25"]["all"]["hit@1"] == 1
    assert figures["metrics"]["vector"] is None
    assert figures["citations"]["checked"] == 5
    assert figures["citations"]["answers_covered"] == 1
    assert figures["gate"]["auc"] == 1
    assert figures["gate"]["threshold"] is not None


def test_the_rankings_of_the_channels_are_those_of_the_trace(engine: Engine) -> None:
    (run,) = evaluate(engine, TOPICS[:1]).runs
    explained = engine.search(SearchRequest(TOPICS[0].query, explain=True, gate=False))
    assert explained.trace is not None
    assert explained.trace["channels"].keys() == {"metadata", "bm25"}
    for channel in explained.trace["channels"]:
        paths = [hit["path"] for hit in explained.trace["channels"][channel]]
        assert list(run.rankings[channel] or ()) == list(dict.fromkeys(paths))


def test_a_calibration_is_used_at_once_by_the_next_opening(engine: Engine) -> None:
    made = calibrate(engine, TOPICS, model="")
    assert set(made.gates) == {made.channels}  # without a model every way of asking is this one
    save(engine.places.calibration, made)
    engine.close()
    again = Engine.open(engine.vault, lexical_only=True, read_only=True)
    try:
        after = evaluate(again, TOPICS).as_json()["gate"]
    finally:
        again.close()
    assert after["threshold"] == pytest.approx(made.gates[made.channels].thresholds["balanced"])
    assert after["answerable_kept"] == 1
    assert after["unanswerable_refused"] == 1


def test_a_calibration_survives_a_rebuild_and_doctor_shows_it(engine: Engine) -> None:
    made = calibrate(engine, TOPICS, model="")
    save(engine.places.calibration, made)
    engine.close()
    again = Engine.open(engine.vault, lexical_only=True, rebuild=True)
    try:
        again.sync(lexical_only=True)
        trace = again.search(SearchRequest(TOPICS[0].query, explain=True)).trace or {}
        told = [f.finding for f in diagnose(again.vault, index=again) if f.check == "calibration"]
    finally:
        again.close()
    threshold = made.gates[made.channels].thresholds["balanced"]
    assert trace["gate"]["threshold"] == threshold
    assert len(told) == 1
    assert "Fitted to 7 questions on " in told[0]
    assert f"{made.channels} {threshold:.3f}" in told[0]


def test_a_calibration_counts_where_chains_of_mentions_take_part(engine: Engine) -> None:
    engine.update_settings({"graph": True, "graph_least_passages": 1})
    engine.sync(lexical_only=True)  # what notes speak of is read only while the graph is on
    made = calibrate(engine, TOPICS, model="")
    assert list(made.gates) == ["bm25+metadata"]  # whether chains took part or not
    save(engine.places.calibration, made)
    engine.update_settings({})  # reads the gate anew, as a daemon is told to
    trace = engine.search(SearchRequest(TOPICS[0].query, explain=True)).trace or {}
    assert "graph" in trace["channels"]
    assert trace["gate"]["threshold"] == made.gates["bm25+metadata"].thresholds["balanced"]


@pytest.mark.parametrize(
    "gates",
    [[], {"bm25+metadata": {}}, {"bm25+metadata": {"bias": 0, "weights": None, "thresholds": {}}},
     {"bm25+metadata": {"bias": 0, "weights": {}, "thresholds": {"balanced": 0.5}}},
     {"bm25+metadata": {"bias": "0", "weights": {}, "thresholds": dict.fromkeys(
         ("lenient", "balanced", "strict"), 0.5)}}],
    ids=["list", "empty", "nothing", "one threshold", "text"],
)  # fmt: skip
def test_a_calibration_that_is_not_whole_is_left_out_and_doctor_says_so(
    engine: Engine, gates: object
) -> None:
    content = {"format": 1, "model": "", "fitted_at": 1.0, "questions": {}, "gates": gates}
    engine.places.calibration.parent.mkdir(parents=True, exist_ok=True)
    engine.places.calibration.write_text(json.dumps(content), encoding="utf-8")
    engine.update_settings({})
    assert engine.search(SearchRequest(TOPICS[0].query)).ok
    found = [f for f in diagnose(engine.vault, index=engine) if f.check == "calibration"]
    assert [f.severity for f in found] == ["warning"]
    assert "cannot be used" in found[0].finding


class Reranker:
    """Reads a passage as the better the later it stands."""

    name = "fake"

    def score(self, query: str, passages: Sequence[str], cancelled: object = None) -> Array:
        return np.linspace(0.1, 0.9, len(passages), dtype=np.float32)


def test_the_rerank_recipe_orders_by_what_the_model_said(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="reranker took no part"):
        recollect(engine, TOPICS, rerank=True)
    monkeypatch.setattr(engine._models, "reranker", Reranker())
    evidence, model = chosen(["evidence", "rerank=1"])
    several = 0
    for found in recollect(engine, TOPICS, rerank=True):
        assert model.notes(found) == evidence.notes(found)[::-1], found.topic.query
        several += len(found.paths) > 1
    assert several
