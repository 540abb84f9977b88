"""The vectors on disk: one table a model, kept by the hash of what was embedded.

Rows are only ever added, so no write of words touches them. Two models can have their tables at
the same time: the one that answers, and the one that is to follow it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sidelight.store import upkeep
from sidelight.store.catalog import Catalog
from sidelight.store.folder import Folder
from sidelight.store.keeping import stamp
from sidelight.store.kept_vectors import KeptVectors, forget_others
from sidelight.store.rows import NAME
from sidelight.store.statements import ENGINE_ERRORS, is_damage, retry, writing
from sidelight.store.vectors import Centre, Matrix, VectorMatrix

log = logging.getLogger(__name__)

_PREFIX = "vectors_"
_WORTH_KEEPING = 2_000  # vectors; fewer are read in a tenth of a second


class VectorTables:
    """The vector tables of one data folder.

    Args:
        folder: of the index.
        writes: False only reads.
    """

    def __init__(self, folder: Folder, *, writes: bool) -> None:
        self._folder = folder
        self._writes = writes
        self._tables: dict[str, Any] = {}  # by model; None until one is asked for
        self._dimensions: dict[str, int] = {}
        self._kept: dict[str, KeptVectors] = {}

    def open(
        self, model_id: str, dimension: int, centre: Centre, centred_by: str = ""
    ) -> VectorMatrix:
        """A model's vectors, in memory; a writer makes their table if it is missing or damaged.

        Args:
            model_id: names the table (`Embedder.vectors_id`).
            dimension: of its vectors.
            centre: see `VectorMatrix`.
            centred_by: names the model with its constants; "" keeps nothing for the next start.
        """
        matrix = _empty(dimension, centre, model_id)
        self._dimensions[model_id] = dimension
        name = table_name(model_id)
        kept = KeptVectors(
            self._folder.path, name, centred_by, lambda: stamp([self._folder.place(name)])
        )
        if centred_by and kept.read(matrix):
            self._kept[model_id] = kept
            self._tables[model_id] = None
            return matrix
        if not self._writes and name not in self._folder.names():
            return matrix
        schema = _schema(dimension)
        table = self._folder.table(name, schema)
        try:
            _fill(matrix, table)
        except ENGINE_ERRORS as error:
            if not self._writes or not is_damage(error):
                raise
            log.warning("the vectors are damaged and are made anew")
            self._folder.remade.append(name)
            self._folder.drop(name)
            table = self._folder.table(name, schema)
            matrix = _empty(dimension, centre, model_id)
        self._tables[model_id] = table
        if centred_by:
            self._kept[model_id] = kept
        return matrix

    def keep(self, catalog: Catalog) -> None:
        """Sees to it that the next start need not read the tables."""
        for matrix in (catalog.vectors, catalog.next_vectors):
            if (
                matrix is not None
                and matrix.model_id in self._kept
                and len(matrix) >= _WORTH_KEEPING
            ):
                self._kept[matrix.model_id].keep(matrix, catalog.lock)

    def _table(self, model_id: str) -> Any:
        """A model's table, opened when it is first asked for."""
        if self._tables[model_id] is None:
            name, dimension = table_name(model_id), self._dimensions[model_id]
            self._tables[model_id] = self._folder.table(name, _schema(dimension))
        return self._tables[model_id]

    def add(
        self, matrix: VectorMatrix, hashes: Sequence[str], raw: Matrix, languages: Sequence[str]
    ) -> None:
        """Stores vectors, then shows them to queries.

        Raises:
            IndexUnavailableError: the disk is full or the folder cannot be written.
        """
        flat = pa.array(np.ascontiguousarray(raw, np.float32).reshape(-1))
        rows = pa.table(
            {
                "embed_hash": pa.array(hashes, pa.string()),
                "language": pa.array(languages, pa.string()),
                "vector": pa.FixedSizeListArray.from_arrays(flat, raw.shape[1]),
            }
        )
        table = self._table(matrix.model_id)
        with writing(self._folder.path):
            retry(lambda: table.add(rows))
        _take_in(matrix, hashes, raw, languages)

    def keep_only(self, model_id: str) -> None:
        """Deletes the vectors of all other models."""
        self._tables = {m: t for m, t in self._tables.items() if m == model_id}
        for name in self._folder.names():
            if is_vectors(name) and name != table_name(model_id):
                self._folder.drop(name)
        forget_others(self._folder.path, table_name(model_id))
        self._kept = {m: kept for m, kept in self._kept.items() if m == model_id}

    def drop_unused(self, catalog: Catalog) -> None:
        """Forgets vectors that no chunk names, once they are many; on disk and in memory."""
        matrices = {m.model_id: m for m in (catalog.vectors, catalog.next_vectors) if m is not None}
        for model_id in self._tables:
            unused = upkeep.drop_unused(self._table(model_id), catalog)
            if unused and model_id in matrices:
                with catalog.lock:
                    matrices[model_id].forget(unused)
                    catalog.revision += 1

    def tables(self) -> list[Any]:
        """Those that are open."""
        return [self._table(model_id) for model_id in self._tables]

    def forget(self) -> None:
        """The tables were dropped."""
        for kept in self._kept.values():
            kept.forget()
        self._tables, self._kept = {}, {}


def table_name(model_id: str) -> str:
    """The table of a model; an id may hold any character."""
    return _PREFIX + re.sub(r"[^A-Za-z0-9]", "_", model_id)


def is_vectors(name: str) -> bool:
    """Whether a table holds vectors."""
    return name.startswith(_PREFIX)


def _schema(dimension: int) -> pa.Schema:
    return pa.schema(
        [
            ("embed_hash", pa.string()),
            ("language", pa.string()),
            ("vector", pa.list_(pa.float32(), dimension)),
        ]
    )


def _empty(dimension: int, centre: Centre, model_id: str) -> VectorMatrix:
    matrix = VectorMatrix(dimension, centre, model_id)
    matrix.names = VectorMatrix(dimension, centre, model_id)
    return matrix


def _take_in(
    matrix: VectorMatrix, hashes: Sequence[str], raw: Matrix, languages: Sequence[str]
) -> None:
    """Vectors of passages to the matrix, those of names to its `names`."""
    names = [i for i, h in enumerate(hashes) if h.startswith(NAME)]
    texts = [i for i, h in enumerate(hashes) if not h.startswith(NAME)]
    for rows, into in ((texts, matrix), (names, matrix.names)):
        if rows and into is not None:
            into.add([hashes[i] for i in rows], raw[rows], [languages[i] for i in rows])


def _fill(matrix: VectorMatrix, table: Any) -> None:
    names = table.count_rows(f"embed_hash LIKE '{NAME}%'")
    matrix.make_room(table.count_rows() - names)
    if matrix.names is not None:
        matrix.names.make_room(names)
    for batch in table.search().to_batches():
        flat = batch["vector"].flatten().to_numpy(zero_copy_only=False)
        _take_in(
            matrix,
            batch["embed_hash"].to_pylist(),
            flat.reshape(-1, matrix.dimension),
            batch["language"].to_pylist(),
        )
