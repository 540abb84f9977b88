"""Ranking settings chosen by a person's questions: found where planted, kept where there is noise."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sidelight.config import Settings
from sidelight.errors import QueriesError
from sidelight.evaluation.recollection import Recollection, recollect
from sidelight.evaluation.topics import Topic
from sidelight.evaluation.tuning import FEWEST, GRID, render_tuning, tune

DEFAULTS = {name: getattr(Settings(), name) for name in GRID}


def topic(number: int, right: str) -> Topic:
    query = f"第 {number} 盆番茄怎么浇水" if number % 2 else f"how to water tomato pot {number}"
    return Topic(
        str(number), query, "zh" if number % 2 else "en", "lookup", True, frozenset({right})
    )


def trace(
    hits: dict[str, Sequence[tuple[str, int]]], numbers: dict[str, dict[str, float]]
) -> dict[str, Any]:
    """A search's explanation: channel to (note, rank), note to its numbers."""
    ranks: dict[str, dict[str, int]] = {channel: dict(found) for channel, found in hits.items()}
    candidates = [
        {
            "path": path,
            "chunk_id": path,
            "contributions": {c: 1 / (60 + r[path]) for c, r in ranks.items() if path in r},
            "cosine": None,
            "title": None,
            "coverage": 0.0,
            **numbers.get(path, {}),
        }
        for path in dict.fromkeys(path for found in hits.values() for path, _ in found)
    ]
    channels = {
        channel: [{"chunk_id": p, "path": p, "rank": r, "score": 0.0} for p, r in found]
        for channel, found in hits.items()
    }
    return {"k": 60, "chance": 0.3, "channels": channels, "candidates": candidates}


def planted_k(number: int) -> Recollection:
    """Equal evidence, so ranks decide: first of one list or tenth of both? Right: the first.

    1/61 < 2/70 at k = 60, but 1/11 > 2/30 at k = 10 with ranks 1 and 20.
    """
    right, wrong = ("对.md", "错.md") if number % 2 else ("right.md", "wrong.md")
    hits = {"bm25": [(right, 1), (wrong, 20)], "vector": [(wrong, 20)]}
    return Recollection.of(topic(number, right), trace(hits, {}))


def planted_words(number: int) -> Recollection:
    """The right note holds every word, the wrong one is nearer in meaning."""
    right, wrong = ("对.md", "错.md") if number % 2 else ("right.md", "wrong.md")
    numbers = {right: {"coverage": 1.0, "cosine": 0.1}, wrong: {"coverage": 0.2, "cosine": 0.50}}
    hits = {"bm25": [(right, 1)], "vector": [(wrong, 1)]}
    return Recollection.of(topic(number, right), trace(hits, numbers))


def noise(number: int, random_: random.Random) -> Recollection:
    """Which of two notes is right has nothing to do with their numbers."""
    right = random_.choice(["甲.md", "乙.md"])
    numbers = {
        path: {name: random_.random() for name in ("coverage", "cosine", "title")}
        for path in ("甲.md", "乙.md")
    }
    hits = {"bm25": [("甲.md", 1), ("乙.md", 2)], "vector": [("乙.md", 1), ("甲.md", 2)]}
    return Recollection.of(topic(number, right), trace(hits, numbers))


def test_a_better_k_is_found_and_nothing_else_is_moved() -> None:
    made = tune([planted_k(n) for n in range(30)], Settings())
    assert not made.keeps_defaults
    assert made.chosen == {**DEFAULTS, "rrf_k": 10}
    assert (made.at_defaults, made.at_best) == (pytest.approx(0.63, abs=0.01), 1)
    assert made.cross_validated == 1


def test_words_that_count_more_are_found_in_both_languages() -> None:
    made = tune([planted_words(n) for n in range(30)], Settings())
    assert not made.keeps_defaults
    assert made.chosen["words_worth"] > DEFAULTS["words_worth"]
    assert {n: v for n, v in made.chosen.items() if n != "words_worth"} == {
        n: v for n, v in DEFAULTS.items() if n != "words_worth"
    }


@pytest.mark.parametrize("seed", range(5))
def test_the_defaults_stay_where_there_is_nothing_but_noise(seed: int) -> None:
    generator = random.Random(seed)
    made = tune([noise(n, generator) for n in range(30)], Settings(), seed=seed)
    assert made.keeps_defaults
    assert made.chosen == DEFAULTS


def test_three_questions_of_thirty_are_no_proof() -> None:
    same = [planted_words(n) for n in range(3)]
    settled = [
        Recollection.of(topic(n, "a.md"), trace({"bm25": [("a.md", 1)]}, {})) for n in range(27)
    ]
    made = tune([*same, *settled], Settings())
    assert made.chosen == DEFAULTS


def test_a_gain_that_is_certain_but_tiny_is_not_worth_it() -> None:
    made = tune([planted_k(n) for n in range(30)], Settings())
    tiny = replace(made, gain=(0.006, 0.001, 0.014))
    assert tiny.chosen == DEFAULTS
    assert "The defaults stay" in render_tuning(tiny)


def test_a_shorter_list_leaves_out_what_lies_deeper() -> None:
    hits = {"bm25": [("近.md", 1), ("远.md", 120)], "metadata": [("far name.md", 140)]}
    found = Recollection.of(topic(1, "近.md"), trace(hits, {}))
    assert set(found.notes(Settings(pool=50))) == {"近.md"}
    assert set(found.notes(Settings(pool=150))) == {"近.md", "远.md", "far name.md"}


def test_the_table_says_what_is_chosen_and_why() -> None:
    planted = tune([planted_k(n) for n in range(30)], Settings(rrf_k=30))
    shown = render_tuning(planted)
    assert "30 answerable questions" in shown
    for row in ("defaults", "as set now", "best by all questions", "cross-validated"):
        assert row in shown
    assert "The best is chosen" in shown
    assert planted.now["rrf_k"] == 30
    document = json.loads(json.dumps(planted.as_json(), allow_nan=False))
    assert document["chosen"]["rrf_k"] == 10
    assert document["keeps_defaults"] is False


class NeverAsked:
    """An engine that must not be asked."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def test_too_few_questions_are_refused_in_one_line_before_anything_is_asked() -> None:
    few = [topic(n, "a.md") for n in range(FEWEST - 1)]
    with pytest.raises(QueriesError) as refused:
        recollect(NeverAsked(), few, fewest=FEWEST)
    assert "19 answerable questions are too few" in str(refused.value)
    assert "\n" not in str(refused.value)
