"""Vectors that were kept are those of the table, or do not count."""

from __future__ import annotations

import contextlib
import shutil
import threading
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from sidelight.store import kept_vectors, vector_tables
from sidelight.store.catalog import Catalog
from sidelight.store.folder import Folder
from sidelight.store.rounded import Rounded
from sidelight.store.rows import name_hash
from sidelight.store.vector_tables import VectorTables
from sidelight.store.vectors import Matrix, VectorMatrix

MODEL, DIMENSION = "a model", 8


@pytest.fixture(autouse=True)
def _few_are_worth_keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_tables, "_WORTH_KEEPING", 1)


def centre(matrix: Matrix, languages: object) -> Matrix:
    del languages
    return matrix * np.float32(0.5)


def opened(folder: Path, by: str = "model 1") -> tuple[VectorTables, VectorMatrix]:
    tables = VectorTables(Folder(folder, writes=True), writes=True)
    return tables, tables.open(MODEL, DIMENSION, centre, by)


def add(tables: VectorTables, matrix: VectorMatrix, first: int, end: int) -> None:
    hashes = [f"{n:032x}" for n in range(first, end)] + [name_hash(f"笔记 {first}")]
    raw = np.random.default_rng(first).normal(size=(len(hashes), DIMENSION)).astype(np.float32)
    tables.add(matrix, hashes, raw, ["zh"] * len(hashes))


def keep(tables: VectorTables, matrix: VectorMatrix) -> None:
    catalog = Catalog()
    catalog.vectors = matrix
    tables.keep(catalog)


def content(matrix: VectorMatrix) -> dict[str, list[float]]:
    assert matrix.names is not None
    return {
        h: row.tolist()
        for part in (matrix, matrix.names)
        for h, row in zip(part.hashes, part.rows(part.hashes), strict=True)
    }


def check_kept(folder: Path, monkeypatch: pytest.MonkeyPatch, *, used: bool = True) -> None:
    """What the next start finds is what a start that reads the table finds."""
    with monkeypatch.context() as unread:
        if used:
            unread.setattr(vector_tables, "_fill", None)
        found = content(opened(folder)[1])
        query = np.ones(DIMENSION, np.float32) / np.float32(DIMENSION**0.5)
        kept = opened(folder)[1]
    read = opened(folder, by="another")[1]
    assert found == content(read)
    for matrix in (kept, read):
        matrix.keep_to({h for h in read.hashes if h[-1] != "3"}, 1)
    assert kept.nearest(query, 5, None) == read.nearest(query, 5, None)
    assert kept.chance(query) == read.chance(query)


def test_the_next_start_reads_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    keep(tables, matrix)
    check_kept(tmp_path, monkeypatch)


def test_new_vectors_are_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    keep(tables, matrix)
    for first in (20, 30):
        tables, matrix = opened(tmp_path)
        add(tables, matrix, first, first + 10)
        keep(tables, matrix)
        check_kept(tmp_path, monkeypatch)
    (rows,) = tmp_path.glob("*.kept-*-0")
    assert rows.stat().st_size == 40 * DIMENSION * 4


def test_after_a_crash_the_table_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    keep(tables, matrix)
    add(tables, matrix, 20, 30)  # and then it is killed
    check_kept(tmp_path, monkeypatch, used=False)
    tables, matrix = opened(tmp_path)
    assert len(matrix) == 30
    keep(tables, matrix)
    check_kept(tmp_path, monkeypatch)


def test_forgotten_vectors_are_forgotten_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    keep(tables, matrix)
    catalog = Catalog()
    catalog.vectors = matrix
    tables.drop_unused(catalog)
    assert len(matrix) == 0
    add(tables, matrix, 50, 53)
    keep(tables, matrix)
    check_kept(tmp_path, monkeypatch)
    assert len(list(tmp_path.glob("*.kept-*"))) == 7, "the files before are gone"


@pytest.mark.parametrize(
    "harm", ["cut", "turned", "gone", "no list", "other centring", "rounded", "moments"]
)
def test_what_is_damaged_or_of_another_centring_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    keep(tables, matrix)
    (file,), (label,) = tmp_path.glob("*.kept-*-0"), tmp_path.glob("vectors_*.json")
    data = file.read_bytes()
    if harm == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif harm == "turned":
        file.write_bytes(bytes([data[0] ^ 255]) + data[1:])
    elif harm == "gone":
        file.unlink()
    elif harm == "no list":
        label.write_text("[]", "utf-8")
    elif harm == "rounded":
        (other,) = tmp_path.glob("*.kept-*-2")
        other.write_bytes(bytes(other.stat().st_size))
    elif harm == "moments":
        (other,) = (f for f in tmp_path.glob("*.kept-*") if len(f.name.rpartition("-")[2]) == 8)
        other.write_bytes(bytes(other.stat().st_size))
    else:
        label.write_text(label.read_text("utf-8").replace("model 1", "model 0"), "utf-8")
    check_kept(tmp_path, monkeypatch, used=False)
    tables, matrix = opened(tmp_path)
    assert len(matrix) == 20
    keep(tables, matrix)
    check_kept(tmp_path, monkeypatch)


def test_a_full_disk_costs_only_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    with monkeypatch.context() as broken:
        broken.setattr("sidelight.store.kept_vectors.write_private", full)
        keep(tables, matrix)
    assert not list(tmp_path.glob("vectors_*"))
    check_kept(tmp_path, monkeypatch, used=False)
    keep(tables, matrix)
    check_kept(tmp_path, monkeypatch)


def test_where_the_table_was_deleted_nothing_counts(tmp_path: Path) -> None:
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    for table in (tmp_path / "index.lance").iterdir():
        shutil.rmtree(table)
    keep(tables, matrix)
    assert len(opened(tmp_path)[1]) == 0


def test_another_model_s_vectors_go(tmp_path: Path) -> None:
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    keep(tables, matrix)
    tables.open("b model", DIMENSION, centre, "b")
    tables.keep_only("b model")
    assert not list(tmp_path.glob("vectors_a*"))


def test_a_search_while_vectors_are_kept_leaves_each_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both prepare new vectors: done at the same time, they came in twice, for good."""
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    catalog = Catalog()
    catalog.vectors = matrix
    took_in, both_inside = Rounded.add, threading.Barrier(2)

    def slowly(self: Rounded, rows: Matrix) -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            both_inside.wait(0.2)
        took_in(self, rows)

    monkeypatch.setattr(Rounded, "add", slowly)
    keeping = threading.Thread(target=lambda: tables.keep(catalog))
    keeping.start()
    with catalog.lock:
        standing = matrix.standing()
    keeping.join()
    assert standing.rounded.count == len(matrix) == 20


def test_what_lies_in_the_files_lies_in_memory_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_vectors, "_FEW_IN_MEMORY", 12)
    query = np.ones(DIMENSION, np.float32) / np.float32(DIMENSION**0.5)
    tables, matrix = opened(tmp_path)
    for first, later in ((0, 0), (20, 10), (30, 0), (40, 10)):  # few stay, until they are many
        add(tables, matrix, first, first + (20 if not first else 10))
        standing = matrix.standing()  # of a search that has begun
        before = content(matrix), matrix.nearest(query, 9, None), matrix.chance(query)
        keep(tables, matrix)
        assert matrix.all_rows().later == later
        assert (content(matrix), matrix.nearest(query, 9, None), matrix.chance(query)) == before
        assert standing.nearest(query, 9, None) == before[1]
        check_kept(tmp_path, monkeypatch)


def test_files_that_cannot_be_mapped_leave_vectors_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kept_vectors, "_FEW_IN_MEMORY", 0)
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    before = content(matrix)
    with monkeypatch.context() as full:
        full.setattr(kept_vectors.mmap, "mmap", Mock(side_effect=OSError(12, "no memory")))
        keep(tables, matrix)
    assert content(matrix) == before
    assert matrix.all_rows().later == 20
    assert "cannot be read" in caplog.text
    check_kept(tmp_path, monkeypatch)


@pytest.mark.parametrize("harm", ["deleted", "replaced"])
def test_files_that_someone_changed_are_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    """Rows written behind those of a file that is gone left it with zeros before them."""
    monkeypatch.setattr(kept_vectors, "_FEW_IN_MEMORY", 0)
    tables, matrix = opened(tmp_path)
    add(tables, matrix, 0, 20)
    keep(tables, matrix)
    for file in tmp_path.glob("vectors*.kept-*"):
        size = file.stat().st_size
        file.unlink()
        if harm == "replaced":
            file.write_bytes(bytes(size))
    add(tables, matrix, 20, 40)
    before = content(matrix)
    for _ in range(2):  # the first finds out, the second keeps all of them
        keep(tables, matrix)
        assert content(matrix) == before
    check_kept(tmp_path, monkeypatch)
