"""Records in files and tables, good and broken."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from source_fakes import TERMS, ask, source

from sidelight.query.parse import parse_query
from sidelight.sources import records as records_module
from sidelight.sources.asking import Found, SourceError
from sidelight.sources.records import Records


def records(path: Path, **values: Any) -> Records:
    return Records(source(kind="records", path=str(path), **values), TERMS)


def found(path: Path, query: str, **values: Any) -> list[Found]:
    return list(records(path, **values).ask(ask(query)).found)


def place(one: Found) -> tuple[str, int | None, int | None]:
    return one.id, one.citation.start_line, one.citation.end_line


CSV = (
    "id,title,text\n"
    "1,Grinder,Clean the burrs every week\n"
    '2,Kettle,"Descale it, with citric acid\nand rinse twice"\n'
    "3,磨豆机,每周清洁磨豆机的刀盘\n"
)


def test_csv_entries_are_found_in_both_languages_with_id_and_lines(tmp_path: Path) -> None:
    file = tmp_path / "things.csv"
    file.write_text(CSV, "utf-8")
    assert place(found(file, "clean burrs")[0]) == ("1", 2, 2)
    assert place(found(file, "citric acid")[0]) == ("2", 3, 4)
    assert place(found(file, "磨豆机刀盘")[0]) == ("3", 5, 5)
    assert found(file, "磨豆機刀盤")[0].id == "3"  # traditional finds simplified
    assert found(file, "submarine") == []


@pytest.mark.parametrize("encoding", ["gb18030", "utf-8-sig", "utf-16"])
def test_a_csv_in_another_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "things.csv"
    file.write_bytes(CSV.encode(encoding))
    assert [one.id for one in found(file, "磨豆机刀盘")] == ["3"]


def test_an_unknown_encoding_is_told_and_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "things.csv"
    file.write_bytes("id,title,text\n1,a,caf\xe9 \xff\n".encode("latin-1"))
    with pytest.raises(SourceError, match="neither") as caught:
        found(file, "café")
    assert "encoding" in caught.value.remedy
    assert found(file, "café", encoding="latin-1")[0].id == "1"


def test_a_csv_with_broken_quoting_loses_no_later_entry(tmp_path: Path) -> None:
    file = tmp_path / "broken.csv"
    file.write_text(
        'id,title,text\n1,A,"never closed\n2,B,descale the kettle\n3,C,清洁刀盘\n', "utf-8"
    )
    answer = records(file).ask(ask("descale kettle"))
    assert place(answer.found[0]) == ("2", 3, 3)
    assert answer.problems == ("line 2: a quote is never closed",)
    assert place(found(file, "清洁刀盘")[0]) == ("3", 4, 4)


@pytest.mark.parametrize("word", ["kettle", "磨豆机"])
def test_half_a_character_in_json_lines_stands_as_unreadable(tmp_path: Path, word: str) -> None:
    file = tmp_path / "things.jsonl"
    half = f"{word} \ud800"
    file.write_text(json.dumps({"id": half, "title": half, "text": half}) + "\n", "utf-8")
    (one,) = found(file, word)
    assert {one.id, one.title, one.text} == {f"{word} \ufffd"}


def test_a_quote_inside_a_plain_field_is_text(tmp_path: Path) -> None:
    file = tmp_path / "inches.csv"
    file.write_text('id;title;text\n1;Disk;a 5" disk\n2;Tube;a 3" tube\n', "utf-8")
    answer = records(file).ask(ask("tube"))
    assert (place(answer.found[0]), answer.problems) == (("2", 3, 3), ())


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_empty_lines_in_a_csv_cost_nothing(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"things{ending}"
    lines = ["", "id,title,text", "1,Kettle,descale it", "", "  ", "2,壶,用柠檬酸除垢", "", ""]
    file.write_text("\n".join(lines).replace(",", "\t" if ending == ".tsv" else ","), "utf-8")
    answer = records(file).ask(ask("descale"))
    assert (place(answer.found[0]), answer.problems) == (("1", 3, 3), ())
    assert place(found(file, "柠檬酸除垢")[0]) == ("2", 6, 6)


def test_a_first_entry_that_is_too_short_does_not_change_the_columns(tmp_path: Path) -> None:
    file = tmp_path / "things.csv"
    file.write_text("id,title,text\n1,短\n2,Kettle,descale it\n", "utf-8")
    answer = records(file).ask(ask("descale"))
    assert [one.id for one in answer.found] == ["2"]
    assert answer.problems == ("line 2 has 2 fields instead of 3",)
    assert [one.id for one in found(file, "短")] == ["1"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_mark_before_a_named_encoding_is_no_part_of_a_column(
    tmp_path: Path, encoding: str
) -> None:
    file = tmp_path / "things.csv"
    file.write_bytes("\ufeffname,text\n壶,用柠檬酸除垢\nKettle,descale it\n".encode(encoding))
    values = {"encoding": encoding, "title_column": "name"}
    assert found(file, "柠檬酸除垢", **values)[0].title == "壶"
    assert found(file, "descale", **values)[0].title == "Kettle"


@pytest.mark.parametrize("query", ['kettle "rare word"', '壶 "少见的词"'])
def test_a_filter_finds_its_entry_behind_many_better_ones(tmp_path: Path, query: str) -> None:
    file = tmp_path / "things.csv"
    better = "".join(f"{n},Kettle 壶,kettle 壶 kettle 壶\n" for n in range(60))
    last = "60,Last,a long entry about a kettle 壶 with a rare word and 少见的词 in it\n"
    file.write_text(f"id,title,text\n{better}{last}", "utf-8")
    parsed = parse_query(query)
    asked = replace(ask(query.split()[0]), filter=parsed.filter)
    assert [one.id for one in records(file).ask(asked).found] == ["60"]


def test_broken_json_lines_cost_only_themselves(tmp_path: Path) -> None:
    file = tmp_path / "things.jsonl"
    good = {"id": 7, "title": "壶", "text": "用柠檬酸除垢", "tags": ["厨房"]}
    file.write_text(f'{{"text": broken\n[1]\n{json.dumps(good, ensure_ascii=False)}\n', "utf-8")
    answer = records(file).ask(ask("柠檬酸除垢"))
    assert place(answer.found[0]) == ("7", 3, 3)
    assert answer.problems == ("line 1 is not JSON", "line 2 is no JSON object")


def test_yaml_entries_have_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "things.yaml"
    file.write_text(
        "- id: 007\n  title: Kettle\n  text: |\n    Descale it.\n    With citric acid.\n"
        "- id: b\n  title: 壶\n  text: 除垢\u2028用柠檬酸\n- id: c\n  text: last\n",
        "utf-8",
    )
    assert place(found(file, "citric acid")[0]) == ("007", 1, 5)
    assert place(found(file, "柠檬酸")[0]) == ("b", 6, 8)
    assert place(found(file, "last")[0]) == ("c", 9, 10)


def test_a_yaml_bomb_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "bomb.yaml"
    lines = ["- a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    file.write_text("\n".join([*lines, "  text: after the bomb"]), "utf-8")
    assert [one.text for one in found(file, "bomb")] == ["after the bomb"]


def test_changed_columns_are_told_with_those_there_are(tmp_path: Path) -> None:
    file = tmp_path / "things.csv"
    file.write_text("id,title,body\n1,a,b\n", "utf-8")
    with pytest.raises(SourceError, match="no column 'text'") as caught:
        found(file, "b")
    assert "body" in caught.value.remedy
    file.with_suffix(".jsonl").write_text('{"body": "b"}\n', "utf-8")
    with pytest.raises(SourceError, match="No entry has 'text'"):
        found(file.with_suffix(".jsonl"), "b")


def test_a_file_that_changes_or_goes_is_seen_at_the_next_question(tmp_path: Path) -> None:
    file = tmp_path / "things.csv"
    file.write_text(CSV, "utf-8")
    source = records(file)
    assert source.ask(ask("grinder")).found
    file.write_text("id,title,text\n9,Tray,Empty the drip tray\n", "utf-8")
    assert [one.id for one in source.ask(ask("drip tray")).found] == ["9"]
    file.unlink()
    with pytest.raises(SourceError, match="no file at"):
        source.ask(ask("drip tray"))


def test_a_large_file_is_searched_without_keeping_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "things.csv"
    file.write_text(CSV, "utf-8")
    monkeypatch.setattr(records_module, "MAX_KEPT_CHARS", 20)
    assert found(file, "磨豆機刀盤")[0].id == "3"
    assert [one.id for one in found(file, "citric acid")] == ["2"]


# --------------------------------------------------------------------------- SQLite


def database(path: Path) -> Path:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute('CREATE TABLE "my things" (id INTEGER, title TEXT, text TEXT, url TEXT)')
        rows = [(1, "Kettle", "Descale with citric acid", "https://example.org/k"),
                (2, "磨豆机", "每周清洁刀盘", None)]  # fmt: skip
        connection.executemany('INSERT INTO "my things" VALUES (?, ?, ?, ?)', rows)
        connection.execute('CREATE VIEW v AS SELECT id AS nr, text AS body FROM "my things"')
    connection.close()
    return path


def test_tables_and_views_are_searched_in_both_languages(tmp_path: Path) -> None:
    file = database(tmp_path / "t.db")
    kettle = found(file, "citric acid", table="my things", link_column="url")[0]
    assert (kettle.id, kettle.link, kettle.path) == ("1", "https://example.org/k", "t.db/my things")
    assert kettle.citation.start_line is None
    view = {"table": "v", "text_columns": ["body"], "id_column": "nr"}
    assert found(file, "清洁刀盘", **view)[0].id == "2"
    with pytest.raises(SourceError, match="no table or view 'gone'") as caught:
        found(file, "x", table="gone")
    assert "my things" in caught.value.remedy


def test_a_database_is_never_written(tmp_path: Path) -> None:
    file = database(tmp_path / "t.db")
    before = file.read_bytes()
    found(file, "citric", table="my things")
    assert file.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["t.db"]


def test_a_database_with_a_log_leaves_nothing_beside_it(tmp_path: Path) -> None:
    file = database(tmp_path / "t.db")
    writer = sqlite3.connect(file)
    writer.execute("PRAGMA journal_mode = WAL")
    with writer:
        writer.execute("INSERT INTO \"my things\" VALUES (3, 'Tray', 'empty the tray', NULL)")
    assert found(file, "empty tray", table="my things")[0].id == "3"  # still in the log
    writer.close()
    assert sorted(os.listdir(tmp_path)) == ["t.db"]
    assert found(file, "清洁刀盘", table="my things")[0].id == "2"
    assert sorted(os.listdir(tmp_path)) == ["t.db"]


def test_generated_columns_are_columns(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.db")
    with connection:
        connection.execute("CREATE TABLE t (id, title, text, both AS (title || ' ' || text))")
        connection.execute("INSERT INTO t VALUES (1, '壶', 'descale it')")
    connection.close()
    for query in ("descale", "壶"):
        chosen = found(tmp_path / "t.db", query, table="t", text_columns=["both"])
        assert chosen[0].text == "壶 descale it"


def test_a_locked_database_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = database(tmp_path / "t.db")
    monkeypatch.setattr("sidelight.sources.record_table.LOCK_WAIT_S", 0.05)
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(SourceError, match="locked"):
            found(file, "citric", table="my things")
    finally:
        writer.close()
    assert found(file, "citric", table="my things")


def test_a_corrupt_database_is_told(tmp_path: Path) -> None:
    file = database(tmp_path / "t.db")
    data = bytearray(file.read_bytes())
    data[100:3000] = b"\xff" * 2900
    file.write_bytes(data)
    with pytest.raises(SourceError, match="damaged"):
        found(file, "citric", table="my things")
    (tmp_path / "n.db").write_bytes(b"no database at all, only text " * 100)
    with pytest.raises(SourceError, match="damaged"):
        found(tmp_path / "n.db", "citric", table="t")


def test_a_huge_database_is_bounded_in_time_and_memory(tmp_path: Path) -> None:
    file = database(tmp_path / "t.db")
    os.truncate(file, 2_000_000_000)  # sparse: no disk is used
    assert found(file, "citric", table="my things")[0].id == "1"
    connection = sqlite3.connect(tmp_path / "endless.db")
    with connection:
        connection.execute(
            "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
            " SELECT i AS id, 'entry ' || i AS title, 'nothing to see' AS text FROM n"
        )
    connection.close()
    endless = records(tmp_path / "endless.db", table="endless")
    with pytest.raises(SourceError, match="too long"):
        endless.ask(ask("citric acid", seconds=0.5))


# --------------------------------------------------------------------------- found again


def test_an_entry_is_found_again_by_its_id(tmp_path: Path) -> None:
    file = tmp_path / "things.csv"
    file.write_text(CSV, "utf-8")
    source = records(file)
    text_hash = "unused where there is an id"
    file.write_text("id,title,text\n8,New,first\n3,磨豆机,每天清洁\n", "utf-8")
    moved = source.find_again(ask(""), "3", 5, text_hash)
    assert moved is not None
    assert (moved.start_line, moved.text) == (3, "每天清洁")
    assert source.find_again(ask(""), "1", 2, text_hash) is None
