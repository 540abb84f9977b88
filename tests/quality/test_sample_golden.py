"""What a person must get from the sample vault, on the real engine with the real model.

Floors stand a little under what was measured (the figures are in the comments); raise them when
ranking gets better, and read the questions one by one before lowering one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidelight.engine import Engine
from sidelight.evaluation.runs import Evaluation, evaluate
from sidelight.evaluation.topics import read_topics
from sidelight.sample import sample_queries, sample_vault
from sidelight.types import CitationStatus, Origin, Result, SearchRequest, SearchResult

RECEIPT = "Diary/2024-10-03.md"
WALK = "随笔/桂花树下散步.md"
OOM = "Ops/Errors/ERR_OOM_KILL_001.md"
LOOP = "Control/闭环控制系统.md"
LAPLACE = "Control/拉普拉斯变换.md"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = Engine.open(sample_vault(), data_dir=tmp_path_factory.mktemp("index"))
    opened.sync()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def evaluation(engine: Engine) -> Evaluation:
    return evaluate(engine, read_topics(sample_queries()))


def search(engine: Engine, text: str, limit: int = 10) -> SearchResult:
    found = engine.search(SearchRequest(text=text, limit=limit))
    assert not found.degraded, found.degraded
    return found


def check_first(engine: Engine, query: str, path: str) -> Result:
    """The query is answered, by this note first, freshly cited; its first result."""
    found = search(engine, query)
    assert found.ok, found.reasons
    first = found.results[0]
    assert first.path == path
    assert first.origin is Origin.DIRECT
    assert first.citation.status is CitationStatus.FRESH
    return first


def cited(result: Result) -> str:
    """The cited lines, read from disk by nothing but their numbers."""
    text = (sample_vault() / result.path).read_text("utf-8")
    start, end = result.citation.start_line, result.citation.end_line
    assert start is not None
    assert end is not None
    return "\n".join(text.split("\n")[start - 1 : end])


# --------------------------------------------------------------------------- exact words


@pytest.mark.parametrize("query", ["桂花乌龙生椰拿铁", "拿铁", "生椰拿铁", "乌龙生椰"])
def test_the_receipt_comes_before_the_walk_under_osmanthus_trees(
    engine: Engine, query: str
) -> None:
    first = check_first(engine, query, RECEIPT)
    assert first.heading_path[-1] == "小票"
    assert "桂花乌龙生椰拿铁（大杯，少糖）" in cited(first)


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("ERR_OOM_KILL_001", OOM),
        ("err_oom_kill_001", OOM),
        ("mqtt.session_expiry_s", "Ops/配置项速查.md"),
        ("WP-5580", "Inbox/坏掉的 YAML.md"),
        ("10.20.30.62", "Ops/主机清单.md"),
        ("getTransactionHistory", "Ops/Release v3.2.1-beta.md"),
    ],
)
def test_a_symbol_brings_its_own_note_first(engine: Engine, query: str, path: str) -> None:
    check_first(engine, query, path)


# --------------------------------------------------------------------------- mood and meaning


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("心里空落落的、怀念逝去的人的那次散步", WALK),
        ("a pensive evening walk that brought back memories of grandmother", WALK),
        ("心情特别好、浑身轻快的一个早上", "随笔/清晨跑步.md"),
        (
            "I kept dreading that somebody was about to call with bad news",
            "随笔/Fear of the phone.md",
        ),
    ],
)
def test_a_question_of_pure_mood_finds_the_mood(engine: Engine, query: str, path: str) -> None:
    check_first(engine, query, path)


def test_osmanthus_in_a_pensive_question_still_means_the_walk(engine: Engine) -> None:
    check_first(engine, "桂花香里想起外婆，有些怅然", WALK)


# --------------------------------------------------------------------------- links


def test_the_linked_section_arrives_with_its_provenance(engine: Engine) -> None:
    found = search(engine, "闭环控制怎么判断稳不稳、准不准", limit=1)
    assert found.ok
    assert found.results[0].path == LOOP
    linked = [r for r in found.results if r.path == LAPLACE and r.heading_path[-1] == "终值定理"]
    assert len(linked) == 1
    came = linked[0].graph_provenance
    assert linked[0].origin is Origin.LINKED
    assert came is not None
    assert (came.link, came.anchor) == ("[[拉普拉斯变换#终值定理]]", "heading")
    assert (came.seed_path, came.seed_rank) == (LOOP, 1)
    line = (sample_vault() / LOOP).read_text("utf-8").split("\n")[(came.link_line or 0) - 1]
    assert came.link in line
    assert "极限根本不存在" in cited(linked[0])


def test_linked_passages_follow_the_direct_ones(engine: Engine) -> None:
    origins = [r.origin for r in search(engine, "闭环控制怎么判断稳不稳、准不准").results]
    assert origins == sorted(origins, key=lambda origin: origin is Origin.LINKED)
    assert {Origin.DIRECT, Origin.LINKED} == set(origins)


# --------------------------------------------------------------------------- floors


def test_ranking_floors(evaluation: Evaluation) -> None:
    metrics = evaluation.as_json()["metrics"]["pipeline"]
    assert metrics["all"]["ndcg@10"] >= 0.80  # measured 0.860
    assert metrics["all"]["hit@1"] >= 0.68  # measured 0.750
    assert metrics["all"]["recall@10"] >= 0.92  # measured 0.990
    floors = {
        "exact-symbol": 0.84,  # measured 0.908
        "paraphrase": 0.85,  # measured 1.000
        "cross-lingual": 0.85,  # measured 0.929
        "multi-hop": 0.45,  # measured 0.546
        "aggregation": 0.70,  # measured 0.774
    }
    measured = {kind: values["ndcg@10"] for kind, values in metrics["by_kind"].items()}
    assert {kind: v for kind, v in measured.items() if v < floors[kind]} == {}


def test_the_pipeline_beats_each_single_channel(evaluation: Evaluation) -> None:
    metrics = evaluation.as_json()["metrics"]
    pipeline = metrics["pipeline"]["all"]["ndcg@10"]
    answered = {name: figures for name, figures in metrics.items() if figures}  # graph: off here
    others = {n: f["all"]["ndcg@10"] for n, f in answered.items() if n != "pipeline"}
    assert {"bm25", "vector", "metadata"} <= others.keys()
    assert len(others) == 4
    assert max(others.values()) < pipeline


def test_what_the_vault_does_not_answer_is_refused(evaluation: Evaluation) -> None:
    gate = evaluation.as_json()["gate"]
    assert gate["unanswerable_refused"] >= 0.60  # measured 0.75
    assert gate["answerable_kept"] >= 0.55  # measured 0.656
    assert gate["auc"] >= 0.72  # measured 0.801


def test_every_cited_answer_stands_in_its_lines(evaluation: Evaluation) -> None:
    citations = evaluation.as_json()["citations"]
    assert citations["checked"] >= 28
    assert citations["answers_covered_in_relevant"] >= 0.92  # measured 0.968


def test_an_empty_neighbourhood_is_refused_with_a_reason(engine: Engine) -> None:
    for query in ("How many partitions does our Kafka topic have?", "拿铁拉花的手法"):
        found = search(engine, query)
        assert not found.ok
        assert found.results == ()
        assert found.reasons


def test_the_shipped_vault_is_only_read(engine: Engine) -> None:
    before = {p: p.stat().st_mtime_ns for p in Path(sample_vault()).rglob("*")}
    search(engine, "拿铁")
    engine.sync()
    assert {p: p.stat().st_mtime_ns for p in Path(sample_vault()).rglob("*")} == before
