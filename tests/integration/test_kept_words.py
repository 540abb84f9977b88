"""What an earlier start kept of words gives the same index as cutting them again, or does not count."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.query.lexical import LexicalQuery
from sidelight.query.recall import recall_bm25
from sidelight.store import words

TEXTS = (
    "拿铁 和 咖啡",
    "soil soil compost",
    "窑炉温度 1200",
    "getUserName fails",
    "walked walks",
    "花园",
)
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
    (folder / "vault" / path).write_text("\n".join(parts), "utf-8")


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
    """All that the catalog tells of words, and what recalls give."""
    engine = open_engine(folder, **settings)
    catalog = engine._catalog
    term = catalog.vocabulary.term
    found = {
        "chunks": {
            chunk.chunk_id: (
                chunk.order, chunk.length, chunk.searchable, chunk.heading_path, chunk.columns,
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
    engine.close()
    return found


def recalled(engine: Engine, text: str) -> list[tuple[str, float]]:
    query = LexicalQuery(engine.terms.query_terms(text), engine._catalog, 1.2, 0.75)
    hits = recall_bm25(query, engine._catalog, engine._tables, None, 5)
    return [(hit.chunk.chunk_id, hit.score) for hit in hits]


def check_as_without(folder: Path, **settings: Any) -> None:
    kept = content(folder, **settings)
    words.forget(folder / "data")
    assert kept == content(folder, **settings)


def is_used(folder: Path) -> bool:
    engine = open_engine(folder)
    mapped = [not chunk.codes.flags.writeable for chunk in engine._catalog.chunks.values()]
    engine.close()
    return any(mapped)  # new passages have arrays of their own


def test_the_second_start_reads_what_the_first_one_kept(tmp_path: Path) -> None:
    make(tmp_path)
    assert not is_used(tmp_path)
    assert is_used(tmp_path)
    check_as_without(tmp_path)


@pytest.mark.parametrize("seed", range(6))
def test_any_history_of_saves_gives_what_cutting_again_gives(tmp_path: Path, seed: int) -> None:
    make(tmp_path)
    content(tmp_path)  # keeps words
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


def test_a_rebuild_forgets_what_was_kept(tmp_path: Path) -> None:
    make(tmp_path)
    content(tmp_path)
    engine = open_engine(tmp_path)
    engine.sync(lexical_only=True, rebuild=True)
    assert not list((tmp_path / "data").glob("words*"))
    engine.close()
    check_as_without(tmp_path)


@pytest.mark.parametrize("harm", ["cut", "turned", "gone", "other form", "no list"])
def test_a_damaged_file_of_words_is_made_anew(tmp_path: Path, harm: str) -> None:
    make(tmp_path)
    whole = content(tmp_path)
    (file,) = (tmp_path / "data").glob("words-*.arrow")
    named = tmp_path / "data" / "words.json"
    data = file.read_bytes()
    if harm == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif harm == "turned":
        middle = len(data) // 2
        file.write_bytes(data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :])
    elif harm == "gone":
        file.unlink()
    elif harm == "other form":
        named.write_text(named.read_text("utf-8").replace('"form": 1', '"form": 0'), "utf-8")
    else:
        named.write_text("[]", "utf-8")
    assert not is_used(tmp_path)
    assert is_used(tmp_path)
    assert content(tmp_path) == whole


@pytest.mark.parametrize("step", ["pa.ipc.new_file", "write_private"])
def test_a_full_disk_costs_only_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    make(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(f"sidelight.store.words.{step}", full)
        without = content(tmp_path)
    assert not list((tmp_path / "data").glob("*words*"))
    assert content(tmp_path) == without
    assert is_used(tmp_path)


def test_a_reader_uses_what_is_kept_and_keeps_nothing(tmp_path: Path) -> None:
    make(tmp_path)
    data = tmp_path / "data"
    Engine.open(tmp_path / "vault", data_dir=data, lexical_only=True, read_only=True).close()
    assert not list(data.glob("words*"))
