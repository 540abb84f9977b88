"""Sentences and citations out of a stream, however it is cut."""

from __future__ import annotations

import pytest

from sidelight.ask.checking import Sentences
from sidelight.ask.state import Sentence

PIECES = {1: "The kiln is lit at 7:30, model WL-27.", 2: "保温两小时，1,260 度。"}


def checked(text: str, size: int, question: str = "") -> list[Sentence]:
    sentences = Sentences(PIECES, question)
    found = []
    for at in range(0, len(text), size):
        found += sentences.feed(text[at : at + size])
    return [*found, *sentences.rest()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Lit at 7:30 [1]. Model WL-27.[1] Done", [((1,), True), ((1,), True), ((), False)]),
        ("保温两小时[2]。温度是 1260 度。【2】不知道。", [((2,), True), ((2,), True), ((), False)]),
        ("Both [1][2]. Both [1, 2].", [((1, 2), True), ((1, 2), True)]),
        ("At 8:45 [1]. Model WL-28 [1].", [((1,), False), ((1,), False)]),
        ("[3] is invented [3] [1].", [((1,), True)]),
        ("1. First\n2. Second [2]\n", [((), False), ((2,), True)]),
        ("", []),
        ("... !!! \n\n", []),
    ],
)
def test_sentences_are_the_same_however_the_stream_is_cut(
    text: str, expected: list[tuple[tuple[int, ...], bool]]
) -> None:
    whole = checked(text, 10_000)
    assert [(s.citations, s.supported) for s in whole] == expected
    for size in (1, 2, 3, 7):
        assert checked(text, size) == whole


def test_figures_of_the_question_need_no_evidence() -> None:
    assert checked("In 1999 it was lit [1].", 5, "What was in 1999?")[0].supported
    assert not checked("In 1999 it was lit [1].", 5)[0].supported


@pytest.mark.parametrize(
    ("text", "supported"),
    [
        ("Lit at 7:30 [1].", True),
        ("Lit at 30 degrees [1].", True),  # the minutes stand there on their own
        ("It takes 2 hours [1].", False),  # only in 27
        ("Hold 260 degrees [2].", False),  # only in 1,260
        ("保温 1260 度[2]。", True),
        ("保温 60 度[2]。", False),
    ],
)
def test_a_figure_inside_another_figure_is_not_stated(text: str, supported: bool) -> None:
    assert [s.supported for s in checked(text, 7)] == [supported]
