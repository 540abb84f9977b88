"""A context is never over its budget, whatever is in the notes and whoever counts."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from random_packs import Case, random_case

from sidelight.models.registry import resolve_folder
from sidelight.models.tokens import TokenCounter, count_bytes, estimate, token_counter
from sidelight.query.pack import pack
from sidelight.types import Pack, PackRequest

BUDGETS = (0, 1, 11, 50, 200, 777, 2_000, 4_000, 20_000, 1_000_000)


def merging(text: str) -> int:
    """A counter whose whole is more, and at other times less, than the sum of its parts."""
    return len(text) // 3 + 7 * text.count("</note>\n<note") - text.count("  ") // 2


COUNTERS: dict[str, Callable[[str], int]] = {
    "bytes": count_bytes,
    "estimate": estimate,
    "merging": lambda text: max(0, merging(text)),
}


def packed(case: Case, seed: int, counter: TokenCounter) -> Pack:
    rng = random.Random(seed)
    request = PackRequest(
        "q",
        budget=rng.choice((*BUDGETS, rng.randint(0, 3_000))),
        pieces=rng.choice((1, 5, 20, 100)),
        per_note=rng.choice((1, 2, 5)),
        widen=rng.random() < 0.8,
        diversity=rng.choice((0.0, 0.0, 0.3, 1.0)),
    )
    return pack(case.found, request, counter, case.files)  # type: ignore[arg-type]


def check(case: Case, result: Pack, counter: TokenCounter) -> None:
    assert result.tokens == counter.count(result.text) <= result.budget
    assert [p.number for p in result.pieces] == list(range(1, len(result.pieces) + 1))
    for piece in result.pieces:
        start, end = piece.citation.start_line, piece.citation.end_line
        assert start is not None
        assert end is not None
        lines = case.notes[piece.path].split("\n")
        assert piece.text == "\n".join(lines[start - 1 : end])
    opened = re.findall(r'^<note n="(\d+)"', result.text, re.MULTILINE)
    assert [int(n) for n in opened] == [p.number for p in result.pieces]
    assert result.text.count("</note>") == len(result.pieces)
    for path in {p.path for p in result.pieces}:
        held = [p.citation for p in result.pieces if p.path == path]
        sections = [c for c, p in zip(held, [p for p in result.pieces if p.path == path], strict=True)
                    if p.scope == "section"]  # fmt: skip
        for section in sections:
            inside = [
                c for c in held
                if c is not section and section.start_line <= c.start_line  # type: ignore[operator]
                and c.end_line <= section.end_line  # type: ignore[operator]
            ]  # fmt: skip
            assert not inside
    named = {p.ref for p in result.pieces} | {one.ref for one in result.left_out}
    missing = {r.ref for r in case.found.results if r.text.strip()} - named
    for ref in missing:  # only what a wider piece took in goes without a word
        one = next(r for r in case.found.results if r.ref == ref)
        assert any(
            p.path == one.path and p.citation.start_line <= one.citation.start_line  # type: ignore[operator]
            and one.citation.end_line <= p.citation.end_line  # type: ignore[operator]
            for p in result.pieces
        )  # fmt: skip


def check_many(seeds: range, counter: TokenCounter) -> None:
    for seed in seeds:
        case = random_case(seed)
        check(case, packed(case, seed, counter), counter)


@pytest.mark.parametrize("name", COUNTERS)
def test_no_context_is_over_its_budget(name: str) -> None:
    check_many(range(120), TokenCounter(name, COUNTERS[name]))


def test_no_context_is_over_its_budget_by_the_models_own_tokenizer() -> None:
    if not (resolve_folder() / "tokenizer.json").is_file():
        pytest.skip("needs the built model: run `sidelight model build`")
    check_many(range(1_000, 1_060), token_counter("model", None))


@pytest.mark.soak
def test_no_context_of_ten_thousand_is_over_its_budget() -> None:
    check_many(range(10_000), TokenCounter("estimate", estimate))
    if (resolve_folder() / "tokenizer.json").is_file():
        check_many(range(10_000, 12_000), token_counter("model", None))
