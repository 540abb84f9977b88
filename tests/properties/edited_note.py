"""Random notes and random edits that remember where every original line and sentence went.

The oracle of the live-citation tests. A note is a list of lines, a line a list of units; a unit
is a text with the number of the original unit it comes from (None: it was written later, or
rewritten so much that it is another text). A copy made by an edit has no origin, but is kin of
the unit that was copied.
"""

from __future__ import annotations

import random
import unicodedata
from dataclasses import dataclass, field, replace
from typing import Literal

ENGLISH = [
    "river",
    "garden",
    "winter",
    "ledger",
    "harbour",
    "copper",
    "window",
    "station",
    "planet",
    "engine",
    "letter",
    "market",
    "bridge",
    "summer",
    "teacher",
    "signal",
    "forest",
    "pocket",
    "mirror",
    "silver",
    "kitchen",
    "travel",
    "budget",
    "session",
    "meeting",
    "review",
    "deploy",
    "server",
    "backup",
    "request",
    "minutes",
    "coffee",
    "ticket",
    "invoice",
    "customer",
    "plan",
    "the",
    "a",
    "of",
    "to",
    "and",
    "in",
    "for",
    "with",
    "before",
    "after",
    "under",
    "never",
    "always",
    "slowly",
    "twice",
    "again",
]
CHINESE = list(
    "山水春秋天地人心书店河桥灯火车站会议记录项目计划时间数据系统城市学生老师电影音乐咖啡牛奶"
    "早上晚餐旅行照片朋友家庭健康运动读写说听看想做去来买卖开关大小新旧高低远近红绿"
)
CODE = ("return", "import", "for i in range(10):", "x = load(path)", "print(x)", "}", "else:", "")


@dataclass(frozen=True)
class Unit:
    text: str
    origin: int | None = None
    kin: int | None = None  # the original this is a copy of

    @property
    def copy(self) -> Unit:
        return Unit(self.text, None, self.origin or self.kin)


@dataclass(frozen=True)
class Line:
    units: tuple[Unit, ...]
    prefix: str = ""  # list markers, indentation, heading hashes: part of the line's text
    joint: str = " "  # between the units of a long line
    suffix: str = ""

    @property
    def text(self) -> str:
        return self.prefix + self.joint.join(unit.text for unit in self.units) + self.suffix

    @property
    def kind(self) -> str:
        mark = self.prefix.strip()
        if mark.startswith("#"):
            return "heading"
        return "long" if len(self.units) > 3 else "line"

    def columns(self) -> list[tuple[int, int, Unit]]:
        """Where each unit stands in the line."""
        found, at = [], len(self.prefix)
        for unit in self.units:
            found.append((at, at + len(unit.text), unit))
            at += len(unit.text) + len(self.joint)
        return found


@dataclass
class EditedNote:
    """A note under edit: frontmatter lines, then body lines."""

    rng: random.Random
    head: list[Line] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    ending: str = "\n"
    form: Literal["NFC", "NFD"] = "NFC"
    mark: str = ""
    final: bool = True
    next_origin: int = 0
    done: list[str] = field(default_factory=list)

    # ------------------------------------------------------------------ as a file

    def all_lines(self) -> list[Line]:
        return [*self.head, *self.lines]

    def data(self) -> bytes:
        text = self.ending.join(line.text for line in self.all_lines())
        if self.final and text:
            text += self.ending
        return (self.mark + unicodedata.normalize(self.form, text)).encode()

    def copy(self) -> EditedNote:
        return replace(self, head=list(self.head), lines=list(self.lines), done=list(self.done))

    # ------------------------------------------------------------------ writing

    @classmethod
    def random(cls, rng: random.Random, size: int) -> EditedNote:
        note = cls(rng)
        if rng.random() < 0.4:
            note.head = [Line((Unit(text),)) for text in _frontmatter(rng)]
        while len(note.lines) < size:
            note.lines += note.block()
            if rng.random() < 0.7:
                note.lines.append(Line((Unit(""),)))
        note.ending = rng.choice(["\n", "\n", "\n", "\r\n"])
        note.number()
        return note

    def number(self) -> None:
        """Every unit with text is an original from now on."""
        self.head = [self._numbered(line) for line in self.head]
        self.lines = [self._numbered(line) for line in self.lines]

    def _numbered(self, line: Line) -> Line:
        units = []
        for unit in line.units:
            self.next_origin += 1
            units.append(Unit(unit.text, self.next_origin))
        return replace(line, units=tuple(units))

    def block(self) -> list[Line]:
        """A new block; more than every third line is a copy of another, or nearly one."""
        rng = self.rng
        known = [line for line in self.lines if line.text.strip() and line.kind != "heading"]
        if known and rng.random() < 0.5:
            chosen = rng.choice(known)
            if rng.random() < 0.4:
                chosen = self._near(chosen)
            return [_copied(chosen)]
        kind = rng.choices(
            ["heading", "paragraph", "list", "table", "code", "long"], [20, 35, 20, 8, 8, 9]
        )[0]
        if kind == "heading":
            names = ["Notes", "Plan", "每日记录", "Log", sentence(rng, 2, 4)]
            return [Line((Unit(rng.choice(names)),), "#" * rng.randint(1, 3) + " ")]
        if kind == "list":
            marks = ["- ", "- [ ] ", "    - "]
            return [
                Line((Unit(sentence(rng, 3, 12)),), rng.choice(marks))
                for _ in range(rng.randint(1, 5))
            ]
        if kind == "table":
            return [Line((Unit(row),)) for row in _table(rng)]
        if kind == "code":
            body = [rng.choice(CODE) for _ in range(rng.randint(1, 4))]
            return [Line((Unit(text),)) for text in ("```python", *body, "```")]
        if kind == "long":
            return [self._long_line()]
        return [Line((Unit(sentence(rng, 6, 25)),)) for _ in range(rng.randint(1, 3))]

    def _long_line(self) -> Line:
        rng = self.rng
        chinese = rng.random() < 0.5
        units = [Unit(closed(sentence(rng, 6, 20, chinese), chinese))]
        while sum(len(unit.text) for unit in units) < (700 if chinese else 1300):
            text = closed(sentence(rng, 6, 20, chinese), chinese)
            if rng.random() < 0.3:
                text = rng.choice(units).text
            units.append(Unit(text))
        return Line(tuple(units), joint="" if chinese else " ")

    def _near(self, line: Line) -> Line:
        at = self.rng.randrange(len(line.units))
        units = list(line.units)
        units[at] = replace(units[at], text=small_change(self.rng, units[at].text))
        return replace(line, units=tuple(units))

    # ------------------------------------------------------------------ edits

    def edit(self) -> str:
        """One random edit; its name."""
        names = list(EDITS)
        name = self.rng.choices(names, [EDITS[name] for name in names])[0]
        getattr(self, "edit_" + name)()
        self.done.append(name)
        return name

    def _span(self, most: int = 4) -> tuple[int, int]:
        if not self.lines:
            return 0, 0
        start = self.rng.randrange(len(self.lines))
        return start, min(len(self.lines), start + self.rng.randint(1, most))

    def _section(self) -> tuple[int, int]:
        heads = [at for at, line in enumerate(self.lines) if line.kind == "heading"]
        if not heads:
            return self._span(8)
        start = self.rng.choice(heads)
        return start, next((at for at in heads if at > start), len(self.lines))

    def _pick(self, kind: str = "") -> int | None:
        found = [
            at
            for at, line in enumerate(self.lines)
            if line.text.strip() and (line.kind == kind or (not kind and line.kind != "heading"))
        ]
        return self.rng.choice(found) if found else None

    def edit_insert(self) -> None:
        at = self.rng.randint(0, len(self.lines))
        new = [_copied(line) for line in self.block()]
        self.lines[at:at] = [*new, Line((Unit(""),))] if self.rng.random() < 0.5 else new

    def edit_delete(self) -> None:
        start, stop = self._span()
        del self.lines[start:stop]

    def edit_delete_section(self) -> None:
        start, stop = self._section()
        del self.lines[start:stop]

    def edit_move(self) -> None:
        self._move(*self._span(6))

    def edit_move_section(self) -> None:
        self._move(*self._section())

    def _move(self, start: int, stop: int) -> None:
        moved = self.lines[start:stop]
        del self.lines[start:stop]
        at = self.rng.randint(0, len(self.lines))
        self.lines[at:at] = moved

    def edit_duplicate(self) -> None:
        self._duplicate(*self._span(3))

    def edit_duplicate_section(self) -> None:
        self._duplicate(*self._section())

    def _duplicate(self, start: int, stop: int) -> None:
        copies = [_copied(line) for line in self.lines[start:stop]]
        at = stop if self.rng.random() < 0.5 else self.rng.randint(0, len(self.lines))
        self.lines[at:at] = copies

    def edit_change(self) -> None:
        at = self._pick()
        if at is not None:
            self.lines[at] = self._near(self.lines[at])

    def edit_rewrite(self) -> None:
        at = self._pick()
        if at is not None:
            new = Unit(sentence(self.rng, 5, 20))
            self.lines[at] = replace(self.lines[at], units=(new,))

    def edit_rename_heading(self) -> None:
        at = self._pick("heading")
        if at is not None:
            line = self.lines[at]
            name = self.rng.choice([sentence(self.rng, 2, 4), line.units[0].text + " 2", "Plan"])
            self.lines[at] = replace(line, units=(replace(line.units[0], text=name),))

    def edit_sentence(self) -> None:
        at = self._pick("long")
        if at is None:
            return
        line, rng = self.lines[at], self.rng
        units = list(line.units)
        here, there = rng.randrange(len(units)), rng.randrange(len(units))
        action = rng.choice(["insert", "delete", "move", "copy", "change", "change"])
        if action == "insert":
            units.insert(here, Unit(closed(sentence(rng, 5, 15, not line.joint), not line.joint)))
        elif action == "delete":
            del units[here]
        elif action == "move":
            units.insert(there, units.pop(here))
        elif action == "copy":
            units.insert(there, units[here].copy)
        else:
            units[here] = replace(units[here], text=small_change(rng, units[here].text))
        self.lines[at] = replace(line, units=tuple(units))

    def edit_split_line(self) -> None:
        at = self._pick()
        if at is None:
            return
        line = self.lines[at]
        if len(line.units) > 1:
            cut = self.rng.randrange(1, len(line.units))
            parts = line.units[:cut], line.units[cut:]
        else:
            unit = line.units[0]
            spaces = [i for i, c in enumerate(unit.text) if c == " " and i > 0]
            if not spaces or "|" in unit.text or "`" in unit.text:
                return
            cut = self.rng.choice(spaces)
            parts = (
                (replace(unit, text=unit.text[:cut]),),
                (replace(unit, text=unit.text[cut + 1 :].strip()),),
            )
        first = replace(line, units=parts[0], suffix="")
        self.lines[at : at + 1] = [first, Line(parts[1], joint=line.joint)]

    def edit_blank(self) -> None:
        self.lines.insert(self.rng.randint(0, len(self.lines)), Line((Unit(""),)))

    def edit_spaces(self) -> None:
        at = self._pick()
        if at is not None:
            more = self.rng.choice([" ", "  ", "\t", "\u00a0", "\u3000"])
            self.lines[at] = replace(self.lines[at], suffix=more)

    def edit_indent(self) -> None:
        for at in range(*self._span(4)):
            line = self.lines[at]
            if line.prefix.lstrip().startswith("-"):
                indent = self.rng.choice(["", "\t", "    "])
                self.lines[at] = replace(line, prefix=indent + line.prefix.lstrip())

    def edit_endings(self) -> None:
        self.ending = self.rng.choice(["\n", "\r\n", "\r"])

    def edit_form(self) -> None:
        self.form = "NFD" if self.form == "NFC" else "NFC"

    def edit_mark(self) -> None:
        self.mark = "" if self.mark else "\ufeff"

    def edit_final(self) -> None:
        self.final = not self.final

    def edit_truncate(self) -> None:
        del self.lines[self.rng.randint(len(self.lines) // 2, len(self.lines)) :]

    def edit_frontmatter(self) -> None:
        if not self.head:
            self.head = [Line((Unit(text),)) for text in _frontmatter(self.rng)]
        elif self.rng.random() < 0.3:
            self.head = []
        else:
            keys = [i for i, line in enumerate(self.head) if i and line.text[:1] != " "]
            at = self.rng.choice(keys)
            self.head.insert(at, Line((Unit(f"key{self.rng.randrange(10**6)}: value"),)))

    def edit_property(self) -> None:
        """A value is edited, gets a comment, or two keys trade their values."""
        rng = self.rng
        values = [i for i, line in enumerate(self.head) if ": " in line.text]
        if not values:
            return
        at, to = rng.choice(values), rng.choice(values)
        key, _, value = self.head[at].text.partition(": ")
        other_key, _, other = self.head[to].text.partition(": ")
        action = rng.choice(["change", "change", "comment", "swap"])
        if action == "swap" and value != other:  # neither key has its own value any more
            self.head[at] = Line((Unit(f"{key}: {other}"),))
            self.head[to] = Line((Unit(f"{other_key}: {value}"),))
            return
        if action == "comment":
            value = f"{value.partition(' # ')[0]} # {rng.choice(ENGLISH)}"
        elif action == "change":
            value = small_change(rng, value)
        unit = self.head[at].units[0]
        self.head[at] = Line((replace(unit, text=f"{key}: {value}"),))


EDITS = {
    "insert": 14,
    "delete": 10,
    "delete_section": 2,
    "move": 8,
    "move_section": 4,
    "duplicate": 6,
    "duplicate_section": 2,
    "change": 18,
    "rewrite": 6,
    "rename_heading": 6,
    "sentence": 12,
    "split_line": 4,
    "blank": 3,
    "spaces": 4,
    "indent": 3,
    "endings": 3,
    "form": 2,
    "mark": 1,
    "final": 2,
    "truncate": 2,
    "frontmatter": 3,
    "property": 9,
}


def _copied(line: Line) -> Line:
    return replace(line, units=tuple(unit.copy for unit in line.units))


def sentence(rng: random.Random, least: int, most: int, chinese: bool | None = None) -> str:
    """A text of some words, English, Chinese or (rarely) with accents and emoji."""
    count = rng.randint(least, most)
    if chinese is None:
        chinese = rng.random() < 0.4
    if chinese:
        return "".join(rng.choice(CHINESE) for _ in range(count * 2))
    words = [rng.choice(ENGLISH) for _ in range(count)]
    if rng.random() < 0.15:
        words.append(rng.choice(["café", "naïve", "Zoë", "🎉", str(rng.randrange(1000))]))
    return " ".join(words)


def closed(text: str, chinese: bool) -> str:
    """The text as a sentence with its mark."""
    return text + ("。" if chinese else ".")


def small_change(rng: random.Random, text: str) -> str:
    """Another text that differs in less than a fifth, where it is long enough for that."""
    if " " in text:
        words = text.split(" ")
        at = rng.randrange(len(words))
        words[at] = rng.choice([rng.choice(ENGLISH), words[at] + "s", ""])
        return " ".join(word for word in words if word) or text
    if not text:
        return text
    at = rng.randrange(len(text))
    return text[:at] + rng.choice(CHINESE) + text[at + rng.randint(0, 1) :]


def _table(rng: random.Random) -> list[str]:
    rows = [
        f"| {rng.choice(ENGLISH)} | {sentence(rng, 2, 5)} | {rng.randrange(500)} |"
        for _ in range(rng.randint(1, 6))
    ]
    return ["| Name | Remark of the week | Amount |", "| --- | --- | --- |", *rows]


def _frontmatter(rng: random.Random) -> list[str]:
    summary, chinese = sentence(rng, 10, 20, False), sentence(rng, 12, 20, True)
    entries = [
        "tags:\n  - one\n  - 二",
        f"summary: {summary}",
        f"description: {small_change(rng, summary)}",
        f"摘要: {chinese}",
        f"说明: {small_change(rng, chinese)}",
        f"status: {rng.choice(['draft', 'done'])}",
        f"rating: {rng.randrange(6)}",
    ]
    chosen = rng.sample(entries, rng.randint(1, 5))
    return ["---", *"\n".join(chosen).split("\n"), "---"]
