"""Compound questions and spoken spans of time, in Chinese and English."""

from __future__ import annotations

from datetime import date

import pytest

from sidelight.query.compound import parts_of, since


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("窑炉怎么保温？釉料怎么配？", ("窑炉怎么保温", "釉料怎么配")),
        ("How hot is the kiln? Which glaze runs?", ("How hot is the kiln", "Which glaze runs")),
        ("订了哪些窑，以及釉料放在哪里", ("订了哪些窑", "釉料放在哪里")),
        ("who ordered the kiln as well as where the glaze is kept",
         ("who ordered the kiln", "where the glaze is kept")),
        ("素烧和釉烧有什么区别", ("素烧和釉烧有什么区别", "素烧", "釉烧")),
        ("对比一下电窑和柴窑", ("对比一下电窑和柴窑", "电窑", "柴窑")),
        ("compare bisque with glaze firing",
         ("compare bisque with glaze firing", "bisque", "glaze firing")),
        ("Where are cones and pyrometers compared?",
         ("Where are cones and pyrometers compared", "cones", "pyrometers")),
        ("raku vs. saggar", ("raku vs. saggar", "raku", "saggar")),
    ],
)  # fmt: skip
def test_compound_questions_are_split(question: str, parts: tuple[str, ...]) -> None:
    assert parts_of(question) == parts


@pytest.mark.parametrize(
    "question",
    ["", "?", "釉料和陶土放在哪里", "every decision about the kiln and the glaze", "窑炉",
     '"bisque; glaze" kiln', "path:a/ raku vs saggar", "raku OR saggar; cones", "what now?"],
)  # fmt: skip
def test_one_question_stays_one(question: str) -> None:
    assert parts_of(question) == ()


@pytest.mark.parametrize(
    ("question", "rest", "day"),
    [
        ("最近半年关于窑炉的决定", "关于窑炉的决定", date(2024, 12, 31)),
        ("过去三个月的釉料试验", "釉料试验", date(2025, 4, 2)),
        ("all decisions about the kiln in the last half year", "all decisions about the kiln", date(2024, 12, 31)),
        ("glaze tests over the past 2 weeks", "glaze tests", date(2025, 6, 17)),
        ("what broke in the last month", "what broke", date(2025, 6, 1)),
        ("the last firing", "the last firing", None),
        ("最近的窑", "最近的窑", None),
        ("in the last year", "in the last year", None),
        ('"in the last year" kiln', '"in the last year" kiln', None),
    ],
)  # fmt: skip
def test_spans_of_time_become_a_day(question: str, rest: str, day: date | None) -> None:
    assert since(question, lambda: date(2025, 7, 1)) == (rest, day)
