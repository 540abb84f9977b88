"""What the index was made with changes: the smallest rebuild that is enough, said, and no gap."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import write_model

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import IndexUnavailableError
from sidelight.indexing import facts, pipeline, worker
from sidelight.language.terms import Terms
from sidelight.models.embedder import Embedder
from sidelight.store.tables import Tables
from sidelight.types import Mode, Progress, SearchRequest

NOTES = {
    "cat.md": "# cat\n\na cat\n",
    "狗.md": "# 狗\n\n一只狗 dog\n",
    "b/拿铁.md": "生椰拿铁 latte\n",
}


class Counted:
    """An index, and how often notes are read and passages embedded."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.vault, self.data = root, root / "vault", root / "data"
        for path, text in NOTES.items():
            (self.vault / path).parent.mkdir(parents=True, exist_ok=True)
            (self.vault / path).write_text(text, "utf-8")
        self.read: list[str] = []
        self.embedded: list[str] = []
        self.said: list[Progress] = []
        self.engine: Engine | None = None
        self.model = write_model(root / "first", pooling="mean", name="first")
        draft, embed = pipeline.draft_note, Embedder.embed_passages

        def drafting(entry: Any, *rest: Any, **how: Any) -> Any:
            self.read.append(entry.path)
            return draft(entry, *rest, **how)

        def embedding(model: Embedder, texts: list[str], *rest: Any) -> np.ndarray:
            self.embedded.extend(texts)
            return embed(model, texts, *rest)

        monkeypatch.setattr(pipeline, "draft_note", drafting)
        monkeypatch.setattr(Embedder, "embed_passages", embedding)

    def open(self, **settings: Any) -> Engine:
        if self.engine is not None:
            self.engine.close()
        settings.setdefault("embedding_model", str(self.model))
        chosen = Settings(gate_strictness="off", **settings)
        self.engine = Engine.open(self.vault, data_dir=self.data, settings=chosen)
        return self.engine

    def sync(self, **settings: Any) -> Engine:
        engine = self.open(**settings)
        self.read, self.embedded, self.said = [], [], []
        engine.sync(self.said.append)
        return engine

    def reasons(self) -> set[str]:
        return {now.reason for now in self.said}

    def change_fact(self, name: str, value: str) -> None:
        file = self.data / "facts.json"
        stored = json.loads(file.read_text("utf-8"))
        file.write_text(json.dumps({**stored, name: value}), "utf-8")


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    made = Counted(tmp_path, monkeypatch)
    made.sync()
    assert (len(made.read), len(made.embedded)) == (3, 6), "passages, and the notes' names"
    assert made.reasons() == {""}, "a first index needs no reason"
    yield made
    if made.engine is not None:
        made.engine.close()


def found(engine: Engine, text: str, mode: Mode = Mode.LEXICAL) -> list[str]:
    return [r.path for r in engine.search(SearchRequest(text, mode=mode)).results]


def test_an_unchanged_index_is_neither_read_nor_embedded_again(counted: Counted) -> None:
    counted.sync()
    assert (counted.read, counted.embedded, counted.reasons()) == ([], [], {""})


@pytest.mark.parametrize(
    ("fact", "said"), [("terms", "words"), ("drafts", "passages"), ("schema", "form of the index")]
)
def test_another_tokenizer_chunker_or_schema_reads_every_note_and_embeds_nothing(
    counted: Counted, fact: str, said: str
) -> None:
    assert counted.engine is not None
    counted.engine.close()
    counted.change_fact(fact, "0")
    engine = counted.sync()
    assert sorted(counted.read) == sorted(NOTES)
    assert counted.embedded == []
    assert any(said in reason for reason in counted.reasons()), counted.reasons()
    assert found(engine, "拿铁") == ["b/拿铁.md"]
    counted.sync()
    assert counted.read == [], "once is enough"


@pytest.mark.parametrize("fact", ["terms", "drafts"])
def test_the_old_rows_answer_until_the_new_ones_are_there(
    counted: Counted, monkeypatch: pytest.MonkeyPatch, fact: str
) -> None:
    monkeypatch.setattr(pipeline, "_COMMIT_NOTES", 1)
    assert counted.engine is not None
    counted.engine.close()
    counted.change_fact(fact, "0")
    engine = counted.open()
    answers = []
    engine.sync(lambda now: answers.append((found(engine, "拿铁"), found(engine, "狗"))))
    assert set(map(str, answers)) == {str((["b/拿铁.md"], ["狗.md"]))}


def test_a_rebuild_of_a_running_engine_reads_everything_and_answers_all_the_time(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_COMMIT_NOTES", 1)
    engine = counted.open()
    said: list[Progress] = []
    engine.start()
    wait_until_idle(engine)
    counted.read, counted.embedded = [], []
    engine.subscribe(lambda kind, now: said.append(now) if kind == "progress" else None)
    engine.rebuild()
    answers = set()
    end = time.monotonic() + 60
    while sorted(counted.read) != sorted(NOTES) or engine.state().pending:
        answers.add((*found(engine, "拿铁"), *found(engine, "狗"), *found(engine, "latte")))
        assert time.monotonic() < end
    wait_until_idle(engine)
    assert answers == {("b/拿铁.md", "狗.md", "b/拿铁.md")}
    assert counted.embedded == [], "vectors are kept by what was embedded"
    assert "a rebuild was asked for" in {now.reason for now in said}
    assert said[-1].reason == ""


def test_a_rebuild_that_a_full_disk_stopped_is_taken_up_again(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_COMMIT_NOTES", 1)
    monkeypatch.setattr(worker, "_RETRY_S", 0.05)
    engine = counted.open()
    engine.start()
    wait_until_idle(engine)
    replace, refused = Tables.replace, []

    def full(tables: Tables, batch: Any, *rest: Any) -> None:
        if not refused:
            refused.extend(draft.row.path for draft in batch)
            raise IndexUnavailableError("The index cannot be written.", "Free some space.")
        replace(tables, batch, *rest)

    monkeypatch.setattr(Tables, "replace", full)
    counted.read = []
    engine.rebuild()
    end = time.monotonic() + 60
    while not (refused and set(counted.read) == set(NOTES) and len(counted.read) > len(NOTES)):
        assert time.monotonic() < end, "what the disk had no room for is read again"
        time.sleep(0.02)


def test_a_task_that_fails_loses_neither_the_rebuild_nor_the_tasks_after_it(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = counted.open()
    engine.start()
    wait_until_idle(engine)
    worker, failures = engine._worker, []
    assert worker is not None
    monkeypatch.setattr("sidelight.indexing.worker._RETRY_S", 0.05)

    def fail() -> None:
        failures.append(1)
        raise OSError(5, "Input/output error")

    done: list[int] = []
    counted.read.clear()
    worker.pause()
    worker.run_soon(fail)
    worker.run_soon(lambda: done.append(1))
    worker.rescan(forced=True)
    worker.resume()
    wait_until_idle(engine)
    assert (failures, done) == ([1], [1])
    assert sorted(counted.read) == sorted(NOTES)


def test_a_rebuild_without_a_daemon_is_the_same(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_COMMIT_NOTES", 1)
    engine = counted.open()
    counted.read, counted.embedded, counted.said = [], [], []
    answers = set()

    def look(now: Progress) -> None:
        counted.said.append(now)
        answers.add((*found(engine, "拿铁"), *found(engine, "狗"), *found(engine, "latte")))

    engine.sync(look, rebuild=True)
    assert sorted(counted.read) == sorted(NOTES)
    assert answers == {("b/拿铁.md", "狗.md", "b/拿铁.md")}
    assert counted.embedded == [], "vectors are kept by what was embedded"
    assert "a rebuild was asked for" in counted.reasons()
    counted.sync()
    assert counted.read == [], "once is enough"


@pytest.mark.parametrize("watching", [True, False])
def test_a_rebuild_begins_with_nothing_where_nothing_can_be_read(
    counted: Counted, watching: bool
) -> None:
    engine = counted.open()
    if watching:
        engine.start()
        wait_until_idle(engine)
    for file in (counted.data / "index.lance").rglob("*.lance"):
        if file.is_file():
            file.write_bytes(b"damaged")
    engine.rebuild()
    end = time.monotonic() + 60
    while engine.state().pending or len(counted.embedded) < 12 or found(engine, "狗") != ["狗.md"]:
        assert time.monotonic() < end, (engine.status(), engine.problem)
        time.sleep(0.02)


def wait_until_idle(engine: Engine) -> None:
    end = time.monotonic() + 60
    while engine.state().pending or engine.status()[1].phase != "idle":
        assert time.monotonic() < end, engine.status()
        time.sleep(0.02)


def test_a_rereading_that_was_cut_short_begins_again(counted: Counted) -> None:
    assert counted.engine is not None
    counted.engine.close()
    counted.change_fact("terms", "0")
    engine = counted.open()
    engine.sync(stopped=lambda: len(counted.read) >= 4)
    counted.sync()
    assert sorted(counted.read) == sorted(NOTES)


def test_own_words_are_read_in_without_embedding(counted: Counted) -> None:
    engine = counted.sync(user_words=("生椰拿铁",))
    assert sorted(counted.read) == sorted(NOTES)
    assert counted.embedded == []
    assert found(engine, "生椰拿铁") == ["b/拿铁.md"]


def test_the_model_before_answers_until_the_new_one_has_everything(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = write_model(counted.root / "second", pooling="mean", name="second", passage_prefix="a ")
    engine = counted.open(embedding_model=str(other))
    assert engine.no_vectors == ""
    assert engine.embedder is not None
    assert engine.embedder.name == "first", "across a restart"
    assert engine.state().pending == 3
    assert engine.state().embedded_chunks == 3
    assert found(engine, "cat", Mode.SEMANTIC)[0] == "cat.md"
    counted.read, counted.embedded, counted.said = [], [], []
    engine.sync(counted.said.append)
    assert (counted.read, len(counted.embedded)) == ([], 6)
    assert "the embedding model changed" in counted.reasons()
    assert engine.embedder is not None
    assert engine.embedder.name == "second"
    assert engine.state().pending == 0
    again = counted.sync(embedding_model=str(other))
    assert counted.embedded == []
    assert again.embedder is not None
    assert again.embedder.name == "second"
    assert len([n for n in again._tables.folder.names() if n.startswith("vectors_")]) == 1


def test_a_model_that_is_gone_leaves_words_and_says_so(counted: Counted) -> None:
    (counted.model / "model.onnx").write_bytes(b"cut short")
    engine = counted.open()
    assert "model" in engine.no_vectors
    result = engine.search(SearchRequest("拿铁"))
    assert [r.path for r in result.results] == ["b/拿铁.md"]
    assert [d.channel for d in result.degraded] == ["vector"]


def test_a_passage_the_model_fails_on_is_listed_and_waits_for_nothing(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Embedder.embed_passages

    def picky(model: Embedder, texts: list[str], *rest: Any) -> np.ndarray:
        if any("坏" in text for text in texts):
            raise RuntimeError("this text breaks the model")
        return real(model, texts, *rest)

    monkeypatch.setattr(Embedder, "embed_passages", picky)
    (counted.vault / "坏.md").write_text("坏 cat\n", "utf-8")
    engine = counted.sync()
    assert engine.state().pending == 0
    (listed,) = engine.failed_notes()
    assert (listed.path, listed.indexed) == ("坏.md", True)
    assert "words only" in str(listed.error)
    (counted.vault / "坏.md").rename(counted.vault / "好.md")
    (counted.vault / "好.md").write_text("好 cat\n", "utf-8")
    assert counted.sync().failed_notes() == []


def test_every_fact_has_its_reason() -> None:
    current = dict.fromkeys(facts.current_facts(Terms(())), "1")
    for name in current:
        assert facts.difference({**current, name: "0"}, current)
    assert facts.difference(current, current) == ""
