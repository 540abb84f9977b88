"""Fusion recipes on lists known by hand, in Chinese and in English."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sidelight.config import FUSIONS
from sidelight.errors import UsageError
from sidelight.evaluation.laboratory import (
    READING,
    RECIPES,
    Chosen,
    chosen,
    compare,
    render_recipes,
)
from sidelight.evaluation.recollection import Recollection
from sidelight.evaluation.topics import Topic

# What each channel gives: note to (rank, score). The words alone find 词.md, the meaning 义.md.
WORDS = {"词.md": (1, 12.0), "both.md": (2, 9.0), "poor.md": (3, 1.0)}
MEANING = {"义.md": (1, 0.60), "both.md": (2, 0.58), "词.md": (3, 0.10)}
COVERAGE = {"词.md": 0.9, "both.md": 0.8, "poor.md": 0.1, "义.md": 0.0}
ORDER = ("both.md", "义.md", "词.md", "poor.md")  # by evidence


def recollection(right: str = "both.md", **changes: Any) -> Recollection:
    lists = {"metadata": {}, "bm25": WORDS, "vector": MEANING, **changes}
    candidates = [
        {
            "path": note,
            "chunk_id": note,
            "contributions": {
                channel: (COVERAGE[note] if channel == "bm25" else 1.0) / (60 + found[note][0])
                for channel, found in lists.items()
                if note in found
            },
            "cosine": MEANING[note][1] if note in MEANING else None,
            "title": None,
            "coverage": COVERAGE[note],
            "rerank_score": {"both.md": 0.1, "义.md": 0.9}.get(note),
        }
        for note in ORDER
    ]
    trace = {
        "k": 60,
        "chance": 0.3,
        "candidates": candidates,
        "channels": {
            channel: [
                {"chunk_id": note, "path": note, "rank": rank, "score": score}
                for note, (rank, score) in found.items()
            ]
            for channel, found in lists.items()
        },
    }
    topic = Topic("1", "怎么给 both 浇水", "zh", "lookup", True, frozenset({right}))
    return Recollection.of(topic, trace)


def order(label: str) -> list[str]:
    (recipe,) = chosen([label])
    return recipe.notes(recollection())


def test_each_recipe_orders_as_its_formula_says() -> None:
    assert order("evidence") == list(ORDER)
    # 词 1/61 + 1/63, both 2/62: a curve that bends, so first and third is a little more
    assert order("rrf_plain") == ["词.md", "both.md", "义.md", "poor.md"]
    assert order("rrf_two") == order("rrf_plain")  # the third channel found nothing
    # 0.3/61 + 0.7/63 = .01603, 1/62 = .01613, 0.7/61 = .01148, 0.3/63
    assert order("rrf_fixed") == ["both.md", "词.md", "义.md", "poor.md"]
    # words count as far as they cover: 词 .9/61 + 1/63 = .0306, both .8/62 + 1/62 = .0290
    assert order("rrf_confident") == ["词.md", "both.md", "义.md", "poor.md"]
    # meaning .96, 1, 0 and words .727, -, 1: both .7 x .96 + .3 x .727
    assert order("min_max") == ["both.md", "义.md", "词.md", "poor.md"]
    assert order("raw") == ["both.md", "义.md", "词.md", "poor.md"]
    assert order("raw_bm25") == ["词.md", "both.md", "义.md", "poor.md"]  # BM25 drowns a cosine
    assert order("rerank=1") == ["义.md", "both.md", "词.md", "poor.md"]
    assert order("rerank=0") == list(ORDER)
    assert order("composite=1") == ["义.md", "both.md", "词.md", "poor.md"]
    assert order("composite=0")[0] == "both.md"


def test_a_channel_alone_gives_what_it_found_and_nothing_else() -> None:
    assert order("vector") == ["义.md", "both.md", "词.md"]
    assert order("bm25") == ["词.md", "both.md", "poor.md"]


def test_alpha_goes_from_words_to_meaning() -> None:
    for name in ("min_max", "z_score", "raw", "raw_bm25", "rrf_fixed"):
        assert order(f"{name}=0")[0] == "词.md", name
        assert order(f"{name}=1")[0] == "义.md", name


def test_a_z_score_puts_what_a_list_lacks_at_its_end_and_not_at_its_middle() -> None:
    # 义 is not among the words: with a 0 for that it would beat both, whose words are average
    recipe, found = RECIPES["z_score"], recollection()
    scores = dict(zip(found.paths, recipe.score(found, 0.5).tolist(), strict=True))
    words = {note: score for note, (_, score) in WORDS.items()}
    mean = sum(words.values()) / 3
    spread = math.sqrt(sum((s - mean) ** 2 for s in words.values()) / 3)
    lowest = (1.0 - mean) / spread
    meaning = [score for _, score in MEANING.values()]
    middle = sum(meaning) / 3
    wide = math.sqrt(sum((s - middle) ** 2 for s in meaning) / 3)
    assert scores["义.md"] == pytest.approx(0.5 * (0.60 - middle) / wide + 0.5 * lowest)


@pytest.mark.parametrize("recipe", [n for n in RECIPES if n not in READING])
def test_no_recipe_fails_where_a_channel_found_nothing_or_all_scores_are_equal(recipe: str) -> None:
    (one,) = chosen([recipe])
    nothing = recollection(bm25={}, vector={})
    assert one.notes(nothing) == ([] if recipe in ("vector", "bm25") else list(ORDER))
    equal = recollection(vector={"义.md": (1, 0.4), "both.md": (2, 0.4)})
    assert set(one.notes(equal)) <= set(ORDER)


def test_recipes_are_compared_with_the_default_on_the_same_questions() -> None:
    sets = {
        "中文": [recollection("both.md"), recollection("both.md")],
        "english": [recollection("义.md"), recollection("both.md")],
    }
    rows = compare(sets, chosen(["evidence", "rrf_plain", "vector"]))
    second = 1 / math.log2(3)
    assert rows["evidence"]["sets"] == {"中文": 1.0, "english": pytest.approx((1 + second) / 2)}
    assert rows["evidence"]["difference"] == 0.0
    plain = rows["rrf_plain=60"]
    assert plain["mean"] == pytest.approx((second + (0.5 + second) / 2) / 2)
    assert plain["difference"] == pytest.approx(plain["mean"] - rows["evidence"]["mean"])
    low, high = plain["interval"]
    assert low <= plain["difference"] <= high < 0
    said = render_recipes(rows).splitlines()
    assert [line.split()[0] for line in said[1:4]] == ["evidence", "vector", "rrf_plain=60"]


def test_all_are_chosen_at_once_and_swept_when_asked() -> None:
    every = chosen(["all"])
    assert {one.name for one in every} == set(RECIPES) - set(READING)  # they need a model's scores
    assert {one.name for one in every} >= set(FUSIONS)  # what the settings offer is measured
    assert chosen(["min_max"], sweep=True) == [
        Chosen("min_max", 0.7), Chosen("min_max", 0.1), Chosen("min_max", 0.3),
        Chosen("min_max", 0.5), Chosen("min_max", 0.9),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [("borda", "min_max"), ("min_max=2", "alpha from 0 to 1"), ("min_max=x", "alpha"),
     ("rrf_plain=0", "k from 1 to 1000"), ("vector=1", "takes none")],
)  # fmt: skip
def test_a_recipe_that_is_none_is_refused_with_what_there_is(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        chosen([text])
    assert said in str(refused.value)
