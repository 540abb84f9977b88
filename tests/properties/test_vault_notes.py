"""What holds for every note there can be: nothing lost, nothing twice, nothing misplaced."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.types import Block, BlockKind, Chunk, Note, PassageKind
from sidelight.vault.chunker import chunk_note
from sidelight.vault.lines import decode, split_lines
from sidelight.vault.markdown import parse_note
from sidelight.vault.noise import is_data_line
from sidelight.vault.plain_yaml import read_plain
from sidelight.vault.sizes import LIMIT, WHOLE, cut_columns, size
from sidelight.vault.yaml_block import InvalidYamlError, read_block

# Pieces of every construct, whole and broken, so that they meet in all combinations.
FRAGMENTS = (
    *(
        "# H",
        "## 标题 ^id",
        "#### ",
        "Title\n===",
        "- item",
        "* other",
        "1. one",
        "2) two",
        "- [ ] 任务",
    ),
    *(
        "  nested",
        "\t- tab",
        "    code",
        "> quote",
        "> [!note]- 标注",
        "> > deep",
        ">",
        "```",
        "~~~js",
    ),
    *("%%", "%% inline %%", "%%open", "$$", "$$x$$", "$$ price", "<!--", "-->", "<div>", "</div>"),
    *(
        "| a | 乙 |",
        "|---|---|",
        "[^1]: note",
        "[^a]: [^乙]: both",
        "    [^b]: inner",
        "\t[^丙]: 脚注",
        "[ref]: x.md",
        "---",
        "***",
        "^alone",
        "text ^end-1",
    ),
    *("[[a|b]] ![[c.png]]", "[x](y.md#z)", "#tag #标签", "`code", "``", "\\[[no]]", "[[", "]]"),
    *("", "", " ", "\t", "word word", "中文，句子。再来一句！", "\u2028\x85\x0c", "e\u0301 🎉👩‍👧"),
    *("key: value", "- list", "iVBORw0KGgo" * 40, "长" * 700, "long line. " * 150, "x = 1; " * 80),
)
ENDINGS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
LINES = st.lists(st.one_of(st.sampled_from(FRAGMENTS), TEXT), max_size=40)

# A busy machine is no fault of the code.
UNHURRIED = settings(deadline=None)


@st.composite
def notes(draw: st.DrawFn) -> bytes:
    """The bytes of a note: fragments and any text, any line endings, maybe frontmatter."""
    parts = draw(LINES)
    if draw(st.booleans()):
        head = draw(
            st.lists(st.sampled_from(["a: 1", "b: [[x]]", "- c", "", "标签: 甲", "d: '[[e]]'"]))
        )
        parts = ["---", *head, "---", *parts]
    text = "".join(part + draw(ENDINGS) for part in parts)
    if draw(st.booleans()):
        text = "\ufeff" + text
    return text.encode()


# Halves of surrogate pairs and NUL are no text, but JSON writes them as escapes.
JSON_TEXT = st.one_of(
    st.text(st.characters(), max_size=40),
    st.text(st.sampled_from("\ud83d\ude00\udfff\0a甲 [#|]"), max_size=20),
)
VALUES = st.one_of(JSON_TEXT, st.none(), st.booleans(), st.integers(), st.floats(), st.lists(TEXT))


@st.composite
def canvases(draw: st.DrawFn) -> bytes:
    """The bytes of a canvas: nodes with any strings, and with fields that are none."""
    kinds = st.sampled_from(["text", "file", "link", "group"])
    node = st.fixed_dictionaries(
        {"type": st.one_of(kinds, kinds, VALUES)},
        optional=dict.fromkeys(("id", "text", "file", "subpath", "label"), VALUES),
    )
    card = st.fixed_dictionaries({"type": st.just("text"), "id": VALUES, "text": JSON_TEXT})
    nodes = draw(st.lists(st.one_of(card, node), max_size=5))
    escaped = json.dumps({"nodes": nodes, "edges": []}, ensure_ascii=True)
    return escaped.encode()


def parsed(data: bytes) -> Note:
    return parse_note("folder/Note.md", data)


def body_lines(note: Note) -> range:
    return range(note.frontmatter.body_start_line, len(note.lines) + 1)


@given(st.one_of(notes(), st.binary(max_size=300)))
@UNHURRIED
def test_parsing_never_fails_and_is_the_same_twice(data: bytes) -> None:
    first, second = parsed(data), parsed(data)
    assert first == second
    assert chunk_note(first) == chunk_note(second)


@given(canvases())
@UNHURRIED
def test_canvas_of_any_strings_is_read_as_text(data: bytes) -> None:
    note = parse_note("folder/白板.canvas", data)
    chunks = chunk_note(note)
    assert note.problems == ()
    written = [
        node["text"]
        for node in json.loads(data)["nodes"]
        if node["type"] == "text" and isinstance(node.get("text"), str)
    ]
    assert [len(node.text) for node in note.canvas_nodes] == [len(text) for text in written]
    texts = [node.id + node.text for node in note.canvas_nodes]
    texts += [link.source_text + link.target + link.subpath for link in note.links]
    texts += [f"{chunk.node}{chunk.text}" for chunk in chunks]
    for text in texts:
        assert "\0" not in text
        text.encode()  # no half of a pair is left


@given(notes())
@UNHURRIED
def test_every_line_with_text_is_in_exactly_one_block(data: bytes) -> None:
    note = parsed(data)
    counts = dict.fromkeys(range(1, len(note.lines) + 1), 0)
    last = 0
    for block in note.blocks:
        assert last < block.start_line <= block.end_line
        last = block.end_line
        for line in range(block.start_line, block.end_line + 1):
            counts[line] += 1
    for line in body_lines(note):
        assert counts[line] == 1 or (counts[line] == 0 and not note.lines[line - 1].strip())


def check_cover(note: Note, chunks: list[Chunk]) -> None:
    """Every character of the body that is not blank lies in exactly one chunk."""
    seen = {line: [0] * len(note.lines[line - 1]) for line in body_lines(note)}
    for chunk in chunks:
        if chunk.kind is not PassageKind.LINES:
            continue
        assert chunk.start_line is not None
        assert chunk.end_line is not None
        for line in range(chunk.start_line, chunk.end_line + 1):
            start, end = chunk.columns or (0, len(seen[line]))
            for column in range(start, end):
                seen[line][column] += 1
    for line, counts in seen.items():
        for char, count in zip(note.lines[line - 1], counts, strict=True):
            assert count == 1 or (char.isspace() and count <= 1)


@given(notes())
@UNHURRIED
def test_every_character_is_in_exactly_one_chunk(data: bytes) -> None:
    note = parsed(data)
    check_cover(note, chunk_note(note))


@given(notes())
@UNHURRIED
def test_text_at_the_lines_and_columns_of_a_chunk_is_its_text(data: bytes) -> None:
    note = parsed(data)
    for chunk in chunk_note(note):
        if chunk.start_line is None or chunk.end_line is None:
            assert chunk.text == ""
            continue
        text = "\n".join(note.lines[chunk.start_line - 1 : chunk.end_line])
        if chunk.columns is not None:
            assert chunk.start_line == chunk.end_line
            text = text[slice(*chunk.columns)]
        assert chunk.text == text
        assert chunk.text.strip(" \t\n")


def may_be_cut(note: Note, block: Block) -> bool:
    lines = note.lines[block.start_line - 1 : block.end_line]
    return size("\n".join(lines)) > WHOLE or any(map(is_data_line, lines))


@given(notes())
@UNHURRIED
def test_no_chunk_crosses_a_heading_or_cuts_a_block_that_fits(data: bytes) -> None:
    note = parsed(data)
    chunks = [chunk for chunk in chunk_note(note) if chunk.kind is PassageKind.LINES]
    for chunk in chunks:
        first, last = chunk.start_line or 0, chunk.end_line or 0
        inside = [b for b in note.blocks if b.start_line <= last and first <= b.end_line]
        assert {block.heading_path for block in inside} == {chunk.heading_path}
        assert all(b.start_line <= first for b in inside if b.kind is BlockKind.HEADING)
        for block in inside:
            whole = first <= block.start_line and block.end_line <= last and not chunk.columns
            assert whole or may_be_cut(note, block)


@given(notes())
@UNHURRIED
def test_no_chunk_is_over_the_limit_but_a_block_with_its_heading(data: bytes) -> None:
    note = parsed(data)
    for chunk in chunk_note(note):
        if chunk.kind is PassageKind.LINES:
            assert size(chunk.text) <= WHOLE + LIMIT / 4 + 1


@given(notes())
@UNHURRIED
def test_everything_found_stands_on_its_line(data: bytes) -> None:
    note = parsed(data)
    for link in note.links:
        assert link.line is not None
        assert (
            link.source_text.split("\n")[0] in note.lines[link.line - 1] or "\n" in link.source_text
        )
    for tag in note.body_tags:
        assert f"#{tag.tag}" in note.lines[tag.line - 1]
    for heading in note.headings:
        assert heading.text.split(" ")[0] in note.lines[heading.line - 1]
    for block in note.block_ids:
        assert 1 <= block.start_line <= block.end_line <= len(note.lines)


@given(LINES, st.sampled_from(["\r\n", "\r"]))
@UNHURRIED
def test_line_endings_change_nothing_but_the_bytes(parts: list[str], ending: str) -> None:
    lines = [line for part in parts for line in re.split(r"\r\n|\r|\n", part)]
    plain = parsed("\n".join(lines).encode())
    other = parsed(ending.join(lines).encode())
    assert replace(other, content_hash=plain.content_hash, size=plain.size) == plain


@given(st.text(max_size=200))
@UNHURRIED
def test_lines_are_split_at_three_endings_only(text: str) -> None:
    expected = re.split(r"\r\n|\n|\r", text)
    if not expected[-1]:
        expected.pop()
    assert split_lines(text) == expected


@given(st.binary(max_size=200))
@UNHURRIED
def test_decoding_loses_nothing_but_the_mark_and_nul(data: bytes) -> None:
    text, problems = decode(data)
    assert "\0" not in text
    if not problems:
        assert text.encode() == data.removeprefix(b"\xef\xbb\xbf")


@given(st.text(min_size=1, max_size=3_000), st.floats(50, 1_000))
@UNHURRIED
def test_columns_cut_a_text_without_gap_or_overlap(text: str, limit: float) -> None:
    parts = cut_columns(text, 0, len(text), limit)
    assert parts[0][0] == 0
    assert parts[-1][1] == len(text)
    assert all(a[1] == b[0] for a, b in pairwise(parts))
    assert all(size(text[a:b]) <= 2 * limit + 3 for a, b in parts)


# ---------------------------------------------------------------------------- YAML

YAML_PARTS = st.sampled_from(
    [
        *(
            "a",
            "标题",
            "key",
            "b c",
            "true",
            "null",
            "2024",
            "~",
            "'q'",
            '"d"',
            "[]",
            "{}",
            "[[x]]",
        ),
        *(
            "'[[y]]'",
            '"[[z|w]]"',
            ": ",
            ":",
            " ",
            "  ",
            "- ",
            "-",
            "#",
            " #c",
            "\n",
            "\n",
            "\n  ",
            "\t",
        ),
        *(
            "12:30",
            "1e3",
            "0x1f",
            ".5",
            "http://x.y",
            "&a",
            "*a",
            "!t ",
            "|",
            ">",
            "%",
            "@",
            "`",
            ",",
        ),
        *(
            r'"\ud800"',
            r"\ud83d\ude00",
            "é",
            "，",
            "🎉",
            "\u00a0",
            "\u2028",
            "\\",
            "?",
            "...",
            "---",
            "=",
            "<<",
        ),
    ]
)


@given(st.lists(YAML_PARTS, max_size=14).map("".join))
@settings(UNHURRIED, max_examples=400)
def test_plain_yaml_means_the_same_to_the_full_parser(text: str) -> None:
    lines = split_lines(text)
    plain = read_plain(lines)
    try:
        full = read_block(lines)
    except InvalidYamlError:
        assert plain is None
        return
    assert plain is None or repr(plain) == repr(full)


@st.composite
def plain_blocks(draw: st.DrawFn) -> list[str]:
    """Blocks of the kind that `read_plain` is for, so that it is tried often."""
    scalar = st.one_of(
        st.text(st.characters(categories=["L", "N", "P", "Zs"], max_codepoint=0x9FFF), max_size=12),
        st.sampled_from(
            ["a b", "'q r'", '"[[x]]"', "2024-01-02", "yes", "1.5", "x: y", "x #y", "[]"]
        ),
    )
    lines: list[str] = []
    for key in draw(
        st.lists(st.sampled_from(["a", "b c", "标签", "x-y", "_z", "a.b", "1"]), max_size=5)
    ):
        lines.append(f"{key}: {draw(scalar)}".rstrip(" ") if draw(st.booleans()) else f"{key}:")
        for item in draw(st.lists(scalar, max_size=3)):
            lines.append(f"{draw(st.sampled_from(['', '  ']))}- {item}")
    return lines


@given(plain_blocks())
@settings(UNHURRIED, max_examples=400)
def test_blocks_of_plain_entries_mean_the_same_to_the_full_parser(lines: list[str]) -> None:
    plain = read_plain(lines)
    try:
        full = read_block(lines)
    except InvalidYamlError:
        assert plain is None
        return
    assert plain is None or repr(plain) == repr(full)
