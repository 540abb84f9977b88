"""Any ONNX sentence model becomes an embedder, and what does not fit is refused in words."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tiny_models import DIMENSION, WORDS, table, write_model

from sidelight.errors import CancelledError, ModelError
from sidelight.models.embedder import QUERIES_REMEMBERED, Embedder, even_parts
from sidelight.models.session import Turn

CLS, SEP = WORDS.index("[CLS]"), WORDS.index("[SEP]")


def _ids(text: str) -> list[int]:
    return [WORDS.index(word) for word in text.split()]


def _unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


def check_vector(embedder: Embedder, text: str, rows: list[list[int]]) -> None:
    """The passage vector is the token-weighted mean of the unit means of these rows."""
    parts = [_unit(table()[row].mean(axis=0)) * len(row) for row in rows]
    (vector,) = embedder.embed_passages([text])
    np.testing.assert_allclose(vector, _unit(np.sum(parts, axis=0)), atol=1e-6)


@pytest.mark.parametrize("text", ["a cat", "a 猫"])
@pytest.mark.parametrize(
    ("kind", "manifest"), [("tokens", {"pooling": "mean"}), ("pooled", {"pooling": "none"})]
)
def test_token_and_pooled_outputs_give_the_same_vector(
    tmp_path: Path, kind: str, manifest: dict[str, object], text: str
) -> None:
    embedder = Embedder.load(write_model(tmp_path, kind, **manifest))
    check_vector(embedder, text, [[CLS, *_ids(text), SEP]])


def test_cls_pooling_reads_the_first_token(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="cls"))
    np.testing.assert_allclose(embedder.embed_query("dog"), _unit(table()[CLS]), atol=1e-6)


def test_position_ids_are_given_to_models_that_want_them(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, "position", pooling="mean"))
    np.testing.assert_allclose(
        embedder.embed_query("dog"), _unit(table()[:3].mean(axis=0)), atol=1e-6
    )


def test_prefixes_stand_before_passages_and_queries(tmp_path: Path) -> None:
    prefixes = {"query": "query: ", "passage": "passage: "}
    embedder = Embedder.load(write_model(tmp_path, pooling="mean", prefixes=prefixes))
    check_vector(embedder, "猫", [[CLS, *_ids("passage : 猫"), SEP]])
    expected = _unit(table()[[CLS, *_ids("query : 猫"), SEP]].mean(axis=0))
    np.testing.assert_allclose(embedder.embed_query("猫"), expected, atol=1e-6)


@pytest.mark.parametrize("word", ["cat", "猫"])
def test_long_text_is_averaged_over_even_windows_and_never_cut(tmp_path: Path, word: str) -> None:
    prefixes = {"passage": "passage: "}
    embedder = Embedder.load(write_model(tmp_path, pooling="mean", prefixes=prefixes))
    # 16 positions less [CLS], [SEP], passage and : leave 12, so 25 words need three windows
    words = [word] * 24 + ["dog"]
    head = [CLS, *_ids("passage :")]
    parts = [words[:8], words[8:17], words[17:]]
    assert [len(p) for p in parts] == [len(p) for p in even_parts(list(range(25)), 12)]
    rows = [[*head, *_ids(" ".join(part)), SEP] for part in parts]
    check_vector(embedder, " ".join(words), rows)
    check_vector(embedder, " ".join(words[:-1]), [[*head, *_ids(f"{word} " * 12), SEP]] * 2)


def test_even_parts_cover_everything_within_the_room() -> None:
    for size in range(1, 60):
        for room in range(1, 20):
            parts = even_parts(list(range(size)), room)
            assert [at for part in parts for at in part] == list(range(size))
            assert max(map(len, parts)) <= room
            assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_empty_text_has_a_vector_and_no_text_has_none(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean"))
    check_vector(embedder, "", [[CLS, SEP]])
    assert embedder.embed_passages([]).shape == (0, DIMENSION)
    assert embedder.embed_query("").shape == (DIMENSION,)


def test_half_a_surrogate_pair_does_not_stop_the_others(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean"))
    vectors = embedder.embed_passages(["cat \ud83d", "cat", "猫 \udc00 𠀀"])
    assert np.isfinite(vectors).all()
    check_vector(embedder, "cat", [[CLS, *_ids("cat"), SEP]])


def test_order_of_many_passages_is_kept(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean"))
    texts = ["cat " * (1 + n % 40) + WORDS[7 + n % 5] for n in range(150)]
    together = embedder.embed_passages(texts)
    alone = np.concatenate([embedder.embed_passages([text]) for text in texts])
    np.testing.assert_array_equal(together, alone)


def test_cancelling_stops_between_texts(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean"))
    asked = []

    def cancelled() -> bool:
        asked.append(True)
        return len(asked) > 3

    with pytest.raises(CancelledError):
        embedder.embed_passages(["cat"] * 100, cancelled)
    assert len(asked) == 4


# ------------------------------------------------------------------ identity


def test_id_stays_with_a_copy_and_changes_with_what_changes_vectors(tmp_path: Path) -> None:
    first = write_model(tmp_path / "m", pooling="mean", name="m")
    copy = Path(shutil.copytree(first, tmp_path / "elsewhere"))
    embedder = Embedder.load(first)
    assert Embedder.load(copy).id == embedder.id
    assert embedder.id.startswith("m-")
    others = [
        write_model(tmp_path / "p", pooling="mean", name="m", prefixes={"passage": "passage: "}),
        write_model(tmp_path / "c", pooling="cls", name="m"),
        write_model(tmp_path / "w", pooling="mean", name="m", max_tokens=17),
        write_model(tmp_path / "g", "position", pooling="mean", name="m"),
    ]
    assert len({embedder.id, *(Embedder.load(folder).id for folder in others)}) == 5


# ------------------------------------------------------------------ refusals


def _truncate(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        raw = (folder / name).read_bytes()
        (folder / name).write_bytes(raw[: len(raw) // 2])

    return damage


def _manifest(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        stored = json.loads((folder / "manifest.json").read_text("utf-8")) | changes
        (folder / "manifest.json").write_text(json.dumps(stored), encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "There is no model at"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "has no tokenizer.json"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "not a JSON object"),
        (_truncate("model.onnx"), "cannot be run by ONNX Runtime"),
        (_truncate("tokenizer.json"), "is not a tokenizer"),
        (_manifest(files={"model.onnx": "0" * 64}), "is damaged"),
        (_manifest(files={"../model.onnx": "0" * 64}), "'files' must be"),
        (_manifest(dimension=5), "gives 4 numbers a vector, not 5"),
        (_manifest(dimension="4"), "'dimension' must be a whole number"),
        (_manifest(dimension=0), "'dimension' must be the width"),
        (_manifest(pooling="max"), "'pooling' must be one of none, mean, cls"),
        (_manifest(pooling="none"), "no output of rank 2"),
        (_manifest(output="pooler"), "no output 'pooler'"),
        (_manifest(kind="reranker"), "is a reranker, not an embedding model"),
        (_manifest(max_tokens=True), "'max_tokens' must be"),
        (_manifest(prefixes=["query"]), "'prefixes' must be"),
    ],
)
def test_folder_that_is_no_model_is_refused_with_a_remedy(
    tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    folder = write_model(tmp_path / "model", pooling="mean")
    damage(folder)
    with pytest.raises(ModelError, match=message) as caught:
        Embedder.load(folder)
    assert caught.value.remedy


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not finite"):
        Embedder.load(write_model(tmp_path, "nan", pooling="mean"))


def test_graph_with_an_input_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="wants the input 'pixel_values'"):
        Embedder.load(write_model(tmp_path, "unknown-input", pooling="mean"))


# ------------------------------------------------------------------ taking turns


def test_bulk_work_holds_still_while_a_query_runs() -> None:
    turn = Turn()
    order: list[str] = []
    wants_to_go = threading.Event()

    def bulk() -> None:
        wants_to_go.set()
        with turn.bulk():
            order.append("bulk")

    with turn.query():
        worker = threading.Thread(target=bulk)
        worker.start()
        wants_to_go.wait(5)
        order.append("query")
    worker.join(5)
    assert order == ["query", "bulk"]


def test_endless_queries_do_not_starve_bulk_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidelight.models.session.QUERY_GAP_SECONDS", 0.01)
    turn = Turn()
    with turn.query(), turn.bulk():
        ran = True
    assert ran


def test_query_never_waits_for_bulk_work() -> None:
    turn = Turn()
    with turn.bulk(), turn.query():
        ran = True
    assert ran


def test_the_last_queries_are_not_embedded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean"))
    asked: list[str] = []
    real = embedder._embed_query
    monkeypatch.setattr(embedder, "_embed_query", lambda text: asked.append(text) or real(text))
    first = embedder.embed_query("cat 猫")
    assert embedder.embed_query("cat 猫") is first
    assert asked == ["cat 猫"]
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0.0
    for n in range(QUERIES_REMEMBERED):
        embedder.embed_query(f"{'cat ' * n}dog")
    np.testing.assert_array_equal(embedder.embed_query("cat 猫"), first)
    assert asked.count("cat 猫") == 2, "only the last are kept"


def test_many_threads_get_the_vectors_of_one(tmp_path: Path) -> None:
    embedder = Embedder.load(write_model(tmp_path, pooling="mean"))
    texts = [f"{word} cat" for word in WORDS[7:]] * 10
    expected = embedder.embed_passages(texts)
    results: dict[int, np.ndarray] = {}

    def work(number: int) -> None:
        if number % 2:
            results[number] = embedder.embed_passages(texts)
        else:
            results[number] = np.stack([embedder.embed_query(text) for text in texts])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(results) == 6
    for result in results.values():
        np.testing.assert_array_equal(result, expected)
