"""The whole path in one process: a vault on disk in, cited results out. Words only unless said."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sidelight.bridge.wire import search_result_json
from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import IndexUnavailableError, NotFoundError, VaultError
from sidelight.query import asked as asked_module
from sidelight.types import CitationStatus, Match, Mode, Origin, SearchRequest, SearchResult

NOTES = {
    "Ops/ERR_OOM_KILL_001.md": "# ERR_OOM_KILL_001\n\nThe worker was killed for memory.\n",
    "Ops/Runbook.md": "# Runbook\n\nRestart the worker, then read [[ERR_OOM_KILL_001]].\n",
    "日记/小票.md": "# 小票\n\n桂花乌龙生椰拿铁，18 元，在转角的店。\n",
    "日记/散步.md": "# 散步\n\n傍晚走过桂花树下，心里有点空。\n",
    "控制/闭环控制.md": "# 闭环控制\n\n稳态误差用 [[拉普拉斯变换#终值定理]] 来算。\n",
    "控制/拉普拉斯变换.md": "# 拉普拉斯变换\n\n把微分变成乘法。\n\n## 终值定理\n\n时间趋于无穷的极限。\n",
    "Empty.md": "",
    "Person.md": "---\nrole: keeper of the tide gauge\naliases: [潮汐员]\n---\n",
}


def write_vault(root: Path, notes: dict[str, str]) -> Path:
    for path, text in notes.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))
    return root


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", NOTES)


@pytest.fixture
def opened(vault: Path, tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """Opens the vault's index (and closes it at the end); `again` after closing the last."""
    engines: list[Engine] = []

    def open_again(**options: object) -> Engine:
        if engines:
            engines[-1].close()
        settings = options.pop("settings", Settings(gate_strictness="off"))
        options.setdefault("lexical_only", True)
        options.setdefault("data_dir", tmp_path / "data")
        engines.append(Engine.open(vault, settings=settings, **options))  # type: ignore[arg-type]
        return engines[-1]

    yield open_again
    for engine in engines:
        engine.close()


def search(engine: Engine, text: str, **options: object) -> SearchResult:
    return engine.search(SearchRequest(text, **options))  # type: ignore[arg-type]


def paths(result: SearchResult, origin: Origin = Origin.DIRECT) -> list[str]:
    return [r.path for r in result.results if r.origin is origin]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("ERR_OOM_KILL_001", "Ops/ERR_OOM_KILL_001.md"),
        ("桂花乌龙生椰拿铁", "日记/小票.md"),
        ("拿铁", "日记/小票.md"),
        ("终值定理", "控制/拉普拉斯变换.md"),
        ("潮汐员", "Person.md"),
    ],
)
def test_exact_words_find_their_note_first(
    opened: Callable[..., Engine], query: str, first: str
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    assert paths(search(engine, query))[0] == first


def test_results_cite_the_lines_on_disk(opened: Callable[..., Engine], vault: Path) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    result = search(engine, "拿铁")
    one = result.results[0]
    assert one.citation.status is CitationStatus.FRESH
    lines = (vault / one.path).read_text("utf-8").split("\n")
    cited = "\n".join(lines[one.citation.start_line - 1 : one.citation.end_line])
    assert cited == one.text
    assert "拿铁" in cited


def test_changed_file_is_cited_where_the_passage_is_now(
    opened: Callable[..., Engine], vault: Path
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    note = vault / "日记/小票.md"
    note.write_text("新的一行\n另一行\n\n" + NOTES["日记/小票.md"], "utf-8")
    one = search(engine, "拿铁").results[0]
    assert (one.citation.status, one.citation.match) == (
        CitationStatus.SOURCE_CHANGED,
        Match.EXACT,
    )
    assert (one.citation.start_line, one.citation.end_line) == (4, 6)


def test_vanished_passage_is_dropped_and_counted(
    opened: Callable[..., Engine], vault: Path
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    (vault / "日记/小票.md").write_text("完全不同的内容\n", "utf-8")
    result = search(engine, "生椰拿铁")
    assert "日记/小票.md" not in paths(result)
    assert any(reason.kind == "unresolvable" for reason in result.reasons)


@pytest.mark.parametrize(
    ("query", "strong", "weak"),
    [
        ("copper kettle whistle", "The copper kettle has a whistle.", "A whistle blew at noon."),
        ("紫砂茶壶的盖子", "紫砂茶壶的盖子裂了。", "盖子放在桌上。"),
    ],
)
def test_gate_counts_only_passages_that_still_stand(
    opened: Callable[..., Engine], vault: Path, query: str, strong: str, weak: str
) -> None:
    write_vault(vault, {"Strong.md": f"# One\n\n{strong}\n", "Weak.md": f"# Two\n\n{weak}\n"})
    engine = opened(settings=Settings(gate_strictness="balanced"))
    engine.sync(lexical_only=True)
    before = search(engine, query)
    assert before.ok
    assert paths(before)[0] == "Strong.md"
    (vault / "Strong.md").write_text("完全不同的内容, something else.\n", "utf-8")
    after = search(engine, query)
    assert not after.ok
    assert after.near_misses[0].path == "Weak.md"
    assert "Strong.md" not in [near.path for near in after.near_misses]
    assert [reason.kind for reason in after.reasons] == ["below_threshold", "unresolvable"]
    assert after.confidence < before.confidence


def test_answer_without_any_passage_left_is_no_evidence(
    opened: Callable[..., Engine], vault: Path
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    assert search(engine, "拿铁").ok
    (vault / "日记/小票.md").unlink()
    result = search(engine, "拿铁")
    assert not result.ok
    assert [reason.kind for reason in result.reasons] == ["unresolvable"]
    assert (result.results, result.near_misses) == ((), ())


def test_no_hit_is_no_evidence(opened: Callable[..., Engine]) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    result = search(engine, "quaternion slerp")
    assert not result.ok
    assert result.results == ()
    assert "quaternion" in result.query.unknown_terms
    wire = search_result_json(result)
    assert (wire["status"], wire["code"]) == ("no_evidence", "RAG_NO_EVIDENCE")


def test_heading_link_brings_its_section_with_provenance(opened: Callable[..., Engine]) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    result = search(engine, "闭环控制 稳态误差", limit=1)
    linked = [r for r in result.results if r.origin is Origin.LINKED]
    assert [(r.path, r.heading_path) for r in linked] == [
        ("控制/拉普拉斯变换.md", ("拉普拉斯变换", "终值定理"))
    ]
    link = linked[0].graph_provenance
    assert link is not None
    assert (link.link, link.link_line, link.anchor) == ("[[拉普拉斯变换#终值定理]]", 3, "heading")
    assert linked[0].rank == 2


def test_property_and_empty_note_are_cited_by_kind(opened: Callable[..., Engine]) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    role = search(engine, "tide gauge").results[0]
    assert (role.path, role.citation.kind.value) == ("Person.md", "property")
    assert (role.citation.start_line, role.citation.end_line) == (2, 2)
    empty = search(engine, "empty").results[0]
    assert (empty.path, empty.citation.kind.value) == ("Empty.md", "note")
    assert empty.citation.start_line is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"桂花树下"', ["日记/散步.md"]),
        ('"树下桂花"', []),
        ("桂花 -拿铁", ["日记/散步.md"]),
        ("worker path:Ops/ -restart", ["Ops/ERR_OOM_KILL_001.md"]),
        ('["aliases":潮汐员]', ["Person.md"]),
    ],
)
def test_filters_choose_before_ranking(
    opened: Callable[..., Engine], query: str, expected: list[str]
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    assert paths(search(engine, query)) == expected


def test_filters_alone_list_notes_newest_first(opened: Callable[..., Engine], vault: Path) -> None:
    for age, path in enumerate(["日记/小票.md", "日记/散步.md"]):
        os.utime(vault / path, (1_700_000_000 - age * 1000,) * 2)
    engine = opened()
    engine.sync(lexical_only=True)
    assert paths(search(engine, "path:日记/")) == ["日记/小票.md", "日记/散步.md"]


def test_contributions_add_up_to_the_fused_score(opened: Callable[..., Engine]) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    trace = search(engine, "worker memory 拿铁", explain=True).trace
    assert trace is not None
    assert len(trace["candidates"]) >= 3
    for candidate in trace["candidates"]:
        assert sum(candidate["contributions"].values()) == pytest.approx(candidate["rrf_score"])
        assert set(candidate["contributions"]) <= {"metadata", "bm25", "vector"}


def test_failed_channel_is_reported_and_the_rest_answer(
    opened: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)

    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(asked_module, "recall_bm25", broken)
    result = search(engine, "拉普拉斯变换", mode=Mode.LEXICAL)
    assert paths(result)[0] == "控制/拉普拉斯变换.md"
    assert [(d.channel, d.partial) for d in result.degraded] == [("bm25", False)]
    assert "boom" not in result.degraded[0].reason


def test_slow_channel_is_left_behind_at_its_time_limit(
    opened: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    release = threading.Event()
    engine = opened(settings=Settings(gate_strictness="off", channel_timeout_ms=100))
    engine.sync(lexical_only=True)
    monkeypatch.setattr(asked_module, "recall_bm25", lambda *_: release.wait(30) and [])
    try:
        result = search(engine, "终值定理", mode=Mode.LEXICAL)
    finally:
        release.set()
    assert paths(result)[0] == "控制/拉普拉斯变换.md"
    assert "100 ms" in result.degraded[0].reason


# ------------------------------------------------------------------ keeping up


def test_edit_create_and_delete_are_found_by_the_next_sync(
    opened: Callable[..., Engine], vault: Path
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    (vault / "日记/小票.md").write_text("# 小票\n\n美式咖啡。\n", "utf-8")
    (vault / "New.md").write_text("A brand new marzipan note.\n", "utf-8")
    (vault / "Ops/Runbook.md").unlink()
    engine.sync(lexical_only=True)
    assert paths(search(engine, "美式咖啡"))[0] == "日记/小票.md"
    assert paths(search(engine, "marzipan")) == ["New.md"]
    assert not search(engine, "拿铁").ok
    assert "Ops/Runbook.md" not in paths(search(engine, "restart runbook"))


def test_reference_survives_reindexing_and_rename(
    opened: Callable[..., Engine], vault: Path
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    ref = search(engine, "拿铁").results[0].ref
    (vault / "日记/小票.md").write_text("前言\n\n" + NOTES["日记/小票.md"], "utf-8")
    engine.sync(lexical_only=True)
    path, citation = engine.resolve(ref)
    assert (path, citation.start_line, citation.match) == ("日记/小票.md", 3, Match.EXACT)
    (vault / "日记/小票.md").rename(vault / "日记/收据.md")
    engine.sync(lexical_only=True)
    path, citation = engine.resolve(ref)
    assert (path, citation.start_line) == ("日记/收据.md", 3)
    engine = opened()  # and a restart
    assert engine.resolve(ref)[0] == "日记/收据.md"


def test_editor_text_counts_instead_of_the_file(opened: Callable[..., Engine]) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    ref = search(engine, "拿铁").results[0].ref
    _, citation = engine.resolve(ref, "unsaved\n" + NOTES["日记/小票.md"])
    assert (citation.status, citation.start_line) == (CitationStatus.SOURCE_CHANGED, 2)


def test_unknown_reference_says_so(opened: Callable[..., Engine]) -> None:
    engine = opened()
    for ref in ("", "x", "A" * 28, "é" * 10):
        with pytest.raises(NotFoundError):
            engine.resolve(ref)


def test_unchanged_vault_is_not_read_again(
    opened: Callable[..., Engine], vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened().sync(lexical_only=True)
    engine = opened()
    read: list[str] = []
    from sidelight.indexing import pipeline

    real = pipeline.read_note_bytes
    monkeypatch.setattr(
        pipeline, "read_note_bytes", lambda v, p, *rest: (read.append(p), real(v, p, *rest))[1]
    )
    engine.sync(lexical_only=True)
    assert read == []
    os.utime(vault / "Ops/Runbook.md", (1, 1))
    engine.sync(lexical_only=True)
    assert read == ["Ops/Runbook.md"]


def test_vanished_vault_leaves_the_index_alone(opened: Callable[..., Engine], vault: Path) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    before = engine.state()
    away = vault.with_name("away")
    vault.rename(away)
    with pytest.raises(VaultError):
        engine.sync(lexical_only=True)
    vault.mkdir()  # the mount point of a drive that is not there
    with pytest.raises(VaultError):
        engine.sync(lexical_only=True)
    assert engine.state() == before
    vault.rmdir()
    away.rename(vault)
    engine.sync(lexical_only=True)
    assert engine.state() == before


def test_unreadable_notes_are_listed_and_the_others_indexed(
    opened: Callable[..., Engine], vault: Path
) -> None:
    (vault / "binary.md").write_bytes(bytes(range(256)) * 20)
    (vault / "latin.md").write_bytes("caf\xe9 marmalade".encode("latin-1"))
    (vault / "huge.md").write_bytes(b"word " * 400_000)
    engine = opened(settings=Settings(gate_strictness="off", max_note_bytes=1_000_000))
    engine.sync(lexical_only=True)
    failed = {state.path: state for state in engine.failed_notes()}
    assert failed["huge.md"].error is not None
    assert "1 MB" in failed["huge.md"].error
    assert "latin.md" not in failed, "it is indexed as far as it can be read"
    assert {p.code for p in engine.note_status("latin.md").problems} == {"bytes-undecodable"}
    assert paths(search(engine, "拿铁"))[0] == "日记/小票.md"
    assert paths(search(engine, "marmalade"))[0] == "latin.md"


# ------------------------------------------------------------------ determinism


def comparable(result: SearchResult) -> dict[str, object]:
    wire = dict(search_result_json(result))
    wire.pop("timing_ms")
    return wire


def test_answer_is_the_same_after_restart_compaction_and_rebuild(
    opened: Callable[..., Engine], tmp_path: Path
) -> None:
    queries = ["worker memory", "桂花", "终值定理 极限", "restart -拿铁"]
    engine = opened()
    engine.sync(lexical_only=True)
    first = [comparable(search(engine, q, explain=True)) for q in queries]
    engine = opened()
    assert [comparable(search(engine, q, explain=True)) for q in queries] == first
    engine.sync(lexical_only=True, rebuild=True)
    assert [comparable(search(engine, q, explain=True)) for q in queries] == first
    engine = opened(data_dir=tmp_path / "fresh")
    engine.sync(lexical_only=True)
    assert [comparable(search(engine, q, explain=True)) for q in queries] == first


def test_crash_between_chunks_and_note_row_is_repaired_by_the_next_start(
    opened: Callable[..., Engine], vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    wanted = comparable(search(engine, "拿铁"))
    (vault / "日记/小票.md").write_text("# 小票\n\n全新的内容。\n", "utf-8")
    from sidelight.store import tables

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tables.Tables, "_merge", staticmethod(crash))
    with pytest.raises(KeyboardInterrupt):
        engine.sync(lexical_only=True)
    monkeypatch.undo()
    write_vault(vault, NOTES)  # and the note went back to what its row says
    engine = opened()
    engine.sync(lexical_only=True)
    assert comparable(search(engine, "拿铁")) == wanted


def test_two_writers_are_refused_but_readers_are_not(
    opened: Callable[..., Engine], vault: Path, tmp_path: Path
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    with pytest.raises(IndexUnavailableError) as refused:
        Engine.open(vault, data_dir=tmp_path / "data", lexical_only=True)
    assert refused.value.code == "INDEX_BUSY"
    assert f"process {os.getpid()}" in refused.value.remedy
    other = tmp_path / "另一个库"
    other.mkdir()
    with pytest.raises(IndexUnavailableError, match="data folder of its own") as shared:
        Engine.open(other, data_dir=tmp_path / "data", lexical_only=True)
    assert str(vault) in shared.value.remedy
    reader = Engine.open(vault, data_dir=tmp_path / "data", lexical_only=True, read_only=True)
    assert paths(search(reader, "拿铁"))[0] == "日记/小票.md"
    reader.close()


def test_index_inside_the_vault_is_refused(vault: Path) -> None:
    with pytest.raises(IndexUnavailableError):
        Engine.open(vault, data_dir=vault / ".index", lexical_only=True)
    assert not (vault / ".index").exists()


def test_searching_without_an_index_names_the_remedy(vault: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailableError, match="sidelight index"):
        Engine.open(vault, data_dir=tmp_path / "none", read_only=True, lexical_only=True)


def test_damaged_tables_are_one_clear_error_for_a_reader_and_made_anew_by_a_writer(
    opened: Callable[..., Engine], tmp_path: Path
) -> None:
    opened().sync(lexical_only=True)
    opened().close()
    versions = sorted((tmp_path / "data/index.lance/notes.lance/_versions").iterdir())
    for file in versions:
        file.write_bytes(b"garbage")
    with pytest.raises(IndexUnavailableError, match="--rebuild") as damaged:
        opened(read_only=True)
    assert ".rs:" not in str(damaged.value)
    engine = opened()
    engine.sync(lexical_only=True)
    assert paths(search(engine, "拿铁"))[0] == "日记/小票.md"


def test_deleted_data_folder_is_made_anew(opened: Callable[..., Engine], tmp_path: Path) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    wanted = comparable(search(engine, "拿铁"))
    engine.close()
    shutil.rmtree(tmp_path / "data")
    engine = opened()
    engine.sync(lexical_only=True)
    assert comparable(search(engine, "拿铁")) == wanted


def test_index_deleted_under_a_running_engine_is_made_anew(
    opened: Callable[..., Engine], vault: Path, tmp_path: Path
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    engine.start()
    (tmp_path / "data" / "index.lance").rename(tmp_path / "gone")
    (vault / "New.md").write_text("# New\n\nthylacine 袋狼\n", "utf-8")
    end = time.monotonic() + 60
    while paths(search(engine, "thylacine", mode=Mode.LEXICAL)) != ["New.md"]:
        assert time.monotonic() < end, engine.problem
        time.sleep(0.05)
    assert paths(search(engine, "拿铁", mode=Mode.LEXICAL))[0] == "日记/小票.md"
    assert engine.state().notes == len(NOTES) + 1


def test_models_that_come_later_are_waited_for(opened: Callable[..., Engine]) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    engine = opened(models_later=True, lexical_only=False)
    assert engine.state().pending > 0
    assert "being loaded" in search(engine, "拿铁").degraded[0].reason


def test_vault_that_is_away_is_named_in_the_answer(
    opened: Callable[..., Engine], vault: Path
) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    vault.rename(vault.with_name("away"))
    assert search(engine, "拿铁").reasons[0].kind == "vault_missing"


def test_pasted_page_is_answered_in_time(opened: Callable[..., Engine]) -> None:
    engine = opened()
    engine.sync(lexical_only=True)
    for text in ("桂花" * 5_000, "the worker was killed " * 500, "(" * 10_000, '"' * 9_999):
        assert search(engine, text).timing_ms["total"] < 20_000


# ------------------------------------------------------------------ names and copies


def test_value_of_a_property_is_a_word_the_vault_knows(
    opened: Callable[..., Engine], vault: Path
) -> None:
    write_vault(vault, {"节点.md": "---\nid: LAN-207\n地点: 三号大棚\n---\n\n在门口。\n"})
    engine = opened(settings=Settings())
    engine.sync(lexical_only=True)
    for query in ("LAN-207", "三号大棚"):
        result = search(engine, query)
        assert result.ok, result.reasons
        assert result.results[0].citation.kind.value == "property"
        assert result.query.unknown_terms == ()


def test_attachment_is_found_by_its_name(opened: Callable[..., Engine], vault: Path) -> None:
    write_vault(vault, {"图/潮位曲线.png": "not read", "Assets/tide-curve.pdf": "not read"})
    engine = opened()
    engine.sync(lexical_only=True)
    for query, path in [("潮位曲线", "图/潮位曲线.png"), ("tide curve", "Assets/tide-curve.pdf")]:
        one = search(engine, query).results[0]
        assert (one.path, one.citation.kind.value, one.citation.start_line) == (path, "note", None)
        (vault / path).write_text("other bytes", "utf-8")  # its content is never read
        there = engine.resolve(one.ref)[1]
        assert (there.status, there.file_hash) == (CitationStatus.FRESH, None)
        (vault / path).unlink()
        gone = search(engine, query)
        assert path not in paths(gone)
        assert "unresolvable" in [reason.kind for reason in gone.reasons]
        assert engine.resolve(one.ref)[1].status is CitationStatus.UNRESOLVABLE


def test_sync_conflict_copy_follows_its_original_and_is_marked(
    opened: Callable[..., Engine], vault: Path
) -> None:
    copy = "日记/小票.sync-conflict-20241103-091522-K7QX2MA.md"
    write_vault(vault, {copy: "# 小票\n\n拿铁拿铁拿铁，生椰拿铁。\n"})
    engine = opened()
    engine.sync(lexical_only=True)
    results = search(engine, "生椰拿铁").results
    assert [(r.path, r.conflict_of) for r in results] == [
        ("日记/小票.md", None),
        (copy, "日记/小票.md"),
    ]
