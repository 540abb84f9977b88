"""The part of a passage that is shown. Numbers are those of the field reports."""

from __future__ import annotations

import time

import pytest

from sidelight.language.terms import Terms
from sidelight.query.snippet import snippet

TERMS = Terms(["知识图谱"])


def check_marks(
    text: str, query: str, marked: list[str], phrases: tuple[str, ...] = (), typing: bool = False
) -> None:
    shown = snippet(text, TERMS.query_terms(query, typing), phrases)
    assert [shown.text[start:end] for start, end in shown.highlights] == marked


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("我们构建了知識圖譜系统", "知识图谱", ["知識圖譜"]),  # 5, 8: one mark, not doubled
        ("桂花乌龙生椰拿铁", "拿铁", ["拿铁"]),
        ("泡茶的水温，红茶", "茶", ["茶", "茶"]),
        ("The tasks and the task", "task", ["tasks", "task"]),
        ("call getTransactionHistory(id)", "history", ["History"]),
        ("see ERR_OOM_KILL_001.", "ERR_OOM_KILL_001", ["ERR_OOM_KILL_001"]),
        ("会议在2024年10月3日举行", "2024-10-03", ["2024年10月3日"]),
        ("姓𠮷的人", "𠮷", ["𠮷"]),  # 16
        ("Das CAFE\u0301 da", "cafe", ["CAFE\u0301"]),
        ("how to tag it", "how to tag", ["tag"]),  # function words only where nothing else is
        ("how to do it", "how to tag", ["how", "to"]),
        ("什么是什么", "什么", ["什么", "什么"]),
        ("ｋｕｂｅ 容器", "kube", ["ｋｕｂｅ"]),
    ],
)
def test_5_8_16_matches_are_marked_as_whole_words(text: str, query: str, marked: list[str]) -> None:
    check_marks(text, query, marked)


def test_phrases_are_marked_across_lines() -> None:
    check_marks("an Exact\n   Phrase here", "", ["Exact Phrase"], ("exact phrase",))
    check_marks("拉普拉斯变换", "", ["拉斯变换"], ("拉斯变换",))


def test_the_unfinished_last_word_is_marked() -> None:
    check_marks("we use kubernetes", "kuber", ["kubernetes"], typing=True)
    check_marks("we use kubernetes", "kuber", [])


def test_the_window_holds_most_of_the_query() -> None:
    text = "知识 " + "无关的话。" * 80 + "关于知识图谱的构建方法 docker " + "无关的话。" * 80
    shown = snippet(text, TERMS.query_terms("知识图谱 docker 构建"))
    marked = {shown.text[start:end] for start, end in shown.highlights}
    assert {"知识图谱", "docker", "构建"} <= marked
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert len(shown.text) <= 202


def test_it_is_one_line() -> None:
    shown = snippet("a\r\nb\n\n\tc\u2028d\x00e  f", TERMS.query_terms("f"))
    assert shown.text == "a b c d e f"
    assert [shown.text[start:end] for start, end in shown.highlights] == ["f"]


def test_words_and_characters_are_not_cut() -> None:
    shown = snippet("internationalisation " * 60, TERMS.query_terms("zzz"))
    assert set(shown.text.strip("…").split()) == {"internationalisation"}
    family = "👨‍👩‍👧"
    shown = snippet(family * 200, TERMS.query_terms("zzz"))
    assert not shown.text.rstrip("…").replace(family, "")


@pytest.mark.parametrize("text", ["", " \n ", "…"])
def test_an_empty_text_has_an_empty_snippet(text: str) -> None:
    assert snippet(text, TERMS.query_terms("x")).highlights == ()


def test_a_line_of_400_kilobytes_is_fast_and_its_match_is_shown() -> None:
    started = time.process_time()
    for filler in ("字", "x", "word "):
        text = (filler * 400_000)[:400_000] + " 知识图谱 needle " + filler * 1_000
        check_marks(text, "知识图谱 needle", ["知识图谱", "needle"])
    assert time.process_time() - started < 5.0  # seconds
