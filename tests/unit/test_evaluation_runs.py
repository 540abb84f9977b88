"""One run over judged questions gives the figures of every channel, the gate and the citations."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from evaluation_fakes import Answer, FakeEngine

from sidelight.evaluation.runs import evaluate, write_trec_run
from sidelight.evaluation.topics import Topic


def topic(query: str, *relevant: str, **more: Any) -> Topic:
    values = {"language": "und", "kind": "paraphrase" if relevant else "no-answer", **more}
    return Topic(
        id=query, query=query, answerable=bool(relevant), relevant=frozenset(relevant), **values
    )


@pytest.fixture
def engine(tmp_path: Path) -> FakeEngine:
    (tmp_path / "小票.md").write_text("# 咖啡\n生椰\n拿铁 26 元\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("nothing\n", encoding="utf-8")
    return FakeEngine(
        tmp_path,
        {
            "拿铁": Answer(
                direct=["b.md:1-1", "小票.md:2-3", "小票.md:1-1"],
                channels={"metadata": [], "bm25": ["小票.md"], "vector": ["b.md", "小票.md"]},
                fused_plain=["小票.md", "b.md"],
                confidence=0.9,
            ),
            "hop": Answer(
                direct=["b.md:1-1"],
                linked=["小票.md:2-3"],
                channels={"metadata": ["b.md"], "bm25": [], "vector": []},
                fused_plain=["b.md"],
                ok=False,
                confidence=0.3,
            ),
            "none": Answer(
                direct=["b.md:1-1"],
                channels={"metadata": [], "bm25": [], "vector": ["b.md"]},
                ok=False,
                confidence=0.1,
            ),
        },
    )


TOPICS = (
    topic("拿铁", "小票.md", answers=("生椰拿铁 26元",)),
    topic("hop", "小票.md", kind="multi-hop", answers=("不在这里",)),
    topic("none"),
)


def test_every_channel_and_the_pipeline_are_measured_apart(engine: FakeEngine) -> None:
    metrics = evaluate(engine, TOPICS).as_json()["metrics"]
    assert metrics["pipeline"]["all"]["n"] == 2
    assert metrics["pipeline"]["all"]["mrr@10"] == 0.5
    assert metrics["bm25"]["all"]["hit@1"] == 0.5
    assert metrics["vector"]["by_kind"]["paraphrase"]["mrr@10"] == 0.5
    assert metrics["rrf_plain"]["by_kind"]["paraphrase"]["hit@1"] == 1
    assert metrics["metadata"]["all"]["recall@10"] == 0
    assert set(metrics["pipeline"]["by_kind"]) == {"paraphrase", "multi-hop"}


def test_ranking_is_measured_before_the_gate_and_the_gate_over_all(engine: FakeEngine) -> None:
    figures = evaluate(engine, TOPICS).as_json()
    assert (figures["queries"], figures["answerable"]) == (3, 2)
    assert figures["metrics"]["pipeline"]["by_kind"]["multi-hop"]["mrr@10"] == 0.5  # was refused
    gate = figures["gate"]
    assert (gate["threshold"], gate["auc"]) == (0.4, 1.0)
    assert (gate["answerable_kept"], gate["unanswerable_refused"]) == (0.5, 1.0)
    assert gate["by_kind"]["multi-hop"] == {"n": 1, "kept": 0.0}
    assert gate["by_kind"]["no-answer"] == {"n": 1, "refused": 1.0}


def test_cited_lines_are_read_from_disk(engine: FakeEngine) -> None:
    assert evaluate(engine, TOPICS).as_json()["citations"] == {
        "checked": 2,
        "answers_covered": 0.5,  # wrapped over two lines and with other blanks: still covered
        "answers_covered_in_relevant": 0.5,
    }
    (engine.vault / "小票.md").write_text("# 咖啡\n\n", encoding="utf-8")
    assert evaluate(engine, TOPICS).as_json()["citations"]["answers_covered"] == 0


def test_a_question_without_a_relevant_note_among_ten_is_not_checked(engine: FakeEngine) -> None:
    asked = topic("拿铁", "missing.md", answers=("生椰",))
    assert evaluate(engine, [asked]).as_json()["citations"]["checked"] == 0


def test_a_linked_answer_has_arrived(engine: FakeEngine) -> None:
    runs = evaluate(engine, TOPICS).runs
    assert [run.arrived for run in runs] == [True, True, False]


def test_a_channel_that_never_ran_has_no_figures(engine: FakeEngine) -> None:
    for answer in engine.answers.values():
        answer.channels = {k: v for k, v in answer.channels.items() if k != "vector"}
    metrics = evaluate(engine, TOPICS).as_json()["metrics"]
    assert metrics["vector"] is None
    assert metrics["bm25"] is not None


def test_enough_passages_for_ten_notes_are_asked_for(engine: FakeEngine) -> None:
    evaluate(engine, TOPICS)
    ranked = [request for request in engine.asked if request.explain]
    assert {request.limit for request in ranked} == {20}
    assert not any(request.gate or request.rerank for request in ranked)
    evaluate(engine, TOPICS, limit=7, rerank=True)
    assert (engine.asked[-1].limit, engine.asked[-1].rerank) == (7, True)


def test_notes_in_also_are_neither_right_nor_wrong(engine: FakeEngine) -> None:
    asked = topic("拿铁", "小票.md", also=frozenset({"b.md"}))
    assert evaluate(engine, [asked]).as_json()["metrics"]["pipeline"]["all"]["hit@1"] == 1


def test_trec_run_holds_one_note_a_line_and_no_blanks_inside_a_field(engine: FakeEngine) -> None:
    engine.answers["拿铁"].direct = ["a b/小 票.md", "50%.md"]
    file = io.StringIO()
    write_trec_run(evaluate(engine, TOPICS), file)
    lines = [line.split(" ") for line in file.getvalue().splitlines()]
    assert lines[0] == ["拿铁", "Q0", "a%20b/小%20票.md", "1", "1.000000", "sidelight"]
    assert lines[1][2] == "50%25.md"
    assert {line[0] for line in lines} == {"拿铁", "hop"}
