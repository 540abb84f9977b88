"""Random cases in the style of the conformance set: a short real-looking note, one or two edits.

Every area of `citations.json` takes part, in English, Chinese, Japanese and French. What the
answer is, the rules read word by word say (`citation_rules`).
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import citation_rules
from citation_judge import Comparison, lines_passage, side

from sidelight.vault.markdown import parse_note
from sidelight.vault.pieces import Text
from sidelight.vault.relocate import relocate_lines

PROSE = [
    "Mix one part compost with two parts loam and let the pile rest under a tarp until May.",
    "Drip lines run at dawn for twenty minutes; check the filter on the first of each month.",
    "The beta opens on 3 June for forty teams, and support is limited to the shared channel.",
    "In the northern region revenue grew by four percent in the second quarter of the year.",
    "In the southern region revenue grew by nine percent in the second quarter of the year.",
    "Nothing blocked, review is pending.",
    "Slept badly, long walk helped.",
    "Work until six.",
    "Brakes squeal when wet, ordered new pads.",
    "See [[Invoices]] for the **final** amounts, and call Ana before noon. #money",
    "三月底去京都，清早先到清水寺，再坐电车去伏见稻荷大社。",
    "四月初去奈良，中午先喂鹿，再坐电车回大阪的旅馆。",
    "会议决定把预算减少百分之十，下周一由财务部公布新的表格。",
    "今天没有问题，等待评审。",
    "三月の終わりに京都へ行き、清水寺と伏見稲荷を朝早く訪れる予定です。",
    "Le crème brûlée du café à côté coûte déjà plus cher qu’à l’été dernier.",
]
HEADINGS = ["Soil", "Water", "Standup", "Notes", "旅行计划", "預算", "Café", "Next steps"]
LISTS = [
    "- tent\n    - poles and pegs\n    - ground sheet\n- stove with two gas cans",
    "- [ ] renew the passport before the end of March\n- [ ] book the ferry for two and a car",
    "1. open the valve\n2. wait for the green light\n3. close the valve",
    "- [ ] 给妈妈打电话，问她周末来不来\n- [ ] 买两张去杭州的火车票",
]
TABLES = [
    "| City | Hotel name | Price |\n| --- | --- | --- |\n| Oslo | Fjord Inn | 120 |\n"
    "| Bergen | Harbour House | 95 |\n| Tromso | Polar Lodge | 140 |",
    "| 城市 | 旅馆名称 | 价格 |\n| --- | --- | --- |\n| 京都 | 清水旅馆 | 800 |\n| 奈良 | 鹿野山庄 | 650 |",
]
CODES = [
    '```sh\nexport DATA_DIR=/srv/data\nmkdir -p "$DATA_DIR"\n\nchown app: "$DATA_DIR"\n```',
    "```python\ndef load(path):\n    with open(path) as file:\n        return file.read()\n```",
]
WORDS = ["new", "eleven", "May", "harbour", "quickly", "不", "周二", "第三", "x"]


@dataclass(frozen=True)
class Block:
    """A block of a note; `level` of a heading, else 0; `cited` if the passage touches it."""

    text: str
    level: int = 0
    cited: bool = False

    @property
    def written(self) -> str:
        return "#" * self.level + " " + self.text if self.level else self.text


@dataclass
class Small:
    """One case: the note before, the lines cited, the note after, and which edits made it.

    `went` are the lines on which blocks stand that the passage was part of.
    """

    before: str
    lines: tuple[int, int]
    after: str
    edits: list[str]
    went: set[int]


def make(rng: random.Random) -> Small:
    """One random case."""
    blocks = note(rng)
    blocks, before, lines = cite(blocks, rng)
    names = list(EDITS)
    edits = rng.choices(names, k=rng.choice([1, 1, 1, 2, 2, 3]))
    for name in edits:
        blocks = EDITS[name](blocks, rng)
    after, went = written(blocks), cited_lines(blocks)
    forms = rng.choices(list(FORMS), k=rng.choice([0, 0, 0, 1]))
    for name in forms:
        after = FORMS[name](after)
    if rng.random() < 0.1:
        before = before.replace("\n", "\r\n")
    return Small(before, lines, after, edits + forms, went)


def compared(seed: int, cases: int) -> Iterator[tuple[Comparison, set[int]]]:
    """Answers beside what the rules say, and the lines where the passage really went."""
    for number in range(cases):
        case = make(random.Random(seed * 1_000_003 + number))
        before, after = (parse_note("Note.md", text.encode()) for text in (case.before, case.after))
        if before.content_hash == after.content_hash:
            continue
        passage = lines_passage(before, *case.lines)
        by_rules = citation_rules.resolve(
            side(before), case.lines, passage.heading_path, side(after)
        )
        got = relocate_lines(Text.of(before), passage, Text.of(after))
        ours = None
        if got.match is not None and got.start_line is not None and got.end_line is not None:
            ours = (got.match.value, got.start_line, got.end_line)
        show = f"{case.edits} {case.lines}\n{case.before}\n---\n{case.after}"
        yield Comparison(by_rules, ours, got.why, show), case.went


def note(rng: random.Random) -> list[Block]:
    """A title and two or three sections; some texts stand twice, some headings too."""
    blocks = [Block("Log", 1)]
    few = rng.sample(PROSE, 5)
    for _ in range(rng.randint(1, 3)):
        blocks.append(Block(rng.choice(HEADINGS[:6]), rng.choice([1, 2, 2, 2, 3])))
        for _ in range(rng.randint(1, 3)):
            kind = rng.random()
            pool = few if kind < 0.75 else rng.choice([LISTS, TABLES, CODES])
            blocks.append(Block(rng.choice(pool)))
    return blocks


def cite(blocks: list[Block], rng: random.Random) -> tuple[list[Block], str, tuple[int, int]]:
    """Chooses a block, one line of it, some blocks in a row, or a whole section."""
    first = rng.choice([at for at, block in enumerate(blocks) if not block.level] * 5 + [0, 1])
    last = first
    if rng.random() < 0.25:
        last = min(len(blocks) - 1, first + 1)
    chosen = [replace(b, cited=first <= at <= last) for at, b in enumerate(blocks)]
    start = 1 + written(blocks[:first]).count("\n") + (1 if first else 0)
    end = start + "\n\n".join(b.written for b in blocks[first : last + 1]).count("\n")
    if first == last and end > start and rng.random() < 0.5 and "```" not in blocks[first].text:
        start = end = rng.randint(start, end)
    return chosen, written(blocks), (start, end)


def cited_lines(blocks: list[Block]) -> set[int]:
    found, line = set(), 1
    for block in blocks:
        length = block.written.count("\n") + 1
        if block.cited:
            found |= set(range(line, line + length))
        line += length + 1
    return found


def written(blocks: list[Block]) -> str:
    return "\n\n".join(block.written for block in blocks) + "\n" if blocks else ""


# ------------------------------------------------------------------ edits

Blocks = list[Block]


def _cited(blocks: Blocks) -> list[int]:
    return [at for at, block in enumerate(blocks) if block.cited]


def insert(blocks: Blocks, rng: random.Random) -> Blocks:
    at = rng.randint(0, len(blocks))
    new = rng.choice([Block("Updated after the visit."), Block("- spade\n- rake"), Block("补充。")])
    return [*blocks[:at], new, *blocks[at:]]


def insert_section(blocks: Blocks, rng: random.Random) -> Blocks:
    at = rng.choice([i for i, b in enumerate(blocks) if b.level] + [len(blocks)])
    new = [Block(rng.choice(HEADINGS), 2), Block(rng.choice(PROSE))]
    return [*blocks[:at], *new, *blocks[at:]]


def rename_heading(blocks: Blocks, rng: random.Random) -> Blocks:
    heads = [i for i, b in enumerate(blocks) if b.level]
    if not heads:
        return blocks
    at = rng.choice(heads)
    name = rng.choice([blocks[at].text + " 2024", rng.choice(HEADINGS)])
    return [*blocks[:at], replace(blocks[at], text=name), *blocks[at + 1 :]]


def move_section(blocks: Blocks, rng: random.Random) -> Blocks:
    heads = [i for i, b in enumerate(blocks) if b.level]
    if not heads:
        return blocks
    start = rng.choice(heads)
    stop = next((i for i in heads if i > start), len(blocks))
    rest = blocks[:start] + blocks[stop:]
    at = rng.choice([i for i, b in enumerate(rest) if b.level] + [len(rest)])
    return [*rest[:at], *blocks[start:stop], *rest[at:]]


def move(blocks: Blocks, rng: random.Random) -> Blocks:
    cited = _cited(blocks)
    if not cited:
        return blocks
    moved = [blocks[at] for at in cited]
    rest = [b for b in blocks if not b.cited]
    at = rng.randint(0, len(rest))
    return [*rest[:at], *moved, *rest[at:]]


def duplicate(blocks: Blocks, rng: random.Random) -> Blocks:
    if not blocks:
        return blocks
    copied = replace(rng.choice([b for b in blocks if b.cited] or blocks), cited=False)
    at = rng.randint(0, len(blocks))
    return [*blocks[:at], copied, *blocks[at:]]


def delete(blocks: Blocks, rng: random.Random) -> Blocks:
    if not blocks:
        return blocks
    at = rng.choice([*_cited(blocks), rng.randrange(len(blocks))])
    return blocks[:at] + blocks[at + 1 :]


def delete_twin(blocks: Blocks, rng: random.Random) -> Blocks:
    texts = {b.text for b in blocks if b.cited}
    twins = [i for i, b in enumerate(blocks) if b.text in texts]
    if not twins:
        return blocks
    at = rng.choice(twins)
    return blocks[:at] + blocks[at + 1 :]


def change(blocks: Blocks, rng: random.Random) -> Blocks:
    """One word, cell, mark or character of the passage, or of another block."""
    if not blocks:
        return blocks
    at = rng.choice(_cited(blocks) * 3 + [rng.randrange(len(blocks))])
    return [
        *blocks[:at],
        replace(blocks[at], text=changed(blocks[at].text, rng)),
        *blocks[at + 1 :],
    ]


def changed(text: str, rng: random.Random) -> str:
    if "[ ]" in text and rng.random() < 0.5:
        return text.replace("[ ]", "[x]", 1)
    if text.startswith("|") and text.count("\n") > 1 and rng.random() < 0.5:
        rows = text.split("\n")
        at = rng.randint(2, len(rows))
        return "\n".join([*rows[:at], "| Bodo | Sea Rest | 99 |", *rows[at:]])
    words = text.split(" ")
    at = rng.randrange(len(words))
    if not words[at]:
        words[at] = rng.choice(WORDS)
    elif len(words) == 1 or (not words[at].isascii() and len(words[at]) > 4):
        spot = rng.randrange(len(words[at]))
        words[at] = words[at][:spot] + rng.choice("一二四五六") + words[at][spot + 1 :]
    else:
        words[at] = rng.choice([rng.choice(WORDS), "[[" + words[at] + "]]", ""])
    return " ".join(words)


def append(blocks: Blocks, rng: random.Random) -> Blocks:
    cited = [i for i in _cited(blocks) if not blocks[i].level and "```" not in blocks[i].text]
    if not cited:
        return blocks
    at = rng.choice(cited)
    more = rng.choice([" Owners get a mail.", "另见附录。"])
    return [*blocks[:at], replace(blocks[at], text=blocks[at].text + more), *blocks[at + 1 :]]


def split(blocks: Blocks, rng: random.Random) -> Blocks:
    """Two paragraphs, or a hard wrap."""
    cited = [i for i in _cited(blocks) if " " in blocks[i].text and "\n" not in blocks[i].text]
    if not cited:
        return blocks
    at = rng.choice(cited)
    words = blocks[at].text.split(" ")
    cut = rng.randint(1, len(words) - 1)
    joint = rng.choice(["\n", "\n\n"])
    text = " ".join(words[:cut]) + joint + " ".join(words[cut:])
    return [*blocks[:at], replace(blocks[at], text=text), *blocks[at + 1 :]]


def merge(blocks: Blocks, rng: random.Random) -> Blocks:
    plain = [
        i
        for i, (one, two) in enumerate(pairwise(blocks))
        if not one.level and not two.level and "\n" not in one.text + two.text
    ]
    if not plain:
        return blocks
    at = rng.choice(plain)
    text = blocks[at].text + " " + blocks[at + 1].text
    both = Block(text, cited=blocks[at].cited or blocks[at + 1].cited)
    return [*blocks[:at], both, *blocks[at + 2 :]]


def reindent(blocks: Blocks, rng: random.Random) -> Blocks:
    return [replace(b, text=b.text.replace("\n    - ", "\n\t- ")) for b in blocks]


def frontmatter(blocks: Blocks, rng: random.Random) -> Blocks:
    if blocks and blocks[0].text.startswith("---"):
        return blocks
    return [Block("---\ntags:\n  - release\nowner: Kim\n---"), *blocks]


def truncate(blocks: Blocks, rng: random.Random) -> Blocks:
    kept = blocks[: rng.randint(0, len(blocks))]
    if kept and rng.random() < 0.5 and not kept[-1].level:
        text = kept[-1].text
        kept[-1] = replace(kept[-1], text=text[: rng.randint(1, len(text))].rstrip())
    return kept


def replace_all(blocks: Blocks, rng: random.Random) -> Blocks:
    return [Block("Holiday", 1), Block("We swam every day and read old crime novels.")]


EDITS: dict[str, Callable[[Blocks, random.Random], Blocks]] = {
    edit.__name__: edit
    for edit in (
        insert,
        insert_section,
        rename_heading,
        move_section,
        move,
        duplicate,
        delete,
        delete_twin,
        change,
        append,
        split,
        merge,
        reindent,
        frontmatter,
        truncate,
        replace_all,
    )
}
FORMS: dict[str, Callable[[str], str]] = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "trailing blanks": lambda text: text.replace("\n", "  \n"),
    "no final line end": lambda text: text.removesuffix("\n"),
    "byte order mark": lambda text: "\ufeff" + text,
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
}
