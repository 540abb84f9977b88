"""Which things a note speaks of, in both languages."""

from __future__ import annotations

import pytest

from sidelight.language.entities import chosen_name, entities_of, entity_key, spans_of
from sidelight.language.segmentation import PythonSegmenter, RustSegmenter
from sidelight.language.user_words import UserWords


def check_speaks_of(text: str, *wanted: str, title: str = "x", words: tuple[str, ...] = ()) -> None:
    found = {entity_key(label) for label in entities_of(title, (), [text], UserWords(words))[0]}
    missing = {entity_key(name) for name in wanted} - found
    assert not missing, (missing, found)


def check_silent_about(text: str, *unwanted: str, title: str = "x") -> None:
    found = {entity_key(label) for label in entities_of(title, (), [text], UserWords(()))[0]}
    assert not {entity_key(name) for name in unwanted} & found, found


def test_chinese_nouns_and_runs_of_nouns_are_things() -> None:
    check_speaks_of("果园里的苹果存进石窖。", "苹果", "果园", "石窖")
    check_speaks_of("潘老师约大家去梧桐巷。", "潘老师", "梧桐巷")
    check_silent_about(
        "这个时候我们的问题和方法都一样，大家感觉很好。", "时候", "问题", "方法", "大家", "感觉"
    )


def test_traditional_and_full_width_spellings_meet() -> None:
    check_speaks_of("蘋果與果園", "苹果", "果园")
    check_speaks_of("用 ＰＭＩ 排序", "PMI")


def test_english_names_and_announced_phrases_are_things() -> None:
    text = "We hauled Heron out of the water; Okafor, whom we asked, met Juniper Hall."
    check_speaks_of(text, "Heron", "Juniper Hall")
    check_speaks_of("We met Okafor. Okafor looked at the keel.", "Okafor")
    check_speaks_of("It depends on the recurrence rule of each task.", "recurrence rules")
    check_silent_about("However it ended. Maybe not. Click Apply.", "However", "Maybe", "Click")
    check_silent_about("The plugin shows it. The first line is here.", "plugin shows", "first line")


def test_a_title_makes_its_made_up_words_things_of_the_whole_note() -> None:
    check_speaks_of("鲸落写到第三幕。", "鲸落", title="鲸落剧本")
    check_speaks_of("Saffron is a supper.", "Saffron", title="Saffron 晚饭")
    check_silent_about("Custom colours, in a custom order.", "Custom", title="Custom colours")


def test_identifiers_are_things_and_numbers_and_ordinals_are_not() -> None:
    text = "`ERR_OOM_KILL_001` in getTransactionHistory, v3.2.1; 2024-10-04, the 13th, 42."
    check_speaks_of(text, "ERR_OOM_KILL_001", "getTransactionHistory")
    check_silent_about(text, "2024-10-04", "13th", "42")


def test_links_tags_and_the_persons_own_words_are_things() -> None:
    check_speaks_of("见 [[A/传递函数#定义|那里]] 和 [[PMI]] #ops/值班", "传递函数", "PMI", "值班")
    check_speaks_of("生椰拿铁很好喝", "生椰拿铁", words=("生椰拿铁",))
    assert entities_of("红树林", ("别名甲",), ["一", "二"], UserWords(())) == [
        ("别名甲", "红树林"),
        ("红树林",),
    ]


def test_code_and_addresses_are_no_prose() -> None:
    code = "see the code\n```python\nNoisyName = the_answer of Zebra\n```\n"
    check_silent_about(code, "NoisyName", "the_answer", "Zebra")
    check_silent_about(
        "[here](https://Example.com/SomePage) and https://a.b/CamelCase", "CamelCase"
    )


@pytest.mark.parametrize(
    "name",
    [
        "2024-10-04",
        "",
        "42",
        "一句很长很长很长很长很长很长很长很长很长很长很长很长很长很长很长很长的话不是东西",
    ],
)
def test_dates_and_sentences_name_no_thing(name: str) -> None:
    assert chosen_name(name) == ""


def test_plurals_and_cases_meet_and_a_question_is_cut_into_what_may_be_names() -> None:
    assert entity_key("Recurrence Rules") == entity_key("recurrence rule")
    spans = spans_of("Is Juniper Hall 在梧桐巷吗")
    assert {"juniper hall", "梧桐巷"} <= set(spans)
    assert spans == sorted(spans, key=lambda piece: (-len(piece), piece))


def test_both_segmenters_tell_the_same_parts_of_speech() -> None:
    for run in ("苹果采摘从红玉开始", "知识图谱的共现统计", "闭环控制系统的稳态误差"):
        assert RustSegmenter().tags(run) == PythonSegmenter().tags(run)
