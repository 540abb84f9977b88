"""Cross-encoders and late interaction score passages on one scale, 0 to 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_models import table, write_model

from sidelight.errors import CancelledError, ModelError
from sidelight.models.embedder import Embedder
from sidelight.models.registry import load_reranker
from sidelight.models.reranker import LateInteraction


def _sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-value)))


def _reranker(folder: Path, **manifest: object) -> str:
    return str(write_model(folder, "reranker", kind="reranker", **manifest))


def test_cross_encoder_reads_query_and_passage_as_a_pair(tmp_path: Path) -> None:
    reranker = load_reranker(_reranker(tmp_path))
    scores = reranker.score("cat", ["a dog", "a cat", "一 猫 猫", ""])
    expected = [_sigmoid(-5), _sigmoid(5), _sigmoid(15), _sigmoid(-5)]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    assert scores.dtype == np.float32


@pytest.mark.parametrize("word", ["cat", "猫"])
def test_what_stands_at_the_end_of_a_long_passage_counts(tmp_path: Path, word: str) -> None:
    reranker = load_reranker(_reranker(tmp_path))
    (score,) = reranker.score("a", ["dog " * 50 + word])
    assert score == pytest.approx(_sigmoid(5), rel=1e-5)


def test_long_query_leaves_room_for_the_passage(tmp_path: Path) -> None:
    reranker = load_reranker(_reranker(tmp_path))
    (score,) = reranker.score("dog " * 100, ["cat"])
    assert score == pytest.approx(_sigmoid(5), rel=1e-5)


def test_scores_that_are_already_shares_are_taken_as_they_are(tmp_path: Path) -> None:
    reranker = load_reranker(_reranker(tmp_path, activation="none"))
    assert reranker.score("a", ["dog", "cat"]).tolist() == [0.0, 1.0]


def test_no_passages_no_scores(tmp_path: Path) -> None:
    assert load_reranker(_reranker(tmp_path)).score("cat", []).shape == (0,)


def test_reranking_can_be_cancelled(tmp_path: Path) -> None:
    with pytest.raises(CancelledError):
        load_reranker(_reranker(tmp_path)).score("cat", ["dog"], lambda: True)


def test_embedding_model_is_no_reranker(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a reranker"):
        load_reranker(str(write_model(tmp_path, pooling="mean")))


def test_late_interaction_is_the_mean_of_each_query_tokens_best_cosine(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean", prefixes={"query": "query: "}))
    rows = {word: table()[at] / np.linalg.norm(table()[at]) for word, at in _IDS.items()}
    expected = np.mean([max(rows[q] @ rows[p] for p in ("dog", "狗")) for q in ("cat", "猫")])
    (score,) = load_reranker("", embedder).score("cat 猫", ["dog 狗"])
    assert score == pytest.approx(max(0.0, float(expected)), abs=1e-6)
    (same,) = LateInteraction(embedder).score("猫", ["dog cat 猫"])
    assert same == pytest.approx(1.0, abs=1e-6)


_IDS = {"cat": 8, "猫": 9, "dog": 10, "狗": 11}


@pytest.mark.parametrize(("query", "passage"), [("", "cat"), ("cat", ""), ("", "")])
def test_late_interaction_without_words_scores_nothing(
    tmp_path: Path, query: str, passage: str
) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean"))
    assert LateInteraction(embedder).score(query, [passage]).tolist() == [0.0]


def test_late_interaction_sees_every_window_of_a_long_passage(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean"))
    (score,) = LateInteraction(embedder).score("猫", ["dog " * 60 + "猫"])
    assert score == pytest.approx(1.0, abs=1e-6)


def test_late_interaction_needs_token_vectors(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, "pooled"))
    assert not embedder.has_token_vectors
    with pytest.raises(ModelError, match="no token vectors"):
        LateInteraction(embedder)
    with pytest.raises(ModelError, match="no token vectors"):
        embedder.token_vectors("cat", query=True)


def test_late_interaction_without_an_embedding_model_says_what_to_do() -> None:
    with pytest.raises(ModelError, match="not loaded") as caught:
        load_reranker("")
    assert "model build" in caught.value.remedy
