"""The rules of the live citation resolver, word for word and as slow as they read.

The oracle of `relocate`: nothing here is shared with it, every run of lines is tried, and
similarity is difflib's. For notes of at most a few dozen lines.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Answer = tuple[str, int, int] | None  # "exact" or "similar", first line, last line
PathAt = Callable[[int], tuple[str, ...]]


def n(text: str) -> str:
    text = unicodedata.normalize("NFC", text.removeprefix("\ufeff"))
    return " ".join(text.split())


@dataclass(frozen=True)
class Side:
    """A note before or after: its lines, where its body starts, and its heading paths."""

    lines: Sequence[str]
    body_start: int
    path_at: PathAt

    def runs(self, longest: int) -> list[tuple[int, int]]:
        body = range(self.body_start, len(self.lines) + 1)
        full = [number for number in body if n(self.lines[number - 1])]
        return [(i, j) for i in full for j in full if i <= j < i + longest]

    def text(self, run: tuple[int, int]) -> str:
        return n("\n".join(self.lines[run[0] - 1 : run[1]]))

    def path(self, run: tuple[int, int]) -> tuple[str, ...]:
        return tuple(n(text) for text in self.path_at(run[0]))

    def holding(self, wanted: str) -> list[tuple[int, int]]:
        words = wanted.split()
        found = []
        for i, j in self.runs(len(self.lines)):
            if j - i < 3 * len(words) + 40 and self.text((i, j)) == wanted:
                found.append((i, j))
        return found


def resolve(before: Side, cited: tuple[int, int], path: tuple[str, ...], after: Side) -> Answer:
    """Rules 4 and 5."""
    wanted = before.text(cited)
    own_path = tuple(n(text) for text in path)
    candidates = after.holding(wanted)
    if candidates:
        return _rule_4(before, cited, wanted, own_path, after, candidates)
    return _rule_5(before, cited, wanted, own_path, after)


def _rule_4(
    before: Side,
    cited: tuple[int, int],
    wanted: str,
    own_path: tuple[str, ...],
    after: Side,
    candidates: list[tuple[int, int]],
) -> Answer:
    occurrences = before.holding(wanted)
    own = [run for run in candidates if after.path(run) == own_path]
    if own:
        then = [run for run in occurrences if before.path(run) == own_path]
        if len(own) != len(then):
            return None
        return ("exact", *own[then.index(cited)])
    others = {before.path(run) for run in occurrences if run != cited}
    left = [run for run in candidates if after.path(run) not in others]
    return ("exact", *left[0]) if len(left) == 1 else None


def _rule_5(
    before: Side,
    cited: tuple[int, int],
    wanted: str,
    own_path: tuple[str, ...],
    after: Side,
) -> Answer:
    inside = {n(line) for line in before.lines[cited[0] - 1 : cited[1]]}
    outside = {
        n(line)
        for number, line in enumerate(before.lines, 1)
        if not cited[0] <= number <= cited[1] and n(line)
    }
    accounted = outside - inside
    runs = []
    for run in after.runs(2 * (cited[1] - cited[0] + 1) + 2):
        lines = after.lines[run[0] - 1 : run[1]]
        if any(n(line) in accounted for line in lines):
            continue
        matcher = difflib.SequenceMatcher(None, wanted, after.text(run), autojunk=False)
        if matcher.real_quick_ratio() >= 0.75 and matcher.quick_ratio() >= 0.75:
            score = matcher.ratio()
            if score >= 0.75:
                runs.append((-score, run[1] - run[0] + 1, run))
    places: list[tuple[int, int]] = []
    for _, _, run in sorted(runs):
        if all(run[1] < place[0] or place[1] < run[0] for place in places):
            places.append(run)
    if not places:
        return None
    if len(places) > 1:
        places = [place for place in places if after.path(place) == own_path]
        if len(places) != 1:
            return None
    return ("similar", *places[0])
