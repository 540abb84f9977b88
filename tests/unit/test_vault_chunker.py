"""How notes are cut into passages; long, small, dense and empty ones."""

from __future__ import annotations

import json

import pytest

from sidelight.types import Chunk, PassageKind
from sidelight.vault.chunker import chunk_note
from sidelight.vault.markdown import parse_note
from sidelight.vault.sizes import LIMIT, TINY, WHOLE, cut_columns, size

ENGLISH = "The quick brown fox jumps over the lazy dog near the river bank today. "
CHINESE = "知识图谱把散落的笔记连成一张网，检索时才能顺着链接走下去。"


def chunks(text: str, path: str = "Note.md") -> list[Chunk]:
    return chunk_note(parse_note(path, text.encode()))


def spans(found: list[Chunk]) -> list[tuple[int | None, int | None]]:
    return [(chunk.start_line, chunk.end_line) for chunk in found]


# ----------------------------------------------------------------- faults 67, 68, 70


@pytest.mark.parametrize(("sentence", "word"), [(ENGLISH, "zyzzyva"), (CHINESE, "饕餮")])
def test_a_word_deep_in_a_long_paragraph_is_in_a_chunk(sentence: str, word: str) -> None:
    long = sentence * (8_000 // len(sentence) + 1) + word + "。" + sentence * 3
    found = chunks(long)
    holders = [chunk for chunk in found if word in chunk.text]
    assert len(holders) == 1
    (start, end) = holders[0].columns or (0, 0)
    assert long[start:end] == holders[0].text
    assert (holders[0].start_line, holders[0].end_line) == (1, 1)


@pytest.mark.parametrize("sentence", [ENGLISH, CHINESE, "x1=Y2;", "🎉👩‍👩‍👧", "字"])
def test_no_part_of_a_long_line_is_over_the_limit_and_none_is_lost(sentence: str) -> None:
    long = (sentence * 4_000)[:20_000]
    found = chunks(long)
    assert len(found) > 5
    assert all(size(chunk.text) <= LIMIT for chunk in found)
    assert "".join("".join(c.text for c in found).split()) == "".join(long.split())


@pytest.mark.parametrize("word", ["[^a]: ", "[^甲]: 注 "])
def test_footnotes_in_one_line_are_cut_once(word: str) -> None:
    found = chunks(word * 300)
    joined = "".join(chunk.text for chunk in found)
    assert "".join(joined.split()) == "".join((word * 300).split())


def test_parts_end_at_sentences_where_they_can() -> None:
    found = chunks(CHINESE * 200)
    assert all(chunk.text.endswith("。") for chunk in found)
    assert all(size(chunk.text) > LIMIT * 0.8 for chunk in found[:-1])


def test_joined_emoji_are_not_cut_apart() -> None:
    family = "👩‍👩‍👧"
    for start, end in cut_columns(family * 300, 0, len(family) * 300, LIMIT):
        assert (end - start) % len(family) == 0
        assert start % len(family) == 0


@pytest.mark.parametrize("text", ["", "  \n\t\n", "---\ntitle: 题\n---\n", "---\n---\n\n"])
def test_note_without_body_is_one_note_chunk(text: str) -> None:
    found = [chunk for chunk in chunks(text) if chunk.kind is not PassageKind.PROPERTY]
    assert [(c.kind, c.start_line, c.text, c.searchable) for c in found] == [
        (PassageKind.NOTE, None, "", False)
    ]


# ------------------------------------------------------------------------ boundaries


def test_small_blocks_of_a_section_are_one_chunk_with_the_heading() -> None:
    text = "lead\n\n# 标题\n\npara\n\n- a\n- b\n\n```\ncode\n```\n\n## Sub\n\nmore\n"
    found = chunks(text)
    assert spans(found) == [(1, 1), (3, 12), (14, 16)]
    assert [chunk.heading_path for chunk in found] == [(), ("标题",), ("标题", "Sub")]
    assert [chunk.section_index for chunk in found] == [0, 1, 2]
    assert found[1].text == "\n".join(text.split("\n")[2:12])


def test_whole_blocks_are_kept_together_up_to_the_limit() -> None:
    paragraphs = [ENGLISH * 5] * 6
    found = chunks("# H\n\n" + "\n\n".join(paragraphs))
    assert len(found) == 3
    assert found[0].start_line == 1
    assert all(chunk.columns is None and size(chunk.text) <= WHOLE for chunk in found)


@pytest.mark.parametrize("item", [ENGLISH * 2, CHINESE * 3])
def test_long_lists_are_cut_between_items(item: str) -> None:
    text = "\n".join(f"- {item}\n  second line" for _ in range(30))
    found = chunks(text)
    assert len(found) > 3
    assert all(
        chunk.text.startswith("- ") and chunk.text.endswith("second line") for chunk in found
    )


def test_parts_of_a_long_table_know_its_header() -> None:
    rows = "\n".join(f"| row {i} | {CHINESE} |" for i in range(60))
    found = chunks(f"| name | 说明 |\n| --- | --- |\n{rows}\n")
    assert len(found) > 2
    assert found[0].context == ""
    assert {chunk.context for chunk in found[1:]} == {"| name | 说明 |"}
    assert all(line.startswith("| ") for chunk in found for line in chunk.text.split("\n"))


def test_long_code_is_cut_at_line_ends() -> None:
    code = "\n".join(f"value_{i} = compute(input_{i}, 名称={i})" for i in range(200))
    found = chunks(f"```py\n{code}\n```\n")
    assert len(found) > 3
    assert "\n".join(chunk.text for chunk in found) == f"```py\n{code}\n```"


def test_blocks_up_to_the_limit_stay_whole() -> None:
    row = "| cell cell cell | 单元格 |\n"
    table = "| a | b |\n|---|---|\n" + row * 25
    found = chunks("para " * 150 + "\n\n" + table)
    assert spans(found) == [(1, 1), (3, 29)]


# --------------------------------------------------------------------------- context


def test_tiny_sections_borrow_words_and_keep_their_own_lines() -> None:
    text = f"# 项目\n\n{CHINESE * 6}\n\n## Status\n\ndone\n"
    parent, tiny = chunks(text)
    assert tiny.text == "## Status\n\ndone"
    assert size(tiny.text) < TINY
    assert tiny.context
    assert tiny.context in parent.text
    assert parent.context == ""


def test_chunk_ids_depend_on_the_note_and_its_text_alone() -> None:
    text = "# A\n\nsame\n\n# A\n\nsame\n\n# 甲\n\nsame\n"
    first, again, moved = chunks(text), chunks(text), chunks(text, "Other.md")
    assert [c.chunk_id for c in first] == [c.chunk_id for c in again]
    assert len({c.chunk_id for c in first}) == 3
    assert not {c.chunk_id for c in first} & {c.chunk_id for c in moved}
    assert all(len(c.chunk_id) == 32 for c in first)


# ---------------------------------------------------------------- properties, canvas


def test_properties_are_chunks_and_prose_is_searched() -> None:
    text = (
        "---\ntags: [a, b]\naliases: [a name that is longer than forty characters, all in all]\n"
        f"summary: {ENGLISH}\n摘要: {CHINESE}\nshort: ok\nempty:\nurl: https://example.org/{'x' * 60}\n"
        f'up: "[[{"long name " * 6}]]"\n---\nbody\n'
    )
    found = [chunk for chunk in chunks(text) if chunk.kind is PassageKind.PROPERTY]
    assert [(c.node, c.start_line, c.searchable) for c in found] == [
        ("tags", 2, False),
        ("aliases", 3, False),
        ("summary", 4, True),
        ("摘要", 5, True),
        ("short", 6, False),
        ("url", 8, False),
        ("up", 9, False),
    ]
    assert found[3].text == f"摘要: {CHINESE}"


def test_words_between_two_rules_at_the_start_are_still_found() -> None:
    (block, _) = chunks("---\nWent to: the park\nwith 小明\n---\nbody\n")
    assert (block.kind, block.start_line, block.end_line) == (PassageKind.PROPERTY, 2, 3)
    assert block.searchable
    (broken, _) = chunks("---\ntitle: [oops\n---\nbody\n")
    assert not broken.searchable


def test_canvas_cards_are_chunks_and_long_ones_are_cut() -> None:
    nodes = [
        {"id": "a", "type": "text", "text": "# 卡片\n短"},
        {"id": "b", "type": "text", "text": ENGLISH * 40},
        {"id": "c", "type": "text", "text": " "},
    ]
    found = chunks(json.dumps({"nodes": nodes}), "图.canvas")
    assert (found[0].node, found[0].text, found[0].columns) == ("a", "# 卡片\n短", None)
    assert {chunk.node for chunk in found[1:]} == {"b"}
    for chunk in found[1:]:
        start, end = chunk.columns or (0, 0)
        assert (ENGLISH * 40)[start:end] == chunk.text
    assert all(c.kind is PassageKind.CANVAS and c.start_line is None for c in found)


def test_empty_canvas_is_one_note_chunk() -> None:
    assert [c.kind for c in chunks("{}", "图.canvas")] == [PassageKind.NOTE]


# ----------------------------------------------------------------------------- noise


@pytest.mark.parametrize(
    "text",
    [
        "```compressed-json\n"
        + "N4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCpAzoQPYB2KqATLZMz\n" * 40
        + "```",
        '```json\n{"type": "excalidraw", "elements": [' + '{"x": 1},' * 400 + "]}\n```",
        "![](data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 200 + ")",
        "var a=function(b,c){return b+c};" * 60,
    ],
)
def test_drawings_blobs_and_minified_lines_are_kept_but_not_searched(text: str) -> None:
    found = chunks(f"# 标题\n\n正文 words\n\n{text}\n\nafter 之后\n")
    data = [chunk for chunk in found if not chunk.searchable]
    words = [chunk for chunk in found if chunk.searchable]
    assert data
    assert "".join(chunk.text for chunk in words).replace("\n", "") == "# 标题正文 wordsafter 之后"
    assert all(size(chunk.text) <= WHOLE for chunk in found)


def test_words_beside_a_blob_are_still_searched() -> None:
    found = chunks(f"{ENGLISH * 8}![图](data:image/png;base64,{'iVBORw0KGgo' * 300}) {CHINESE * 8}")
    searched = "".join(chunk.text for chunk in found if chunk.searchable)
    assert ENGLISH.strip() in searched
    assert CHINESE in searched
    assert searched.count("iVBORw0KGgo") < 60


def test_drawing_notes_hide_their_json_and_keep_their_texts() -> None:
    text = (
        "---\nexcalidraw-plugin: parsed\n---\n# Text Elements\n手写的字 ^abc\n\n%%\n# Drawing\n"
        '```json\n{"elements": []}\n```\n%%'
    )
    found = [c for c in chunks(text, "图.excalidraw.md") if c.kind is PassageKind.LINES]
    assert [(c.searchable, c.start_line) for c in found] == [(True, 4), (False, 7)]


@pytest.mark.parametrize(
    "text",
    [
        CHINESE * 40,
        ENGLISH * 20,
        "Слово за словом, " * 40,
        f"- {CHINESE}[下载](https://example.org/{'%E8%B5' * 80}) later",
        f"4. See the [uses](https://example.org/?q={'a+b%20' * 60}) so far",
        f"<table><tr>{'<td>单元格</td><td>cell words</td>' * 20}</tr></table>",
        f"| a | b |\n| {'-' * 200} | {'-' * 200} |\n| 甲 | b |",
    ],
)
def test_long_lines_of_prose_are_searched(text: str) -> None:
    assert all(chunk.searchable for chunk in chunks(text))


@pytest.mark.parametrize("text", ["---x---", "***", "| | |\n|-|-|\n| | |"])
def test_only_what_has_a_word_is_searched(text: str) -> None:
    assert [chunk.searchable for chunk in chunks(text)] == ["x" in text]
