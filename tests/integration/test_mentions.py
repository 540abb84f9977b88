"""Missing links as suggestions: names in running text, in both directions and languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import AccessError, NotFoundError
from sidelight.types import Mention

Seen = list[tuple[str, str, int, str]]


def seen(mentions: tuple[Mention, ...]) -> Seen:
    """From, to, line and the text as it stands there."""
    return [
        (m.source_path, m.target_path, m.line, m.line_text[slice(*m.columns)]) for m in mentions
    ]


def check(
    folder: Path, notes: dict[str, str], path: str, inside: Seen, outside: Seen, **options: str
) -> None:
    vault = folder / "vault"
    for name, text in notes.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_bytes(text.encode("utf-8"))
    engine = Engine.open(vault, data_dir=folder / "data", lexical_only=True, settings=Settings())
    try:
        engine.sync(lexical_only=True)
        found = engine.mentions(path, options.get("buffer"))
        assert seen(found.inside) == inside
        assert seen(found.outside) == outside
    finally:
        engine.close()


def test_names_without_a_link_are_found_in_both_directions(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "Loop.md": "# Loop\n\nA kalman  filter feeds the closed loop.\n",
            "Control/Kalman filter.md": "# Kalman filter\n\nNothing of it.\n",
            "Diary.md": "Today: loop, and the loop again.\n\nLoopy is another word.\n",
        },
        "Loop.md",
        [("Loop.md", "Control/Kalman filter.md", 3, "kalman  filter")],
        [("Diary.md", "Loop.md", 1, "loop")],
    )


def test_chinese_names_are_found_in_every_spelling_and_inside_sentences(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "闭环.md": "先看拉普拉斯變換，再看终值。\n",
            "控制/拉普拉斯变换.md": "---\naliases: [终值]\n---\n这里讲闭环。\n",
            "一.md": "一\n",
        },
        "闭环.md",
        [("闭环.md", "控制/拉普拉斯变换.md", 1, "拉普拉斯變換")],
        [("控制/拉普拉斯变换.md", "闭环.md", 4, "闭环")],
    )


def test_an_alias_is_a_name(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "Person.md": "---\naliases: [Keeper of tides, 潮汐员]\n---\n",
            "A.md": "The keeper of tides came.\n",
            "B.md": "潮汐员来了。\n",
        },
        "Person.md",
        [],
        [("A.md", "Person.md", 1, "keeper of tides"), ("B.md", "Person.md", 1, "潮汐员")],
    )


def test_notes_that_are_linked_already_are_no_suggestion(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "Loop.md": "[[Kalman]] and Kalman again; 卡尔曼 as [x](卡尔曼.md).\n",
            "Kalman.md": "The loop, see [[Loop#Part]].\n",
            "卡尔曼.md": "Loop\n",
        },
        "Loop.md",
        [],
        [("卡尔曼.md", "Loop.md", 1, "Loop")],
    )


def test_code_headings_tables_and_links_to_others_are_left_alone(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "Loop.md": "# Kalman\n\n`Kalman`\n\n| Kalman |\n|---|\n\n[[Other|Kalman]]\n",
            "Kalman.md": "```\nLoop\n```\n",
            "Other.md": "x\n",
        },
        "Loop.md",
        [],
        [],
    )


def test_of_two_names_at_one_place_the_longer_one_counts(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "N.md": "The Kalman filter design; 卡尔曼滤波器。\n",
            "Kalman filter.md": "",
            "Kalman filter design.md": "",
            "卡尔曼.md": "",
            "卡尔曼滤波器.md": "",
        },
        "N.md",
        [
            ("N.md", "Kalman filter design.md", 1, "Kalman filter design"),
            ("N.md", "卡尔曼滤波器.md", 1, "卡尔曼滤波器"),
        ],
        [],
    )


def test_short_and_empty_words_name_nothing(tmp_path: Path) -> None:
    notes = {"N.md": "It is about 12 of them, 的 2024-10-03.\n", "2024-10-03.md": ""}
    notes |= {f"{name}.md": "" for name in ("it", "about", "12", "的", "of")}
    check(tmp_path, notes, "N.md", [("N.md", "2024-10-03.md", 1, "2024-10-03")], [])


def test_the_editors_text_counts_instead_of_the_file(tmp_path: Path) -> None:
    check(
        tmp_path,
        {"N.md": "Nothing.\n", "Kalman.md": ""},
        "N.md",
        [("N.md", "Kalman.md", 2, "Kalman")],
        [],
        buffer="🍵\n🍵 Kalman",
    )


@pytest.mark.parametrize(
    ("path", "error"), [("../out.md", AccessError), ("没有.md", NotFoundError)]
)
def test_a_note_that_may_not_be_read_is_refused(
    tmp_path: Path, path: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        check(tmp_path, {"N.md": "x\n"}, path, [], [])
