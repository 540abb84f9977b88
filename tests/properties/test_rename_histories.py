"""Random histories of small notes, some with equal bytes: a citation is of its note or refused."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import NotFoundError
from sidelight.types import CitationStatus, SearchRequest

PATHS = ["a.md", "b.md", "茶.md", "Untitled.md", "d.md"]
LINES = [
    "The keeper winds the clock of the tower on Sunday evening.",
    "The keeper winds the clock of the tower on Monday evening.",
    "守钟人每个星期日的傍晚给钟楼的大钟上发条。",
    "守钟人每个星期一的傍晚给钟楼的大钟上发条。",
]
STEPS = 30


class History:
    """A vault, and which note stands where: a note keeps its number when it is renamed."""

    def __init__(self, vault: Path, seed: int) -> None:
        self.vault = vault
        self.rng = random.Random(seed)
        self.number: dict[str, int] = {}
        self.left: dict[str, int] = {}  # the note that was deleted at a free path
        self.count = 0
        self.log: list[str] = []

    def step(self) -> None:
        """One thing that a person does, or two between which nobody looks."""
        free = [path for path in PATHS if path not in self.number]
        taken = sorted(self.number)
        kinds = ["create"] * bool(free) + ["edit", "replace", "delete"] * bool(taken)
        kinds += ["rename", "rename", "rename and create"] * bool(free and taken)
        kinds += ["swap"] * (len(taken) > 1)
        kind = self.rng.choice(kinds)
        path = self.rng.choice(taken) if taken else ""
        self.log.append(f"{kind} {path}")
        if kind == "create":
            self.create(self.rng.choice(free))
        elif kind == "edit":
            self.write(path, "new\n\n" + self.text(path))
        elif kind == "replace":
            self.write(path, self.rng.choice(LINES) + "\n")
        elif kind == "delete":
            (self.vault / path).unlink()
            self.left[path] = self.number.pop(path)
        elif kind == "swap":
            self.swap(path, self.rng.choice([other for other in taken if other != path]))
        else:
            before = self.text(path)
            self.rename(path, self.rng.choice(free))
            if kind == "rename and create":
                self.create(path, before)

    def create(self, path: str, without: str = "") -> None:
        self.count += 1
        self.number[path] = self.left.pop(path, self.count)  # deleted and made anew: the same
        # Not the bytes that just left in the same step: that is a copy, as far as files tell.
        others = [line for line in LINES if line + "\n" != without]
        self.write(path, self.rng.choice(others) + "\n")

    def rename(self, old: str, new: str) -> None:
        self.log[-1] += f" to {new}"
        (self.vault / old).rename(self.vault / new)
        self.number[new] = self.number.pop(old)
        self.left.pop(new, None)

    def swap(self, one: str, other: str) -> None:
        if self.text(one) == self.text(other):
            return  # nothing tells that equal ones were swapped
        self.rename(one, "aside")
        self.rename(other, one)
        self.rename("aside", other)

    def text(self, path: str) -> str:
        return (self.vault / path).read_text("utf-8")

    def write(self, path: str, text: str) -> None:
        (self.vault / path).write_text(text, "utf-8", newline="\n")


def check(
    engine: Engine, history: History, seen: dict[str, str], owners: dict[str, set[int]]
) -> int:
    found = 0
    for ref, text in seen.items():
        try:
            path, citation = engine.resolve(ref)
        except NotFoundError:
            path, citation = "", None
        told = (history.log, path, text, citation)
        if citation is not None and citation.status is not CitationStatus.UNRESOLVABLE:
            found += 1
            same = history.number[path] in owners[ref] or history.text(path) == text
            assert same, f"another note: {told}"
        stand = [p for p, number in history.number.items() if number in owners[ref]]
        if any(history.text(p) == text for p in stand) and len(owners[ref]) == 1:
            assert citation is not None, f"lost: {told}"
            assert citation.status is CitationStatus.FRESH, f"lost: {told}"
    return found


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 43))]
)
def test_citation_is_of_its_note_or_refused(tmp_path: Path, seed: int) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "stays.md").write_text("A note that stays.\n", "utf-8")
    history = History(vault, seed)
    engine = Engine.open(
        vault,
        settings=Settings(gate_strictness="off"),
        lexical_only=True,
        data_dir=tmp_path / "data",
    )
    seen: dict[str, str] = {}
    owners: dict[str, set[int]] = defaultdict(set)
    found = 0
    try:
        for _ in range(STEPS):
            history.step()
            engine.sync(lexical_only=True)
            for path in history.number:
                results = engine.search(SearchRequest(f'file:"{path}"')).results
                ref = next(one.ref for one in results if one.path == path)
                seen[ref] = history.text(path)
                owners[ref].add(history.number[path])
            found += check(engine, history, seen, owners)
    finally:
        engine.close()
    assert found > STEPS
