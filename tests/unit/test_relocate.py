"""Single rules of the live-citation resolver, each in the smallest note that needs it."""

from __future__ import annotations

import json
import random

import pytest

from sidelight.types import Citation, Match, Passage, PassageKind, heading_path_at
from sidelight.vault.markdown import parse_note
from sidelight.vault.relocate import relocate


def check(before: str, lines: tuple[int, int], after: str) -> tuple[int, int, str] | str:
    """Where a range of lines went: its lines and match, or why it is lost."""
    old, new = parse_note("Note.md", before.encode()), parse_note("Note.md", after.encode())
    text = "\n".join(old.lines[lines[0] - 1 : lines[1]])
    path = heading_path_at(old.blocks, lines[0])
    passage = Passage(PassageKind.LINES, path, *lines, None, None, text)
    return shown(relocate(old, passage, new))


def shown(citation: Citation) -> tuple[int, int, str] | str:
    if citation.match is None:
        assert citation.start_line is None
        return citation.why
    assert citation.start_line is not None
    assert citation.end_line is not None
    return citation.start_line, citation.end_line, citation.match.value


def check_part(before: str, part: str, after: str) -> str | None:
    """The text shown for a part of the note's first long line; None if it is lost."""
    old, new = parse_note("Note.md", before.encode()), parse_note("Note.md", after.encode())
    number = next(i for i, line in enumerate(old.lines, 1) if part in line)
    start = old.lines[number - 1].index(part)
    columns = (start, start + len(part))
    path = heading_path_at(old.blocks, number)
    passage = Passage(PassageKind.LINES, path, number, number, columns, None, part)
    citation = relocate(old, passage, new)
    if citation.match is None:
        return None
    if citation.columns is not None:
        assert citation.start_line is not None
        assert new.lines[citation.start_line - 1][slice(*citation.columns)] == citation.text
    return citation.text


# ------------------------------------------------------------------ field reports


@pytest.mark.parametrize(
    "text", ["The lamp on the pier is lit at dusk.", "码头上的灯在黄昏时点亮。"]
)
def test_lines_inserted_above_move_the_range_down(text: str) -> None:  # 113
    before = f"# Log\n\n{text}\n"
    after = f"# Log\n\none\ntwo\nthree\n\n{text}\n"
    assert check(before, (3, 3), after) == (7, 7, "exact")


@pytest.mark.parametrize(
    ("old", "new"),
    [("apple", "apples"), ("apple", "apply"), ("买五个苹果", "买六个苹果"), ("ab12", "ab13")],
)
def test_a_few_letters_are_never_found_by_likeness(old: str, new: str) -> None:  # 115
    assert isinstance(check(f"# A\n\n{old}\n", (3, 3), f"# A\n\n{new}\n"), str)


@pytest.mark.parametrize("text", ["- [ ] tea", "- [ ] 买牛奶"])
def test_a_few_letters_are_found_if_only_a_tick_changed(text: str) -> None:
    before = f"# A\n\n{text}\n- [ ] call\n"
    ticked = before.replace(text, text.replace("[ ]", "[x]"))
    assert check(before, (3, 3), ticked) == (3, 3, "similar")
    assert "too short" in str(check("# A\n\n## Soil\n", (3, 3), "# A\n\n### Soil\n"))


@pytest.mark.parametrize(
    "text", ["A paragraph that will be gone tomorrow.", "明天就会消失的一段话。"]
)
def test_a_deleted_paragraph_is_reported_missing(text: str) -> None:  # 116
    assert (
        check(f"# A\n\n{text}\n\nrest\n", (3, 3), "# A\n\nrest\n") == "nothing is like the passage"
    )


@pytest.mark.parametrize("text", ["The same sentence stands here.", "同一句话写在这里。"])
def test_the_cited_one_of_two_equal_sentences_is_opened(text: str) -> None:  # 118
    before = f"# One\n\n{text}\n\n# Two\n\n{text}\n"
    assert check(before, (7, 7), "new line\n\n" + before) == (9, 9, "exact")
    assert check(before, (3, 3), "new line\n\n" + before) == (5, 5, "exact")


def test_the_end_moves_with_the_start_when_text_above_shrinks() -> None:  # 119
    before = "# A\n\n" + "x" * 150 + "\nmore\n\nfirst line of the hit\nsecond line of the hit\n"
    after = "# A\n\n" + "x" * 50 + "\n\nfirst line of the hit\nsecond line of the hit\n"
    assert check(before, (6, 7), after) == (5, 6, "exact")


# ------------------------------------------------------------------ lines


def test_a_copy_left_between_other_neighbours_is_not_taken_for_the_cited_one() -> None:
    before = "# A\n\none\nsame text here\ntwo\n\nthree\nsame text here\nfour\n"
    after = "# B\n\none\nsame text here\ntwo\n\nthree\nfour\n"
    assert check(before, (4, 4), after) == (4, 4, "exact")
    assert "another copy" in str(check(before, (8, 8), after))


@pytest.mark.parametrize("text", ["Two copies under new headings.", "新标题下的两份同样的文字。"])
def test_of_two_copies_under_new_headings_neither_is_taken(text: str) -> None:
    after = f"# B\n\n{text}\n\n# C\n\n{text}\n"
    assert "may be another copy" in str(check(f"# A\n\n{text}\n", (3, 3), after))


def test_the_copy_left_beside_a_neighbour_of_the_cited_one_is_taken() -> None:
    before = "# A\n\none\nsame text here\ntwo\n\n# B\n\nthree\nsame text here\nfour\n"
    after = "# C\n\none\nsame text here\nnew\n\n# B\n\nthree\nfour\n"
    assert check(before, (4, 4), after) == (4, 4, "exact")
    assert "another copy" in str(check(before, (10, 10), after))


def test_the_copy_left_of_two_in_a_row_is_not_taken_for_the_cited_one() -> None:
    before = "# A\n\nsame text here\nsame text here\ntwo\n"
    assert "vanished" in str(check(before, (4, 4), "# B\n\nsame text here\ntwo\n"))


@pytest.mark.parametrize(
    ("text", "now"),
    [
        ("| rope | | lamp | | --- | --- |", "| 12 | | 345 | | --- | --- |"),
        ("| 绳子绳子 | | 灯灯 | | --- | --- |", "| 12 | | 345 | | --- | --- |"),
    ],
)
def test_marks_alone_do_not_make_a_text_like_another(text: str, now: str) -> None:
    got = check(f"# A\n\n{text}\n", (3, 3), f"# A\n\n{now}\n")
    assert got == "what is like the passage has other words"


@pytest.mark.parametrize("text", ["Nobody is blocked and nothing is late.", "没有人被卡住。"])
def test_several_copies_that_were_not_there_before_are_none(text: str) -> None:
    before = f"# A\n\n{text}\n\n# B\n\n{text}\n"
    after = f"# C\n\n{text}\n\n# D\n\n{text}\n\n# B\n\n{text}\n"
    assert "may be another copy" in str(check(before, (3, 3), after))


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("The drip lines run at dawn.", "The drip lines run at noon."),
        ("滴灌在清晨运行二十分钟。", "滴灌在傍晚运行二十分钟。"),
    ],
)
def test_of_two_equal_texts_the_one_under_the_heading_changed(text: str, edited: str) -> None:
    before = f"# A\n\n{text}\n\n# B\n\nx\n\n{text}\n"
    after = f"# A\n\n# B\n\nx\n\n{edited}\n"
    assert check(before, (9, 9), after) == (7, 7, "similar")
    assert "more like another" in str(check(before, (3, 3), after))
    under_one = before.replace("# B\n\n", ""), after.replace("# B\n\n", "")
    for lines in ((3, 3), (7, 7)):
        assert "more like another" in str(check(under_one[0], lines, under_one[1]))


def test_a_text_whose_letters_stand_far_apart_is_not_like_the_passage() -> None:
    before = "# A\n\nthe boat leaves at nine from the old pier\n"
    scattered = "# A\n\nthm boit leaves axt hnanxeefr oe t old pier\n"
    assert check(before, (3, 3), scattered) == "nothing is like the passage"


def test_a_passage_is_sought_in_at_most_twice_its_lines_and_two() -> None:
    before = "# A\n\nriver garden winter ledger harbour copper window station\n"
    after = "# A\n\nriver garden\nwinter ledger\nharbour old\ncopper window\nstation\n"
    assert check(before, (3, 3), after) == (3, 6, "similar")


def test_of_runs_as_like_the_one_with_fewest_lines_is_shown() -> None:
    before, after = "# A\n\nriver garden winter\n", "# A\n\nriver garden wis\nbntetb\n"
    assert check(before, (3, 3), after) == (3, 3, "similar")


def test_the_last_copy_between_strangers_is_not_taken_for_the_cited_one() -> None:
    text = "Nobody is blocked and nothing is late."
    before = f"# A\n\n{text}\n\n# B\n\n{text}\n\n# C\n\nend\n"
    assert "vanished" in str(check(before, (3, 3), f"# D\n\n{text}\n\n# E\n\nend\n"))


def test_a_line_of_the_passage_may_stand_elsewhere_too() -> None:
    before = "# A\n\nriver garden winter\n***\nledger harbour copper\n\n# B\n\n***\n"
    after = before.replace("winter", "winters")
    assert check(before, (3, 5), after) == (3, 5, "similar")


@pytest.mark.parametrize(("count", "words"), [(60, 6), (20, 14), (12, 60)])
def test_a_passage_of_many_lines_is_found_when_two_of_them_change(count: int, words: int) -> None:
    rng = random.Random(count)
    lines = [" ".join(rng.choice(ENGLISH[0].split()) for _ in range(words)) for _ in range(count)]
    before = "# A\n\n" + "\n".join(lines) + "\n\n# B\n\nend\n"
    lines[2] += " changed"
    lines[7] = "other " + lines[7]
    for head in ("A", "C"):
        after = f"# {head}\n\nnew\n\n" + "\n".join(lines) + "\n\n# B\n\nend\n"
        assert check(before, (3, count + 2), after) == (5, count + 4, "similar")


def test_a_text_that_stood_elsewhere_before_is_not_taken_for_the_passage() -> None:
    text = "the harbour master keeps the spare rope and the lamp"
    before = f"intro\n{text}\nend of it\nintro\n{text}\n## Log\n"
    after = f"intro\n{text}\nend of it\n## Log\n{text}\n"
    assert "more like another" in str(check(before, (5, 6), after))


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("the harbour master keeps the spare rope and the lamp", "Work until six."),
        ("三月底去京都，清早先到清水寺，再坐电车去伏见稻荷大社。", "工作到六点。"),
    ],
)
def test_a_copy_under_another_heading_does_not_hide_what_is_left(text: str, rest: str) -> None:
    before = f"# A\n\n{text}\n\n# B\n\n{text}\n\n{rest}\n\n# C\n\nend\n"
    after = f"# A\n\n{text}\n\n# B\n\nmore\n\n{text}\n\n# C\n\nend\n"
    assert check(before, (7, 9), after) == (9, 9, "similar")


@pytest.mark.parametrize(
    "row", ["| Name | Remark of the week | Amount |", "| 城市 | 本周的备注和说明 | 价格 |"]
)
def test_a_passage_whose_lines_stand_elsewhere_is_not_taken_from_new_ones(row: str) -> None:
    before = f"intro\n\n### Log\n\n{row}\n| --- | --- | --- |\n| a | ticket | 212 |\n"
    new = f"{row}\n| --- | --- | --- |\n| for | invoice | 209 |\n"
    after = f"intro\n{row}\n{new}| --- | --- | --- |\n| a | ticket | 212 |\n"
    assert "more like another" in str(check(before, (3, 6), after))


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("- [ ] plan the summer bridge and bring a ticket", "- [ ] plan a summer bridge and bring a ticket"),
        ("- [ ] 四月初去奈良，中午先喂鹿，再坐电车回来", "- [ ] 五月初去奈良，中午先喂鹿，再坐电车回来"),
    ],
)  # fmt: skip
def test_of_equal_lines_that_went_none_is_taken_for_the_edited_one(text: str, edited: str) -> None:
    before = f"{text}\n\nother things\n\n{text}\n\n{text}\n"
    assert "more like another" in str(
        check(before, (5, 7), f"{edited}\n\n{text}\n\nother things\n")
    )
    alone = "码头上的灯 words of its own"
    before = f"start\n\n{text}\n{alone}\n\nend\n\nmiddle\n\n{text}\n"
    after = f"other\n\n{edited}\n{alone}\n\nanother\n"
    assert check(before, (3, 4), after) == (3, 4, "similar")


def test_an_edited_twin_is_not_taken_for_a_deleted_passage() -> None:
    before = (
        "# Sales\n\nIn the northern region revenue grew by four percent in the second quarter.\n\n"
        "In the southern region revenue grew by nine percent in the second quarter.\n"
    )
    after = "# Sales\n\nIn the southern region revenue grew by ten percent in the second quarter.\n"
    assert "more like another text" in str(check(before, (3, 3), after))
    assert check(before, (5, 5), after) == (3, 3, "similar")


def test_a_twin_that_stands_unchanged_does_not_hide_an_edited_passage() -> None:
    twin = "In the southern region revenue grew by nine percent in the second quarter."
    before = f"# Sales\n\nIn the northern region revenue grew by four percent in the second quarter.\n\n{twin}\n"
    after = before.replace("four", "nine")
    assert check(before, (3, 3), after) == (3, 3, "similar")


def test_a_blank_line_put_into_an_edited_paragraph_is_part_of_it() -> None:
    before = (
        "# A\n\nThe ferry leaves at seven from the old pier and returns at nine in the evening.\n"
    )
    after = "# A\n\nThe ferry leaves at eight from the old pier\n\nand returns at nine in the evening.\n"
    assert check(before, (3, 3), after) == (3, 5, "similar")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Bring rope and lamp to the boat on Monday.",
            "Bring rope and lamp to the boat on Sunday.",
        ),
        ("周一把绳子和灯带到船上去交给船长。", "周日把绳子和灯带到船上去交给船长。"),
    ],
)
def test_of_two_places_alike_the_one_under_the_heading_is_taken(one: str, other: str) -> None:
    before = f"# A\n\n{one}\n\n# B\n\nnothing\n"
    both = f"# A\n\n{other}\n\n# B\n\n{other}\n"
    assert check(before, (3, 3), both) == (3, 3, "similar")
    closer = both.replace(f"# B\n\n{other}", f"# B\n\n{one}!")
    assert check(before, (3, 3), closer) == (3, 3, "similar")
    assert check(before, (3, 3), f"# A\n\n{other}\n\nx\n\n{other}\n") == (
        "several places are like the passage"
    )
    assert check(before, (3, 3), f"# C\n\n{other}\n\n# D\n\n{other}\n") == (
        "several places are like the passage"
    )


def test_text_in_the_frontmatter_is_no_candidate() -> None:
    before = "# A\n\nowner: Kim and the others of the team\n"
    after = "---\nowner: Kim and the others of the team\n---\n# A\n"
    assert check(before, (3, 3), after) == "nothing is like the passage"


def test_a_line_that_only_contains_the_passage_is_not_exact() -> None:
    before = "# A\n\nthe harbour closes at nine\n"
    assert check(before, (3, 3), "# A\n\nwe said the harbour closes at nine\n") == (3, 3, "similar")


# ------------------------------------------------------------------ parts of a long line

ENGLISH = [f"Sentence number {i} tells of {w} and little else." for i, w in enumerate("abcdefgh")]
CHINESE = [f"第{i}句话讲的是{w}的事情，别的不多。" for i, w in enumerate("春夏秋冬山水花鸟")]


@pytest.mark.parametrize(("parts", "joint"), [(ENGLISH, " "), (CHINESE, "")], ids=["en", "zh"])
def test_part_of_a_long_line_is_found_by_its_sentences(parts: list[str], joint: str) -> None:
    before = joint.join(parts)
    cited = joint.join(parts[3:5])
    moved = joint.join([*parts[5:], *parts[:5]])
    assert check_part(before, cited, moved) == cited
    changed = parts[4].replace("little", "not much").replace("不多", "很少")
    edited = joint.join([*parts[:4], changed, *parts[5:]])
    assert check_part(before, cited, edited) == joint.join([parts[3], changed])
    assert check_part(before, cited, joint.join(parts[:3] + parts[5:])) is None


def test_sentences_without_a_space_between_are_found_as_they_stood() -> None:
    old, new = "".join(CHINESE), "".join([*CHINESE[5:], *CHINESE[:5]])
    cited = "".join(CHINESE[3:5])
    columns = (old.index(cited), old.index(cited) + len(cited))
    passage = Passage(PassageKind.LINES, (), 1, 1, columns, None, cited)
    notes = (parse_note("Note.md", text.encode()) for text in (old, new))
    citation = relocate(next(notes), passage, next(notes))
    assert (citation.match, citation.text) == (Match.EXACT, cited)


def test_part_of_a_line_that_was_wrapped_is_shown_as_whole_lines() -> None:
    cited = " ".join(ENGLISH[3:5])
    wrapped = " ".join(ENGLISH[:3]) + "\n" + ENGLISH[3] + "\n" + " ".join(ENGLISH[4:])
    assert check_part(" ".join(ENGLISH), cited, wrapped) == ENGLISH[3] + "\n" + " ".join(
        ENGLISH[4:]
    )


def test_a_part_cut_inside_a_sentence_keeps_its_columns() -> None:
    data = "".join(f"{i:04x}é" for i in range(400))
    cited = data[500:900]
    assert check_part(data, cited, "zz" + data) == cited
    assert check_part(data, cited, data[:300] + "中" + data[300:] + "end") == cited


def test_the_copy_that_ends_the_sentence_is_taken_where_one_stands_inside_it() -> None:
    before = "One more thing. Far too much.x Far too much. And so on it goes for ever."
    assert check_part(before, "Far too much. And so on it goes for ever.", "Well. " + before) == (
        "Far too much. And so on it goes for ever."
    )


def test_a_part_cut_inside_a_sentence_is_not_taken_from_another_sentence() -> None:
    before = "Harbour lamps are lit. Harbour lamps never fail. Harbour lamps are lit. More."
    after = "Harbour lamps are lit. Harbour lamps are lit. Harbour lamps never fail. More."
    cited = "Harbour lamps"
    old, new = (parse_note("Note.md", text.encode()) for text in (before, after))
    start = before.index(cited + " never")
    columns = (start, start + len(cited))
    passage = Passage(PassageKind.LINES, (), 1, 1, columns, None, cited)
    there = after.index(cited + " never")
    assert relocate(old, passage, new).columns == (there, there + len(cited))


# ------------------------------------------------------------------ properties, cards, notes


def check_property(before: str, key: str, after: str) -> tuple[int, int, str] | str:
    old, new = parse_note("Note.md", before.encode()), parse_note("Note.md", after.encode())
    entry = next(p for p in old.frontmatter.properties if p.key == key)
    text = "\n".join(old.lines[entry.start_line - 1 : entry.end_line])
    passage = Passage(PassageKind.PROPERTY, (), entry.start_line, entry.end_line, None, key, text)
    return shown(relocate(old, passage, new))


@pytest.mark.parametrize(
    ("key", "value", "edited"),
    [
        ("summary", "how the ferry runs in winter", "how the ferry runs in the winter"),
        ("摘要", "冬天渡轮如何运行的说明", "冬天渡轮如何运行的简短说明"),
    ],
)
def test_a_property_is_found_by_key_and_value(key: str, value: str, edited: str) -> None:
    before = f"---\n{key}: {value}\n---\ntext\n"
    assert check_property(before, key, f"---\na: 1\n{key}:   {value}\n---\n") == (3, 3, "exact")
    assert check_property(before, key, f"---\n{key}:   '{value}'\n---\n") == (2, 2, "similar")
    assert check_property(before, key, f"---\n{key}: {edited}\n---\n") == (2, 2, "similar")
    assert check_property(before, key, f"---\nother: {value}\n---\n") == "the property is gone"
    assert check_property(before, key, "text\n") == "the property is gone"


@pytest.mark.parametrize(
    ("old", "new"), [("draft", "drafts"), ("1", "true"), ("1", "1.0"), ("[a]", "[a, b]")]
)
def test_another_value_is_another_property(old: str, new: str) -> None:
    got = check_property(f"---\nk: {old}\n---\n", "k", f"---\nk: {new}\n---\n")
    assert got == "the value of the property is another"


@pytest.mark.parametrize(
    ("value", "comment", "other"),
    [("high", "# of the week", "# of the month"), ("高", "# 本周", "# 本月")],
)
def test_a_property_with_another_comment_is_not_shown_as_it_was(
    value: str, comment: str, other: str
) -> None:
    before = f"---\nrank: {value} {comment}\n---\n"
    assert check_property(before, "rank", f"---\nrank: {value} {other}\n---\n") == (
        2,
        2,
        "similar",
    )
    assert check_property(before, "rank", f"---\na: 1\nrank: {value}  {comment}\n---\n") == (
        3,
        3,
        "exact",
    )


@pytest.mark.parametrize(
    ("one", "other", "nearer"),
    [
        (
            "how the ferry runs in winter storms",
            "how the ferry runs in summer storms",
            "how a ferry runs in summer storms",
        ),
        (
            "冬天渡轮在大风中如何运行的说明和全部注意事项",
            "夏天渡轮在大风中如何运行的说明和全部注意事项",
            "夏天渡轮在风中如何运行的说明和全部注意事项",
        ),
    ],
)
def test_a_value_that_stood_under_another_key_is_not_this_ones_edited_value(
    one: str, other: str, nearer: str
) -> None:
    before = f"---\na: {one}\nb: {other}\n---\n"
    anothers = "the value is that of another property"
    for key, after in [
        ("a", f"a: {other}\nb: {one}"),
        ("b", f"a: {other}\nb: {one}"),
        ("a", f"a: '{other}'  # once b\nb: {other}"),
        ("a", f"a: {nearer}"),
    ]:
        assert check_property(before, key, f"---\n{after}\n---\n") == anothers
    # The other one stands as it was: this one was edited to be like it.
    assert check_property(before, "a", f"---\na: {nearer}\nb: {other}\n---\n") == (
        2,
        2,
        "similar",
    )


def card(node: str, text: str) -> dict[str, object]:
    return {"id": node, "type": "text", "text": text}


def check_card(before: list[dict[str, object]], after: list[dict[str, object]]) -> str | None:
    """The card that the first one of `before` is found in."""
    citation = card_now(before, after)
    return citation.node if citation.match else None


def card_now(
    before: list[dict[str, object]], after: list[dict[str, object]], part: str | None = None
) -> Citation:
    """Where the first card of `before`, or a part of it, is now."""
    old, new = (
        parse_note("Board.canvas", json.dumps({"nodes": nodes}).encode())
        for nodes in (before, after)
    )
    first = old.canvas_nodes[0]
    text = first.text if part is None else part
    start = first.text.index(text)
    columns = None if part is None else (start, start + len(text))
    passage = Passage(PassageKind.CANVAS, (), None, None, columns, first.id, text)
    return relocate(old, passage, new)


@pytest.mark.parametrize(
    "text", ["Ask the captain about the spare rope.", "向船长要一根备用的绳子。"]
)
def test_a_card_is_found_by_id_then_by_unique_text_then_by_likeness(text: str) -> None:
    before = [card("a", text), card("b", "other")]
    assert check_card(before, [card("b", text), card("a", text)]) == "a"
    assert check_card(before, [card("z", text), card("b", "other")]) == "z"
    assert check_card(before, [card("y", text), card("z", text)]) is None
    assert check_card(before, [card("a", text + "!"), card("b", "other")]) == "a"
    assert check_card(before, [card("a", "something else"), card("b", "other")]) is None
    assert check_card(before, [card("a", "something else"), card("z", text)]) == "z"


def test_a_cards_text_is_not_taken_from_its_twin() -> None:
    twins = [card("a", "the same words on two cards"), card("b", "the same words on two cards")]
    assert check_card(twins, [twins[1]]) is None


CARDS = [
    (
        "Plan the gazebo party with raspberry juice",
        "Plan the gazebo party with lemonade 🍋",
        "Plan the gazebo party with lemonade",
    ),
    (
        "凉亭聚会的准备：桌椅、灯和树莓汁",
        "凉亭聚会的准备：桌椅、灯和柠檬水 🍋",
        "凉亭聚会的准备：桌椅、灯和柠檬水",
    ),
]


@pytest.mark.parametrize(("mine", "theirs", "nearer"), CARDS)
def test_a_text_that_stood_in_another_card_is_not_this_ones_edited_text(
    mine: str, theirs: str, nearer: str
) -> None:
    before = [card("n2", mine), card("n1", theirs)]
    assert check_card(before, [card("n2", theirs)]) is None
    assert check_card(before, [card("n2", theirs), card("n1", theirs)]) is None
    assert check_card(before, [card("n2", nearer)]) is None  # what was edited is n1's text
    assert check_card(before, [card("n2", nearer), card("n1", theirs)]) == "n2"
    assert check_card(before, [card("n2", f"{mine}!")]) == "n2"
    # Nor where it shares lines with this one's.
    shared = "Bring the long table\n带上长桌子"
    several = [card("n2", f"{mine}\n{shared}"), card("n1", f"{theirs}\n{shared}")]
    swapped = [card("n2", f"{nearer}\n{shared}"), card("n1", f"{mine}!\n{shared}")]
    assert check_card(several, swapped) is None
    assert check_card(several, [swapped[0], several[1]]) == "n2"
    assert check_card(before, [card("n2", f"{theirs}\n{mine}!"), card("n1", theirs)]) == "n2"
    # In lines of other lengths it is the same text.
    cut = theirs[:12] + "\n" + theirs[12:].strip() if " " in theirs[:20] else theirs + "\n🎏"
    assert check_card([before[0], card("n1", cut)], [card("n2", cut)]) is None
    one_line = card("n2", cut.replace("\n", " "))
    assert check_card([before[0], card("n1", cut)], [one_line]) is None
    assert check_card([before[0], card("n1", cut)], [one_line, card("n1", cut)]) is None


@pytest.mark.parametrize(("mine", "theirs", "nearer"), CARDS)
def test_a_sentence_that_stood_in_another_card_is_not_a_part_of_this_one(
    mine: str, theirs: str, nearer: str
) -> None:
    mine, theirs, nearer = (f"{text}。" for text in (mine, theirs, nearer))
    rest = "The pier is long. 码头很长。"
    before = [card("n2", mine + rest), card("n1", rest + theirs)]
    for now in (theirs, nearer):
        assert card_now(before, [card("n2", now + rest)], mine).match is None
    kept = card_now(before, [card("n2", nearer + rest), before[1]], mine)
    assert (kept.match, kept.text) == (Match.SIMILAR, nearer)


def test_a_twin_that_was_deleted_does_not_hide_an_edited_card() -> None:
    for text in ("the same words on two cards", "两张卡片上的同一句话在这里"):
        twins = [card("a", text), card("b", text)]
        assert check_card(twins, [card("a", text + "!")]) == "a"


def nameless(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    "text", ["Ask the captain about the spare rope.", "向船长要一根备用的绳子。"]
)
def test_a_card_without_an_id_is_found_by_its_text_alone(text: str) -> None:
    other = card("b", "other")
    edited = text + "!"
    assert check_card([nameless(text), other], [other, nameless(text)]) == "1"
    assert check_card([nameless(text), other], [other, card("c", text)]) == "c"
    for there in (nameless(edited), card("0", edited)):
        assert check_card([nameless(text), other], [there, other]) is None
    # Nor is one that has an id found by the place of one that has none, or by a shared id.
    assert check_card([card("0", text), other], [nameless(edited), other]) is None
    assert check_card([card("a", text), other], [card("a", edited), card("a", "x")]) is None
    assert check_card([card("a", text), card("a", "x")], [card("a", edited)]) is None


@pytest.mark.parametrize("joint", [" ", "\n"])
def test_part_of_a_long_card_is_found_in_it(joint: str) -> None:
    text = joint.join(ENGLISH)
    start = text.index(ENGLISH[2])
    columns = (start, start + len(ENGLISH[2]))
    old = parse_note("B.canvas", json.dumps({"nodes": [card("a", text)]}).encode())
    new = parse_note("B.canvas", json.dumps({"nodes": [card("a", "New. " + text)]}).encode())
    passage = Passage(PassageKind.CANVAS, (), None, None, columns, "a", ENGLISH[2])
    citation = relocate(old, passage, new)
    assert (citation.match, citation.text) == (Match.EXACT, ENGLISH[2])
    assert citation.columns == (columns[0] + 5, columns[1] + 5)


def test_a_note_cited_as_a_whole_is_there_as_long_as_its_file() -> None:
    old, new = parse_note("空.md", b""), parse_note("空.md", b"no longer empty\n")
    passage = Passage(PassageKind.NOTE, (), None, None, None, None, "")
    assert relocate(old, passage, new).match is Match.EXACT
