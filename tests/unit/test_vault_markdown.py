"""What the parser sees in a note, each fault from the field in English and in Chinese."""

from __future__ import annotations

import json
from datetime import date

import pytest

from sidelight.types import BlockKind, Note, NoteKind
from sidelight.vault.dates import note_dates
from sidelight.vault.links import subpath_line, subpath_lines
from sidelight.vault.markdown import parse_note
from sidelight.vault.markup import without_marks


def note(text: str | bytes, path: str = "Note.md") -> Note:
    return parse_note(path, text if isinstance(text, bytes) else text.encode())


def codes(parsed: Note) -> list[str]:
    return [problem.code for problem in parsed.problems]


def kinds(parsed: Note) -> list[tuple[str, int, int]]:
    return [(block.kind.value, block.start_line, block.end_line) for block in parsed.blocks]


def tags(text: str) -> list[str]:
    return [tag.tag for tag in note(text).body_tags]


# ------------------------------------------------------------------- faults 61 to 65


@pytest.mark.parametrize("fence", ["```", "~~~~", "```python"])
def test_unclosed_fence_makes_the_rest_code_and_is_reported(fence: str) -> None:
    parsed = note(f"# 标题\n\n{fence}\n# not a heading\n[[no link]] #no-tag\n")
    assert kinds(parsed) == [("heading", 1, 1), ("code", 3, 5)]
    assert (parsed.links, parsed.body_tags) == ((), ())
    assert [(p.code, p.line) for p in parsed.problems] == [("fence-unclosed", 3)]


@pytest.mark.parametrize(
    "code",
    [
        "````md\n```\n# x\n```\n[[y]] #z\n````",
        "~~~\n```\n# x\n~~~",
        "```py\n# 注释\n## x [[y]]\n```",
        "```\r\n# x\r\n```\r",
        "    # x\n\n    [[y]]",
        '```js title="# x"\n~~~\n# y\n```',
    ],
)
def test_nothing_in_code_is_a_heading_a_link_or_a_tag(code: str) -> None:
    parsed = note(f"# 前\n\n{code}\n\n# After\n")
    assert [h.text for h in parsed.headings] == ["前", "After"]
    assert [b.kind.value for b in parsed.blocks] == ["heading", "code", "heading"]
    assert (parsed.links, parsed.body_tags, parsed.problems) == ((), (), ())


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("word", ["One", "第一章"])
def test_line_numbers_are_the_same_for_every_line_ending(ending: str, word: str) -> None:
    text = f"---\ntitle: x\n---\n# {word}\n\ntext [[a]]\n\n## {word} 2\n\n## {word} 3 ^id\n"
    parsed = note(text.replace("\n", ending))
    assert [(h.text, h.line) for h in parsed.headings] == [
        (word, 4),
        (f"{word} 2", 8),
        (f"{word} 3 ^id", 10),
    ]
    assert [link.line for link in parsed.links] == [6]
    assert parsed.frontmatter.body_start_line == 4
    assert len(parsed.lines) == 10


def test_foreign_line_separators_open_no_line() -> None:
    parsed = note("a\u2028b\u2029c\x85d\x0be\x0cf [[x]]\n[[中文]]\n")
    assert [link.line for link in parsed.links] == [1, 2]


def test_foreign_line_separators_in_frontmatter_move_no_line() -> None:
    parsed = note("---\ntitle: a\u2028b\nup: '[[家]]'\n---\n[[x]]\n")
    assert parsed.frontmatter.data == {"title": "a\u2028b", "up": "[[家]]"}
    assert [link.line for link in parsed.links] == [3, 5]


@pytest.mark.parametrize("word", ["good", "好"])
def test_one_undecodable_byte_is_replaced_and_reported(word: str) -> None:
    parsed = note(f"# {word}\n\n".encode() + b"bad \xff byte [[a]]\n")
    assert parsed.lines == (f"# {word}", "", "bad \ufffd byte [[a]]")
    assert [(p.code, p.line) for p in parsed.problems] == [("bytes-undecodable", 3)]
    assert [link.target for link in parsed.links] == ["a"]


def test_nul_characters_join_no_words_and_are_reported() -> None:
    parsed = note(b"a\none\0two \xe4\xb8\xad\0\xe6\x96\x87\n")
    assert parsed.lines == ("a", "one\ufffdtwo 中\ufffd文")
    assert [(p.code, p.line) for p in parsed.problems] == [("bytes-nul", 2)]


def test_utf16_with_its_mark_is_read() -> None:
    parsed = note("# 标题\r\ntext [[a]]".encode("utf-16"))
    assert [h.text for h in parsed.headings] == ["标题"]
    assert codes(parsed) == ["encoding-utf16"]


def test_byte_order_mark_is_neither_line_nor_column() -> None:
    parsed = note("\ufeff---\na: 1\n---\n# 题\n")
    assert parsed.frontmatter.data == {"a": 1}
    assert parsed.headings[0].line == 4


# ------------------------------------------------------------------- faults 70 to 74


@pytest.mark.parametrize("text", ["", "\n", " \t\n\n", "\ufeff", "\r\r\n"])
def test_note_without_text_has_no_blocks_and_no_problems(text: str) -> None:
    parsed = note(text)
    assert (parsed.blocks, parsed.links, parsed.problems) == ((), (), ())


def test_note_with_only_frontmatter_keeps_its_properties() -> None:
    parsed = note("---\ntitle: 标题\naliases: [甲, B]\n---")
    assert parsed.aliases == ("甲", "B")
    assert kinds(parsed) == [("yaml", 1, 4)]


@pytest.mark.parametrize("first", ["---- ", "--- title", "---x", " ---", "***"])
def test_other_first_lines_open_no_frontmatter(first: str) -> None:
    parsed = note(f"{first}\nname: 值\n---\nText\n")
    assert not parsed.frontmatter.exists
    assert parsed.frontmatter.body_start_line == 1
    assert any("值" in parsed.lines[b.start_line - 1 + 1] for b in parsed.blocks[:2])


@pytest.mark.parametrize(
    ("inner", "line"),
    [
        ("title: [oops", 3),
        ("a: 1\na: 2", 3),
        ("\tkey: 1", 2),
        ("标题: 冒号: 太多", 2),
        ("a: *nowhere", 2),
        ("- just\n- a list", 2),
        ("prose", 2),
    ],
)
def test_broken_frontmatter_is_reported_with_its_line_and_hides_nothing_else(
    inner: str, line: int
) -> None:
    parsed = note(f"---\n{inner}\n---\n# 正文\n[[a]]\n")
    assert parsed.frontmatter.valid is False
    assert [(p.code, p.line) for p in parsed.problems] == [("yaml-invalid", line)]
    assert [h.text for h in parsed.headings] == ["正文"]
    assert [link.target for link in parsed.links] == ["a"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("~", None),
        ("2024-05-01", "2024-05-01"),
        ("12:30", "12:30"),
        ("3", 3),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.50", 1.5),
        ("-1e3", -1000.0),
        ("1_000", "1_000"),
        (".inf", float("inf")),
        ("'3'", "3"),
        ("!!str 3", "3"),
        ("是", "是"),
        ("9" * 400, "9" * 400),
    ],
)
def test_plain_scalars_follow_the_core_schema(written: str, value: object) -> None:
    parsed = note(f"---\n标题: {written}\nother: {{}}\n---\n")
    assert parsed.frontmatter.data == {"标题": value, "other": {}}
    assert parsed.lines[parsed.frontmatter.properties[0].start_line - 1] == f"标题: {written}"


def test_yaml_bomb_is_refused_and_reported() -> None:
    layers = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9))
    parsed = note(f"---\na0: &a0 [x]\n{layers}\n---\nbody\n")
    assert codes(parsed) == ["yaml-invalid"]
    assert codes(note("---\na: &a [*a]\n---\n")) == ["yaml-invalid"]


def test_properties_know_their_lines() -> None:
    parsed = note(
        "---\n# c\na: 1\n多行: |\n  x\n\n  y\n\nlist:\n- p\n- q\n# end\n\nz: {a: 1,\n  b: 2}\n---\n"
    )
    assert [(p.key, p.start_line, p.end_line) for p in parsed.frontmatter.properties] == [
        ("a", 3, 3),
        ("多行", 4, 7),
        ("list", 9, 11),
        ("z", 14, 15),
    ]


def test_frontmatter_tags_are_valid_strings_only() -> None:
    parsed = note("---\ntags: ['#中文', a/b, c d, 2024, 1a, 7, true]\ntag: old\n---\n")
    assert parsed.frontmatter_tags == ("中文", "a/b", "1a")


# ------------------------------------------------------------------- faults 76, 79, 80


def test_tags_are_obsidians_own_set() -> None:
    text = (
        "#中文标签 #1984 #y1984 #a/b #kebab-x (#in-bracket) \\#escaped\n`#code` https://x.org/#frag"
    )
    assert tags(text) == ["中文标签", "y1984", "a/b", "kebab-x"]


def test_tags_stand_after_any_space_and_at_the_start_of_quoted_lines() -> None:
    assert tags("　#全角空格 \u00a0#nbsp\n>#quoted\n> #spaced\na>#no\n") == [
        "全角空格",
        "nbsp",
        "quoted",
        "spaced",
    ]


@pytest.mark.parametrize(
    "text",
    ["$x #no$", "<!-- #no -->", "<div #no>", "[[a #no]]", '[t](b.md#no " #no")', "```\n#no\n```"],
)
def test_tags_do_not_count_where_text_is_opaque(text: str) -> None:
    assert tags(text) == []


@pytest.mark.parametrize("word", ["text", "文字"])
def test_block_id_at_the_end_of_a_nested_callout_is_found_and_no_word(word: str) -> None:
    parsed = note(f"> [!note]- outer\n> > [!tip] 内\n> > {word} ^my-id\n\nafter\n")
    assert subpath_lines(parsed, "#^MY-ID") == (1, 3)
    shown = without_marks("\n".join(parsed.lines[:3]))
    assert len(shown) == len("\n".join(parsed.lines[:3]))
    assert word in shown
    assert not {"note", "tip", "my-id"} & set(shown.replace("[", " ").split())


def test_marks_that_are_words_stay() -> None:
    assert without_marks("x^2 [!no] a ^id b\n") == "x^2 [!no] a ^id b\n"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("- a\n  more ^x\n  - c ^y\n- d", [("x", 1, 2), ("y", 3, 3)]),
        ("> q\n\n^id", [("id", 1, 1)]),
        ("> q\n^id", [("id", 1, 1)]),
        ("| a |\n| - |\n| 1 |\n^id", [("id", 1, 3)]),
        ("text\n^id", [("id", 1, 1)]),
        ("^id", []),
        ("one ^id\ntwo", []),
        ("a ^中文", []),
        ("$$\nx ^id\n$$", []),
        ("段落一\n段落二 ^甲1 ^b2", [("b2", 1, 2)]),
        ("> 引\n>\n> ^id", [("id", 1, 1)]),
        ("```\nx\n```\n\n^id", [("id", 1, 3)]),
    ],
)
def test_block_ids_name_their_block(text: str, ids: list[tuple[str, int, int]]) -> None:
    found = [(b.id, b.start_line, b.end_line) for b in note(text).block_ids]
    assert found == ids


@pytest.mark.parametrize(("outer", "inner"), [("Trip", "Costs"), ("旅行", "花费")])
def test_same_subheading_under_two_headings_is_told_apart(outer: str, inner: str) -> None:
    parsed = note(f"# {outer} A\n## {inner}\na\n# {outer} B\n## {inner}\nb\n")
    assert subpath_line(parsed, f"#{inner}") == 2
    assert subpath_lines(parsed, f"#{outer} B#{inner}") == (5, 6)
    assert [b.heading_path for b in parsed.blocks if b.kind is BlockKind.PARAGRAPH] == [
        (f"{outer} A", inner),
        (f"{outer} B", inner),
    ]


def test_subpath_chain_goes_back_where_the_first_match_leads_nowhere() -> None:
    parsed = note("### A\n## B\n## A\n### B\n")
    assert subpath_line(parsed, "#A#B") == 4


# ------------------------------------------------------------------------ regions


def test_percent_comments_are_blocks_whose_links_and_tags_count() -> None:
    parsed = note("text\n%%\n# no heading\n- [[l]] #标签\n\n```\n[[no]]\n```\n%%\n\n# Yes\n")
    assert kinds(parsed) == [("paragraph", 1, 1), ("comment", 2, 9), ("heading", 11, 11)]
    assert [(link.target, link.line) for link in parsed.links] == [("l", 4)]
    assert [(tag.tag, tag.line) for tag in parsed.body_tags] == [("标签", 4)]


def test_fence_opened_in_a_comment_does_not_swallow_the_note() -> None:
    parsed = note("%%\n```\n%%\n\n# 标题\n\n%%\nx\n%%\n\n[[y]]\n")
    assert kinds(parsed) == [
        ("comment", 1, 3),
        ("heading", 5, 5),
        ("comment", 7, 9),
        ("paragraph", 11, 11),
    ]


def test_unclosed_comment_runs_to_the_end_and_is_reported() -> None:
    parsed = note("a\n%%\n[[z]]\n\n# 没有\n")
    assert kinds(parsed) == [("paragraph", 1, 1), ("comment", 2, 5)]
    assert [(p.code, p.line) for p in parsed.problems] == [("comment-unclosed", 2)]


def test_maths_blocks_with_blank_lines_are_one_block() -> None:
    parsed = note("令\n$$\na [[1,2]] #x\n\nb\n$$\n后 [[z]]\n\n$$c$$\n")
    assert kinds(parsed) == [
        ("paragraph", 1, 1),
        ("math", 2, 6),
        ("paragraph", 7, 7),
        ("math", 9, 9),
    ]
    assert [link.target for link in parsed.links] == ["z"]


def test_dollar_signs_of_prices_open_no_block() -> None:
    parsed = note("$$ cheap\n$$$ 贵 [[b]]\n\n# H\n")
    assert [link.target for link in parsed.links] == ["b"]
    assert kinds(parsed) == [("paragraph", 1, 2), ("heading", 4, 4)]


def test_lines_that_give_no_event_are_paragraphs() -> None:
    assert kinds(note("[参考]: 甲.md\n\ntext [参考]\n")) == [
        ("paragraph", 1, 1),
        ("paragraph", 3, 3),
    ]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("[^a]: [^b]: x", [("footnoteDefinition", 1, 1)]),
        ("[^甲]: [^乙]: 注\n\n正文", [("footnoteDefinition", 1, 1), ("paragraph", 3, 3)]),
        ("[^a]: x\n    [^b]: y", [("footnoteDefinition", 1, 2)]),
        (
            "[^甲]: 注\n\n\t[^乙]: 二\n\n\t再\n\n正文",
            [("footnoteDefinition", 1, 5), ("paragraph", 7, 7)],
        ),
        ("[^a]: x\n[^b]: y", [("footnoteDefinition", 1, 1), ("footnoteDefinition", 2, 2)]),
        ("1. \n [^a]: 注", [("list", 1, 1), ("footnoteDefinition", 2, 2)]),
        ("- \n\n x", [("list", 1, 1), ("paragraph", 3, 3)]),
    ],
)
def test_footnote_in_a_footnote_is_no_block_of_its_own(
    text: str, blocks: list[tuple[str, int, int]]
) -> None:
    assert kinds(note(text)) == blocks


def test_panic_of_the_markdown_parser_leaves_a_note_of_paragraphs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class PanicException(BaseException):
        pass

    def panic(text: str, data: bytes) -> None:
        raise PanicException("index out of bounds")

    monkeypatch.setattr("sidelight.vault.structure._read", panic)
    parsed = note("---\ntitle: 题\n---\n# a\n\n[[b]] 文字\n")
    assert codes(parsed) == ["markdown-unreadable"]
    assert kinds(parsed) == [("yaml", 1, 3), ("paragraph", 4, 4), ("paragraph", 6, 6)]
    assert [link.target for link in parsed.links] == ["b"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (r'"word \ud800 [[x]]"', "word \ufffd [[x]]"),
        (r'"标题\udfff 甲"', "标题\ufffd 甲"),
        (r'"\ud83d\ude00 \\ud800 \\\ud800"', "😀 \\ud800 \\\ufffd"),
        (r'"\U0000d800\0"', "\ufffd\ufffd"),
        ('"甲\\ud800\u2028"', "甲\ufffd\u2028"),
        (r"'\ud800'", r"\ud800"),  # no escape in there
        (r"甲\\ud800\ud800", r"甲\\ud800\ud800"),
    ],
)
def test_half_a_character_in_a_property_stands_as_unreadable(written: str, value: str) -> None:
    parsed = note(f'---\na: {written}\n"k\\ud800": 1\ntags: [标签]\n---\n')
    assert parsed.frontmatter.data == {"a": value, "k\ufffd": 1, "tags": ["标签"]}
    assert parsed.frontmatter_tags == ("标签",)


# ------------------------------------------------------------------------ canvases


def test_canvas_gives_text_nodes_and_links_in_node_order() -> None:
    text = (
        '{"nodes":[{"id":"f","type":"file","file":"甲/图.png"},'
        '{"id":"t","type":"text","text":"# 卡片\\n[[b|B]]"},{"id":"g","type":"group"}],"edges":[]}'
    )
    parsed = note(text, "Board.canvas")
    assert parsed.kind is NoteKind.CANVAS
    assert [(n.id, n.text) for n in parsed.canvas_nodes] == [("t", "# 卡片\n[[b|B]]")]
    assert [(k.target, k.embed, k.is_asset, k.line, k.node) for k in parsed.links] == [
        ("甲/图.png", True, True, None, "f"),
        ("b", False, False, None, "t"),
    ]


def test_canvas_nodes_without_an_id_of_their_own_get_one_that_no_other_has() -> None:
    nodes = [
        {"text": "甲"},
        {"id": "0", "text": "b"},
        {"id": "b", "text": "乙"},
        {"id": "b", "text": "d"},
        {"id": None, "text": "e"},
    ]
    text = json.dumps({"nodes": [{"type": "text", **node} for node in nodes]})
    parsed = note(text, "Board.canvas").canvas_nodes
    assert [(n.id, n.named) for n in parsed] == [
        ("#0", False),
        ("0", True),
        ("2", False),
        ("3", False),
        ("4", False),
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"nodes": 3}', '{"nodes": [1, null]}', "[" * 100_000])
def test_broken_canvas_is_a_note_with_a_problem(text: str) -> None:
    parsed = note(text, "图.canvas")
    assert parsed.canvas_nodes == ()
    assert codes(parsed) == ([] if "null" in text else ["canvas-invalid"])


@pytest.mark.parametrize(
    ("escaped", "read"),
    [
        ("canvasword \\ud800 [[x]] b", "canvasword \ufffd [[x]] b"),
        ("卡片\\udfff [[x]] 甲", "卡片\ufffd [[x]] 甲"),
        ("\\ud83d\\ude00 \\ude00\\ud83d [[x]]", "😀 \ufffd\ufffd [[x]]"),
        ("nul \\u0000 [[x]]", "nul \ufffd [[x]]"),
    ],
)
def test_half_a_character_in_a_canvas_stands_as_unreadable(escaped: str, read: str) -> None:
    text = (
        f'{{"nodes":[{{"id":"1{escaped}","type":"text","text":"{escaped}"}},'
        f'{{"id":"2","type":"file","file":"{escaped}","subpath":"#{escaped}"}}]}}'
    )
    parsed = note(text, "白板.canvas")
    assert [(n.id, n.text) for n in parsed.canvas_nodes] == [("1" + read, read)]
    assert [(k.target, k.subpath) for k in parsed.links] == [("x", ""), (read, "#" + read)]


def test_node_without_a_usable_id_has_its_number() -> None:
    text = '{"nodes":[{"id":[1],"type":"text","text":"a"},{"id":7,"type":"text","text":"乙"}]}'
    assert [n.id for n in note(text, "a.canvas").canvas_nodes] == ["0", "7"]


def test_empty_canvas_is_no_problem() -> None:
    assert codes(note("", "A.canvas")) == []


# --------------------------------------------------------------------------- dates


@pytest.mark.parametrize(
    ("text", "path", "day"),
    [
        ("---\ndate: 2024-03-05\n---\n", "x.md", date(2024, 3, 5)),
        ("---\n日期: 2024年3月5日\n---\n", "x.md", date(2024, 3, 5)),
        ("---\ncreated: 2024-03-05T10:00:00\n---\n", "2020-01-01.md", date(2024, 3, 5)),
        ("", "日记 2024.3.5.md", date(2024, 3, 5)),
        ("", "20240305 周报.md", date(2024, 3, 5)),
        ("", "2024-13-45 no day.md", None),
        ("", "123456789.md", None),
        ("---\ndate: soon\n---\n", "2024-03-05.md", date(2024, 3, 5)),
    ],
)
def test_date_of_a_note(text: str, path: str, day: date | None) -> None:
    assert note_dates(note(text, path)) == day
