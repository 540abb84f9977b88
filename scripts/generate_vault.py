#!/usr/bin/env python3
"""A vault of any size with the statistics of a lived-in one, for benchmarks and load tests.

python scripts/generate_vault.py FOLDER [--notes 15000] [--seed 1] [--chinese 0.4] [--median 900]

The same arguments give the same files. Words follow Zipf's law; sizes are log-normal (median
1.2 kB); notes are English or Chinese with some of the other language, link to each other with
preference for few hubs (a third of the links lead nowhere), and carry frontmatter, headings,
lists, tables, code, callouts and tags. The text means nothing.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import random
import sys
from collections.abc import Iterator
from pathlib import Path

SYLLABLES = [
    "ta",
    "re",
    "mi",
    "so",
    "la",
    "ne",
    "ko",
    "du",
    "pa",
    "li",
    "ve",
    "ro",
    "sa",
    "ni",
    "te",
    "mo",
    "ra",
    "cu",
    "de",
    "fi",
    "ga",
    "ho",
    "lu",
    "ma",
    "no",
    "pe",
    "qui",
    "ri",
    "se",
    "to",
    "un",
    "ver",
    "wi",
    "ex",
    "con",
    "pro",
    "in",
    "dis",
    "ter",
    "men",
    "al",
    "est",
    "or",
    "tion",
    "ing",
    "able",
    "ment",
]
COMMON = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "for",
    "it",
    "as",
    "was",
    "with",
    "on",
    "be",
    "at",
    "by",
    "this",
    "are",
    "from",
    "or",
    "have",
    "an",
    "not",
    "which",
    "you",
    "but",
    "all",
    "note",
    "idea",
    "time",
    "system",
    "can",
    "more",
    "link",
    "work",
    "use",
    "way",
    "page",
    "when",
    "make",
    "list",
    "file",
    "how",
    "project",
    "data",
    "read",
    "plan",
    "write",
    "search",
    "book",
    "model",
    "code",
    "test",
    "meeting",
    "review",
    "question",
    "answer",
]
HAN = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所"
    "民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日"
    "那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想"
    "已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指"
)
FOLDERS = (
    "Projects",
    "Areas",
    "Notes",
    "日记",
    "读书",
    "Archive/2023",
    "Archive/2024",
    "项目/工作",
)
KEPT_FROM_OTHER = 0.08  # share of words of the other language
LINKS_A_NOTE = 4.0
DANGLING = 1 / 3
MEDIAN_CHARACTERS, SPREAD = 900, 1.0  # of a log-normal size
WORDS = 20_000


class Words:
    """Words of one language, drawn by Zipf's law."""

    def __init__(self, words: list[str], draw: random.Random) -> None:
        self._words = words
        self._draw = draw
        self._bounds = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(words))))

    def word(self) -> str:
        """One word."""
        at = self._draw.random() * self._bounds[-1]
        return self._words[bisect.bisect_left(self._bounds, at)]


def english_words(draw: random.Random) -> list[str]:
    words = dict.fromkeys(COMMON)
    while len(words) < WORDS:
        words["".join(draw.choices(SYLLABLES, k=draw.randint(2, 4)))] = None
    return list(words)


def chinese_words(draw: random.Random) -> list[str]:
    weights = [1 / (rank + 5) for rank in range(len(HAN))]
    words: dict[str, None] = {}
    while len(words) < WORDS:
        length = draw.choices((1, 2, 3, 4), (1, 12, 3, 1))[0]
        words["".join(draw.choices(HAN, weights, k=length))] = None
    return list(words)


class Writer:
    """Writes the notes of one vault."""

    def __init__(
        self, notes: int, seed: int, chinese: float, median: int = MEDIAN_CHARACTERS
    ) -> None:
        self.draw = random.Random(seed)
        self.median = median
        self.most_blocks = min(5, max(1, median // 180))  # of a section
        self.english = Words(english_words(self.draw), self.draw)
        self.chinese = Words(chinese_words(self.draw), self.draw)
        self.is_chinese = [self.draw.random() < chinese for _ in range(notes)]
        self.names = [self._name(number) for number in range(notes)]

    def _name(self, number: int) -> str:
        title = self.words(self.is_chinese[number], self.draw.randint(2, 4))
        folder = self.draw.choice(FOLDERS)
        return f"{folder}/{title[:60].strip()} {number}"

    def words(self, chinese: bool, count: int) -> str:
        """So many words, some of the other language."""
        parts = []
        for _ in range(count):
            other = self.draw.random() < KEPT_FROM_OTHER
            parts.append((self.chinese if chinese != other else self.english).word())
        if not chinese:
            return " ".join(parts)
        text = ""
        for part in parts:
            text += f" {part} " if part.isascii() else part
        return " ".join(text.split())

    def sentence(self, chinese: bool) -> str:
        """One sentence with its marks."""
        count = self.draw.randint(5, 22)
        if chinese:
            half = count // 2
            return f"{self.words(True, half)}，{self.words(True, count - half)}。"
        return self.words(False, count).capitalize() + ". "

    def link(self) -> str:
        """A link to some note, in one of the ways people write them."""
        number = min(int(len(self.names) * self.draw.random() ** 3), len(self.names) - 1)  # hubs
        name = self.names[number].rpartition("/")[2]
        if self.draw.random() < DANGLING:
            name += " gone"
        style = self.draw.random()
        if style < 0.2:
            return f"[[{name}|{self.words(False, 2)}]]"
        if style < 0.3:
            return f"[[{name}#Section 1]]"
        if style < 0.35:
            return f"[{self.words(False, 2)}](<{name}.md>)"
        return f"[[{name}]]"

    def paragraph(self, chinese: bool) -> str:
        """Sentences, then links."""
        text = "".join(self.sentence(chinese) for _ in range(self.draw.randint(1, 6)))
        for _ in range(self._links()):
            text += self.link() + ("。" if chinese else " ")
        return text.strip()

    def _links(self) -> int:
        return int(self.draw.expovariate(2.2 / LINKS_A_NOTE))

    def block(self, chinese: bool) -> str:
        """A paragraph, list, table, code block or callout."""
        kind = self.draw.random()
        if kind < 0.6:
            return self.paragraph(chinese)
        if kind < 0.8:
            items = [self.sentence(chinese).strip() for _ in range(self.draw.randint(2, 9))]
            mark = self.draw.choice(("-", "1.", "- [ ]"))
            return "\n".join(f"{mark} {item}" for item in items)
        if kind < 0.87:
            rows = [[self.words(chinese, 2) for _ in range(3)] for _ in range(4)]
            rows.insert(1, ["---"] * 3)
            return "\n".join("| " + " | ".join(row) + " |" for row in rows)
        if kind < 0.94:
            lines = [f"{self.english.word()}_{i} = {self.draw.random():.6f}" for i in range(6)]
            return "```python\n" + "\n".join(lines) + "\n```"
        return f"> [!note] {self.words(chinese, 3)}\n> {self.sentence(chinese)}"

    def frontmatter(self, chinese: bool) -> str:
        """Created, tags, sometimes aliases and a summary."""
        tag = self.words(chinese, 1).replace(" ", "-")
        day = f"20{self.draw.randint(18, 25)}-{self.draw.randint(1, 12):02}-{self.draw.randint(1, 28):02}"
        lines = ["---", f"created: {day}", "tags:", f"  - {tag}", "  - topic/notes"]
        if self.draw.random() < 0.3:
            lines += ["aliases:", f"  - {self.words(chinese, 2)}"]
        if self.draw.random() < 0.2:
            lines.append(f"summary: {self.words(chinese, 20)}")
        return "\n".join([*lines, "---"]) + "\n"

    def note(self, number: int) -> str:
        """The text of one note."""
        chinese = self.is_chinese[number]
        wanted = int(self.draw.lognormvariate(0, SPREAD) * self.median)
        wanted = min(wanted // (2 if chinese else 1), 60_000)
        text = self.frontmatter(chinese) if self.draw.random() < 0.6 else ""
        section = 0
        while len(text) < wanted or not section:
            section += 1
            title = f"Section {section}" if section == 1 else self.words(chinese, 3)
            text += f"\n{'#' * self.draw.choice((1, 2, 2, 3))} {title}\n"
            for _ in range(self.draw.randint(1, self.most_blocks)):
                text += f"\n{self.block(chinese)}\n"
        if self.draw.random() < 0.3:
            text += f"\n#{self.words(chinese, 1).replace(' ', '-')} #inbox\n"
        return text


def generate(
    notes: int, seed: int = 1, chinese: float = 0.4, median: int = MEDIAN_CHARACTERS
) -> Iterator[tuple[str, str]]:
    """Vault path and text of each note; the same arguments give the same notes."""
    writer = Writer(notes, seed, chinese, median)
    for number in range(notes):
        yield writer.names[number] + ".md", writer.note(number)


def write_vault(
    folder: Path,
    notes: int,
    seed: int = 1,
    chinese: float = 0.4,
    median: int = MEDIAN_CHARACTERS,
) -> int:
    """Writes a vault into an empty or new folder; returns its size in bytes.

    Args:
        folder: of the vault.
        notes: how many.
        seed: other seeds give other notes.
        chinese: share of Chinese notes.
        median: characters of an English note; a Chinese one has half as many.
    """
    total = 0
    for path, text in generate(notes, seed, chinese, median):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        file.write_bytes(data)
        total += len(data)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=15_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chinese", type=float, default=0.4, help="share of Chinese notes")
    parser.add_argument("--median", type=int, default=MEDIAN_CHARACTERS, help="characters a note")
    options = parser.parse_args()
    if options.folder.exists() and any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty")
    size = write_vault(options.folder, options.notes, options.seed, options.chinese, options.median)
    print(f"{options.notes} notes, {size / 1e6:.1f} MB in {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
