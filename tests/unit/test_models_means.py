"""Language-centring takes a language's own direction away and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tiny_models import write_model

from sidelight.errors import ModelError
from sidelight.models.embedder import Embedder
from sidelight.models.means import FILE, LanguageMeans, save_means

LANGUAGES = ["en", "zh"]
PASSAGES = np.array([[0.6, 0, 0, 0], [0, 0.6, 0, 0]], np.float32)
QUERIES = np.array([[0, 0, 0.4, 0], [0, 0, 0, 0.4]], np.float32)


def _unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


@pytest.fixture
def means() -> LanguageMeans:
    return LanguageMeans(LANGUAGES, PASSAGES, QUERIES)


def test_each_passage_loses_the_mean_of_its_own_language(means: LanguageMeans) -> None:
    rows = np.stack([_unit(np.array(v, np.float32)) for v in ([1, 1, 1, 0], [1, 1, 0, 1])])
    centred = means.centre_passages(rows, ["zh", "en"])
    np.testing.assert_allclose(centred[0], _unit(rows[0] - PASSAGES[1]), atol=1e-6)
    np.testing.assert_allclose(centred[1], _unit(rows[1] - PASSAGES[0]), atol=1e-6)
    assert centred.dtype == np.float32


def test_query_loses_every_direction_in_which_languages_differ(means: LanguageMeans) -> None:
    vector = _unit(np.array([0.5, -0.2, 0.9, 0.3], np.float32))
    centred = means.centre_query(vector)
    assert centred @ (QUERIES[0] - QUERIES[1]) == pytest.approx(0, abs=1e-6)
    # what remains is what no mean says anything about, and the part all means share
    shared = (vector - QUERIES.mean(axis=0))[2:].mean()
    expected = _unit(np.array([vector[0], vector[1], shared, shared], np.float32))
    np.testing.assert_allclose(centred, expected, atol=1e-6)


def test_query_is_the_same_whichever_language_it_is_moved_into(means: LanguageMeans) -> None:
    vector = _unit(np.array([0.5, -0.2, 0.9, 0.3], np.float32))
    centred = means.centre_query(vector)
    assert np.linalg.norm(centred) == pytest.approx(1, abs=1e-6)
    nudged = vector + 0.7 * (QUERIES[1] - QUERIES[0])
    np.testing.assert_allclose(means.centre_query(nudged), centred, atol=1e-6)


def test_query_that_is_nothing_but_its_language_keeps_its_vector(means: LanguageMeans) -> None:
    np.testing.assert_array_equal(means.centre_query(QUERIES[0]), QUERIES[0])


@pytest.mark.parametrize("language", ["und", "ja", "xx", ""])
def test_other_languages_and_mixed_text_lose_the_mean_of_all(
    means: LanguageMeans, language: str
) -> None:
    vector = _unit(np.ones(4, np.float32))
    expected = _unit(vector - PASSAGES.mean(axis=0))
    np.testing.assert_allclose(
        means.centre_passages(vector[None], [language])[0], expected, atol=1e-6
    )


def test_text_that_is_nothing_but_its_language_keeps_its_vector(means: LanguageMeans) -> None:
    row = PASSAGES[:1].copy()
    np.testing.assert_array_equal(means.centre_passages(row, ["en"]), row)


def test_nothing_to_centre_stays_nothing(means: LanguageMeans) -> None:
    empty = np.empty((0, 4), np.float32)
    assert means.centre_passages(empty, []).shape == (0, 4)


def test_model_without_means_is_left_alone(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean"))
    rows = embedder.embed_passages(["cat", "猫"])
    assert not embedder.has_means
    np.testing.assert_array_equal(embedder.centre_passages(rows, ["en", "zh"]), rows)
    np.testing.assert_array_equal(embedder.centre_query(rows[0], "en"), rows[0])


def test_means_in_the_folder_are_used_and_change_the_id(tmp_path: Path) -> None:
    folder = write_model(tmp_path, pooling="mean")
    before = Embedder.load(folder)
    save_means(folder / FILE, LANGUAGES, PASSAGES, QUERIES)
    after = Embedder.load(folder)
    assert after.has_means
    assert after.id != before.id
    row = after.embed_passages(["猫"])
    expected = _unit(row[0] - PASSAGES[1])
    np.testing.assert_allclose(after.centre_passages(row, ["zh"])[0], expected, atol=1e-6)


def test_damaged_means_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path, pooling="mean")
    (folder / FILE).write_bytes(b"PK not a real archive")
    with pytest.raises(ModelError, match="cannot be read"):
        Embedder.load(folder)


def test_means_of_another_width_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path, pooling="mean")
    save_means(folder / FILE, LANGUAGES, PASSAGES[:, :3], QUERIES[:, :3])
    with pytest.raises(ModelError, match="another width"):
        Embedder.load(folder)


def test_manifest_can_borrow_the_means_of_a_known_model_by_its_name(tmp_path: Path) -> None:
    folder = write_model(tmp_path, pooling="mean", name="multilingual-e5-small")
    with pytest.raises(ModelError, match="another width"):
        Embedder.load(folder)
    stored = json.loads((folder / "manifest.json").read_text("utf-8"))
    stored["name"] = "something-else"
    (folder / "manifest.json").write_text(json.dumps(stored), encoding="utf-8")
    assert not Embedder.load(folder).has_means
