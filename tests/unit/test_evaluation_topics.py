"""Files of judged questions are read whole, and what is wrong in one is named by its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidelight.cli import main
from sidelight.errors import UsageError
from sidelight.evaluation.topics import read_topics, unknown_notes


def write(folder: Path, *lines: object) -> Path:
    file = folder / "queries.jsonl"
    text = "\n".join(x if isinstance(x, str) else json.dumps(x, ensure_ascii=False) for x in lines)
    file.write_text(text, encoding="utf-8")
    return file


def test_every_judgement_is_read_and_unknown_keys_are_ignored(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        {
            "id": "a",
            "query": "拿铁多少钱",
            "lang": "zh",
            "kind": "multi-hop",
            "answerable": True,
            "relevant": [{"path": "小票.md", "heading": "合计"}, {"path": "小票.md"}],
            "also": [{"path": "菜单.md"}, {"path": "小票.md"}],
            "answers": ["26 元"],
            "via": [{"path": "日记.md"}],
            "lex_overlap": 0.3,
        },
        "",
        {"id": "b", "query": "who", "relevant": [], "answerable": False, "kind": "no-answer"},
    )
    first, second = read_topics(file)
    assert first.relevant == {"小票.md"}
    assert first.also == {"菜单.md"}  # a relevant note is never left out
    assert first.answers == ("26 元",)
    assert first.via == {"日记.md"}
    assert (first.language, first.kind, first.answerable) == ("zh", "multi-hop", True)
    assert not second.answerable


def test_a_persons_own_file_needs_only_query_and_relevant(tmp_path: Path) -> None:
    file = write(tmp_path, {"query": "x", "relevant": ["a.md"]}, {"query": "y"})
    first, second = read_topics(file)
    assert (first.id, first.answerable, first.kind) == ("1", True, "question")
    assert (second.id, second.answerable, second.kind) == ("2", False, "no-answer")


def test_another_field_can_be_asked(tmp_path: Path) -> None:
    file = write(tmp_path, {"query": "語言", "query_hans": "语言", "relevant": ["a.md"]})
    assert read_topics(file, "query_hans")[0].query == "语言"


def test_a_line_separator_inside_a_string_ends_no_line(tmp_path: Path) -> None:
    file = write(tmp_path, {"query": "a\u2028b", "relevant": ["a.md"]})
    assert len(read_topics(file)) == 1


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    file = write(tmp_path, '\ufeff{"query": "x", "relevant": ["a.md"]}')
    assert read_topics(file)[0].query == "x"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not a JSON object"),
        ({"relevant": ["a.md"]}, "'query' must be a string"),
        ({"query": " ", "relevant": ["a.md"]}, "'query' must be a string"),
        ({"query": "x", "relevant": "a.md"}, "'relevant' must be a list"),
        ({"query": "x", "relevant": [{"heading": "h"}]}, "'relevant' must be a list"),
        ({"query": "x", "answerable": True}, "at least one note"),
        ({"query": "x", "answerable": "yes", "relevant": ["a.md"]}, "true or false"),
        ({"query": "x", "relevant": ["a.md"], "answers": [1]}, "'answers' must be a list"),
        ({"id": "1", "query": "x", "relevant": ["a.md"]}, "the id '1' stands on line 1 too"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: object, says: str) -> None:
    file = write(tmp_path, {"query": "x", "relevant": ["a.md"]}, line)
    with pytest.raises(UsageError, match="line 2") as caught:
        read_topics(file)
    assert says in caught.value.message
    assert caught.value.remedy


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    file = write(tmp_path, {"query": "x", "relevant": ["a.md"]})
    with pytest.raises(UsageError, match="'query_hans'"):
        read_topics(file, "query_hans")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe\x00"])
def test_a_file_without_queries_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_bytes(content)
    with pytest.raises(UsageError):
        read_topics(file)


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.jsonl"):
        read_topics(tmp_path / "nothing.jsonl")


def test_a_query_file_that_is_wrong_is_no_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command was right: exit code 1 with a remedy (contract), in either language."""
    for name in ("nothing.jsonl", "没有.jsonl"):
        asked = ["sidelight", "eval", str(tmp_path), str(tmp_path / name)]
        monkeypatch.setattr("sys.argv", asked)
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 1
        said = capsys.readouterr().err
        assert name in said
        assert said.count("\n") == 1


def test_a_path_as_windows_shows_it_is_the_same_note(tmp_path: Path) -> None:
    file = write(tmp_path, {"query": "拿铁", "relevant": ["日记\\小票.md"], "also": ["a\\b.md"]})
    (topic,) = read_topics(file)
    assert (topic.relevant, topic.also) == ({"日记/小票.md"}, {"a/b.md"})


def test_judged_notes_that_no_search_can_find_are_named(tmp_path: Path) -> None:
    decomposed = "cafe\u0301.md"
    file = write(
        tmp_path,
        {"query": "x", "relevant": ["小票.md", "拼错.md", decomposed]},
        {"query": "y", "relevant": ["拼错.md"], "also": ["gone.md"]},
    )
    held = {"小票.md", "caf\u00e9.md"}
    assert unknown_notes(read_topics(file), held.__contains__) == ["拼错.md"]
