"""The measures are the field's own: by hand on small lists, and against ir-measures on many."""

from __future__ import annotations

import random
import unicodedata

import ir_measures
import pytest
from ir_measures import RR, R, Success, nDCG

from sidelight.evaluation.metrics import (
    NAMES,
    auc,
    mean_measures,
    measure,
    note_ranking,
    paired_bootstrap,
)

ORACLE = {
    "ndcg@10": nDCG @ 10,
    "mrr@10": RR @ 10,
    "hit@1": Success @ 1,
    "hit@5": Success @ 5,
    "recall@10": R @ 10,
}


def test_a_note_counts_at_its_first_appearance() -> None:
    assert note_ranking(["a", "b", "a", "c", "b"]) == ["a", "b", "c"]


def test_notes_that_are_neither_right_nor_wrong_are_taken_out() -> None:
    assert note_ranking(["x", "a", "x", "b"], {"x"}) == ["a", "b"]


def test_decomposed_names_are_the_same_notes() -> None:
    decomposed = unicodedata.normalize("NFD", "Café が.md")
    assert note_ranking([decomposed]) == ["Café が.md"]
    assert measure(note_ranking([decomposed]), {decomposed})["hit@1"] == 1
    assert note_ranking(["Café が.md"], {decomposed}) == []


def test_measures_by_hand() -> None:
    row = measure(["a", "甲", "b"], {"甲", "乙"})
    assert row["mrr@10"] == 0.5
    assert row["hit@1"] == 0
    assert row["hit@5"] == 1
    assert row["recall@10"] == 0.5
    # one hit at rank 2 of an ideal of ranks 1 and 2
    assert row["ndcg@10"] == pytest.approx(0.6309297536 / 1.6309297536)


def test_nothing_found_is_zero() -> None:
    assert set(measure([], {"a"}).values()) == {0.0}


def test_a_hit_below_the_cut_counts_nothing() -> None:
    ranking = [f"n{i}" for i in range(10)] + ["a"]
    assert set(measure(ranking, {"a"}).values()) == {0.0}


def test_measures_agree_with_ir_measures() -> None:
    generator = random.Random(7)
    rows, qrels, run = [], [], []
    for query in range(300):
        notes = [f"d{i}" for i in range(generator.randint(1, 30))]
        generator.shuffle(notes)
        pool = [f"d{i}" for i in range(40)]
        relevant = set(generator.sample(pool, generator.randint(1, 15)))
        rows.append(measure(notes, relevant))
        qrels += [ir_measures.Qrel(str(query), note, 1) for note in relevant]
        run += [
            ir_measures.ScoredDoc(str(query), note, 1 / rank) for rank, note in enumerate(notes, 1)
        ]
    theirs: dict[tuple[str, str], float] = {
        (value.query_id, str(value.measure)): value.value
        for value in ir_measures.iter_calc(list(ORACLE.values()), qrels, run)
    }
    for query, row in enumerate(rows):
        for name, oracle in ORACLE.items():
            assert row[name] == pytest.approx(theirs[str(query), str(oracle)], abs=1e-12), name
    ours = mean_measures(rows)
    means = ir_measures.calc_aggregate(list(ORACLE.values()), qrels, run)
    assert {name: ours[name] for name in NAMES} == pytest.approx(
        {name: means[oracle] for name, oracle in ORACLE.items()}
    )


def test_the_mean_of_no_questions_is_zero_of_zero() -> None:
    assert mean_measures([]) == {"n": 0, **dict.fromkeys(NAMES, 0.0)}


def test_auc_counts_pairs_and_half_ties() -> None:
    positive, negative = [0.9, 0.5, 0.5], [0.5, 0.1]
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    assert auc(positive, negative) == pytest.approx(sum(pairs) / len(pairs))
    assert auc([], [0.1]) is None
    assert auc([0.1], []) is None


def test_bootstrap_interval_holds_the_difference_and_is_repeatable() -> None:
    generator = random.Random(3)
    theirs = [generator.random() for _ in range(200)]
    ours = [value + generator.gauss(0.05, 0.1) for value in theirs]
    mean, low, high = paired_bootstrap(ours, theirs)
    assert low < mean < high
    assert low > 0  # 0.05 +- 0.014 is clearly above nothing
    assert (mean, low, high) == paired_bootstrap(ours, theirs)
    assert paired_bootstrap(ours, ours) == (0.0, 0.0, 0.0)


def test_bootstrap_refuses_unpaired_values() -> None:
    with pytest.raises(ValueError, match="same queries"):
        paired_bootstrap([1.0], [1.0, 2.0])
