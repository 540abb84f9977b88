"""Upkeep and embedding let a saved note through, and constant saving lets them go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_index import QUICK, Kept, found, wait_for
from tiny_models import write_model

from sidelight.config import Settings
from sidelight.indexing import tidying, worker
from sidelight.models.embedder import Embedder
from sidelight.store import upkeep
from sidelight.types import Progress


class Held:
    """Upkeep that stands still in its first step until it is let go on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.steps: list[tuple[str, list[str]]] = []
        self.inside, self.go_on = threading.Event(), threading.Event()
        self.looks: list[list[str]] = []  # what `look` said before each later step
        self.look = lambda: list[str]()
        for name in ("compact", "clean_up"):
            patch.setattr(upkeep, name, self._held(name, getattr(upkeep, name)))

    def _held(self, name: str, real: Any) -> Any:
        def step(tables: Sequence[Any], *rest: Any) -> None:
            if self.steps:
                self.looks.append(self.look())
            self.steps.append((name, [table.name for table in tables]))
            self.inside.set()
            self.go_on.wait(60)
            real(tables, *rest)

        return step


@pytest.mark.parametrize(
    ("name", "word"), [("saved meanwhile.md", "thylacine"), ("其间保存.md", "袋狼")]
)
@pytest.mark.parametrize("first", ["compact", "clean_up"])
def test_a_note_saved_during_upkeep_is_found_before_the_rest_of_it_goes_on(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, name: str, word: str, first: str
) -> None:
    kept.put("a.md", "marzipan 拿铁\n")
    monkeypatch.setattr(tidying, "QUIET_S", 0.2 if first == "compact" else 1e9)
    monkeypatch.setattr(tidying, "_CLEAN_AFTER_S", 0.2)
    engine = kept.watched()
    wait_for(lambda: engine._indexer.tidying.wait_s() is None)
    held = Held(monkeypatch)
    held.look = lambda: found(engine, word)
    if first == "compact":
        kept.put("b.md", "nougat 绿茶\n")
    else:
        engine._indexer.tidying.after_scan()  # no compaction is due
        engine._indexer.tidying._old_versions = True
        engine._worker.wake()  # type: ignore[union-attr]
    assert held.inside.wait(60)
    kept.put(name, f"{word}\n")
    wait_for(lambda: name in engine._worker._paths)  # type: ignore[union-attr]
    held.go_on.set()
    wait_for(lambda: len(held.steps) >= 3)
    assert held.looks[0] == [name], "the first step was done, and then the note before the next"
    assert held.steps[0][0] == first
    assert all(len(tables) == 1 for _, tables in held.steps), "one table a step"


def test_a_second_scan_forgets_nothing_of_the_cleaning_that_a_start_owes(kept: Kept) -> None:
    kept.put("a.md", "marzipan 拿铁\n")
    kept.synced().close()
    engine = kept.open()
    tidying = engine._indexer.tidying
    tidying.after_scan()
    owed = len(tidying._steps)
    tidying.run(lambda progress: None)
    tidying.after_scan()
    assert owed > 1
    assert len([phase for phase, _ in tidying._steps if phase == "cleanup"]) == owed


@pytest.mark.parametrize("slow", [False, True])
def test_tidying_is_told_only_where_it_takes_a_while(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, slow: bool
) -> None:
    """A banner for a tenth of a second, half a minute after each save, tells nobody anything."""
    kept.put("甲.md", "marzipan 拿铁\n")
    engine = kept.synced()
    monkeypatch.setattr(tidying, "_TOLD_AFTER_S", 0.0 if slow else 1e9)
    told: list[Progress] = []
    engine._indexer.tidying.committed()
    engine._indexer.tidying.finish(told.append)
    assert {progress.phase for progress in told} == ({"compact", "cleanup"} if slow else set())


def test_memory_is_given_back_after_tidying_that_nobody_was_told_of(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "QUIET_S", 0.2)
    monkeypatch.setattr(tidying, "_TOLD_AFTER_S", 1e9)
    done: list[str] = []
    real = upkeep.compact
    monkeypatch.setattr(upkeep, "compact", lambda t: (done.append("compacted"), real(t)))
    monkeypatch.setattr(worker, "give_back_memory", lambda: done.append("given back"))
    kept.put("甲.md", "marzipan 拿铁\n")
    engine = kept.watched()
    wait_for(lambda: engine._indexer.tidying.wait_s() != 0.0)
    done.clear()
    kept.put("乙.md", "nougat 绿茶\n")
    wait_for(lambda: "compacted" in done and "given back" in done[done.index("compacted") :])


def _leftover(data: Path, table: str) -> Path:
    """A deletion file that no version names, as a crash between file and version leaves one."""
    files = data / "index.lance" / f"{table}.lance" / "_deletions"
    files.mkdir(exist_ok=True)
    left = files / "0-99-123.arrow"
    left.write_bytes(b"half a file")
    return left


@pytest.mark.parametrize("name", ["a.md", "甲.md"])
@pytest.mark.parametrize("saved", [False, True])
def test_a_deletion_file_that_a_crash_left_goes_a_minute_after_the_next_start(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, name: str, saved: bool
) -> None:
    """Lance spares it while no version is newer, and versions are kept for a minute."""
    kept.put("b.md", "nougat 绿茶\n")
    kept.put(name, "marzipan 拿铁\n")
    kept.synced().close()
    tables = ("chunks", "notes", "history")
    left = [_leftover(kept.data, table) for table in tables]
    if saved:
        kept.put(name, "thylacine 袋狼\n")
    clean_up = upkeep.clean_up
    monkeypatch.setattr(upkeep, "clean_up", lambda tables: clean_up(tables, 1.0))
    monkeypatch.setattr(tidying, "_CLEAN_AFTER_S", 2.0)  # for the minute
    monkeypatch.setattr(tidying, "QUIET_S", 1.0)
    engine = kept.open()
    engine.start()
    wait_for(lambda: not [file for file in left if file.exists()])
    wait_for(lambda: engine._indexer.tidying.wait_s() is None)
    assert found(engine, "袋狼" if saved else "拿铁") == [name]


def test_a_start_that_finds_nothing_left_writes_nothing(kept: Kept) -> None:
    kept.put("甲.md", "marzipan 拿铁\n")
    kept.put("b.md", "nougat 绿茶\n")
    engine = kept.synced()
    kept.put("甲.md", "thylacine 袋狼\n")  # with a deletion file that is in use
    engine.sync()
    engine.close()
    versions = [table.version for table in kept.open()._tables._open_tables()]
    assert [table.version for table in kept.synced()._tables._open_tables()] == versions


def test_a_scan_asked_for_while_the_worker_lies_down_is_not_slept_over(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.put("a.md", "marzipan 拿铁\n")
    monkeypatch.setattr(tidying, "QUIET_S", 1e9)  # upkeep is due, but not for long
    engine = kept.watched()
    worker, waiting = engine._worker, engine._indexer.out_of_reach
    assert worker is not None
    scans, asked = [0], [False]
    scan = worker._scan

    def wait_s() -> None:  # the worker asks how long it may sleep
        if not asked[0]:
            asked[0] = True
            worker.rescan()

    def counted(forced: bool) -> None:
        scans[0] += 1
        scan(forced)

    monkeypatch.setattr(worker, "_scan", counted)
    monkeypatch.setattr(waiting, "wait_s", wait_s)
    worker.wake()
    wait_for(lambda: asked[0] and scans[0] == 1, 40)


def test_upkeep_goes_on_although_notes_are_saved_all_the_time(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the disk would fill: each turn of work is followed by one step."""
    monkeypatch.setattr(tidying, "COMPACT_AFTER", 5)
    kept.put("日记.md", "marzipan\n")
    engine = kept.watched()
    done: list[str] = []
    for name in ("compact", "clean_up"):
        real = getattr(upkeep, name)
        monkeypatch.setattr(
            upkeep, name, lambda t, *r, real=real, name=name: (done.append(name), real(t, *r))
        )
    indexer, report = engine._indexer, list[Progress]()
    engine._worker.pause()  # type: ignore[union-attr] # the turns are made by hand
    wait_for(lambda: engine.status()[1].phase == "paused")
    for turn in range(20):
        kept.put("日记.md", f"marzipan 拿铁 {turn}\n")
        indexer.apply(indexer.scan(), report.append, lambda: False)
        before = len(done)
        indexer.tidying.keep_up(report.append)
        assert len(done) <= before + 1
    assert {"compact", "clean_up"} <= set(done)


@pytest.mark.parametrize("text", ["a cat and a dog", "猫 狗"])
def test_notes_saved_all_the_time_do_not_keep_others_from_being_embedded(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    model = write_model(kept.data.with_name("tiny"), pooling="mean")
    settings = Settings(embedding_model=str(model), debounce_ms=10, debounce_ceiling_ms=20)
    real = Embedder.embed_passages

    def slow(self: Embedder, texts: list[str], *rest: Any) -> np.ndarray:
        time.sleep(0.2)  # so that there is always a save before a batch is done
        return real(self, texts, *rest)

    monkeypatch.setattr(Embedder, "embed_passages", slow)
    for n in range(30):
        kept.put(f"笔记 {n}.md", f"{text} {n}\n")
    kept.synced(QUICK)
    engine = kept.open(settings, lexical_only=False)
    ending = threading.Event()

    def save() -> None:
        n = 0
        while not ending.wait(0.1):
            n += 1
            kept.put("日记.md", f"marzipan {n}\n")

    saving = threading.Thread(target=save)
    saving.start()
    try:
        engine.start()
        wait_for(lambda: engine.note_status("笔记 0.md").embedded == 1)  # the oldest
        assert saving.is_alive()
    finally:
        ending.set()
        saving.join()


def test_each_window_makes_headway_whatever_else_there_is_to_do(kept: Kept) -> None:
    model = write_model(kept.data.with_name("tiny"), pooling="mean")
    settings = Settings(embedding_model=str(model))
    for n in range(40):
        kept.put(f"猫 {n}.md", f"a cat {n} 狗\n")
    engine = kept.open(settings, lexical_only=False)
    engine.sync(lexical_only=True)
    queue = engine._indexer.queue
    waiting = queue.pending()
    while waiting:
        left = queue.embed_window(lambda: True)
        assert left < waiting
        waiting = left
    assert engine.state().pending == 0


@pytest.mark.parametrize("text", ["a cat and a dog", "猫 狗"])
def test_167_a_backlog_is_visible_by_number_age_and_rate(kept: Kept, text: str) -> None:
    for n in range(1_000):
        kept.put(f"{n % 10}/笔记 {n}.md", f"{text} {n}\n")
    kept.synced()
    assert kept.engines[-1].oldest_pending_s() is None, "words only: nothing waits"
    settings = Settings(
        embedding_model=str(write_model(kept.data.with_name("tiny"), pooling="mean"))
    )
    engine = kept.open(settings, lexical_only=False)
    queue = engine._indexer.queue
    queue.pending()
    first = engine.oldest_pending_s()
    assert engine.state().pending == 1_000, "a note waits once, though its name does too"
    queue.embed_window()
    second = engine.oldest_pending_s()
    assert first is not None
    assert second is not None
    assert 0 <= first < second
    now = queue.progress()
    assert (now.total, now.total - now.done) == (2_000, 2_000 - 128)
    assert now.rate
    assert now.seconds_left
    while queue.pending():
        queue.embed_window()
    assert engine.oldest_pending_s() is None


@pytest.mark.parametrize("name", ["garden.md", "花园.md"])
def test_167_a_saved_note_that_waits_says_how_long(kept: Kept, name: str) -> None:
    kept.put("a.md", "marzipan 拿铁\n")
    engine = kept.watched()
    wait_for(lambda: engine.oldest_pending_s() is None)
    engine.pause()
    kept.put(name, "thylacine 袋狼\n")
    wait_for(lambda: engine.oldest_pending_s() is not None)
    first = engine.oldest_pending_s()
    kept.put("b.md", "nougat\n")
    wait_for(lambda: "b.md" in engine._worker._paths)  # type: ignore[union-attr]
    second = engine.oldest_pending_s()
    assert first is not None
    assert second is not None
    assert second > first, "the oldest counts"
    engine.resume()
    wait_for(lambda: engine.oldest_pending_s() is None)
    assert found(engine, "袋狼") == [name]


def test_161_nothing_is_kept_as_one_text_that_grows_with_the_vault(kept: Kept) -> None:
    """Each row is one note's or one passage's; what stands beside the tables stays small."""
    sizes = []
    for notes in (20, 400):
        for n in range(notes):
            kept.put(f"笔记 {n}.md", f"# {n}\n\n" + f"marzipan 拿铁 {n}\n\n" * 40)
        engine = kept.synced()
        files = [f for f in kept.data.rglob("*") if f.is_file() and "index.lance" not in f.parts]
        sizes.append(sum(file.stat().st_size for file in files))
        longest = 0
        for table in engine._tables._open_tables():
            for batch in table.search().to_batches():
                for row in batch.to_pylist():
                    longest = max(longest, *(len(v) for v in row.values() if hasattr(v, "__len__")))
        sizes.append(longest)
        kept.vault.joinpath("笔记 0.md").rename(kept.vault / "renamed 改名.md")
    beside, longest, beside_after, longest_after = sizes
    assert beside_after < beside + 1_000, "twenty times the notes"
    assert longest_after < 2 * longest
