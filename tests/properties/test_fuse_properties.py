"""Fusion and diversity against their naive forms."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.config import Settings
from sidelight.query.candidates import Candidate, Ranked
from sidelight.query.diversify import diversify
from sidelight.query.evidence import evidence
from sidelight.query.fuse import fuse, join
from sidelight.query.rerank import by_composite, composite
from sidelight.store.rows import ChunkRow
from sidelight.store.selection import Selection
from sidelight.types import PassageKind

NONE = np.zeros(0, np.int32)


def chunk(number: int) -> ChunkRow:
    path = f"笔记{number // 3}.md"
    return ChunkRow(
        str(number), path, PassageKind.LINES, (), 0, number, 1, 1, None, None, True, "zh",
        f"e{number}", f"t{number % 7}", 1, NONE, NONE,
    )  # fmt: skip


def listed(*chunks: ChunkRow) -> Ranked:
    return Ranked(Selection.of(None, chunks), np.ones(len(chunks)))


lists = st.dictionaries(
    st.sampled_from(["metadata", "bm25", "vector"]),
    st.lists(st.integers(0, 40), unique=True, max_size=30),
)
weights = st.dictionaries(st.integers(0, 40), st.floats(0, 1), max_size=40)


@given(lists, weights, st.integers(1, 100))
def test_fused_scores_are_the_weighted_sums_of_reciprocal_ranks(
    ranked: dict[str, list[int]], weight: dict[int, float], k: int
) -> None:
    hits = {name: listed(*map(chunk, numbers)) for name, numbers in ranked.items()}
    given_weights = {"bm25": [weight.get(n, 1.0) for n in ranked.get("bm25", ())]}
    fused = fuse(hits, given_weights, k)
    naive: dict[str, float] = {}
    for name, numbers in ranked.items():
        for rank, number in enumerate(numbers, start=1):
            w = weight.get(number, 1.0) if name == "bm25" else 1.0
            naive[str(number)] = naive.get(str(number), 0.0) + w / (k + rank)
    assert {c.chunk.chunk_id: c.rrf_score for c in fused} == pytest.approx(naive)
    order = [(-c.rrf_score, c.chunk.order) for c in fused]
    assert order == sorted(order)


@given(lists, st.randoms(use_true_random=False))
def test_what_is_taken_of_a_pool_keeps_all_that_was_found_out_about_it(
    ranked: dict[str, list[int]], dice: random.Random
) -> None:
    found = {name: listed(*map(chunk, numbers)) for name, numbers in ranked.items()}
    found = {
        name: replace(hits, matched=[(f"{name} {c.chunk.chunk_id}",) for c in hits])
        for name, hits in found.items()
    }
    pool = join(found, {}, 60)
    columns = ("cosines", "titles", "coverages", "evidence", "grounded")
    told = {name: np.array([dice.random() for _ in pool]) for name in columns}
    pool = replace(pool, **told)  # type: ignore[arg-type]
    every = list(pool)
    for candidate in every:
        for name, hit in candidate.hits.items():
            assert hit.matched == (f"{name} {candidate.chunk.chunk_id}",)
    places = dice.sample(range(len(pool)), dice.randint(0, len(pool)))
    assert list(pool.take(places)) == [every[place] for place in places]


def test_rank_constant_decides_between_one_first_and_two_third_places() -> None:
    first, both = chunk(1), chunk(2)
    others = [chunk(n) for n in (5, 8, 11, 14)]
    hits = {
        "bm25": listed(first, others[0], both),
        "vector": listed(others[1], others[2], both),
    }
    assert fuse(hits, {}, 60)[0].chunk is both
    assert fuse(hits, {}, 1)[0].chunk is first


def test_one_channel_alone_keeps_the_scale_of_two() -> None:
    alone = fuse({"vector": listed(chunk(1))}, {}, 60)
    beside_nothing = fuse({"vector": listed(chunk(1)), "bm25": listed()}, {}, 60)
    assert alone[0].rrf_score == beside_nothing[0].rrf_score == 1 / 61


@given(st.lists(st.integers(0, 40), unique=True), st.integers(1, 3))
def test_diversity_keeps_order_and_its_limits(numbers: list[int], per_note: int) -> None:
    given_candidates = [Candidate(chunk(n), {}) for n in numbers]
    kept = list(diversify(given_candidates, per_note))
    assert [c for c in given_candidates if c in kept] == kept
    texts = [c.chunk.text_hash for c in kept]
    assert len(texts) == len(set(texts))
    for candidate in kept:
        assert sum(c.chunk.path == candidate.chunk.path for c in kept) <= per_note
    dropped = [c for c in given_candidates if c not in kept]
    for candidate in dropped:
        of_note = sum(c.chunk.path == candidate.chunk.path for c in kept)
        assert of_note == per_note or candidate.chunk.text_hash in texts


@given(st.lists(st.integers(0, 40), unique=True, max_size=30), st.sampled_from([0.0, 0.5, 1.0]))
def test_136_a_reranker_that_says_the_same_of_everything_moves_nothing(
    numbers: list[int], score: float
) -> None:
    candidates = [Candidate(chunk(n), {}, rerank_score=score) for n in numbers]
    assert by_composite(candidates) == candidates


parts = st.floats(0, 1)


@given(parts, parts, parts, parts)
def test_a_composite_lies_in_its_scale_and_grows_with_each_part(
    model: float, sure: float, believed: float, more: float
) -> None:
    def value(score: float | None, evidence: float, credibility: float) -> float:
        return composite(
            Candidate(chunk(1), {}, evidence=evidence, rerank_score=score, credibility=credibility)
        )

    for score in (model, None):
        assert 0 <= value(score, sure, believed) <= 1
        assert value(score, min(1, sure + more), believed) >= value(score, sure, believed)
        assert value(score, sure, min(1, believed + more)) >= value(score, sure, believed)
    assert value(min(1, model + more), sure, believed) >= value(model, sure, believed)


def test_the_composite_is_six_three_one() -> None:
    candidate = Candidate(chunk(1), {}, evidence=0.5, rerank_score=0.8, credibility=1.0)
    assert composite(candidate) == 0.6 * 0.8 + 0.3 * 0.5 + 0.1 * 1.0
    assert composite(candidate._replace(rerank_score=None)) == (0.15 + 0.1) / 0.4


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_evidence_is_a_confidence_that_only_grows(
    cosine: float, title: float, coverage: float, name: float, more: float
) -> None:
    def sure(*numbers: float, chance: float = 0.3) -> float:
        return float(evidence(*(np.array([number]) for number in numbers), chance, Settings())[0])

    value = sure(cosine, title, coverage, name)
    assert 0 <= value <= 1
    assert sure(min(1, cosine + more), title, coverage, name) >= value
    assert sure(cosine, min(1, title + more), coverage, name) >= value
    assert sure(cosine, title, min(1, coverage + more), name) >= value
    assert sure(cosine, title, coverage, min(1, name + more)) >= value
    assert sure(float("nan"), title, coverage, name) <= value
    assert sure(cosine, float("nan"), coverage, name) <= value
    assert sure(cosine, title, coverage, name, chance=0.5) <= value
