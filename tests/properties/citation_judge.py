"""Judges the resolver's answers on edited notes against where the lines really went."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import citation_rules
from edited_note import EditedNote, Line, Unit
from rapidfuzz.distance import Indel, Levenshtein

from sidelight.types import Citation, Match, Note, Passage, PassageKind, heading_path_at
from sidelight.vault.chunker import chunk_note
from sidelight.vault.markdown import parse_note
from sidelight.vault.pieces import Text
from sidelight.vault.relocate import relocate_lines, relocate_property
from sidelight.vault.run_rules import MIN_LETTERS, letters

n = citation_rules.n


@dataclass
class Tally:
    """What a run counted; `examples` hold the first of each fault."""

    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, example: str | None = None) -> None:
        self.counts[name] += 1
        if example is not None and len(self.examples.setdefault(name, [])) < 3:
            self.examples[name].append(example)

    def share(self, part: str, whole: str) -> float:
        return self.counts[part] / max(1, self.counts[whole])


def judge_scripts(seed: int, scripts: int, edits: int, size: int = 24) -> Tally:
    """Makes notes, edits each step by step, and judges every passage after every edit."""
    tally = Tally()
    for number in range(scripts):
        rng = random.Random(seed * 1_000_003 + number)
        judge_script(rng, edits, rng.randint(size // 3, size), tally)
    return tally


def judge_script(rng: random.Random, edits: int, size: int, tally: Tally) -> None:
    origin = EditedNote.random(rng, size)
    before = parse_note("Note.md", origin.data())
    count_duplicates(before, tally)
    passages = passages_of(before, origin, rng)
    now = origin.copy()
    for _ in range(rng.randint(1, edits)):
        if rng.random() < 0.03:
            now = origin.copy()
            now.done.append("restore")
        else:
            now.edit()
        tally.add("edits")
        after = parse_note("Note.md", now.data())
        if after.content_hash == before.content_hash:
            tally.add("fresh", None)
            continue
        texts = Text.of(before), Text.of(after)
        for passage in rng.sample(passages, min(6, len(passages))):
            tally.add("asked")
            if passage.kind is PassageKind.PROPERTY:
                judge_property(
                    origin, now, passage, relocate_property(before, passage, after), tally
                )
                continue
            answer = relocate_lines(texts[0], passage, texts[1])
            Case(origin, now, before, after, passage, answer).judge(tally)


def count_duplicates(note: Note, tally: Tally) -> None:
    full = [n(line) for line in note.lines if n(line)]
    for at, line in enumerate(full):
        others = full[:at] + full[at + 1 :]
        tally.add("lines")
        if any(Indel.normalized_similarity(line, o, score_cutoff=0.75) for o in others):
            tally.add("duplicate lines")


def passages_of(before: Note, origin: EditedNote, rng: random.Random) -> list[Passage]:
    """The chunks of the note, and other ranges of whole lines and of sentences."""
    found = [
        Passage(c.kind, c.heading_path, c.start_line, c.end_line, c.columns, c.node, c.text)
        for c in chunk_note(before)
        if c.kind is not PassageKind.NOTE
    ]
    body = before.frontmatter.body_start_line
    full = [i for i in range(body, len(before.lines) + 1) if n(before.lines[i - 1])]
    for start in rng.sample(full, min(8, len(full))):
        end = rng.choice([i for i in full if start <= i < start + rng.choice([1, 1, 1, 3, 6])])
        found.append(lines_passage(before, start, end))
    for number, line in enumerate(origin.all_lines(), 1):
        if line.kind == "long":
            found.append(sentences_passage(before, number, line, rng))
    return found


def lines_passage(note: Note, start: int, end: int) -> Passage:
    text = "\n".join(note.lines[start - 1 : end])
    path = heading_path_at(note.blocks, start)
    return Passage(PassageKind.LINES, path, start, end, None, None, text)


def sentences_passage(note: Note, number: int, line: Line, rng: random.Random) -> Passage:
    columns = line.columns()
    first = rng.randrange(len(columns))
    last = min(len(columns) - 1, first + rng.randint(0, 3))
    span = (columns[first][0], columns[last][1])
    text = note.lines[number - 1][slice(*span)]
    path = heading_path_at(note.blocks, number)
    return Passage(PassageKind.LINES, path, number, number, span, None, text)


FORMS = {
    "Chinese": re.compile(r"[\u4e00-\u9fff]"),
    "table": re.compile(r"^\|.*\|", re.M),
    "list": re.compile(r"^\s*- ", re.M),
    "code": re.compile(r"^```", re.M),
    "heading": re.compile(r"^#+ ", re.M),
}


def forms_of(text: str) -> list[str]:
    """What a passage holds, so that a run can say that each kind took part."""
    return [form for form, mark in FORMS.items() if mark.search(text)]


@dataclass
class Case:
    """One passage, one answer, and what really happened."""

    origin: EditedNote
    now: EditedNote
    before: Note
    after: Note
    passage: Passage
    answer: Citation

    def judge(self, tally: Tally) -> None:
        truth = self.truth()
        found = self.answer.match is not None
        kind = "part" if self.passage.columns else "lines"
        tally.add(f"asked {kind}")
        for form in forms_of(self.passage.text):
            tally.add(f"asked {form}")
            if found:
                tally.add(f"found {form}")
        if not found:
            tally.add("unresolvable")
        elif self.answer.match is Match.EXACT:
            tally.add("exact")
            if n(self.answer.text) != n(self.passage.text) and not self.passage.columns:
                tally.add("exact with another text", self.show())
            if not self.same_place(truth):
                if self.interchangeable():
                    tally.add("exact, equal texts traded places")
                else:
                    tally.add("exact wrong", self.show())
        else:
            tally.add("similar")
            if not self.similar_right(truth):
                tally.add("similar wrong", self.show())
        self.judge_recall(truth, tally)

    def cited(self) -> set[int]:
        """Origins of the passage's units."""
        assert self.passage.start_line is not None
        assert self.passage.end_line is not None
        found = set()
        lines = self.origin.all_lines()
        for number in range(self.passage.start_line, self.passage.end_line + 1):
            for start, end, unit in lines[number - 1].columns():
                inside = not self.passage.columns or (
                    start < self.passage.columns[1] and end > self.passage.columns[0]
                )
                if inside and unit.origin and lines[number - 1].text.strip():
                    found.add(unit.origin)
        return found

    def truth(self) -> set[tuple[int, int]]:
        """Where they are now: (line, index of the unit in it)."""
        cited = self.cited()
        return {
            (number, at)
            for number, line in enumerate(self.now.all_lines(), 1)
            for at, unit in enumerate(line.units)
            if unit.origin in cited and line.text.strip() and n(unit.text)
        }

    def shown(self) -> set[tuple[int, int]]:
        """The units the answer covers."""
        answer = self.answer
        assert answer.start_line is not None
        assert answer.end_line is not None
        lines = self.now.all_lines()
        covered = set()
        for number in range(answer.start_line, answer.end_line + 1):
            raw = self.after.lines[number - 1]
            span = answer.columns or (0, len(raw))
            wide = len(raw) != len(lines[number - 1].text)  # other Unicode form: columns differ
            for at, (start, end, unit) in enumerate(lines[number - 1].columns()):
                hit = start < span[1] and end > span[0]
                if wide and answer.columns:
                    hit = n(unit.text) in n(answer.text)
                if hit and n(unit.text) and lines[number - 1].text.strip():
                    covered.add((number, at))
        return covered

    def same_place(self, truth: set[tuple[int, int]]) -> bool:
        """Whether what is shown is what was cited, to the line; its text is known to be the same.

        Where the passage was torn apart, equal lines may stand in the place of some of its own. A
        part of a long line that crosses lines now is shown as whole lines.
        """
        shown = self.shown()
        if self.passage.columns and not self.answer.columns:
            return {line for line, _ in shown} == {line for line, _ in truth}
        if self.run_text(truth) == n(self.passage.text):
            return shown == truth
        return bool(shown & truth)

    def interchangeable(self) -> bool:
        """Whether the copies under the passage's heading are as many as before, and in order.

        Two histories then lead to the same file; the one in which nothing traded places with
        its own copy is the one the rules go by.
        """
        then, now = self.copies_by_path(self.before), self.copies_by_path(self.after)
        assert self.answer.start_line is not None
        cited_path = self.path_at(self.before, self.passage.start_line or 1)
        shown_path = self.path_at(self.after, self.answer.start_line)
        if then - now == Counter([cited_path]) and now - then == Counter([shown_path]):
            return True  # as if it alone had moved
        old, new = self.places(self.before), self.places(self.after)
        mine = (self.passage.start_line, (self.passage.columns or (0, 0))[0])
        shown = (self.answer.start_line, (self.answer.columns or (0, 0))[0])
        if self.passage.columns and not self.answer.columns:  # crosses lines now
            new = [(line, 0) for line, _ in new]
        if len(old) != len(new) or mine not in old or shown not in new:
            return False
        return new[old.index(mine)] == shown

    def units(self, places: Collection[tuple[int, int]]) -> list[Unit]:
        lines = self.now.all_lines()
        return [lines[number - 1].units[at] for number, at in sorted(places)]

    def path_at(self, note: Note, line: int) -> tuple[str, ...]:
        return tuple(n(part) for part in heading_path_at(note.blocks, line))

    def copies_by_path(self, note: Note) -> Counter[tuple[str, ...]]:
        by = Text.of(note).by_sentence if self.passage.columns else Text.of(note).by_line
        found = by.find(n(self.passage.text))
        return Counter(self.path_at(note, by.lines[span.first]) for span in found)

    def places(self, note: Note) -> list[tuple[int, int]]:
        text = Text.of(note)
        by = text.by_sentence if self.passage.columns else text.by_line
        path = tuple(n(part) for part in self.passage.heading_path)
        return [
            (by.lines[first], by.columns[first][0] if by.columns else 0)
            for first, _, _ in by.find(n(self.passage.text))
            if self.path_at(note, by.lines[first]) == path
        ]

    def similar_right(self, truth: set[tuple[int, int]]) -> bool:
        """Something of the passage, or a copy made of its text, is shown, and mostly that.

        What was put between the passage's lines, and equal lines beside them, are of the place.
        """
        shown, cited = self.shown(), self.cited()
        texts = self.texts_then()
        mine, equal = set(), set()
        for at in shown:
            unit = self.units([at])[0]
            if unit.origin in cited or (unit.kin and texts[unit.kin] in {texts[i] for i in cited}):
                mine.add(at)
            elif n(unit.text) in {texts[i] for i in cited}:
                equal.add(at)
        if not mine:
            return False
        hull = {at for at in shown if truth and min(truth) <= at <= max(truth)}
        foreign = shown - mine - equal - hull
        if self.passage.columns and not self.answer.columns:
            lines = {line for line, _ in truth}
            foreign = {at for at in foreign if at[0] not in lines}
        return self.size(foreign) * 2 <= self.size(shown)

    def texts_then(self) -> dict[int, str]:
        """Text of every original unit when it was indexed."""
        lines = self.origin.all_lines()
        return {unit.origin: n(unit.text) for line in lines for unit in line.units if unit.origin}

    def size(self, units: Collection[tuple[int, int]]) -> int:
        return sum(len(n(unit.text)) for unit in self.units(units))

    # ------------------------------------------------------------------ what must be found

    def judge_recall(self, truth: set[tuple[int, int]], tally: Tally) -> None:
        now = self.run_text(truth)
        if now is None:
            return
        was = n(self.passage.text)
        right = self.answer.match is not None and self.similar_right(truth)
        if now == was:
            if self.copies(self.before) == self.copies(self.after) == 1:
                self.count("unique", right, tally)
            return
        changed = Levenshtein.distance(was, now)
        if changed < len(was) / 5 and not self.has_twin(truth):
            short = letters(was) < MIN_LETTERS
            self.count("changed, short" if short else "changed", right, tally)

    def count(self, name: str, right: bool, tally: Tally) -> None:
        tally.add(name)
        if right:
            tally.add(f"{name}, found")
        else:
            tally.add(f"{name}, missed", self.show())

    def run_text(self, truth: set[tuple[int, int]]) -> str | None:
        """Text of the place where the whole passage stands in its order, or None."""
        if not truth:
            return None
        lines = self.now.all_lines()
        first, last = min(truth), max(truth)
        origins, texts = [], []
        for number in range(first[0], last[0] + 1):
            line = lines[number - 1]
            parts = []
            for at, unit in enumerate(line.units):
                if first <= (number, at) <= last and n(unit.text):
                    if (number, at) not in truth:
                        return None
                    origins.append(unit.origin or 0)
                    parts.append(unit.text)
                elif n(unit.text) and not self.passage.columns:
                    return None
            whole = self.passage.columns is None
            texts.append(line.text if whole else line.joint.join(parts))
        in_order = origins == sorted(origins) and set(origins) == self.cited()
        return n("\n".join(texts)) if in_order else None

    def copies(self, note: Note) -> int:
        return n("\n".join(note.lines)).count(n(self.passage.text))

    def has_twin(self, truth: set[tuple[int, int]]) -> bool:
        """Whether most of the passage has something like it elsewhere, before or after."""
        cited = self.cited()
        mine = {
            n(u.text) for line in self.origin.all_lines() for u in line.units if u.origin in cited
        }
        mine |= {n(self.now.all_lines()[i - 1].units[at].text) for i, at in truth}
        rest = [
            n(unit.text)
            for note, ours in ((self.origin, None), (self.now, truth))
            for i, line in enumerate(note.all_lines(), 1)
            for at, unit in enumerate(line.units)
            if n(unit.text) and ((i, at) not in ours if ours else unit.origin not in cited)
        ]
        alike = sum(
            any(Indel.normalized_similarity(text, other, score_cutoff=0.65) for other in rest)
            for text in mine
        )
        return alike * 2 >= len(mine)

    def show(self) -> str:
        return (
            f"{self.passage}\n-> {self.answer}\nedits {self.now.done}\n--- before\n"
            + _numbered(self.before)
            + "\n--- after\n"
            + _numbered(self.after)
        )


def judge_property(
    origin: EditedNote, now: EditedNote, passage: Passage, answer: Citation, tally: Tally
) -> None:
    """A property stands where its own line went; no line of another value is its own."""
    assert passage.start_line is not None
    assert passage.end_line is not None
    tally.add("asked property")
    mark = origin.head[passage.start_line - 1].units[0].origin
    here = [i for i, line in enumerate(now.head, 1) if line.units[0].origin == mark]
    extent = passage.end_line - passage.start_line + 1
    texts = [n("\n".join(line.text for line in now.head[i - 1 : i - 1 + extent])) for i in here]
    kept = texts == [n(passage.text)]
    show = f"{passage} -> {answer}\n{origin.data()!r}\n{now.data()!r}"
    if here:
        tally.add("property kept" if kept else "property edited")
    if answer.match is None:
        name = "property edited and not found" if here else "property gone"
        tally.add("property kept but missed" if kept else name, show)
        return
    tally.add("property found")
    same = n(answer.text) == n(passage.text)
    exact = answer.match is Match.EXACT
    tally.add("property exact" if exact else "property similar")
    anew = not here and same
    if ([answer.start_line] != here and not anew) or exact != same:
        tally.add("property wrong", show)


def _numbered(note: Note) -> str:
    return "\n".join(f"{i:3} {line!r}" for i, line in enumerate(note.lines, 1))


@dataclass
class Comparison:
    """One answer beside what the rules say, read word by word."""

    by_rules: citation_rules.Answer
    ours: citation_rules.Answer
    why: str
    show: str


def compared_with_rules(seed: int, scripts: int, edits: int) -> Iterator[Comparison]:
    """Answers of the resolver for passages of whole lines in small edited notes."""
    for number in range(scripts):
        rng = random.Random(seed * 7_000_003 + number)
        origin = EditedNote.random(rng, rng.randint(4, 14))
        before = parse_note("Note.md", origin.data())
        now = origin.copy()
        for _ in range(rng.randint(1, edits)):
            now.edit()
        after = parse_note("Note.md", now.data())
        sides = side(before), side(after)
        for passage in passages_of(before, origin, rng):
            if passage.kind is not PassageKind.LINES or passage.columns:
                continue
            cited = trimmed(before, passage)
            by_rules = citation_rules.resolve(sides[0], cited, passage.heading_path, sides[1])
            got = relocate_lines(Text.of(before), passage, Text.of(after))
            ours = None
            if got.match is not None:
                assert got.start_line is not None
                assert got.end_line is not None
                ours = (got.match.value, got.start_line, got.end_line)
            show = f"{passage}\n{now.done}\n{_numbered(before)}\n---\n{_numbered(after)}"
            yield Comparison(by_rules, ours, got.why, show)


def side(note: Note) -> citation_rules.Side:
    return citation_rules.Side(
        note.lines,
        note.frontmatter.body_start_line,
        lambda line: heading_path_at(note.blocks, line),
    )


def trimmed(note: Note, passage: Passage) -> tuple[int, int]:
    assert passage.start_line is not None
    assert passage.end_line is not None
    full = [i for i in range(passage.start_line, passage.end_line + 1) if n(note.lines[i - 1])]
    return full[0], full[-1]
