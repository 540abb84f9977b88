"""Missing links as suggestions: names in running text, in both directions and languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import AccessError, CancelledError, NotFoundError
from sidelight.language.matching import spelling_pattern
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


def test_an_alias_of_a_note_with_a_chinese_path_is_a_name(tmp_path: Path) -> None:
    check(
        tmp_path,
        {"控制/定理.md": "---\naliases: [终值, Final value]\n---\n", "N.md": "先看终值。\n"},
        "N.md",
        [("N.md", "控制/定理.md", 1, "终值")],
        [],
    )


def test_alphabets_beside_chinese_are_whole_words(tmp_path: Path) -> None:
    check(
        tmp_path,
        {"Kalman.md": "用Loops滤波，闭环Loop。\n", "Loop.md": "用Ｋalman滤波器，ǅKalman不是。\n"},
        "Loop.md",
        [("Loop.md", "Kalman.md", 1, "Ｋalman")],
        [("Kalman.md", "Loop.md", 1, "Loop")],
    )


def test_places_are_right_after_characters_that_fold_to_more_or_fewer(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "N.md": "  Straße  ﬁne\u00ad, STRASSE: İ a\u0301 the Große\tFi\u00adlter.\n",
            "grosse filter.md": "",
            "fine.md": "",
        },
        "N.md",
        [("N.md", "fine.md", 1, "ﬁne"), ("N.md", "grosse filter.md", 1, "Große\tFi\u00adlter")],
        [],
    )


def test_of_many_names_in_a_long_note_the_first_are_found_by_looking_no_further(
    tmp_path: Path,
) -> None:
    """And no name has an expression of its own: 400 of them would take a second to make."""
    vault = tmp_path / "vault"
    vault.mkdir()
    names = [f"Person {one:04}x" for one in range(400)]
    for name in names:
        (vault / f"{name}.md").touch()
    lines = [f"{name} met {other}." for name, other in zip(names, names[::-1], strict=True)]
    (vault / "All.md").write_text("\n".join(lines * 50), encoding="utf-8")
    engine = Engine.open(vault, data_dir=tmp_path / "d", lexical_only=True, settings=Settings())
    looks = 0

    def count() -> bool:
        nonlocal looks
        looks += 1
        return False

    try:
        engine.sync(lexical_only=True)
        before = spelling_pattern.cache_info().misses
        found = engine.mentions("All.md", limit=20, cancelled=count)
        assert spelling_pattern.cache_info().misses - before < 10
        assert seen(found.inside)[:3] == [
            ("All.md", "Person 0000x.md", 1, "Person 0000x"),
            ("All.md", "Person 0399x.md", 1, "Person 0399x"),
            ("All.md", "Person 0001x.md", 2, "Person 0001x"),
        ]
        assert len(found.inside) == 20
        assert looks < 1_000
    finally:
        engine.close()


@pytest.mark.parametrize("before", [1, 4_090, 4_096, 4_352, 30_000])
def test_names_in_a_line_of_any_length_are_found_where_they_stand(
    tmp_path: Path, before: int
) -> None:
    check(
        tmp_path,
        {
            "N.md": f"{'茶' * before}Kalman  filter，{'茶' * before}拉普拉斯變換。\n",
            "Kalman filter.md": f"{'tea ' * before}nn and N\n",
            "拉普拉斯变换.md": "",
        },
        "N.md",
        [
            ("N.md", "Kalman filter.md", 1, "Kalman  filter"),
            ("N.md", "拉普拉斯变换.md", 1, "拉普拉斯變換"),
        ],
        [],
    )
    check(
        tmp_path / "other",
        {"A.md": f"{'tea ' * before}Loop, Loopy Looped. 茶Loop\n", "Loop.md": "x"},
        "Loop.md",
        [],
        [("A.md", "Loop.md", 1, "Loop")],
    )
    check(
        tmp_path / "inside a word",
        {"A.md": f"{'x' * before}Loop{'y' * before}\n", "Loop.md": f"{'z' * before}A\n"},
        "Loop.md",
        [],
        [],
    )


def test_of_two_names_of_a_note_at_one_place_the_longer_counts(tmp_path: Path) -> None:
    check(
        tmp_path,
        {
            "卡尔曼.md": "---\naliases: [卡尔曼滤波, Kalman, Kalman filter]\n---\n",
            "A.md": "The Kalman filter.\n",
            "B.md": "讲卡尔曼滤波。\n",
        },
        "卡尔曼.md",
        [],
        [("A.md", "卡尔曼.md", 1, "Kalman filter"), ("B.md", "卡尔曼.md", 1, "卡尔曼滤波")],
    )


@pytest.mark.parametrize("path", ["Long.md", "Line.md", "Loop.md", "Named.md"])
def test_looking_stops_as_soon_as_nobody_waits(tmp_path: Path, path: str) -> None:
    """In the lines of a note, in one long line, among the notes that name one, in one of them."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Long.md").write_text("什么也没有。\n" * 1_000, encoding="utf-8")
    (vault / "Line.md").write_text("什么也没有。" * 10_000, encoding="utf-8")
    (vault / "Loop.md").touch()
    (vault / "Named.md").touch()
    (vault / "Far.md").write_text(f"{'什么也没有。' * 10_000}Named", encoding="utf-8")
    for number in range(50):
        (vault / f"N{number}.md").write_text("# Loop\n", encoding="utf-8")
    engine = Engine.open(vault, data_dir=tmp_path / "d", lexical_only=True, settings=Settings())
    asked = iter([False] * 10)
    try:
        engine.sync(lexical_only=True)
        with pytest.raises(CancelledError):
            engine.mentions(path, cancelled=lambda: next(asked, True))
    finally:
        engine.close()


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
