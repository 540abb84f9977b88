"""A note twice as long takes twice the time, whatever stands in it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from sidelight.vault.chunker import chunk_note
from sidelight.vault.markdown import parse_note

# Issue 3: twice the input takes at most 2.5 times the time. Over four times the input that is
# 6.25 times; work in the square of the length would take 16.
FACTOR = 4
ALLOWED = 2.5**2
TRIES = 3  # the quickest counts: the machine may be busy
LENGTH = 8_000  # characters of the shorter note

ONE_LINE = (
    *("[", "[[", "]]", "![", "[[a|b]] ", "[a](b) ", "[a](", "`", "a`b``", "$", "$a ", "a$b "),
    *("<", "<a ", "<http:", "a <!-- ", "*a _b ", "a**b", "~", "#a", "#标签 ", "^a ", "|", "\\["),
    *(
        "[^a]: ",
        "[^甲]:",
        "word ",
        "中文，",
        "a",
        "QUJD+/",
        "a={b:1};",
        "a\u2028",
        "e\u0301",
        "👩\u200d",
        "\0",
        "\t",
    ),
)
LINES = (
    *("%%", "%%a", "%% a %%\n", "$$", "$$ a $$ b", "$$a", "```", "~~~\na", "``` \t x", "<!--"),
    *("<div>\n", "- a ^b", "- a\n* b", "# a", "# a\n## b", "a\n---", "a ^b\n", "^b\n", "x\n^a"),
    *(">" * 60 + " a", "> [!note] 甲\n> b ^x\n", "> > [!a]\n> > - b", "|a|\n|-|\n", "[a]: b"),
    *(
        "[^1]: a",
        "[^a]: x\n    [^乙]: y",
        "---",
        "a: b",
        "    a\n",
        "a\r",
        "> a\nb",
        "- ```\n  a\n  ```",
        "",
    ),
)


def seconds(data: bytes) -> float:
    def once() -> float:
        started = time.process_time()
        chunk_note(parse_note("a.md", data))
        return time.process_time() - started

    return min(once() for _ in range(TRIES))


def check_linear(shape: Callable[[int], str]) -> None:
    unit = len(shape(100)) / 100
    count = int(LENGTH / unit)
    short, long = shape(count).encode(), shape(FACTOR * count).encode()
    for _ in range(3):  # one measurement can be disturbed, three in a row are not
        taken = seconds(long) / max(seconds(short), 0.001)
        if taken <= ALLOWED:
            return
    pytest.fail(f"{FACTOR} times the note took {taken:.1f} times the time")


@pytest.mark.parametrize("part", ONE_LINE)
def test_one_line_takes_linear_time(part: str) -> None:
    check_linear(lambda count: part * count)


@pytest.mark.parametrize("part", LINES)
def test_many_lines_take_linear_time(part: str) -> None:
    check_linear(lambda count: (part + "\n") * count)


@pytest.mark.parametrize(
    "shape",
    [
        lambda count: "[" * count + "]" * count,
        lambda count: "```\n" + "a\n" * count,
        lambda count: "```" + "\t" * count + "x",
        lambda count: "|a|b|\n|-|-|\n" + "|[[x\\|y]]|`c`|\n" * count,
        lambda count: "---\na:\n" + '- "[[b]]"\n' * count + "---\n",
        lambda count: "---\n" + "".join(f"键{n}: v\n" for n in range(count)) + "---\n",
        lambda count: "---\na: [" + "b, " * count + "b]\n---\n",
        lambda count: "```compressed-json\n" + "N4Ig" * count + "\n```\n",
        lambda count: "".join(f"[^{n}]: b\n" for n in range(count)),
        lambda count: "".join("> " * (n % 30 + 1) + "[!note] a ^x\n" for n in range(count)),
    ],
)
def test_larger_structures_take_linear_time(shape: Callable[[int], str]) -> None:
    check_linear(shape)
