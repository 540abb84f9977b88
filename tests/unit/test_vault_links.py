"""Where links lead, by Obsidian's order, and which links a changed name touches."""

from __future__ import annotations

import unicodedata

import pytest

from sidelight.vault.links import LinkResolver, heading_key, path_key, target_keys
from sidelight.vault.markdown import parse_note


def check(paths: list[str], source: str, expected: dict[str, str | None]) -> None:
    resolver = LinkResolver(paths)
    assert {target: resolver.resolve(target, source) for target in expected} == expected


# ------------------------------------------------------------------- faults 82 to 91


@pytest.mark.parametrize(("target", "display"), [("a", "b"), ("笔记", "别名")])
def test_escaped_bar_in_a_table_cell_parts_target_and_display(target: str, display: str) -> None:
    text = f"| x | y |\n|---|---|\n| [[{target}\\|{display}]] | ![[p.png\\|60]] |\n"
    links = parse_note("N.md", text.encode()).links
    assert [(link.target, link.display, link.embed) for link in links] == [
        (target, display, False),
        ("p.png", "60", True),
    ]


def test_bare_bar_in_a_table_cell_ends_the_cell() -> None:
    text = "| x | y |\n|---|---|\n| [[a|b]] | [[乙]] |\n"
    assert [link.target for link in parse_note("N.md", text.encode()).links] == ["乙"]


def test_ties_are_broken_by_own_folder_then_shortest_path() -> None:
    paths = ["aa/x.md", "b/x.md", "日记/x.md", "c/other.md"]
    check(paths, "c/other.md", {"x": "b/x.md"})
    check(paths, "aa/n.md", {"x": "aa/x.md"})
    check(paths, "日记/n.md", {"x": "日记/x.md"})
    check([*paths, "x.md"], "aa/n.md", {"x": "x.md"})


def test_equal_paths_fall_to_the_smallest() -> None:
    check(["z/n.md", "b/n.md", "乙/n.md"], "s.md", {"n": "b/n.md"})


def test_hash_in_a_file_name_is_never_mislinked() -> None:
    (link,) = parse_note("N.md", b"[[C# notes]]").links
    assert (link.target, link.subpath) == ("C", "# notes")
    check(["C# notes.md"], "N.md", {link.target: None, "C# notes": "C# notes.md"})


def test_stems_that_look_alike_are_distinct_notes() -> None:
    paths = ["note.md", "sub/note.md", "a_b.md", "a-b.md", "a b.md", "笔记.md", "下/笔记.md"]
    check(
        paths,
        "x.md",
        {
            "note": "note.md",
            "sub/note": "sub/note.md",
            "a_b": "a_b.md",
            "a-b": "a-b.md",
            "a b": "a b.md",
            "下/笔记": "下/笔记.md",
        },
    )


@pytest.mark.parametrize(
    "written",
    [
        "[t](../%E4%B8%AD%20%E6%96%87.md#%E9%A2%98)",
        "[t](<../中 文.md#题>)",
        "[[../中 文#题]]",
        "[t](%E4%B8%AD%20%E6%96%87#题)",
        "[[中 文#题|t]]",
        "![t](<中 文.md#题> 'title')",
    ],
)
def test_every_way_of_writing_gives_the_same_edge(written: str) -> None:
    (link,) = parse_note("Sub/N.md", written.encode()).links
    assert LinkResolver(["中 文.md", "Sub/N.md"]).resolve(link.target, "Sub/N.md") == "中 文.md"
    assert link.subpath == "#题"


def test_links_to_a_missing_note_share_one_name() -> None:
    keys = {target_keys(target) for target in ("Ghost", "ghost", "folder/GHOST", "./Ghost")}
    assert keys == {("ghost",)}
    check(["a.md"], "a.md", {"Ghost": None, "幽灵": None})


def test_renamed_folder_moves_only_its_own_part_of_the_path() -> None:
    resolver = LinkResolver(["a/a/x.md", "n.md"])
    resolver.remove("a/a/x.md")
    resolver.add("b/a/x.md")
    assert resolver.resolve("x", "n.md") == "b/a/x.md"
    assert resolver.resolve("a/x", "n.md") == "b/a/x.md"
    assert resolver.resolve("b/b/x", "n.md") is None


# ------------------------------------------------------------------------- the rules


def test_case_and_composition_do_not_matter_and_disk_spelling_is_kept() -> None:
    decomposed = unicodedata.normalize("NFD", "Café/Größe.md")
    check([decomposed], "n.md", {"café/GRÖSSE": None, "CAFÉ/größe": decomposed})
    check(["Straße.md"], "n.md", {"strasse": None, "STRASSE": None, "straße": "Straße.md"})
    check(["a\u00a0b.md"], "n.md", {"a b": "a\u00a0b.md"})


def test_names_that_differ_only_in_case_or_composition_keep_both_files() -> None:
    nfc, nfd = "é.md", unicodedata.normalize("NFD", "é.md")
    resolver = LinkResolver([nfc, nfd])
    first = resolver.resolve("é", "n.md")
    assert first == min(nfc, nfd)
    resolver.remove(str(first))
    assert resolver.resolve("é", "n.md") == max(nfc, nfd)


def test_dotted_names_hidden_files_and_extensions() -> None:
    check(
        ["v1.2.md", "img/chart.png", "x/.hidden.md", ".obsidian/s.md", "板.canvas"],
        "n.md",
        {
            "v1.2": "v1.2.md",
            "v1": None,
            "chart": None,
            "chart.PNG": "img/chart.png",
            ".hidden": None,
            "s": None,
            "板": None,
            "板.canvas": "板.canvas",
        },
    )


def test_relative_targets_are_tried_in_one_place_only() -> None:
    check(
        ["a/p.md", "p.md", "b/q.md"],
        "a/n.md",
        {"./p": "a/p.md", "../p": "p.md", "./q": None, "../../p": None, "../b/./q": "b/q.md"},
    )


def test_aliases_never_resolve() -> None:
    assert parse_note("AI.md", b"---\naliases: [GPT]\n---").aliases == ("GPT",)
    check(["AI.md"], "n.md", {"GPT": None})


@pytest.mark.parametrize("target", ["x", "x.md", "f/x", "./x", "X.MD", "x.md.md", "v1.2", "笔记"])
def test_a_path_that_a_target_can_reach_shares_a_key_with_it(target: str) -> None:
    paths = ["x.md", "f/x.md", "x.md.md", "x", "v1.2.md", "笔记.md", "下/笔记.md", "X.md/y.md"]
    for path in paths:
        if LinkResolver([path]).resolve(target, "f/n.md"):
            assert path_key(path) in target_keys(target)


def test_many_notes_of_one_name_are_resolved_in_no_time() -> None:
    paths = [f"folder {i}/README.md" for i in range(15_000)]
    resolver = LinkResolver(paths)
    for path in paths:
        assert resolver.resolve("README", path) == path
    assert resolver.resolve("README", "n.md") == "folder 0/README.md"


def test_heading_keys_forget_marks_and_case() -> None:
    assert heading_key("Q&A: what's  next? (draft)") == heading_key("q a what's next draft")
    assert heading_key("《书》:笔记") == heading_key("《书》 笔记")
    assert heading_key("About [[Ada]]") == heading_key("about ada")


# ------------------------------------------------------------------ how links are written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[a]](b.md)", ["a"]),
        ("[[[c]]] [[[[d]]]] [[e]]]", ["c", "d", "e"]),
        ("\\[[x]] \\\\[[y]] \\![[w]]", ["y", "w"]),
        ("[[A$1]] [[B$]] [[C`]] [[D`]]", ["A$1", "B$", "C`", "D`"]),
        ("[[|x]] [[]] [[ ]]", ["|x"]),
        ("[x](a(b).md) [y](<>) [z]()", ["a(b).md"]),
        ("[x](mailto:a@b.c) [y](obsidian://x) [z](//host/x) <https://a.b/[[q]]>", []),
        ("[a]([[b]])", ["b"]),
        ("[t](%zz.md) [u](%E4%B8.md)", ["%zz.md", "%E4%B8.md"]),
        ("[[https://x.org]]", ["https://x.org"]),
        ("$a [[m]]$ `[[c]]` <!-- [[h]] -->", []),
        ("`` ` [[n]] `` [[后]]", ["后"]),
    ],
)
def test_targets_as_written(text: str, expected: list[str]) -> None:
    assert [link.target for link in parse_note("N.md", text.encode()).links] == expected


def test_label_of_a_markdown_link_is_its_display() -> None:
    text = "[**粗** `]` [b]](x.md) ![a|100](<图 片.png>) [![i](i.png)](y.md)"
    links = parse_note("N.md", text.encode()).links
    assert [(link.target, link.display) for link in links] == [
        ("x.md", "**粗** `]` [b]"),
        ("图 片.png", "a|100"),
        ("y.md", "![i](i.png)"),
        ("i.png", "i"),
    ]
