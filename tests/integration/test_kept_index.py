"""What was kept of an index gives the same one as reading its tables again, or does not count."""

from __future__ import annotations

import gc
import json
import os
import random
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept_index import found, wait_for

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.query import lookup
from sidelight.query.lexical import LexicalQuery
from sidelight.query.recall import recall_bm25
from sidelight.store import keeping
from sidelight.store.catalog import Catalog
from sidelight.store.kept import KeptIndex
from sidelight.store.rows import ChunkRow, NoteHead
from sidelight.store.tables import Tables
from sidelight.types import SearchRequest

TEXTS = (
    "拿铁 和 咖啡",
    "soil soil compost",
    "窑炉温度 1200",
    "getUserName fails",
    "walked walks",
    "花园",
)
HEAD = (
    "path", "title", "content_hash", "size", "mtime_ns", "chunks", "indexed_at", "tags",
    "properties", "date", "lead", "error", "has_entities",
)  # fmt: skip
SAME = [
    name for name in ChunkRow.__slots__ if name not in ("codes", "counts", "number", "__weakref__")
]
QUERIES = ("拿铁", "soil compost", "温度", "user name", "walk 花园")


@pytest.fixture(autouse=True)
def _few_are_worth_keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidelight.store.tables._WORTH_KEEPING", 1)


def open_engine(folder: Path, **settings: Any) -> Engine:
    return Engine.open(
        folder / "vault", data_dir=folder / "data", lexical_only=True, settings=Settings(**settings)
    )


def save(folder: Path, dice: random.Random, path: str) -> None:
    parts = [f"# {dice.choice(TEXTS)}\n\n{dice.choice(TEXTS)}\n" for _ in range(dice.randint(0, 4))]
    parts += [f"[[笔记 {dice.randrange(16)}#花园|there]]" for _ in range(dice.randint(0, 2))]
    head = f"---\naliases: [{dice.choice(TEXTS)}]\ntags: [花园/树]\ndate: 2026-01-02\n---\n"
    (folder / "vault" / path).write_text(dice.choice(("", head)) + "\n".join(parts), "utf-8")


def make(folder: Path, notes: int = 12) -> random.Random:
    dice = random.Random(notes)
    (folder / "vault").mkdir()
    for number in range(notes):
        save(folder, dice, f"笔记 {number}.md")
    update(folder)
    return dice


def update(folder: Path, **settings: Any) -> None:
    engine = open_engine(folder, **settings)
    engine.sync(lexical_only=True)
    engine.close()


def content(folder: Path, **settings: Any) -> dict[str, Any]:
    """What a start gives: see `content_of`."""
    engine = open_engine(folder, **settings)
    found = content_of(engine)
    engine.close()
    return found


def content_of(engine: Engine) -> dict[str, Any]:
    """All that the catalog tells of words, and what recalls give."""
    catalog = engine._catalog
    term = catalog.vocabulary.term
    metadata = engine._index().metadata
    metadata.refresh(catalog)
    return {
        "notes": dict(catalog.notes),
        "by note": {p: [c.chunk_id for c in chunks] for p, chunks in catalog.by_note.items()},
        "heads": {head.path: told(head) for head in catalog.notes.heads()},
        "texts": {h: {c.chunk_id for c in found} for h, found in catalog.by_embedding.items()},
        "names": dict(catalog.names),
        "snapshot": catalog.snapshot(""),
        "called": sorted(metadata.names()),
        "named": [named(engine, text) for text in QUERIES],
        "linking": [lookup.links(engine._index(), path, "in") for path in sorted(catalog.notes)],
        "chunks": {
            chunk.chunk_id: (
                [getattr(chunk, name) for name in SAME],
                list(zip(map(term, chunk.codes), chunk.counts.tolist(), strict=True)),
            )
            for chunk in catalog.chunks.values()
        },
        "df": {t: catalog.vocabulary.df(catalog.vocabulary.code(t))
               for t in sorted(catalog.vocabulary.live_terms())},
        "begun": catalog.vocabulary.starting_with("w"),
        "sizes": (catalog.searchable, catalog.total_length, catalog.postings.size),
        "recalled": [recalled(engine, text) for text in QUERIES],
    }  # fmt: skip


def told(head: NoteHead) -> list[Any]:
    return [getattr(head, name) for name in HEAD]


def named(engine: Engine, text: str) -> list[Any]:
    catalog, index = engine._catalog, engine._index()
    query = LexicalQuery(engine.terms.query_terms(text, typing=True), catalog, 1.2, 0.75)
    hits = index.metadata.search(text, query, catalog, None, 5)
    return [(hit.chunk.chunk_id, hit.score, hit.matched) for hit in hits]


def recalled(engine: Engine, text: str) -> list[tuple[str, float]]:
    query = LexicalQuery(engine.terms.query_terms(text), engine._catalog, 1.2, 0.75)
    hits = recall_bm25(query, engine._catalog, engine._tables, None, 5)
    return [(hit.chunk.chunk_id, hit.score) for hit in hits]


def check_as_without(folder: Path, **settings: Any) -> None:
    kept = content(folder, **settings)
    keeping.forget(folder / "data")
    assert kept == content(folder, **settings)


def is_used(folder: Path) -> bool:
    engine = open_engine(folder)
    kept = engine._catalog.notes.kept
    engine.close()
    return kept is not None


def test_a_start_takes_no_note_apart_and_makes_no_passage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError

    make(tmp_path)
    with monkeypatch.context() as whole:
        whole.setattr(KeptIndex, "note", refuse)
        whole.setattr(KeptIndex, "chunk", refuse)
        engine = open_engine(tmp_path)
        engine._index().metadata.refresh(engine._catalog)
        assert engine.state().notes == 12
        assert not engine._indexer.scan().changed
        engine.close()


def test_a_start_takes_what_the_index_kept_and_looks_into_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    assert is_used(tmp_path)
    with monkeypatch.context() as closed:
        closed.setattr(Tables, "chunks", None)
        closed.setattr(Tables, "notes", None)
        kept = content(tmp_path)
    keeping.forget(tmp_path / "data")
    assert kept == content(tmp_path)


@pytest.mark.parametrize("change", ["saved", "deleted", "touched", "renamed", "new"])
def test_after_a_crash_only_what_changed_is_read_from_the_tables(
    tmp_path: Path, change: str
) -> None:
    dice = make(tmp_path)
    note, named = tmp_path / "vault" / "笔记 3.md", tmp_path / "data" / "kept.json"
    before = named.read_bytes()
    if change in ("saved", "new"):
        save(tmp_path, dice, note.name if change == "saved" else "新 new.md")
    elif change == "deleted":
        note.unlink()
    elif change == "touched":
        os.utime(note, (1, 1))
    else:
        note.rename(note.with_name("改名.md"))
    update(tmp_path)
    named.write_bytes(before)  # as if it had been killed before it could say so
    engine = open_engine(tmp_path)
    assert engine._catalog.notes.as_kept.sum() >= 11
    assert len(engine._catalog.notes.changed) <= 1
    engine.close()
    check_as_without(tmp_path)


def test_a_half_written_note_is_torn_beside_what_is_kept(tmp_path: Path) -> None:
    make(tmp_path)
    whole = content(tmp_path)
    tables = Tables(tmp_path / "data")
    tables._chunks.delete("path = '笔记 5.md'")
    tables._notes.update(where="path = '笔记 6.md'", values={"content_hash": "ab"})
    engine = open_engine(tmp_path)
    torn = {path for path in ("笔记 5.md", "笔记 6.md") if engine._catalog.named(path) is None}
    has_passages = [p for p in ("笔记 5.md", "笔记 6.md") if whole["by note"][p]]
    assert torn == {*has_passages}
    engine.close()
    update(tmp_path)
    check_as_without(tmp_path)
    assert content(tmp_path)["chunks"] == whole["chunks"]


@pytest.mark.parametrize("seed", range(6))
def test_any_history_of_saves_gives_what_cutting_again_gives(tmp_path: Path, seed: int) -> None:
    make(tmp_path)
    dice = random.Random(seed)
    for _ in range(4):
        for _ in range(dice.randint(1, 4)):
            path = f"笔记 {dice.randrange(16)}.md"
            if dice.random() < 0.3:
                (tmp_path / "vault" / path).unlink(missing_ok=True)
            else:
                save(tmp_path, dice, path)
        update(tmp_path)
        assert is_used(tmp_path)
    check_as_without(tmp_path)


def test_a_note_changed_after_a_start_with_kept_words_is_found_by_its_new_ones(
    tmp_path: Path,
) -> None:
    make(tmp_path)
    content(tmp_path)
    engine = open_engine(tmp_path)
    (tmp_path / "vault" / "笔记 3.md").write_text("# 羊驼 alpaca\n\n羊驼。\n", "utf-8")
    engine.sync(lexical_only=True)
    assert [chunk.split("#")[0] for chunk, _ in recalled(engine, "羊驼")]
    before = recalled(engine, "soil compost")
    engine.close()
    update(tmp_path)
    engine = open_engine(tmp_path)
    assert recalled(engine, "soil compost") == before
    engine.close()
    check_as_without(tmp_path)


def test_own_words_make_what_was_kept_count_no_more(tmp_path: Path) -> None:
    make(tmp_path)
    content(tmp_path)
    update(tmp_path, user_words=("窑炉温度",))
    changed = content(tmp_path, user_words=("窑炉温度",))
    assert "窑炉温度" in changed["df"]
    check_as_without(tmp_path, user_words=("窑炉温度",))
    update(tmp_path)
    check_as_without(tmp_path)


def test_an_older_copy_of_what_was_kept_with_other_words_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    for number in range(3):  # nothing but the passages tells which words they were cut by
        (tmp_path / "vault" / f"{number}.md").write_text(f"窑炉温度 {number}\n", "utf-8")
    update(tmp_path)
    before = {file: file.read_bytes() for file in (tmp_path / "data").glob("kept*")}
    words = ("窑炉温度",)
    update(tmp_path, user_words=words)
    keeping.forget(tmp_path / "data")
    for file, data in before.items():
        file.write_bytes(data)
    assert words[0] in content(tmp_path, user_words=words)["df"]
    check_as_without(tmp_path, user_words=words)


def test_a_rebuild_forgets_what_was_kept(tmp_path: Path) -> None:
    make(tmp_path)
    content(tmp_path)
    engine = open_engine(tmp_path)
    engine.sync(lexical_only=True, rebuild=True)
    engine.close()
    check_as_without(tmp_path)


@pytest.mark.parametrize("harm", ["cut", "turned", "gone", "other form", "no list"])
def test_a_damaged_file_of_words_is_made_anew(tmp_path: Path, harm: str) -> None:
    make(tmp_path)
    whole = content(tmp_path)
    (file,) = (tmp_path / "data").glob("kept-*.bin")
    named = tmp_path / "data" / "kept.json"
    data = file.read_bytes()
    if harm == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif harm == "turned":
        middle = len(data) // 2
        file.write_bytes(data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :])
    elif harm == "gone":
        file.unlink()
    elif harm == "other form":
        told = json.loads(named.read_text("utf-8"))
        named.write_text(json.dumps({**told, "form": told["form"] - 1}), "utf-8")
    else:
        named.write_text("[]", "utf-8")
    assert not is_used(tmp_path)
    assert content(tmp_path) == whole
    update(tmp_path)
    assert is_used(tmp_path)
    assert content(tmp_path) == whole


def test_a_damaged_list_of_changed_notes_hides_no_change(tmp_path: Path) -> None:
    dice = make(tmp_path)
    save(tmp_path, dice, "笔记 3.md")
    update(tmp_path)
    named = tmp_path / "data" / "kept.json"
    told = json.loads(named.read_text("utf-8"))
    assert told["label"]["changed"] == ["笔记 3.md"]
    told["label"]["changed"] = ["笔记 2.md"]
    named.write_text(json.dumps(told), "utf-8")
    check_as_without(tmp_path)


def test_a_disk_that_fails_while_it_is_checked_costs_only_a_slow_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> int:
        raise OSError(5, "Input/output error")

    make(tmp_path)
    whole = content(tmp_path)
    monkeypatch.setattr(keeping, "_checksum", fails)
    assert not is_used(tmp_path)
    assert content(tmp_path) == whole


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("table", ["chunks", "notes"])
@pytest.mark.parametrize("harm", ["gone", "turned"])
def test_damaged_tables_are_made_anew_whatever_is_kept_of_them(
    tmp_path: Path, table: str, harm: str, watched: bool
) -> None:
    make(tmp_path)
    for file in (tmp_path / "data" / "index.lance" / f"{table}.lance" / "data").iterdir():
        data = file.read_bytes()
        if harm == "gone":
            file.unlink()
        else:
            file.write_bytes(bytes(byte ^ 90 for byte in data[:-64]) + data[-64:])
    # Turned, it has the same size, so that a start does not see it: a save does.
    (tmp_path / "vault" / "笔记 3.md").write_text("# 羊驼 alpaca\n\n羊驼。\n", "utf-8")
    if watched:
        engine = open_engine(tmp_path)
        engine.start()
        wait_for(lambda: recalled(engine, "羊驼") and engine.state().pending == 0)
        engine.close()
    else:
        update(tmp_path)
    check_as_without(tmp_path)
    assert len(content(tmp_path)["notes"]) == 12
    tables = Tables(tmp_path / "data")
    assert tables.damage() == ""
    assert tables.notes().count_rows() == 12


@pytest.mark.parametrize("step", ["write_arrays", "write_private"])
def test_a_full_disk_costs_only_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(f"sidelight.store.keeping.{step}", full)
        make(tmp_path)
        without = content(tmp_path)
    assert not list((tmp_path / "data").glob("*kept*"))
    assert content(tmp_path) == without
    update(tmp_path)
    assert is_used(tmp_path)


def test_what_is_kept_is_made_anew_once_most_notes_changed(tmp_path: Path) -> None:
    dice = make(tmp_path)
    (before,) = (tmp_path / "data").glob("kept-*.bin")
    for number in range(5):
        save(tmp_path, dice, f"笔记 {number}.md")
    update(tmp_path)
    assert before.exists()
    for number in range(5, 9):
        save(tmp_path, dice, f"笔记 {number}.md")
    update(tmp_path)
    assert not before.exists()
    check_as_without(tmp_path)


def test_a_vault_that_became_small_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    assert is_used(tmp_path)
    monkeypatch.setattr("sidelight.store.tables._WORTH_KEEPING", 1_000)
    update(tmp_path)
    assert not list((tmp_path / "data").glob("kept*"))


def test_who_keeps_an_index_goes_on_with_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = make(tmp_path)
    (tmp_path / "vault" / "图 a.png").write_bytes(b"a picture")
    with monkeypatch.context() as patch:
        patch.setattr("sidelight.store.tables.keeping.write", lambda *_: False)
        engine = open_engine(tmp_path, graph=True)
        for number in range(12):
            save(tmp_path, dice, f"笔记 {number}.md")
        engine.sync(lexical_only=True)
        before, graph = content_of(engine), engine._catalog.graph
        assert engine._catalog.notes.changed
    index = engine._index()
    query = LexicalQuery(index.terms.query_terms("soil"), index.catalog, 1.2, 0.75)
    engine._tables.keep(engine._catalog, interrupted=lambda: False)
    assert not engine._catalog.notes.changed, "the objects that were written are still there"
    assert engine._catalog.notes.kept is not None
    assert content_of(engine) == before
    assert engine._catalog.graph is graph, "counting it anew is half of what a start takes"
    assert len(graph) > 0
    hits = recall_bm25(query, index.catalog, index.tables, None, 5)  # begun before
    assert [(hit.chunk.chunk_id, hit.score) for hit in hits] == recalled(engine, "soil") != []
    save(tmp_path, dice, "笔记 3.md")
    engine.sync(lexical_only=True)
    after = content_of(engine)
    engine.close()
    engine = open_engine(tmp_path, graph=True)
    engine.sync(lexical_only=True)  # finds the picture
    assert after == content_of(engine) != before
    engine.close()


def test_a_reader_uses_what_is_kept_and_keeps_nothing(tmp_path: Path) -> None:
    make(tmp_path)
    data = tmp_path / "data"
    keeping.forget(data)
    Engine.open(tmp_path / "vault", data_dir=data, lexical_only=True, read_only=True).close()
    assert not list(data.glob("kept*"))


@pytest.mark.parametrize("name", ["saved meanwhile.md", "其间保存.md"])
def test_a_note_saved_while_all_is_kept_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It takes seconds for a large vault: it is left for the next time that nothing waits."""
    made: list[bool] = []
    real = keeping.columns_of

    def columns_of(catalog: Catalog, interrupted: Callable[[], bool]) -> Any:
        def looked() -> bool:
            if not made:  # saved while the first notes are taken apart
                (tmp_path / "vault" / name).write_text("thylacine 袋狼\n", "utf-8")
                wait_for(interrupted)
            return interrupted()

        columns = real(catalog, looked)
        made.append(columns is not None)
        return columns

    (tmp_path / "vault").mkdir()
    for number in range(12):
        (tmp_path / "vault" / f"笔记 {number}.md").write_text(f"marzipan 拿铁 {number}\n", "utf-8")
    monkeypatch.setattr(keeping, "columns_of", columns_of)
    monkeypatch.setattr("sidelight.indexing.tidying.QUIET_S", 0.5)
    engine = open_engine(tmp_path, debounce_ms=10, gate_strictness="off")
    try:
        engine.start()
        wait_for(lambda: len(made) >= 2)
        assert made == [False, True]
        assert found(engine, "袋狼") == [name]
    finally:
        engine.close()


@pytest.mark.parametrize("gone", ["kept.json", "kept-*.bin"])
def test_what_someone_deleted_meanwhile_is_kept_again(tmp_path: Path, gone: str) -> None:
    dice = make(tmp_path)
    engine = open_engine(tmp_path)
    for file in (tmp_path / "data").glob(gone):
        file.unlink()
    save(tmp_path, dice, "笔记 3.md")
    engine.sync(lexical_only=True)
    after = content_of(engine)
    engine.close()
    assert is_used(tmp_path)
    assert content(tmp_path) == after


def test_what_was_gone_on_with_before_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file, though deleted, took its place on disk and in memory."""
    dice = make(tmp_path)
    monkeypatch.setattr("sidelight.store.tables.loading.few", lambda *_: False)
    engine = open_engine(tmp_path)
    engine.sync(lexical_only=True)
    collects = gc.isenabled()
    gc.disable()
    try:
        engine.search(SearchRequest("soil 拿铁", gate=False))
        index = engine._catalog.notes.kept
        assert index is not None
        before = weakref.ref(index)
        del index
        save(tmp_path, dice, "笔记 3.md")
        engine.sync(lexical_only=True)
        engine.search(SearchRequest("soil 拿铁", gate=False))  # names follow with a query
        assert before() is None
    finally:
        if collects:
            gc.enable()
        engine.close()


def test_a_file_that_could_not_be_deleted_while_it_was_mapped_goes_later(tmp_path: Path) -> None:
    dice = make(tmp_path)
    stayed = tmp_path / "data" / "kept-0badf00d.bin"
    stayed.write_bytes(b"as Windows leaves it")
    save(tmp_path, dice, "笔记 3.md")
    update(tmp_path)
    assert not stayed.exists()
    assert is_used(tmp_path)
