"""Own cases for each rule of the live-citation resolver, expected by reading the rule.

Lines of a note are written with `/` between them; a passage is its first and last line.
"""

from __future__ import annotations

import hashlib

import citation_rules
import pytest

from sidelight.query.cite import LiveFile, cite
from sidelight.types import Note, Passage, PassageKind, heading_path_at
from sidelight.vault.markdown import parse_note

FOX = "The brown fox slept under the stairs until the rain was over."
OWL = "An old owl watches the barn from the beam above the door."
EEL = "Eels go up the river in spring and hide beneath the mill."
茶 = "白茶要用八十度的水，泡三分钟，第二泡再加一分钟。"
桥 = "石桥上的灯每天傍晚六点亮，早上六点以前都不会灭。"
GONE = "unresolvable"

CASES = {
    # 1: no file
    "1 the note is gone": (f"# A//{FOX}", (3, 3), None, GONE),
    "1 it was renamed": (f"# A//{FOX}", (3, 3), ("新.md", f"# A//{FOX}"), (3, 3, "fresh")),
    "1 renamed and edited": (f"# A//{茶}", (3, 3), ("b.md", f"x//# A//{茶}"), (5, 5, "exact")),
    # 2: same bytes
    "2 nothing changed": (f"{FOX}//{OWL}", (3, 3), f"{FOX}//{OWL}", (3, 3, "fresh")),
    "2 nothing changed, two copies": (f"{FOX}//{FOX}", (3, 3), f"{FOX}//{FOX}", (3, 3, "fresh")),
    "2 nothing changed, in the middle": (f"{茶}/{桥}/{茶}", (2, 3), f"{茶}/{桥}/{茶}", (2, 3, "fresh")),
    # 3: what does not count
    "3 wrapped anew": (f"# A//{FOX}", (3, 3), f"# A//{FOX.replace(' under', '/under')}", (3, 4, "exact")),
    "3 indented, with trailing blanks": (f"- {OWL}", (1, 1), f"x//\t-  {OWL} \u00a0", (3, 3, "exact")),
    "3 decomposed, with a mark": ("Café crème à la maison, le soir.", (1, 1), "\ufeffCafe\u0301 cre\u0300me a\u0300 la maison, le soir./x", (1, 1, "exact")),
    "3 case counts": (f"{FOX}//{OWL}", (3, 3), f"{FOX}//{OWL.upper()}", GONE),
    # 4: the same text
    "4 moved under another heading": (f"# A//{FOX}//# B//{OWL}", (3, 3), f"# A//# B//{OWL}//{FOX}", (7, 7, "exact")),
    "4 its heading was renamed": (f"# A//{茶}//# B//{桥}", (3, 3), f"# C//{茶}//# B//{桥}", (3, 3, "exact")),
    "4 the second of two": (f"# A//{FOX}//{FOX}", (5, 5), f"# A//new//{FOX}//{FOX}", (7, 7, "exact")),
    "4 one of two under its heading is gone": (f"# A//{FOX}//{FOX}", (5, 5), f"# A//new//{FOX}", GONE),
    "4 a third one came": (f"# A//{桥}//{桥}", (3, 3), f"# A//{桥}//{桥}//{桥}", GONE),
    "4 a copy under another heading is not it": (f"# A//{FOX}//# B//{FOX}", (3, 3), f"# A//# B//{FOX}", GONE),
    "4 two copies where none was": (f"# A//{FOX}//# B", (3, 3), f"# C//{FOX}//# D//{FOX}", GONE),
    "4 only inside a longer line": (f"# A//{EEL}", (3, 3), f"# A//He said: {EEL}", (3, 3, "similar")),
    "4 in the properties": ("# A//note: a longer remark of the day", (3, 3), "---/note: a longer remark of the day/---/# A", GONE),
    "4 several lines, moved together": (f"{FOX}/{OWL}//{EEL}", (1, 2), f"{EEL}//{FOX}/{OWL}", (3, 4, "exact")),
    # 5: a text like it
    "5 a word changed": (f"# A//{FOX}//{OWL}", (3, 3), f"# A//{FOX.replace('brown', 'red')}//{OWL}", (3, 3, "similar")),
    "5 一个词改了": (f"# 甲//{茶}//{桥}", (3, 3), f"# 甲//{茶.replace('三分钟', '四分钟')}//{桥}", (3, 3, "similar")),
    "5 rewritten": (f"# A//{FOX}", (3, 3), f"# A//{EEL}", GONE),
    "5 deleted beside what stays": (f"# A//{FOX}//{OWL}", (3, 3), f"# A//{OWL}", GONE),
    "5 half of it is gone": (f"{FOX}//{OWL}", (1, 1), f"{FOX[:30]}//{OWL}", GONE),
    "5 two alike under new headings": (f"# A//{FOX}", (3, 3), f"# B//{FOX} Yes.//# C//{FOX} No.", GONE),
    "5 two alike, one under its heading": (f"# A//{FOX}", (3, 3), f"# A//{FOX} Yes.//# C//{FOX} No.", (3, 3, "similar")),
    "5 a line came between": (f"{FOX}/{OWL}//{EEL}", (1, 2), f"{FOX}/x/{OWL}//{EEL}", (1, 3, "similar")),
    "5 truncated to nothing": (f"{FOX}//{OWL}", (3, 3), "", GONE),
    "5 a fence may change its language": (f"```py/{FOX}/{OWL}/```", (1, 4), f"```python/{FOX}/{OWL}/```", (1, 4, "similar")),
    "5 a row got another price": ("| Tea | Where | Price |/| --- | --- | --- |/| 白茶 White | 福鼎 Fuding | 80 |", (3, 3), "| Tea | Where | Price |/| --- | --- | --- |/| 白茶 White | 福鼎 Fuding | 95 |", (3, 3, "similar")),
}  # fmt: skip


def note_of(text: str) -> Note:
    return parse_note("a.md", text.replace("/", "\n").encode())


def side(note: Note) -> citation_rules.Side:
    return citation_rules.Side(
        note.lines, note.frontmatter.body_start_line, lambda at: heading_path_at(note.blocks, at)
    )


@pytest.mark.parametrize("name", CASES)
def test_answer_is_the_one_the_rule_gives(name: str) -> None:
    before, (start, end), edit, expected = CASES[name]
    path, text = edit if isinstance(edit, tuple) else ("a.md", edit)
    old = note_of(before)
    passage = Passage(
        PassageKind.LINES,
        heading_path_at(old.blocks, start),
        start,
        end,
        None,
        None,
        "\n".join(old.lines[start - 1 : end]),
    )
    data = before.replace("/", "\n").encode()
    live = None if text is None else LiveFile(path, text.replace("/", "\n").encode())
    got = cite(passage, hashlib.sha256(data).hexdigest(), lambda: data, live)
    kind = "fresh" if got.status.value == "fresh" else got.match and got.match.value
    assert (GONE if kind is None else (got.start_line, got.end_line, kind)) == expected, got.why
    if text is not None and kind != "fresh":
        new = note_of(text)
        read = citation_rules.resolve(side(old), (start, end), passage.heading_path, side(new))
        assert read == (None if expected == GONE else (expected[2], *expected[:2]))
