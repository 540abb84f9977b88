"""The weight file is read and the graph computes what the encoder is defined to compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import weight_file

from sidelight.errors import ModelError
from sidelight.models.e5file import WeightFile
from sidelight.models.graph import WEIGHT_LIMIT, quantised_columns, write_graph


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def test_reader_returns_the_very_numbers_of_the_file(tmp_path: Path) -> None:
    seen = weight_file.write(tmp_path / "w.bin", weight_file.random_tensors(1))
    weights = WeightFile(tmp_path / "w.bin")
    assert (weights.shape.hidden, weights.shape.layers, weights.shape.heads) == (64, 2, 4)
    for name, tensor in seen.items():
        if tensor.ndim == 2:
            np.testing.assert_array_equal(weights.matrix(name, tensor.shape[1]), tensor)
        else:
            np.testing.assert_array_equal(weights.vector(name), tensor)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_graph_agrees_with_the_encoder_in_plain_numpy(tmp_path: Path, seed: int) -> None:
    seen = weight_file.write(tmp_path / "w.bin", weight_file.random_tensors(seed))
    graph = write_graph(WeightFile(tmp_path / "w.bin"))
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    ids = [0, 5, 17, 39, 8, 2]
    padded = np.array([[*ids, 1, 1, 1]], np.int64)
    mask = np.array([[1] * 6 + [0] * 3], np.int64)
    sentence, tokens = session.run(None, {"input_ids": padded, "attention_mask": mask})
    expected = weight_file.forward(seen, ids)
    # int8 inputs and 7-bit weights: 1 % of the length is what that costs here
    assert _cosines(tokens[0, :6], expected).min() > 0.995
    assert _cosines(sentence[0], expected.mean(axis=0)) > 0.998
    assert np.linalg.norm(sentence[0]) == pytest.approx(1, abs=1e-5)


def test_word_rows_keep_the_exact_weights(tmp_path: Path) -> None:
    seen = weight_file.write(tmp_path / "w.bin", weight_file.random_tensors(4))
    graph = write_graph(WeightFile(tmp_path / "w.bin"))
    graph.graph.output.append(graph.graph.output[1].__class__(name="word_rows"))
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    ids = np.arange(weight_file.LONGEST, dtype=np.int64)[None]
    (rows,) = session.run(["word_rows"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
    np.testing.assert_allclose(rows[0], seen["emb.word"][: weight_file.LONGEST], rtol=1e-6)


def test_same_weights_make_the_same_bytes(tmp_path: Path) -> None:
    weight_file.write(tmp_path / "w.bin", weight_file.random_tensors(1))
    first, second = (
        write_graph(WeightFile(tmp_path / "w.bin")).SerializeToString(deterministic=True)
        for _ in range(2)
    )
    assert first == second


def test_columns_are_quantised_to_their_own_largest_number() -> None:
    matrix = np.array([[1.0, 0.0, -20.0], [-0.25, 0.0, 5.0]], np.float32)
    codes, scales = quantised_columns(matrix)
    assert codes.tolist() == [[WEIGHT_LIMIT, 0, -WEIGHT_LIMIT], [-16, 0, 16]]
    np.testing.assert_allclose(codes * scales, matrix, atol=20 / WEIGHT_LIMIT / 2)


@pytest.mark.parametrize("damage", ["magic", "short-header", "short-body", "empty"])
def test_damaged_weight_file_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "w.bin"
    weight_file.write(path, weight_file.random_tensors(1))
    raw = path.read_bytes()
    path.write_bytes(
        {
            "magic": b"GGUF" + raw[4:],
            "short-header": raw[:60],
            "short-body": raw[:-100],
            "empty": b"",
        }[damage]
    )
    with pytest.raises(ModelError, match=r"w\.bin is damaged"):
        WeightFile(path)
