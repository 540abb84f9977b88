"""What notes mention together leads from a question to its answer, and never makes one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidelight.bridge.wire import search_result_json
from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.indexing import facts, pipeline
from sidelight.language.entities import entities_of, entity_key
from sidelight.language.user_words import UserWords
from sidelight.query import asked as asking
from sidelight.query.chains import MOST_THINGS, things_in
from sidelight.store.graph import EntityGraph, of_passages
from sidelight.types import Mode, Result, SearchRequest, SearchResult

NOTES = {
    "日志.md": "# 日志\n\n## 春\n\n青鸾排练，潘老师来了。\n\n## 夏\n\n青鸾演出，潘老师指挥。\n\n"
    "## 秋\n\n潘老师约大家去梧桐巷。\n\n## 冬\n\n梧桐巷的谱架，潘老师没收押金。\n",
    "潘老师.md": "# 潘老师\n\n花生过敏，膝盖换过。\n",
    "梧桐巷.md": "# 梧桐巷\n\n单日只能从东口往西开。\n",
    "log.md": "# log\n\n## May\n\nHauled Heron out; we asked Okafor about the keel.\n\n"
    "## June\n\nVarnish on Heron, with planks from Okafor.\n",
    "Okafor.md": "# Okafor\n\nTakes no milk. Deaf in the left ear.\n",
    "fruit.md": "# fruit\n\n## 一\n\n苹果开花，果园里先给红玉授粉。\n\n## 二\n\n苹果下树，果园的红玉最早。\n",
    "shares.md": "# shares\n\n## 一\n\n苹果财报，供应商蓝湾领涨。\n\n## 二\n\n苹果财报，供应商蓝湾跟跌。\n",
    "红玉.md": "# 红玉\n\n接穗要斜切。\n",
    "蓝湾.md": "# 蓝湾\n\n鞋套在左手柜子。\n",
    "planet.md": "# planet\n\n## a\n\nTonight we saw Mercury from Kestrel, guided by Adisa.\n\n"
    "## b\n\nOnce more Mercury over Kestrel, and notes by Adisa.\n",
    "metal.md": "# metal\n\n## a\n\nThe lab spilled Mercury near Brandt, cleaned up by Olsen.\n\n"
    "## b\n\nThere was more Mercury at Brandt, as told by Olsen.\n",
    "Adisa.md": "# Adisa\n\nDrinks black tea.\n",
    "Olsen.md": "# Olsen\n\nRides a red bicycle.\n",
} | {f"filler/{n:02}.md": f"# filler {n}\n\n窗外第{n}阵风吹过。\n" for n in range(40)}
NONE = UserWords(())
SMALL: dict[str, Any] = {"graph": True, "graph_least_passages": 20, "gate_strictness": "off"}


def write(vault: Path, notes: dict[str, str]) -> None:
    for path, text in notes.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, "utf-8", newline="\n")


def opened(vault: Path, data: Path, **settings: Any) -> Engine:
    engine = Engine.open(
        vault, data_dir=data, lexical_only=True, settings=Settings(**{**SMALL, **settings})
    )
    engine.sync(lexical_only=True)
    return engine


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vault")
    write(folder, NOTES)
    return folder


@pytest.fixture(scope="module")
def engine(vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = opened(vault, tmp_path_factory.mktemp("data"))
    yield engine
    engine.close()


def ask(engine: Engine, text: str, **rest: Any) -> SearchResult:
    return engine.search(SearchRequest(text, **rest))


def result_of(found: SearchResult, path: str) -> Result | None:
    return next((r for r in found.results if r.path == path), None)


def chain_to(engine: Engine, text: str, path: str) -> tuple[str, ...]:
    one = result_of(ask(engine, text), path)
    hit = one.channels["graph"] if one else None
    return hit.matched if hit else ()


def test_a_chain_leads_to_a_passage_without_any_word_of_the_question(engine: Engine) -> None:
    assert chain_to(engine, "青鸾", "梧桐巷.md") == ("青鸾", "潘老师", "梧桐巷")
    assert chain_to(engine, "Heron", "Okafor.md") == ("Heron", "Okafor")


def test_the_chain_is_in_the_json_and_in_the_trace(engine: Engine) -> None:
    found = search_result_json(ask(engine, "青鸾", explain=True))
    one = next(r for r in found["results"] if r["path"] == "潘老师.md")
    assert one["channels"]["graph"]["chain"] == ["青鸾", "潘老师"]
    traced = found["trace"]["channels"]["graph"]
    assert {hit["path"] for hit in traced} >= {"潘老师.md", "梧桐巷.md"}
    for candidate in found["trace"]["candidates"]:
        assert candidate["rrf_score"] == pytest.approx(sum(candidate["contributions"].values()))
    assert found["timing_ms"]["recall"]["graph"] >= 0


@pytest.mark.parametrize(
    ("query", "meant", "other"),
    [
        ("苹果 果园", "红玉.md", "蓝湾.md"),
        ("苹果 财报", "蓝湾.md", "红玉.md"),
        ("Mercury Kestrel", "Adisa.md", "Olsen.md"),
        ("Mercury Brandt", "Olsen.md", "Adisa.md"),
    ],
)
def test_one_word_with_two_meanings_is_told_apart_by_its_neighbours(
    engine: Engine, query: str, meant: str, other: str
) -> None:
    found = ask(engine, query)
    right, wrong = result_of(found, meant), result_of(found, other)
    assert right is not None
    assert wrong is None or right.rank < wrong.rank


@pytest.mark.parametrize(
    ("query", "official", "forum"),
    [
        (
            "how to reset the Lumen lamp",
            "# Lumen manual\n\nTo reset the Lumen lamp hold its key.\n",
            "# My lamp\n\nHow to reset the Lumen lamp? Hold its key. Works for me!\n",
        ),
        (
            "台灯怎么恢复出厂设置",
            "# 说明书\n\n台灯恢复出厂设置：长按按键。\n",
            "# 转帖\n\n台灯怎么恢复出厂设置？长按按键，亲测有效！\n",
        ),
    ],
)
def test_a_forum_note_that_imitates_an_official_one_stands_below_it(
    tmp_path: Path, query: str, official: str, forum: str
) -> None:
    vault = tmp_path / "vault"
    rules = ("Manuals/ = official-docs", "转帖/ = 论坛")
    write(vault, {"Manuals/a.md": official, "转帖/b.md": forum})
    engine = opened(vault, tmp_path / "data", credibility=rules)
    without = [r.path for r in ask(engine, query).results]
    believed = [r.path for r in ask(engine, query, rerank=True).results]
    engine.close()
    assert without == ["转帖/b.md", "Manuals/a.md"]
    assert believed == ["Manuals/a.md", "转帖/b.md"]


def test_passages_that_hold_the_word_itself_stay_first(engine: Engine) -> None:
    found = ask(engine, "潘老师").results
    assert found[0].path == "潘老师.md"
    assert all(r.channels["graph"] is None for r in found if "潘老师" in r.text)


def test_filters_and_modes_hold_for_chains(engine: Engine) -> None:
    assert result_of(ask(engine, "青鸾 path:日志"), "梧桐巷.md") is None
    assert result_of(ask(engine, "青鸾", mode=Mode.LEXICAL), "梧桐巷.md") is None


def test_it_stays_off_while_the_counts_are_too_small(vault: Path, tmp_path: Path) -> None:
    engine = opened(vault, tmp_path, graph_least_passages=10_000)
    assert not chain_to(engine, "青鸾", "梧桐巷.md")
    assert "graph" not in ask(engine, "青鸾").timing_ms["recall"]
    engine.close()


def test_a_failure_costs_only_the_chain(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(asking, "recall_chains", fail)
    found = ask(engine, "青鸾")
    assert [d.channel for d in found.degraded if d.channel == "graph"] == ["graph"]
    assert found.results[0].path == "日志.md"


@pytest.mark.parametrize("query", ["青鸾飞船的燃料配方", "Heron rocket fuel recipe"])
def test_a_chain_alone_is_no_evidence(vault: Path, tmp_path: Path, query: str) -> None:
    decided = []
    strict: dict[str, Any] = {"gate_strictness": "strict", "graph_worth": 1.0}
    for graph in (False, True):
        engine = opened(vault, tmp_path / str(graph), graph=graph, **strict)
        found = search_result_json(ask(engine, query))
        decided.append((found["status"], found["code"]))
        shown = ask(engine, query, explain=True, gate=False)
        engine.close()
    assert decided == [("no_evidence", "RAG_NO_EVIDENCE")] * 2
    by_chain = [r.evidence for r in shown.results if r.channels["graph"]]
    assert shown.trace is not None
    assert max(by_chain) > shown.trace["gate"]["threshold"] > shown.confidence, "would be one else"


@pytest.mark.parametrize(
    "query",
    ["青鸾", "Heron", "苹果 果园", "苹果 财报", "潘老师去过哪里", "Who is deaf?", "量子纠缠"],
)
def test_the_gate_reads_the_same_numbers_with_and_without_chains(
    vault: Path, tmp_path: Path, query: str
) -> None:
    seen = []
    for graph in (False, True):
        engine = opened(vault, tmp_path / str(graph), graph=graph, graph_worth=1.0)
        trace = ask(engine, query, explain=True).trace
        assert trace is not None
        seen.append(trace["gate"])
        engine.close()
    assert seen[0] == seen[1]


def test_what_is_saved_and_deleted_is_followed_at_once_and_after_a_start(tmp_path: Path) -> None:
    vault, data = tmp_path / "vault", tmp_path / "data"
    write(vault, NOTES)
    engine = opened(vault, data)
    write(vault, {"再记.md": "# 再记\n\n## 一\n\n潘老师买了琵琶。\n\n## 二\n\n潘老师弹琵琶。\n"})
    write(vault, {"琵琶.md": "# 琵琶\n\n四根弦。\n"})
    engine.sync(lexical_only=True)
    assert chain_to(engine, "青鸾", "琵琶.md") == ("青鸾", "潘老师", "琵琶")
    (vault / "再记.md").unlink()
    engine.sync(lexical_only=True)
    assert chain_to(engine, "青鸾", "琵琶.md") == ()
    before = engine._catalog.graph.counts()
    engine.close()
    again = opened(vault, data)
    assert again._catalog.graph.counts() == before
    again.close()
    fresh = opened(vault, tmp_path / "fresh")
    assert fresh._catalog.graph.counts() == before
    fresh.close()


def test_renamed_folders_leave_the_counts_of_a_rebuild(tmp_path: Path) -> None:
    vault, data = tmp_path / "vault", tmp_path / "data"
    write(
        vault, NOTES | {f"filler/梧桐{n}.md": f"# 梧桐{n}\n\nHeron 与潘老师。\n" for n in range(60)}
    )
    engine = opened(vault, data)
    for before, after in (("filler", "搬家 1"), ("搬家 1", "Moved/深/处")):
        (vault / after).parent.mkdir(parents=True, exist_ok=True)
        (vault / before).rename(vault / after)
        engine.sync(lexical_only=True)
    (vault / "潘老师.md").rename(vault / "Moved" / "指挥.md")
    engine.sync(lexical_only=True)
    told = engine._catalog.graph.counts()
    engine.close()
    for folder in (data, tmp_path / "fresh"):
        again = opened(vault, folder)
        assert again._catalog.graph.counts() == told
        again.close()


@pytest.mark.parametrize(
    "name", ["The", "And", "of the", "我们", "不", "x", "é", "𠮷", "-", "\u202e", "\x00"]
)
def test_a_name_that_says_nothing_never_stands_in_a_chain(name: str) -> None:
    graph = of_passages(
        (str(at), entities_of(name, (name,), [f"# {name}\n\nWe saw [[{name}]], #{name}."], NONE)[0])
        for at in range(3)
    )
    assert entity_key(name) not in graph.counts()


def test_control_and_right_to_left_characters_stay_in_their_names(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    text = "We saw [[שלום]] with Ab\x00cde and \u202eOkafor\u202c."
    write(vault, NOTES | {"odd.md": f"# odd\n\n## a\n\n{text}\n\n## b\n\n{text}\n"})
    engine = opened(vault, tmp_path / "data")
    counts = engine._catalog.graph.counts()
    assert counts["שלום"] == 2
    assert not [key for key in counts if "\x00" in key or "\u202e" in key]
    assert [d.channel for d in ask(engine, "שלום").degraded] == ["vector"]  # as in every test here
    assert result_of(ask(engine, "שלום"), "Okafor.md") is not None
    engine.close()


def test_a_pasted_page_of_names_costs_no_look_up_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{a}{b}" for a in "松柏槐柳榆桐" for b in "风云雷雨雪霜"]
    graph = of_passages((str(at), names[at % 30 : at % 30 + 6]) for at in range(90))
    looked: list[str] = []
    look_up = EntityGraph._look_up
    monkeypatch.setattr(
        EntityGraph,
        "_look_up",
        lambda self, key, *rest: (looked.append(key), look_up(self, key, *rest))[1],
    )
    assert len(things_in("，".join(names), graph, 2)) == MOST_THINGS
    assert looked == []


def test_an_index_from_before_the_graph_reads_its_notes_again_and_says_so(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(
            "sidelight.indexing.draft.entities_of", lambda title, names, texts, words: []
        )
        opened(vault, tmp_path).close()
    file = tmp_path / "facts.json"
    stored = json.loads(file.read_text("utf-8"))
    del stored["entities"]
    file.write_text(json.dumps(stored), "utf-8")
    assert facts.difference(stored, {**stored, "entities": "1"}) == (
        "the way things are recognised changed"
    )
    engine = opened(vault, tmp_path)
    assert chain_to(engine, "青鸾", "梧桐巷.md")
    engine.close()
    read: list[str] = []
    draft = pipeline.draft_note
    monkeypatch.setattr(
        pipeline,
        "draft_note",
        lambda entry, *rest, **how: (read.append(entry.path), draft(entry, *rest, **how))[1],
    )
    opened(vault, tmp_path).close()
    assert read == []


def test_things_are_looked_for_only_while_the_graph_is_on(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    real = entities_of

    def counted(title: str, *rest: Any) -> list[tuple[str, ...]]:
        looked.append(title)
        return real(title, *rest)

    monkeypatch.setattr("sidelight.indexing.draft.entities_of", counted)
    opened(vault, tmp_path, graph=False).close()
    assert looked == []
    with_graph = opened(vault, tmp_path)
    assert len(looked) == len(NOTES)
    assert chain_to(with_graph, "青鸾", "梧桐巷.md")
    assert chain_to(with_graph, "Heron", "Okafor.md")
    with_graph.close()
    opened(vault, tmp_path).close()
    opened(vault, tmp_path, graph=False).close()
    assert len(looked) == len(NOTES)  # they are kept


def test_switching_the_graph_on_reads_what_was_read_without_it(tmp_path: Path) -> None:
    write(tmp_path / "vault", NOTES)
    opened(tmp_path / "vault", tmp_path / "data").close()
    (tmp_path / "vault" / "潘老师.md").write_text("# 潘老师\n\n改吃青菜。\n", "utf-8")
    engine = opened(tmp_path / "vault", tmp_path / "data", graph=False)
    without = [path for path, note in engine._catalog.notes.items() if note.entities is None]
    assert without == ["潘老师.md"]
    assert engine.update_settings({"graph": True}) == [
        "notes that were read without the graph are read again"
    ]
    engine.sync(lexical_only=True)
    assert all(note.entities is not None for note in engine._catalog.notes.values())
    assert chain_to(engine, "青鸾", "潘老师.md")
    engine.close()


def test_another_form_of_things_asks_for_nothing_without_the_graph() -> None:
    current = {"schema": "1", "drafts": "4", "entities": "2", "terms": "x"}
    stored = {**current, "entities": "1"}
    assert facts.difference(stored, current)
    assert facts.difference(stored, current, graph=False) == ""
