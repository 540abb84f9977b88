"""Where in a note a link could be written."""

from __future__ import annotations

import pytest

from sidelight.vault.linkable import CLOSED, linkable_lines


def check(text: str, expected: str) -> None:
    """`expected` is the text with `~` wherever no link belongs."""
    lines = linkable_lines(text)
    assert [len(line) for line in lines] == [len(line) for line in text.split("\n")]
    assert "\n".join(lines).replace(CLOSED, "~") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kalman filter here", "Kalman filter here"),
        ("卡尔曼滤波 🍵 在此", "卡尔曼滤波 🍵 在此"),
        ("see `Kalman` and $Kalman$", "see ~~~~~~~~ and ~~~~~~~~"),
        ("见 `卡尔曼` 与 [[卡尔曼]]。", "见 ~~~~~ 与 ~~~~~~~。"),
        ("[[Kalman|filter]] Kalman", "~~~~~~~~~~~~~~~~~ Kalman"),
        ("[Kalman](x.md) [a][Kalman] [Kalman]", "~~~~~~~~~~~~~~ ~~~~~~~~~~~ ~~~~~~~~"),
        ("https://kalman.org/filter Kalman", "~~~~~~~~~~~~~~~~~~~~~~~~~ Kalman"),
        ("#Kalman C# Kalman", "~~~~~~~ C# Kalman"),
        ("Kalman ^kalman", "Kalman ~~~~~~~"),
        ("a %%Kalman%% b", "a ~~~~~~~~~~ b"),
        ("# Kalman\nKalman", "~~~~~~~~\nKalman"),
        ("Kalman\n===\nx", "~~~~~~\n~~~\nx"),
        ("```\nKalman\n```\nKalman", "~~~\n~~~~~~\n~~~\nKalman"),
        ("| Kalman |\n|---|\n\nKalman", "~~~~~~~~~~\n~~~~~\n\nKalman"),
        ("%%\nKalman\n%%\nKalman", "~~\n~~~~~~\n~~\nKalman"),
        ("---\na: Kalman\n---\nKalman", "~~~\n~~~~~~~~~\n~~~\nKalman"),
        ("---\na: Kalman\n---", "~~~\n~~~~~~~~~\n~~~"),
        ("> Kalman\n\n- Kalman", "> Kalman\n\n- Kalman"),
        ("<b>Kalman</b> x", "~~~Kalman~~~~ x"),
    ],
)
def test_links_belong_in_running_text_alone(text: str, expected: str) -> None:
    check(text, expected)


def test_a_note_without_lines_has_no_place_for_a_link() -> None:
    assert linkable_lines("") == []
