"""Meaning: the real model, and what is never embedded twice."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from sidelight.bridge.wire import search_result_json
from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.models.embedder import Embedder
from sidelight.types import Mode, PackRequest, SearchRequest

NOTES = {
    "Garden.md": "# Garden\n\nSlugs ate the lettuce.\n\n## Soil\n\nMix compost with loam.\n",
    "厨房.md": "# 厨房\n\n番茄要先烫皮。\n\n## 刀\n\n每周磨一次刀。\n",
    "Sleep.md": "# Sleep\n\nA cooler bedroom helps one fall asleep.\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for path, text in NOTES.items():
        (folder / path).write_text(text, "utf-8")
    return folder


@pytest.fixture
def engine(vault: Path, tmp_path: Path) -> Iterator[Engine]:
    opened = Engine.open(
        vault, data_dir=tmp_path / "data", settings=Settings(gate_strictness="off")
    )
    assert opened.no_vectors == "", opened.no_vectors
    yield opened
    opened.close()


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that reaches the model, as it goes in."""
    seen: list[str] = []
    real = Embedder.embed_passages

    def counting(self: Embedder, texts: list[str], *rest: object) -> np.ndarray:
        seen.extend(texts)
        return real(self, texts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Embedder, "embed_passages", counting)
    return seen


def found(engine: Engine, text: str) -> str:
    result = engine.search(SearchRequest(text, mode=Mode.SEMANTIC))
    return result.results[0].path


def test_meaning_finds_across_languages(engine: Engine) -> None:
    engine.sync()
    assert found(engine, "怎样更容易入睡") == "Sleep.md"
    assert found(engine, "how often should the knife be sharpened") == "厨房.md"
    assert engine.state().embedded_chunks == 5


def test_nothing_is_embedded_twice(engine: Engine, vault: Path, embedded: list[str]) -> None:
    engine.sync()
    assert len(embedded) == 8, "five passages and three names of notes"
    embedded.clear()
    engine.sync()
    assert embedded == [], "an unchanged vault"
    (vault / "sub").mkdir()
    (vault / "Garden.md").rename(vault / "sub" / "Garden.md")
    engine.sync()
    assert embedded == [], "a moved note"
    text = (vault / "厨房.md").read_text("utf-8")
    (vault / "厨房.md").write_text(text.replace("每周", "每月"), "utf-8")
    engine.sync()
    assert len(embedded) == 1, "one edited section"
    assert "每月磨一次刀" in embedded[0]
    embedded.clear()
    (vault / "厨房.md").rename(vault / "灶台.md")
    engine.sync()
    assert len(embedded) == 3, "a renamed note: its name, and its own chunks, which hold it"


def test_vectors_survive_a_restart(
    engine: Engine, vault: Path, tmp_path: Path, embedded: list[str]
) -> None:
    engine.sync()
    engine.close()
    embedded.clear()
    again = Engine.open(vault, data_dir=tmp_path / "data", settings=Settings())
    try:
        again.sync()
        assert embedded == []
        assert again.state().embedded_chunks == 5
    finally:
        again.close()


def test_answer_is_the_same_after_restart_compaction_rebuild_and_in_another_order_of_arrival(
    engine: Engine, vault: Path, tmp_path: Path
) -> None:
    def answers(of: Engine) -> list[dict[str, object]]:
        assert not of._catalog.unnamed(), "the names are part of the answer"
        return [
            {**search_result_json(of.search(SearchRequest(q, explain=True))), "timing_ms": None}
            for q in ("怎样更容易入睡", "sharpen the knife", "番茄 compost", "Garden")
        ]

    engine.sync()
    first = answers(engine)
    assert any(c["title"] is not None for c in first[0]["trace"]["candidates"])  # type: ignore[index]
    engine._tables.compact(engine._catalog)
    assert answers(engine) == first
    engine.close()
    again = Engine.open(vault, data_dir=tmp_path / "data", settings=engine.settings)
    try:
        assert answers(again) == first, "a restart"
        again.sync(rebuild=True)
        assert answers(again) == first, "a rebuild"
    finally:
        again.close()
    for path in NOTES:
        (vault / path).unlink()
    fresh = Engine.open(vault, data_dir=tmp_path / "fresh", settings=engine.settings)
    try:
        for path in reversed(NOTES):
            (vault / path).write_text(NOTES[path], "utf-8")
            fresh.sync()
        assert answers(fresh) == first, "a fresh index, one note at a time"
    finally:
        fresh.close()


@pytest.mark.parametrize("name", ["Empty.md", "空白.md"])
def test_a_note_waits_once_and_a_passage_without_words_never(
    engine: Engine, vault: Path, name: str
) -> None:
    (vault / name).write_text("", "utf-8")  # found by its name alone
    (vault / "zeros.md").write_bytes(b"\0" * 20_000)
    engine.sync(lexical_only=True)
    assert engine.state().chunks == 5
    assert engine.state().pending == 7, "five passages, and two notes that only have names"
    engine.sync()
    assert (engine.state().embedded_chunks, engine.state().pending) == (5, 0)
    assert (engine.note_status("zeros.md").chunks, engine.failed_notes()) == (0, [])


def test_missing_vectors_are_said(engine: Engine) -> None:
    engine.sync(lexical_only=True)
    result = engine.search(SearchRequest("lettuce"))
    assert [(d.channel, d.partial) for d in result.degraded] == [("vector", True)]
    assert result.index.pending == 5, "passages; their notes' names wait too"
    nothing = engine.search(SearchRequest("zzzyx"))
    assert nothing.reasons[0].kind == "index_incomplete"


def test_text_that_cannot_be_embedded_is_left_out_alone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Embedder.embed_passages

    def picky(self: Embedder, texts: list[str], *rest: object) -> np.ndarray:
        if any("Slugs" in text for text in texts):
            raise RuntimeError("this text breaks the model")
        return real(self, texts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Embedder, "embed_passages", picky)
    engine.sync()
    assert engine.state().embedded_chunks == 4
    assert found(engine, "sharpen the knife") == "厨房.md"


def test_reading_with_another_model_leaves_the_vectors_alone(
    engine: Engine, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.sync()
    engine.close()
    with monkeypatch.context() as other:
        real = Embedder.__init__

        def renamed(self: Embedder, *arguments: object) -> None:
            real(self, *arguments)  # type: ignore[arg-type]
            self.vectors_id = "another-model"

        other.setattr(Embedder, "__init__", renamed)
        reader = Engine.open(vault, data_dir=tmp_path / "data", read_only=True)
        assert reader.state().embedded_chunks == 0
        reader.close()
    reader = Engine.open(vault, data_dir=tmp_path / "data", read_only=True)
    assert reader.state().embedded_chunks == 5
    reader.close()


def test_a_closed_engine_keeps_no_model(vault: Path, tmp_path: Path) -> None:
    """Its parts know each other, so that it stays in memory itself until the collector comes."""
    gc.disable()
    try:
        opened = Engine.open(vault, data_dir=tmp_path / "other")
        opened.sync()
        model = weakref.ref(opened.embedder)
        assert model() is not None
        opened.close()
        assert opened.embedder is None
        assert model() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("asked", ["search", "pack", "related"])
def test_while_a_query_runs_nothing_is_embedded(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    """All of it, not only while its own text is encoded: both cores are for who waits."""
    monkeypatch.setattr("sidelight.models.session.QUERY_GAP_SECONDS", 20.0)
    engine.sync()
    embedder = engine.embedder
    assert embedder is not None
    done = threading.Event()

    def embed() -> None:
        embedder.embed_passages(["番茄要先烫皮。"])
        done.set()

    meanwhile = threading.Thread(target=embed)

    def answer(*_: object) -> None:
        meanwhile.start()
        assert not done.wait(1.0), "it takes some milliseconds"

    monkeypatch.setattr(f"sidelight.engine.pipeline.{asked}", answer)
    ask: dict[str, Callable[[], object]] = {
        "search": lambda: engine.search(SearchRequest("刀")),
        "pack": lambda: engine.pack(PackRequest("刀")),
        "related": lambda: engine.related("厨房.md"),
    }
    ask[asked]()
    meanwhile.join(10.0)
    assert done.is_set()


def test_a_note_saved_while_queries_run_does_not_wait_for_what_is_embedded(
    engine: Engine, vault: Path
) -> None:
    """Each text waits for a query, so that many of them would be seconds."""
    for number in range(12):
        (vault / f"笔记{number}.md").write_text(f"# 题目 {number}\n\n第 {number} 道菜。\n", "utf-8")
    engine.sync(lexical_only=True)
    queue = engine._indexer.queue
    waiting = queue.pending()
    with queue.held_back():
        left = queue.embed_window(interrupted=lambda: True)
    assert 0 < waiting - left < 5 < waiting


def test_a_question_is_encoded_while_its_words_are_looked_up(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.sync()
    encoded = threading.Event()
    encode, query_terms = Embedder.embed_query, type(engine.terms).query_terms

    def told(self: Embedder, text: str) -> np.ndarray:
        encoded.set()
        return encode(self, text)

    def waiting(self: object, text: str, **rest: bool) -> list[object]:
        assert encoded.wait(30)  # words come later, and nothing waits for them
        return query_terms(self, text, **rest)  # type: ignore[arg-type,return-value]

    monkeypatch.setattr(Embedder, "embed_query", told)
    monkeypatch.setattr(type(engine.terms), "query_terms", waiting)
    result = engine.search(SearchRequest("磨刀 knife"))
    assert result.ok
    assert not result.degraded


def test_a_model_that_fails_costs_only_its_channel(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.sync()
    asked: list[str] = []

    def failing(_: Embedder, text: str) -> np.ndarray:
        asked.append(text)
        raise RuntimeError("boom")

    monkeypatch.setattr(Embedder, "embed_query", failing)
    for text in ("lettuce", "番茄"):
        result = engine.search(SearchRequest(text))
        assert result.results[0].channels["bm25"] is not None
        assert [(d.channel, d.partial) for d in result.degraded] == [("vector", False)]
        assert "boom" not in result.degraded[0].reason
    assert asked == ["lettuce", "番茄"]
    assert not engine.search(SearchRequest("lettuce", mode=Mode.LEXICAL)).degraded
    assert asked == ["lettuce", "番茄"]


def test_a_model_that_never_answers_leaves_words_and_names_alone(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many ask meanwhile: each question once kept two of the threads that look up words."""
    settings = Settings(gate_strictness="off", channel_timeout_ms=400)
    engine = Engine.open(vault, data_dir=tmp_path / "data", settings=settings)
    engine.sync()
    go_on = threading.Event()
    asked: list[str] = []
    encode = Embedder.embed_query

    def stuck(self: Embedder, text: str) -> np.ndarray:
        asked.append(text)
        assert go_on.wait(60)
        return encode(self, text)

    monkeypatch.setattr(Embedder, "embed_query", stuck)
    try:
        for number in range(14):
            result = engine.search(SearchRequest(f"磨刀 knife lettuce {number}"))
            assert [found.channel for found in result.degraded] == ["vector"]
            assert result.ok
        go_on.set()
        assert not engine.search(SearchRequest("怎样更容易入睡")).degraded
        assert len(asked) == 3  # nobody waited for the others any more
    finally:
        go_on.set()
        engine.close()
