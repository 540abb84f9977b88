"""What a query asks for. Numbers are those of the field reports."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest

from sidelight.query.conditions import read_date
from sidelight.query.parse import matches, parse_query


@dataclass
class NoteFake:
    """A note in memory, as conditions see it."""

    body: str = ""
    path: str = "folder/Note.md"
    tags: Sequence[str] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    date: date | None = None

    def text(self) -> str:
        return self.body

    def lines(self) -> Sequence[str]:
        return self.body.split("\n")

    def sections(self) -> Sequence[str]:
        return self.body.split("\n\n")


def check_words(query: str, ranking: str | None = None) -> None:
    """`query` is plain words."""
    parsed = parse_query(query)
    assert parsed.filter is None, parsed.describe()
    assert parsed.text_for_ranking == (query if ranking is None else ranking)
    assert not parsed.filters_only
    assert parsed.describe() == {}


def check_filter(query: str, note: NoteFake, expected: bool) -> None:
    parsed = parse_query(query)
    assert parsed.filter is not None
    assert matches(parsed.filter, note) is expected, parsed.describe()


@pytest.mark.parametrize(
    "query",
    [
        "如何备份笔记？",
        "DEC-0054",  # 23
        "Book - Some Book",  # 25
        "azure.com",  # 26
        "don't",  # 29
        "a'b a-b Downloads/x",
        "@nasa #tag 50%",  # 31
        '"',
        '5" disk',
        "well-known compound",  # 32
        "word(word)",  # 34
        "git rm -r --cached .",
        "ls -l",
        "/usr/local/bin",
        "and/or",
        "https://example.com/a(b)",
        "- [ ] todo [x]",
        "[[Note#Heading|x]]",
        "(foo",
        "foo) bar",
        "()",
        "-",
        "- -",
        "foo -",
        "OR",
        "a OR",
        "OR a",
        "path: x",
        "path:",
        "after:tomorrow",
        "tag:#",
        '关于"知识图谱"的笔记',
        '""',
        "/[/",
        "/(?=lookahead)/",
        "time 12:30 key:value",
    ],
)
def test_23_to_34_what_is_no_syntax_is_plain_words(query: str) -> None:
    check_words(query)


def test_words_beside_syntax_are_ranked_and_not_required() -> None:
    parsed = parse_query("备份 tag:#x 笔记 path:a/ -草稿")
    assert parsed.text_for_ranking == "备份 笔记"
    check_filter("备份 tag:#x", NoteFake("nothing of it", tags=["x"]), True)


def test_words_with_or_need_no_filter() -> None:
    parsed = parse_query("苹果 OR banana")
    assert parsed.filter is None
    assert parsed.text_for_ranking == "苹果 banana"


@pytest.mark.parametrize(
    ("phrase", "body", "expected"),
    [
        ("exact phrase", "an Exact\nPhrase here", True),
        ("exact phrase", "phrase exact", False),
        ("知识图谱", "關於知識圖譜的筆記", True),
        ("知识图谱", "知识和图谱", False),
        ("拉斯变换", "拉普拉斯变换", True),
        ("--flag", "use --flag", True),  # 28
        ("--flag", "use -flag", False),
        ("café", "CAFE\u0301", True),
        ("fine", "ﬁne", True),
        ("C++", "Ｃ＋＋", True),
        ("100%_x", "100%_x", True),
        ("100%_x", "100abcx", False),
    ],
)
def test_7_28_35_phrases_are_exact_in_every_spelling(
    phrase: str, body: str, expected: bool
) -> None:
    check_filter(f'"{phrase}"', NoteFake(body), expected)
    check_filter(f'-"{phrase}"', NoteFake(body), not expected)


def test_phrases_are_ranked_and_named() -> None:
    parsed = parse_query('"知识图谱" 构建 -"不要"')
    assert parsed.phrases == ("知识图谱",)
    assert parsed.text_for_ranking == "知识图谱 构建"
    assert parsed.describe() == {"expression": '"知识图谱" -"不要"', "phrases": ["知识图谱"]}


@pytest.mark.parametrize(
    ("query", "body", "expected"),
    [
        ("x -知识", "这里有知識", False),
        ("x -知识", "这里没有", True),
        ("x -art", "start", True),  # a bare word is a whole word
        ("x -art", "art.", False),
        ("x -art", "这是art作品", False),  # Chinese beside it is no part of the word
        ("x -art", "这是start作品", True),
        ("x -アート", "artアートart", False),
        ("x -kill", "ERR_OOM_KILL_001", False),
        ("x -(foo bar)", "foo", True),
        ("x -(foo bar)", "foo and bar", False),
        ("x -(foo OR bar)", "foo", False),
        ("x --word", "word", None),
    ],
)
def test_7_negation_removes_the_note(query: str, body: str, expected: bool | None) -> None:
    if expected is None:
        check_words(query)
    else:
        check_filter(query, NoteFake(body), expected)


@pytest.mark.parametrize(
    ("query", "note", "expected"),
    [
        ("foo OR tag:x", NoteFake("foo"), True),
        ("foo OR tag:x", NoteFake("", tags=["x"]), True),
        ("foo OR tag:x", NoteFake("neither"), False),
        ("(foo OR tag:x) baz", NoteFake("neither"), False),
        ("tag:a (tag:b OR tag:c)", NoteFake("", tags=["a", "c"]), True),
        ("tag:a (tag:b OR tag:c)", NoteFake("", tags=["a"]), False),
        ("((tag:a))", NoteFake("", tags=["a"]), True),
        ("-(tag:a tag:b)", NoteFake("", tags=["a"]), True),
        ('"甲" OR "乙"', NoteFake("只有乙"), True),
    ],
)
def test_or_and_brackets(query: str, note: NoteFake, expected: bool) -> None:
    check_filter(query, note, expected)


@pytest.mark.parametrize(
    ("query", "tags", "expected"),
    [
        ("tag:A", ["a/b"], True),
        ("tag:#a/b", ["A/B"], True),
        ("tag:b", ["a/b"], False),
        ("tag:a", ["ab"], False),
        ("-tag:a", ["a"], False),
        ("tag:读书", ["读书/小说"], True),
        ("tag:讀書", ["读书"], True),
        ("tag:(a OR b)", ["b"], True),
    ],
)
def test_tags_hold_what_is_below_them(query: str, tags: list[str], expected: bool) -> None:
    check_filter(query, NoteFake(tags=tags), expected)


@pytest.mark.parametrize(
    ("query", "path", "expected"),
    [
        ("path:folder/", "Folder/x.md", True),
        ("path:folder/", "x/note.md", False),
        ("file:folder", "folder/x.md", False),
        ("file:x.md", "folder/x.md", True),
        ('file:"a b"', "a b.md", True),
        ('path:"a_b"', "a b.md", False),  # 41
        ("path:100%", "100% done.md", True),
        ("path:100%", "1000 done.md", False),
        ("-path:日记/", "日記/2024.md", False),
        ("path:/^日记.*md$/", "日记/2024.md", True),
        ("path:(a OR b)", "b.md", True),
        ("path:日记\\2024", "日记/2024.md", True),
        ('path:"Ops\\Errors"', "Ops/Errors/a.md", True),
        ("path:(a OR -Ops\\Errors)", "Ops/Errors/b.md", False),
        ("path:/^[^/]+$/", "a/b.md", False),
    ],
)
def test_41_paths_and_files_match_literally(query: str, path: str, expected: bool) -> None:
    check_filter(query, NoteFake(path=path), expected)


@pytest.mark.parametrize(
    ("query", "properties", "expected"),
    [
        ('["status"]', {"Status": None}, True),
        ('["status"]', {}, False),
        ('-["status"]', {}, True),
        ('["status":draft]', {"status": "Draft"}, True),
        ('["状态":草稿]', {"状态": "草稿"}, True),
        ('["status":"in progress"]', {"status": "In Progress"}, True),
        ("[status:draft]", {"status": "draft"}, True),
        ('["status":(draft OR done)]', {"status": "done"}, True),
        ('["list":y]', {"list": ["x", "y"]}, True),
        ('["empty":null]', {"empty": None}, True),
        ('["n":<5]', {"n": 3}, True),
        ('["n":>5]', {"n": 3}, False),
        ('["n":<5]', {"n": "many"}, False),
        ('["due":>2024-01-01]', {"due": "2024-02-03"}, True),
        ('["done":true]', {"done": True}, True),
    ],
)
def test_properties(query: str, properties: dict[str, Any], expected: bool) -> None:
    check_filter(query, NoteFake(properties=properties), expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("line:(mix flour)", False),
        ("line:(mix 面粉)", True),
        ("-line:(mix 面粉)", False),
        ("section:(mix flour)", True),
        ("section:(mix oven)", False),
        ('line:"mix 面粉"', True),
        ("line:/^fl.ur$/", True),
    ],
)
def test_lines_and_sections_hold_everything_at_once(query: str, expected: bool) -> None:
    check_filter(query, NoteFake("mix 麵粉\nflour\n\noven"), expected)


def test_words_of_a_line_are_ranked() -> None:
    assert parse_query("line:(mix flour) -section:(oven) path:a").text_for_ranking == "mix flour"


@pytest.mark.parametrize(
    ("query", "body", "expected"),
    [
        ("/err_\\d+/", "ERR_42", True),
        ("/err_\\d+/", "err_x", False),
        ("-/err_\\d+/", "err_4", False),
        ("/^第.章$/", "前言\n第三章\n", True),
        ("/\\u77e5识/", "知识", True),
        ("/a\\/b/", "a/b", True),
    ],
)
def test_regular_expressions(query: str, body: str, expected: bool) -> None:
    check_filter(query, NoteFake(body), expected)


def test_regular_expressions_run_in_linear_time() -> None:
    started = time.process_time()
    check_filter("/(a+)+$/", NoteFake("a" * 50_000 + "b"), False)
    assert time.process_time() - started < 5.0  # seconds; a backtracking engine never ends


@pytest.mark.parametrize(
    ("query", "day", "expected"),
    [
        ("after:2025-01-31", date(2025, 1, 31), True),
        ("after:2025-01-31", date(2025, 1, 30), False),
        ("before:2025-01-31", date(2025, 1, 31), False),
        ("before:2025-01-31", date(2025, 1, 30), True),
        ("after:2025", date(2025, 1, 1), True),
        ("after:2025年1月31日", date(2025, 2, 1), True),
        ("-before:2025-01-31", date(2025, 2, 1), True),
        ("after:2025-01-31", None, False),
    ],
)
def test_dates(query: str, day: date | None, expected: bool) -> None:
    check_filter(query, NoteFake(date=day), expected)


def test_the_first_real_date_of_a_property_is_compared() -> None:
    assert read_date("20230102 和 2023-13-40") == date(2023, 1, 2)
    assert read_date("2023-13-40, 2024年5月6日") == date(2024, 5, 6)
    assert read_date("no date") is None


@pytest.mark.parametrize(
    "query", ["tag:x", "-草稿", '["p"]', "after:2025", "path:a/ tag:b", "/x/", "-line:(a)"]
)
def test_filters_alone_leave_nothing_to_rank(query: str) -> None:
    assert parse_query(query).filters_only


def test_expressions_can_be_typed_again() -> None:
    for query in (
        '"知识 图谱" -draft tag:#a/b path:"x y" (tag:#c OR ["p":"v"]) -(tag:#d tag:#e)',
        'after:2025-01-31 before:2025-02-01 /re+x/ line:("a" "b") ["n":<5]',
    ):
        parsed = parse_query(query)
        again = parse_query(parsed.describe()["expression"])
        assert again.filter == parsed.filter


@pytest.mark.parametrize(
    "piece", ["(", "(a ", "-(", '"', '" ', "/", " /", "[a:", "a OR ", "[", ")"]
)
def test_no_query_takes_long_or_fails(piece: str) -> None:
    started = time.process_time()
    for length in (50, 9_999, 100_000):
        parsed = parse_query((piece * length)[:length])
        assert isinstance(parsed.describe(), dict)
    assert time.process_time() - started < 5.0  # seconds
