"""What befell other indexes (numbers of the field reports), in English and Chinese: words only."""

from __future__ import annotations

import dataclasses
import errno
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from kept_index import QUICK, Kept, found, wait_for

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import IndexUnavailableError, NotFoundError, VaultError
from sidelight.indexing import pipeline, worker
from sidelight.store import folder as store_folder
from sidelight.store import postings, statements, writer
from sidelight.store.tables import Tables
from sidelight.store.vector_tables import table_name
from sidelight.types import Mode, Progress, SearchRequest
from sidelight.vault import files as vault_files
from sidelight.vault import watcher as vault_watcher

# ------------------------------------------------------------------ statements (43 to 56, 110)


@pytest.mark.parametrize("name", ["it's.md", '说 "好".md', "a'' OR path='b.md"[:12] + ".md"])
def test_43_44_quotes_in_a_name_are_no_statement(kept: Kept, name: str) -> None:
    if os.name == "nt" and '"' in name:
        name = name.replace('"', "＂")
    kept.put(name, "marzipan 拿铁\n")
    kept.put("b.md", "nougat 绿茶\n")
    engine = kept.synced()
    kept.put(name, "thylacine 袋狼\n")
    engine.sync(lexical_only=True)
    assert (found(engine, "marzipan"), found(engine, "袋狼")) == ([], [name])
    (kept.vault / name).rename(kept.vault / f"x{name}")
    engine.sync(lexical_only=True)
    assert found(engine, "thylacine") == [f"x{name}"]
    (kept.vault / f"x{name}").unlink()
    engine.sync(lexical_only=True)
    assert found(engine, "袋狼") == []
    assert found(engine, "绿茶") == ["b.md"]


def test_46_47_49_new_rows_are_found_before_and_after_upkeep(kept: Kept) -> None:
    kept.put("a.md", "marzipan\n")
    engine = kept.synced()
    for n, word in enumerate(("thylacine", "袋狼")):
        kept.put(f"{n}.md", word)
        changes = engine._indexer.scan()
        engine._indexer.apply(changes, lambda _: None, lambda: False)
        assert found(engine, word) == [f"{n}.md"], "before it"
        engine._tables.compact(engine._catalog)
        engine._tables.compact(engine._catalog)
        engine._tables.clean_up(engine._catalog)
        assert found(engine, word) == [f"{n}.md"], "after it"
    assert not engine._tables.indexes_words, "memory recalls words: no index is kept for nothing"


def test_words_are_indexed_on_disk_only_where_memory_does_not_recall(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.put("a.md", "marzipan\n")
    kept.put("b.md", "袋狼\n")
    engine = kept.synced()
    monkeypatch.setattr(postings, "MOST_POSTINGS", 0)
    asked: list[str] = []
    match = Tables.match
    monkeypatch.setattr(
        Tables, "match", lambda self, *rest: (asked.append("disk"), match(self, *rest))[1]
    )
    assert (found(engine, "marzipan"), found(engine, "袋狼")) == (["a.md"], ["b.md"])
    assert asked == [], "before the index is made"
    engine._tables.compact(engine._catalog)
    assert (found(engine, "marzipan"), found(engine, "袋狼")) == (["a.md"], ["b.md"])
    assert asked == ["disk", "disk"]
    index = engine._tables._chunks.list_indices()
    engine = kept.open()
    again = engine._tables._chunks.list_indices()
    assert [i.name for i in again] == [i.name for i in index], "opening makes no second index"
    monkeypatch.setattr(postings, "MOST_POSTINGS", 100)
    engine._tables.compact(engine._catalog)
    assert not engine._tables.indexes_words
    assert (found(engine, "marzipan"), found(engine, "袋狼")) == (["a.md"], ["b.md"])


def test_52_a_lost_race_is_run_again() -> None:
    attempts = []

    def write() -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise RuntimeError("Retryable commit conflict for version 7")
        return "written"

    assert statements.retry(write) == "written"
    with pytest.raises(RuntimeError, match="other"):
        statements.retry(lambda: (_ for _ in ()).throw(RuntimeError("other")))


@pytest.mark.parametrize("share", ["shared notes", "共享 笔记"])
def test_55_an_index_on_a_network_path_of_windows_is_refused_in_one_line(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, share: str
) -> None:
    """What LanceDB says there (lancedb/lancedb#2623); nothing counts as damaged and made anew."""
    kept.put("a.md", "marzipan 拿铁\n")
    kept.synced().close()
    kept.data = kept.data.rename(kept.data.with_name(share))
    said = (
        f'lance error: LanceError(IO): Unable to convert URL "file:///{share}" to filesystem path'
    )
    with monkeypatch.context() as there:

        def refused(*args: Any) -> Any:
            raise RuntimeError(said)

        there.setattr(store_folder.Folder, "table", refused)
        there.setattr(store_folder.Folder, "names", refused)
        with pytest.raises(IndexUnavailableError, match="network drive") as refusal:
            kept.open().sync(lexical_only=True)
    assert "--data-dir" in refusal.value.remedy
    assert share in str(refusal.value)
    assert found(kept.open(), "拿铁") == ["a.md"], "what was there still is"


def test_56_a_model_id_is_a_plain_table_name() -> None:
    assert table_name("multi/lingual e5:小") == "vectors_multi_lingual_e5__"


def test_110_many_ids_are_asked_in_parts(kept: Kept) -> None:
    kept.put("a.md", "marzipan\n")
    engine = kept.synced()
    ids = [*engine._catalog.chunks, *(f"{n:032x}" for n in range(1_500))]
    assert list(engine._tables.texts(ids)) == list(engine._catalog.chunks)


# ------------------------------------------------------------------ keeping up (91 to 104)


def test_91_95_97_folders_copies_and_like_names(kept: Kept) -> None:
    kept.put("a/a/x.md", "marzipan 拿铁\n")
    kept.put("笔 记.md", "nougat one\n")
    kept.put("笔_记.md", "nougat two\n")
    engine = kept.watched()
    assert found(engine, "nougat") == ["笔 记.md", "笔_记.md"]
    (kept.vault / "a").rename(kept.vault / "b")
    wait_for(lambda: found(engine, "拿铁") == ["b/a/x.md"])
    (kept.vault / "b/a/x.md").rename(kept.vault / "b/y.md")
    kept.put("b/a/x.md", "marzipan 拿铁 again\n")
    wait_for(lambda: found(engine, "marzipan") == ["b/a/x.md", "b/y.md"])
    kept.check_equals_fresh()


def test_92_an_atomic_save_is_one_change_and_never_a_deletion(kept: Kept) -> None:
    kept.put("小票.md", "marzipan 0\n")
    engine = kept.watched()
    seen: set[int] = set()
    engine.subscribe(lambda kind, _: seen.add(engine.state().notes) if kind == "changed" else None)
    for n in range(1, 6):
        temporary = kept.put(".小票.md.tmp", f"marzipan {n}00{n}\n")
        os.replace(temporary, kept.vault / "小票.md")
        wait_for(lambda n=n: found(engine, f"{n}00{n}") == ["小票.md"])
    assert seen == {1}


def test_case_only_rename_is_followed(kept: Kept) -> None:
    kept.put("garden.md", "marzipan 拿铁\n")
    engine = kept.watched()
    (kept.vault / "garden.md").rename(kept.vault / "Garden.md")
    wait_for(lambda: list(engine._catalog.notes) == ["Garden.md"])
    assert found(engine, "拿铁") == ["Garden.md"]


def test_98_a_note_that_goes_while_it_is_read_is_no_error(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sidelight.indexing import pipeline

    kept.put("拿铁.md", "marzipan\n")
    kept.put("b.md", "marzipan\n")
    real = pipeline.read_note_bytes

    def gone(vault: Path, path: str, *rest: Any) -> bytes:
        if path == "拿铁.md":
            (vault / path).unlink(missing_ok=True)
            raise NotFoundError("There is no file 拿铁.md in the vault.")
        return real(vault, path, *rest)

    monkeypatch.setattr(pipeline, "read_note_bytes", gone)
    engine = kept.synced()
    assert found(engine, "marzipan") == ["b.md"]
    assert engine.failed_notes() == []


def test_100_changes_while_it_was_off_are_found_before_it_calls_itself_fresh(kept: Kept) -> None:
    kept.put("changed.md", "marzipan\n")
    kept.put("删除.md", "marzipan\n")
    kept.synced()
    engine = kept.open()
    kept.put("changed.md", "袋狼 thylacine\n")
    (kept.vault / "删除.md").unlink()
    kept.put("新.md", "袋狼\n")
    states = []
    engine.subscribe(lambda kind, _: states.append(engine.state()) if kind == "progress" else None)
    engine.start()
    wait_for(lambda: engine.state().pending == 0)
    assert found(engine, "袋狼") == ["changed.md", "新.md"]
    assert found(engine, "marzipan") == []
    assert states[0].pending > 0


@pytest.mark.parametrize("name", ["new.md", "新.md"])
def test_100_who_only_asks_is_told_how_many_notes_changed_since(kept: Kept, name: str) -> None:
    for path in ("a.md", "b.md", "花.md", "gone.md"):
        kept.put(path, f"marzipan 拿铁 in {path}\n")
    kept.synced()
    assert kept.open(read_only=True).state().pending == 0
    os.utime(kept.vault / "a.md", (1, 1))
    assert kept.open(read_only=True).state().pending == 0, "touched, and the same by its hash"
    (kept.vault / "gone.md").unlink()
    kept.put("花.md", "marzipan 拿铁 in 草.md\n")
    kept.put(name, "thylacine 袋狼\n")
    reader = kept.open(read_only=True)
    assert reader.state().pending == 3
    answer = reader.search(SearchRequest("袋狼", mode=Mode.LEXICAL))
    assert answer.reasons[0].kind == "index_incomplete"
    assert kept.synced().state().pending == 0
    assert kept.open(read_only=True).state().pending == 0


@pytest.mark.parametrize("name", ["new.md", "新.md"])
def test_a_pause_lasts_until_someone_ends_it_also_over_a_restart(kept: Kept, name: str) -> None:
    kept.put("a.md", "marzipan 拿铁\n")
    engine = kept.watched()
    engine.pause()
    engine = kept.open()
    kept.put(name, "thylacine 袋狼\n")
    kept.put("图.png", "")
    engine.start()
    wait_for(lambda: not engine._worker.busy)
    assert engine.status()[1].phase == "paused"
    assert engine.state().pending == 1
    assert found(engine, "marzipan") == ["a.md"]
    assert found(engine, "袋狼") == []
    assert "图.png" in engine._catalog.attachments, "names of files are known all the same"
    for one in (name, "b.md", "花.md"):
        kept.put(one, f"thylacine 袋狼 again {one}\n")
    wait_for(lambda: engine.state().pending == 3)
    engine.resume()
    wait_for(lambda: engine.state().pending == 0)
    assert sorted(found(engine, "again")) == sorted(["b.md", name, "花.md"])
    assert not engine.places.paused.exists()
    engine.pause()
    kept.synced()
    assert kept.watched().status()[1].phase != "paused", "whoever asks for the work ends it"


def test_a_pause_of_what_is_all_indexed_leaves_nothing_waiting(kept: Kept) -> None:
    kept.put("花.md", "marzipan 拿铁\n")
    kept.watched().pause()
    engine = kept.open()
    engine.start()
    wait_for(lambda: engine.status()[1].phase == "paused" and engine.state().pending == 0)


@pytest.mark.parametrize(("paused", "phase"), [(False, "scan"), (True, "paused")])
def test_it_is_not_idle_before_it_has_begun(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, paused: bool, phase: str
) -> None:
    kept.put("花.md", "marzipan 拿铁\n")
    if paused:
        kept.watched().pause()
    monkeypatch.setattr(worker.Worker, "start", lambda _: None)
    engine = kept.open()
    engine.start()
    assert engine.status()[1].phase == phase


def test_every_note_that_is_not_read_yet_counts_as_waiting(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_COMMIT_NOTES", 4)
    for at in range(10):
        kept.put(f"{at}.md", f"marzipan 拿铁 {at}\n")
    engine = kept.open()
    seen = []
    engine.sync(lambda now: seen.append((now.done, engine.state().pending)))
    waiting = [pending for _, pending in seen]
    assert 10 in waiting
    assert 6 in waiting
    assert 2 in waiting
    assert waiting[-1] == 0


def test_a_vault_that_was_emptied_is_taken_so_once_someone_asks_for_a_rebuild(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_RETRY_S", 0.1)
    kept.put("a.md", "marzipan 拿铁\n")
    kept.synced()
    (kept.vault / "a.md").unlink()
    with pytest.raises(VaultError, match="rebuild the index"):
        kept.synced()
    engine = kept.open()
    engine.start()
    wait_for(lambda: engine.status()[1].phase == "waiting")
    assert engine.state().notes == 1
    engine.rebuild()
    wait_for(lambda: engine.status()[1].phase == "idle")
    assert engine.state().notes == engine.state().pending == 0
    engine = kept.open()
    engine.sync(rebuild=True)
    kept.put("花.md", "thylacine 袋狼\n")
    kept.synced()
    (kept.vault / "花.md").unlink()
    with pytest.raises(VaultError):
        kept.synced()


def test_a_pause_waits_for_a_vault_that_is_away(kept: Kept, monkeypatch: Any) -> None:
    monkeypatch.setattr(worker, "_RETRY_S", 0.1)
    kept.put("a.md", "marzipan 拿铁\n")
    kept.watched().pause()
    engine = kept.open()
    away = kept.vault.with_name("移走了")
    kept.vault.rename(away)
    engine.start()
    wait_for(lambda: engine.status()[1].phase == "paused")
    assert engine.state().notes == 1
    away.rename(kept.vault)
    engine.resume()
    wait_for(lambda: engine.state().pending == 0)
    assert found(engine, "拿铁") == ["a.md"]


def test_101_a_note_saved_all_the_time_is_published_within_the_ceiling(kept: Kept) -> None:
    file = kept.put("autosave.md", "marzipan\n")
    settings = Settings(gate_strictness="off", debounce_ms=500, debounce_ceiling_ms=800)
    engine = kept.watched(settings)
    ending = threading.Event()

    def save() -> None:
        n = 0
        while not ending.wait(0.1):
            n += 1
            file.write_text(f"袋狼 thylacine {n}\n", "utf-8")
        file.write_text("the last word: zugzwang 守拙\n", "utf-8")

    saving = threading.Thread(target=save)
    saving.start()
    try:
        wait_for(lambda: found(engine, "袋狼") == ["autosave.md"])
        assert not ending.is_set(), "published while the saves went on"
    finally:
        ending.set()
        saving.join()
    wait_for(lambda: found(engine, "守拙") == ["autosave.md"])


@pytest.mark.parametrize("name", ["late.md", "晚.md"])
def test_what_is_saved_between_the_first_scan_and_the_first_watch_is_found(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """To begin to watch a large vault takes seconds, and the system tells of nothing before."""
    scanned = threading.Event()

    def late(*args: Any, **options: Any) -> Any:
        scanned.wait()
        yield from real(*args, **options)

    real = vault_watcher.watch
    monkeypatch.setattr(vault_watcher, "watch", late)
    kept.put("a.md", "marzipan 拿铁\n")
    engine = kept.synced()
    engine.start()
    wait_for(lambda: not engine._worker.busy)  # type: ignore[union-attr]
    assert found(engine, "marzipan") == ["a.md"]
    kept.put(name, "thylacine 袋狼\n")
    scanned.set()
    wait_for(lambda: found(engine, "袋狼") == [name])


def test_103_where_the_system_cannot_watch_it_says_so_and_looks_from_time_to_time(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("OS file watch limit reached. about [/vault]")

    monkeypatch.setattr(vault_watcher, "watch", refuse)
    kept.put("a.md", "marzipan\n")
    engine = kept.watched()
    wait_for(lambda: "watch limit" in engine.problem)
    kept.put("新.md", "袋狼\n")
    wait_for(lambda: found(engine, "袋狼") == ["新.md"])
    assert "watch limit" in engine.problem, "it still says so"
    wait_for(lambda: "every 1 s" in engine.status()[1].reason)


@pytest.mark.parametrize("name", ["new.md", "新.md"])
def test_103_watching_goes_on_after_a_failure_that_passes(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    begun = 0
    real = vault_watcher.watch

    def fails_once(*places: Any, **options: Any) -> Any:
        nonlocal begun
        begun += 1
        yield from real(*places, **options) if begun > 1 else ()
        raise OSError("Unable to decode path")

    monkeypatch.setattr(vault_watcher, "watch", fails_once)
    kept.put("a.md", "marzipan\n")
    engine = kept.watched(dataclasses.replace(QUICK, poll_seconds=3_600))
    wait_for(lambda: begun == 2 and not engine.problem)
    kept.put(name, "袋狼 thylacine\n")
    wait_for(lambda: found(engine, "袋狼") == [name])
    wait_for(lambda: engine.status()[1] == Progress("idle", 1, 1))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems refuse such names")
def test_103_a_name_that_is_no_unicode_ends_no_watching(kept: Kept) -> None:
    kept.put("a.md", "marzipan 拿铁\n")
    engine = kept.watched(dataclasses.replace(QUICK, poll_seconds=3_600))
    for n in range(2):
        with open(os.fsencode(kept.vault) + b"/bad\xff.md", "w", encoding="utf-8") as file:
            file.write(f"nobody can name it {n}\n")
        kept.put(f"新 {n}.md", f"袋狼 {n}\n")
        wait_for(lambda n=n: f"新 {n}.md" in found(engine, "袋狼"))
    wait_for(lambda: not engine.problem)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_104_a_vault_behind_a_link_is_the_same_vault(kept: Kept, tmp_path: Path) -> None:
    kept.put("日记/a.md", "marzipan\n")
    link = tmp_path / "链接"
    link.symlink_to(kept.vault, target_is_directory=True)
    engine = Engine.open(link, data_dir=tmp_path / "other", settings=QUICK, lexical_only=True)
    engine.sync(lexical_only=True)
    assert found(engine, "marzipan") == ["日记/a.md"]
    assert engine.places.key == kept.synced().places.key
    engine.close()


def test_112_an_excluded_folder_is_gone_at_once(kept: Kept) -> None:
    kept.put("私人/a.md", "marzipan one\n")
    kept.put("b.md", "marzipan two\n")
    engine = kept.watched()
    assert found(engine, "marzipan") == ["b.md", "私人/a.md"]
    engine.update_settings({"excluded": ["私人/"]})
    wait_for(lambda: found(engine, "marzipan") == ["b.md"])
    assert engine.note_status("私人/a.md").error == "excluded"


def test_a_checkout_of_many_files_ends_in_a_fresh_index(kept: Kept) -> None:
    check_checkout(kept, 400)


@pytest.mark.soak
def test_a_checkout_of_5000_files_ends_in_a_fresh_index(kept: Kept) -> None:
    check_checkout(kept, 5_000)


def check_checkout(kept: Kept, files: int) -> None:
    """As git does: some files rewritten, some gone, some new, all at once and watched."""
    for n in range(files):
        kept.put(f"{n % 7}/笔记 {n}.md", f"# {n}\n\nmarzipan 拿铁 {n}\n")
    engine = kept.watched()
    gone = 0
    for n in range(files):
        if n % 3 == 0:
            (kept.vault / f"{n % 7}/笔记 {n}.md").unlink()
            gone += 1
        elif n % 3 == 1:
            kept.put(f"{n % 7}/笔记 {n}.md", f"# {n}\n\n袋狼 thylacine {n}\n")
        else:
            kept.put(f"new/{n}.md", f"守拙 {n}\n")
    left = files - gone + len(range(2, files, 3))
    last = range(2, files, 3)[-1]
    wait_for(lambda: engine.state().notes == left and engine.state().pending == 0)
    wait_for(lambda: engine.note_status(f"new/{last}.md").indexed)
    kept.check_equals_fresh()


def test_watching_goes_on_after_the_vault_was_away(kept: Kept) -> None:
    kept.put("a.md", "marzipan\n")
    engine = kept.watched()
    away = kept.vault.with_name("away")
    kept.vault.rename(away)
    wait_for(lambda: engine.status()[1].phase == "waiting")
    assert "not there" in engine.problem
    assert engine.status()[1].reason == engine.problem
    assert engine.state().notes == 1, "the index stays"
    away.rename(kept.vault)
    wait_for(lambda: engine.problem == "")
    kept.put("新.md", "袋狼\n")
    wait_for(lambda: found(engine, "袋狼") == ["新.md"])


def test_another_folder_at_the_path_of_the_vault_is_watched(kept: Kept) -> None:
    kept.put("a.md", "marzipan\n")
    engine = kept.watched()
    shutil.copytree(kept.vault, kept.vault.with_name("other"))
    kept.vault.rename(kept.vault.with_name("before"))
    kept.vault.with_name("other").rename(kept.vault)
    kept.put("b.md", "nougat\n")
    wait_for(lambda: found(engine, "nougat") == ["b.md"])
    kept.put("新.md", "袋狼\n")
    wait_for(lambda: found(engine, "袋狼") == ["新.md"])


@pytest.mark.skipif(os.name == "nt", reason="links need rights there, and are not followed")
@pytest.mark.parametrize(
    ("link", "target", "later"),
    [("甲/loop", "..", True), ("inside", "乙", False), (".x/y", "../乙", False)],
)
def test_links_to_folders_make_it_miss_nothing(
    kept: Kept, link: str, target: str, later: bool
) -> None:
    """Linux watches a folder once, and tells of it by the path that led there last."""

    def make_link() -> None:
        (kept.vault / link).parent.mkdir(exist_ok=True)
        for name in links:
            (kept.vault / name).symlink_to(target, target_is_directory=True)

    def is_followed(*folders: str) -> None:
        wait_for(lambda: not engine._worker.busy)
        time.sleep(0.6)  # a turn of watching that ends now has begun anew
        for folder in folders:
            path = f"{folder}word{next(count)}.md"
            kept.put(path, f"marzipan 拿铁 {path}\n")
            wait_for(lambda path=path: path in found(engine, "marzipan"), 10)

    count = iter(range(100))
    links = [f"{link}{n}" for n in range(8)]  # which path led there last is the disk's choice
    kept.write(**{"甲/a.md": "quokka 短尾\n", "乙/b.md": "numbat 食蚁\n"})
    if not later:
        make_link()
    engine = kept.watched()
    if later:
        make_link()
    is_followed("", "甲/", "乙/")
    (kept.vault / "甲").rename(kept.vault / "丙")
    wait_for(lambda: found(engine, "quokka") == ["丙/a.md"])
    is_followed("", "丙/", "乙/")
    (kept.vault / "丙").rename(kept.vault / "甲")
    wait_for(lambda: found(engine, "quokka") == ["甲/a.md"])
    is_followed("", "甲/", "乙/")
    if not link.startswith("."):
        for name in links:
            (kept.vault / name).unlink()
        is_followed("", "甲/", "乙/")
    assert all(note.error is None for note in engine._catalog.notes.values())
    kept.check_equals_fresh()


def test_notes_of_a_folder_that_cannot_be_looked_into_stay(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.write(**{"工作/a.md": "marzipan 拿铁\n", "工作/下/b.md": "marzipan\n", "c.md": "x\n"})
    engine = kept.synced()
    engine.close()
    scandir = os.scandir
    refused = {str(kept.vault / "工作")}

    def refuse(folder: Any) -> Any:
        if str(folder) in refused:
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(vault_files.os, "scandir", refuse)
    kept.put("c.md", "nougat\n")
    engine = kept.synced()
    assert sorted(engine._catalog.notes) == ["c.md", "工作/a.md", "工作/下/b.md"]
    assert found(engine, "拿铁") == ["工作/a.md"]
    assert found(engine, "nougat") == ["c.md"]
    assert "工作" in [note.path for note in engine.failed_notes()]
    refused.clear()
    (kept.vault / "工作" / "a.md").unlink()
    engine = kept.synced()
    assert found(engine, "marzipan") == ["工作/下/b.md"]
    refused.add(str(kept.vault))
    with pytest.raises(VaultError, match="cannot be read"):
        engine.sync(lexical_only=True)
    assert found(engine, "nougat") == ["c.md"]


def test_other_intervals_apply_at_once(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []
    real = vault_watcher.watch

    def watch(*places: Any, **options: Any) -> Any:
        steps.append((options["step"], options["debounce"]))
        return real(*places, **options)

    monkeypatch.setattr(vault_watcher, "watch", watch)
    kept.put("a.md", "marzipan\n")
    engine = kept.watched()
    engine.update_settings({"debounce_ms": 30, "debounce_ceiling_ms": 90})
    wait_for(lambda: steps == [(20, 100), (30, 90)])
    kept.put("新.md", "袋狼\n")
    wait_for(lambda: found(engine, "袋狼") == ["新.md"])


# ------------------------------------------------------------------ surviving


def test_a_full_disk_is_said_and_overcome(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.put("a.md", "marzipan\n")
    engine = kept.watched()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(Tables, "_merge", staticmethod(full))
        kept.put("新.md", "袋狼 thylacine\n")
        wait_for(lambda: "No space left" in engine.problem)
        assert engine.status()[1].phase == "waiting"
        assert found(engine, "marzipan") == ["a.md"], "what was there still answers"
    wait_for(lambda: found(engine, "袋狼") == ["新.md"])
    assert engine.problem == ""
    kept.check_equals_fresh()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit of file sizes to stand in")
@pytest.mark.parametrize("name", ["note", "笔记"])
def test_a_disk_that_is_really_full_is_one_line_and_loses_nothing(kept: Kept, name: str) -> None:
    for n in range(60):
        kept.put(f"{name} {n}.md", f"marzipan 拿铁 {random.Random(n).randbytes(2_000).hex()}\n")
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "from sidelight.cli import main; sys.exit(main())"
    )
    asked = ["index", str(kept.vault), "--data-dir", str(kept.data), "--lexical-only"]
    done = subprocess.run(
        [sys.executable, "-c", script, *asked], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 1
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("sidelight:")]
    assert "cannot be written (File too large). Free some disk space" in said
    assert "lance" not in done.stderr.lower().replace(str(kept.data).lower(), "")
    kept.synced()
    kept.check_equals_fresh()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            "lance error: LanceError(IO): Generic LocalFileSystem error: Unable to copy data to "
            "file: No space left on device (os error 28), rust/lance/src/io.rs:12:3",
            "No space left on device",
        ),
        ("Permission denied (os error 13)", "Permission denied"),
        ("lance error: LanceError(IO): Not found: b.lance, /a/io.rs:1:2", "Not found: b.lance"),
        ("", "RuntimeError"),
    ],
)
def test_the_engine_s_failures_are_said_in_the_system_s_words(raw: str, said: str) -> None:
    assert statements.short(RuntimeError(raw)) == said
    assert statements.short(OSError(28, "No space left on device")) == "No space left on device"


def test_a_data_folder_that_cannot_be_written_is_one_clear_error(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.put("a.md", "marzipan 拿铁\n")
    kept.synced().close()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(writer.filelock.FileLock, "acquire", refuse)
    with pytest.raises(IndexUnavailableError, match="Permission denied") as refused:
        kept.open()
    assert "--data-dir" in refused.value.remedy
    assert found(kept.open(read_only=True), "拿铁") == ["a.md"], "asking needs no writing"


def test_a_place_that_fails_is_not_taken_for_damage() -> None:
    for said in (
        "Permission denied (os error 13)",
        "No space left on device",
        "Too many open files",
    ):
        assert not statements.is_damage(RuntimeError(said)), said
    for said in ("Not found: x.lance", "Invalid range 0..480 for object of size 20 bytes"):
        assert statements.is_damage(RuntimeError(said)), said


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:20])


def empty(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


@pytest.mark.parametrize("damage", [cut, empty, Path.unlink], ids=["cut", "zeros", "gone"])
@pytest.mark.parametrize("table", ["chunks", "notes", "history"])
def test_damaged_files_are_made_anew_by_the_next_start(
    kept: Kept, table: str, damage: Callable[[Path], None]
) -> None:
    kept.put("a.md", "marzipan\n")
    engine = kept.synced()
    kept.put("a.md", "袋狼 thylacine\n")
    engine.sync(lexical_only=True)
    engine.close()
    for file in (kept.data / "index.lance" / f"{table}.lance" / "data").iterdir():
        damage(file)
    assert found(kept.synced(), "袋狼") == ["a.md"]
    kept.check_equals_fresh()


@pytest.mark.parametrize("table", ["chunks", "notes"])
def test_files_damaged_under_a_running_engine_are_made_anew(kept: Kept, table: str) -> None:
    kept.put("a.md", "marzipan\n")
    engine = kept.watched()
    for file in (kept.data / "index.lance" / f"{table}.lance" / "data").iterdir():
        file.unlink()
    kept.put("a.md", "袋狼 thylacine\n")
    wait_for(lambda: found(engine, "袋狼") == ["a.md"])
    wait_for(lambda: engine.state().pending == 0)
    kept.check_equals_fresh()


def test_tables_a_crash_left_unfinished_are_no_obstacle(kept: Kept) -> None:
    kept.put("a.md", "marzipan 拿铁\n")
    kept.synced().close()
    lance = kept.data / "index.lance"
    (lance / "vectors_half.lance").mkdir()
    (lance / f"{store_folder._PUT_AWAY}1").mkdir()
    (kept.data / ".abc.tmp").write_text("half")
    (lance / "chunks.lance" / ".tmpXyZ").write_text("half")
    assert found(kept.synced(), "拿铁") == ["a.md"]
    assert not list(kept.data.rglob(".*"))


def test_a_clock_that_jumps_changes_nothing(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept.put("a.md", "marzipan\n")
    engine = kept.synced()
    for year, word in ((1971, "thylacine"), (2150, "袋狼"), (2001, "守拙")):
        now = (year - 1970) * 31_556_952.0
        monkeypatch.setattr(time, "time", lambda now=now: now)
        file.write_text(word, "utf-8")
        os.utime(file, (now, now))
        engine.sync(lexical_only=True)
        assert found(engine, word) == ["a.md"]
    kept.check_equals_fresh()


@pytest.mark.parametrize("name", ["moved.md", "移动.md"])
def test_a_reference_follows_its_note_though_the_clock_was_set_back(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As after another system on the same computer, which takes its time for the local one."""
    shift = 8 * 3600.0
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + shift)
    file = kept.put("a.md", "marzipan 拿铁\n")
    engine = kept.synced()
    ref = engine.search(SearchRequest("marzipan", mode=Mode.LEXICAL)).results[0].ref
    file.write_text("nougat 绿茶\n\nmarzipan 拿铁\n", "utf-8")
    engine.sync(lexical_only=True)
    monkeypatch.setattr(time, "time", real)
    file.rename(kept.vault / name)
    engine = kept.synced()
    path, citation = engine.resolve(ref)
    assert (path, citation.status.value, citation.start_line) == (name, "source_changed", 3)
    (kept.vault / "a.md").write_text("another note 另一个\n", "utf-8")
    engine.sync(lexical_only=True)
    assert engine.resolve(ref)[0] == name, "not what stands at its old path by now"
    ref = engine.search(SearchRequest("nougat", mode=Mode.LEXICAL)).results[0].ref
    (kept.vault / name).write_text("# 标题\n\nnougat 绿茶\n\nmarzipan 拿铁\n", "utf-8")
    engine.sync(lexical_only=True)
    (kept.vault / name).rename(kept.vault / "again 又.md")
    engine.sync(lexical_only=True)
    assert engine.resolve(ref)[0] == "again 又.md", "steps that the clock puts at one time"


def test_166_one_bad_note_is_listed_and_the_others_are_found(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sidelight.indexing import pipeline

    for n in range(9):
        kept.put(f"好 {n}.md", f"marzipan {n}\n")
    kept.put("坏.md", "marzipan\n")
    real = pipeline.draft_note

    def picky(entry: Any, *rest: Any, **how: Any) -> Any:
        if entry.path == "坏.md":
            raise RecursionError("too deep")
        return real(entry, *rest, **how)

    monkeypatch.setattr(pipeline, "draft_note", picky)
    engine = kept.synced()
    assert len(found(engine, "marzipan")) == 9
    assert [(n.path, n.error) for n in engine.failed_notes()] == [
        ("坏.md", "could not be indexed (RecursionError)")
    ]
    monkeypatch.undo()
    kept.put("坏.md", "袋狼\n")
    engine.sync(lexical_only=True)
    assert (found(engine, "袋狼"), engine.failed_notes()) == (["坏.md"], [])


@pytest.mark.parametrize("word", ["marzipan", "袋狼"])
def test_a_note_that_failed_is_tried_again_by_the_next_scan(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """Its size and time are those of the file, but what stood in the way may be gone."""
    file = kept.put("坏.md", word)
    before = file.stat()
    with monkeypatch.context() as patched:
        patched.setattr("sidelight.indexing.pipeline.draft_note", fail)
        engine = kept.synced()
        assert [n.error for n in engine.failed_notes()] == ["could not be indexed (RuntimeError)"]
        commits = engine._tables._notes.version
        engine.sync(lexical_only=True)
        assert engine._tables._notes.version == commits, "what is known already is not written"
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    engine = kept.synced()
    assert (found(engine, word), engine.failed_notes()) == (["坏.md"], [])
    kept.check_equals_fresh()


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("two threads met")


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.ETIMEDOUT, errno.EDEADLK])
def test_107_a_note_whose_content_is_in_the_cloud_waits_and_is_not_gone(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    kept.put("云 cloud.md", "marzipan 拿铁\n")
    engine = kept.synced()
    kept.put("云 cloud.md", "marzipan 拿铁 thylacine\n")
    kept.put("新 new.md", "袋狼\n")
    real = vault_files.os.read

    def away(*_: object) -> bytes:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(vault_files.os, "read", away)
    engine.sync(lexical_only=True)
    monkeypatch.setattr(vault_files.os, "read", real)
    assert {n.path: n.error for n in engine.failed_notes()} == dict.fromkeys(
        ["云 cloud.md", "新 new.md"], "its content lies in the cloud only"
    )
    assert list(engine._catalog.notes) == ["云 cloud.md"], "what is known of it stays"
    engine.sync(lexical_only=True)
    assert engine.failed_notes() == []
    assert found(engine, "thylacine") == ["云 cloud.md"]
    assert found(engine, "袋狼") == ["新 new.md"]


def test_107_a_placeholder_that_changes_is_not_read(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.put("a.md", "marzipan\n")
    engine = kept.watched()
    read: list[str] = []
    real = engine._indexer._bytes
    monkeypatch.setattr(engine._indexer, "_bytes", lambda path: (read.append(path), real(path))[1])
    for module in ("indexing.pipeline", "vault.files"):  # a change, and a scan beside it
        monkeypatch.setattr(
            f"sidelight.{module}.is_placeholder", lambda status: status.st_size == 7
        )
    kept.put("云.md", "袋狼 ")  # 7 bytes
    wait_for(lambda: [n.path for n in engine.failed_notes()] == ["云.md"])
    assert read == []
    kept.put("云.md", "袋狼 here\n")
    wait_for(lambda: found(engine, "袋狼") == ["云.md"])
    assert engine.failed_notes() == []


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("text", ["marzipan", "拿铁", '"袋狼" -拿铁', "path:nowhere/ thylacine"])
def test_53_a_query_that_no_channel_answers_is_no_error(kept: Kept, mode: Mode, text: str) -> None:
    engine = kept.synced()
    assert engine.search(SearchRequest(text, mode=mode)).results == ()
    kept.put("a.md", "compost 堆肥\n")
    engine.sync(lexical_only=True)
    assert engine.search(SearchRequest(text, mode=mode)).results == ()


def test_160_a_large_vault_is_written_in_batches(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidelight.indexing.pipeline._COMMIT_NOTES", 5)
    monkeypatch.setattr("sidelight.indexing.pipeline._COMMIT_BYTES", 4_000)
    for n in range(23):
        kept.put(f"笔记 {n}.md", "短 short\n" if n < 12 else "袋狼 thylacine\n" * 100)
    batches: list[list[int]] = []
    real = Tables.replace

    def counted(tables: Tables, drafts: Any, *rest: Any) -> None:
        batches.append([len(draft.snapshot) for draft in drafts])
        real(tables, drafts, *rest)

    monkeypatch.setattr(Tables, "replace", counted)
    engine = kept.synced()
    assert sum(map(len, batches)) == engine.state().notes == 23
    assert max(map(len, batches)) == 5
    assert all(sum(sizes[:-1]) < 4_000 for sizes in batches), "at most one note above the limit"


@pytest.mark.soak
def test_58_tidying_needs_a_few_times_a_table_and_no_more(kept: Kept) -> None:
    """haiku.rag saw five times the table's bytes; an arena of its own may come on top."""
    words = [f"word{number:05}" for number in range(20_000)]
    draw = random.Random(58)
    for number in range(400):
        kept.put(f"{number}.md", " ".join(draw.choices(words, k=3_000)) + " 拿铁\n")
    engine = kept.synced()
    size = sum(file.stat().st_size for file in kept.data.rglob("*") if file.is_file())
    assert size > 10_000_000, "large enough to be seen"
    process, peak, ending = psutil.Process(), [0], threading.Event()

    def look() -> None:
        while not ending.wait(0.005):
            peak[0] = max(peak[0], process.memory_info().rss)

    before = process.memory_info().rss
    watcher = threading.Thread(target=look)
    watcher.start()
    engine._tables.compact(engine._catalog)
    ending.set()
    watcher.join()
    assert before < peak[0] < before + 5 * size + 64_000_000, (before, peak[0], size)
