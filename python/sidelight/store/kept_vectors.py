"""The vectors of one model as queries use them, in files that are mapped at the next start.

Centred rows and their hashes, end to end: new ones are appended, so a saved note costs a few
kilobytes. Derived: they count only while the files of the model's table are those that they were
last compared with, and only for the same centring. Losing them costs one slow start.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import mmap
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sidelight.config import write_private
from sidelight.store.stack import Stack
from sidelight.store.vectors import Prepared, VectorMatrix

log = logging.getLogger(__name__)

_FORM = 2
_HASH = np.dtype("S40")  # the longest hash, of a name, has 37 bytes
_FLOAT = np.dtype(np.float32)
# Of each column, and how many axes it has: see `_columns`.
_FORMS = ((_FLOAT, 2), (_HASH, 1), (np.dtype(np.int8), 2), (_FLOAT, 1), (_FLOAT, 2), (_HASH, 1))
_READ_AT_ONCE = 1 << 20  # bytes
_AT_ONCE = 4_096  # rows written at a time
_BINARY = getattr(os, "O_BINARY", 0)  # Windows asks for it
_EMPTY = (0, 0)
_FEW_IN_MEMORY = 1_000  # rows, 2 MB


@dataclass(frozen=True, slots=True)
class _Label:
    """What is said of the files: their names begin with `files`.

    Attributes:
        form, dimension, centred_by: how they are to be read.
        stamp: of the table when they held the same.
        counts: of each column (`_columns`) how many rows count and their CRC-32.
        moments: CRC-32 of the file of moments, which names it.
    """

    form: int
    dimension: int
    centred_by: str
    stamp: str
    files: str
    counts: list[list[int]]
    moments: int


class KeptVectors:
    """The files of one model.

    Args:
        folder: the data folder.
        name: of the model's table.
        centred_by: names the model with its constants.
        stamp: what the files of the table are now.
    """

    def __init__(self, folder: Path, name: str, centred_by: str, stamp: Callable[[], str]) -> None:
        self._folder = folder
        self._name = name
        self._centred_by = centred_by
        self._stamp = stamp
        self._label: _Label | None = None  # of what lies there, if it is what is in memory
        self._forgotten: list[int] = []  # how often the matrices had forgotten some rows then

    def read(self, matrix: VectorMatrix) -> bool:
        """Maps what is kept into an empty matrix; False, with it empty, if nothing counts."""
        parts = _parts_of(matrix)
        try:
            label = _Label(**json.loads(self._labelled.read_text("utf-8")))
            asked = (_FORM, matrix.dimension, self._centred_by, self._stamp())
            if (label.form, label.dimension, label.centred_by, label.stamp) != asked:
                return False
            if not label.stamp:  # there was no table
                return False
            columns = self._map(label)
            with ThreadPoolExecutor(1) as beside:  # zlib lets others run meanwhile
                sound = beside.submit(self._is_sound, label, columns)
                rows, hashes, rounded, steps, *named = columns
                for part, both in zip(parts, ((rows, hashes), named), strict=False):
                    part.begin(both[0], [one.decode("ascii") for one in both[1].tolist()])
                moments, counted = self._read_moments(label)
                matrix.begin_prepared(rounded, steps, moments, counted)
        except FileNotFoundError:
            return False
        except (OSError, LookupError, TypeError, ValueError) as error:
            log.warning("the kept vectors cannot be read (%s)", type(error).__name__)
        else:
            if sound.result():
                self._label, self._forgotten = label, [part.forgotten for part in parts]
                return True
            log.warning("the kept vectors are damaged")
        for part in parts:
            part.begin(np.zeros((0, matrix.dimension), np.float32), [])
        return False

    def keep(self, matrix: VectorMatrix, lock: AbstractContextManager[Any]) -> None:
        """Appends what is new in memory; a full disk only costs the next start.

        Args:
            matrix: what `read` filled or would fill.
            lock: of those who search in it, as they prepare it too.
        """
        with lock:
            prepared = matrix.prepared()
        forgotten = [part.forgotten for part in _parts_of(matrix)]
        before = self._label if self._forgotten == forgotten else None  # else rows have moved
        files = before.files if before else f"{self._name}.kept-{time.time_ns()}"
        columns = _columns(matrix, prepared)
        try:
            counts = [
                self._append(f"{files}-{number}", column, *(before.counts[number] if before else _EMPTY))
                for number, column in enumerate(columns)
            ]  # fmt: skip
            moments = self._write_moments(files, prepared)
            label = _Label(
                _FORM, matrix.dimension, self._centred_by, self._stamp(), files, counts, moments
            )
            if label != self._label:
                write_private(self._labelled, json.dumps(asdict(label)) + "\n")
        except OSError as error:
            log.warning("the vectors cannot be kept (%s)", error.strerror)
            self.forget()
        else:
            self._label, self._forgotten = label, forgotten
            self._delete_but(files, f"{files}-{moments:08x}")
            if max(column.later for column in columns) > _FEW_IN_MEMORY:
                self._let_rest(columns, label, lock)

    def _let_rest(
        self, columns: Sequence[Stack[Any]], label: _Label, lock: AbstractContextManager[Any]
    ) -> None:
        """What lies in the files now need not lie in memory."""
        try:
            mapped = self._map(label)
            if not self._is_sound(label, mapped):  # someone else has written there
                log.warning("the kept vectors are damaged")
                self.forget()
                return
            with lock:
                for column, rows in zip(columns, mapped, strict=True):
                    column.rest_on(rows)
        except (OSError, ValueError) as error:  # they stay in memory
            log.warning("the kept vectors cannot be read (%s)", type(error).__name__)

    def forget(self) -> None:
        """What is kept counts no more; a folder that cannot be written only keeps the files."""
        self._label = None
        with contextlib.suppress(OSError):
            self._labelled.unlink(missing_ok=True)
            self._delete_but("", "")

    @property
    def _labelled(self) -> Path:
        return self._folder / f"{self._name}.json"

    def _map(self, label: _Label) -> list[NDArray[Any]]:
        columns = []
        for number, (rows, _) in enumerate(label.counts):
            kind, shape = _FORMS[number][0], (rows, label.dimension)[: _FORMS[number][1]]
            if not rows:
                columns.append(np.zeros(shape, kind))
                continue
            with (self._folder / f"{label.files}-{number}").open("rb") as handle:
                size = math.prod(shape) * kind.itemsize
                mapped = mmap.mmap(handle.fileno(), size, access=mmap.ACCESS_READ)
            columns.append(np.frombuffer(mapped, kind).reshape(shape))
        return columns

    def _is_sound(self, label: _Label, columns: Sequence[NDArray[Any]]) -> bool:
        """Reads the files, as what is read of a mapped one counts as memory in use."""
        for number, column in enumerate(columns):
            found, left = 0, column.nbytes
            if left:
                with (self._folder / f"{label.files}-{number}").open("rb") as handle:
                    while left and (data := handle.read(min(left, _READ_AT_ONCE))):
                        found, left = crc32(data, found), left - len(data)
            if found != label.counts[number][1]:
                return False
        return True

    def _read_moments(self, label: _Label) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        data = (self._folder / f"{label.files}-{label.moments:08x}").read_bytes()
        if crc32(data) != label.moments:
            raise ValueError("the moments are damaged")
        numbers = 8 * label.dimension * (label.dimension + 1)
        counted = np.unpackbits(np.frombuffer(data[numbers:], np.uint8), count=label.counts[0][0])
        return np.frombuffer(data[:numbers], np.float64), counted.astype(bool)

    def _write_moments(self, files: str, prepared: Prepared) -> int:
        """Writes the moments and which rows are in them; the CRC-32 that names the file."""
        _, _, moments, counted = prepared
        data = moments.tobytes() + np.packbits(counted).tobytes()
        crc = crc32(data)
        file = os.open(
            self._folder / f"{files}-{crc:08x}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600
        )  # fmt: skip
        with os.fdopen(file, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        return crc

    def _append(self, name: str, column: Stack[Any], rows: int, crc: int) -> list[int]:
        """Writes the rows from `rows` on behind those; what a crash left there is written over.

        Raises:
            OSError: the disk is full, or the file with those is gone.
        """
        if len(column) > rows:
            new = 0 if rows else os.O_CREAT
            file = os.open(self._folder / name, os.O_WRONLY | new | _BINARY, 0o600)
            with os.fdopen(file, "wb") as handle:
                handle.seek(rows * column.row_bytes)
                for _, piece in column.pieces(rows, len(column), _AT_ONCE):
                    data = piece.tobytes()
                    crc = crc32(data, crc)
                    handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
        return [len(column), crc]

    def _delete_but(self, files: str, moments: str) -> None:
        columns = {f"{files}-{number}" for number in range(len(_FORMS))} if files else set()
        for file in self._folder.glob(f"{self._name}.kept-*"):
            if file.name not in columns and file.name != moments:
                with contextlib.suppress(OSError):  # Windows, while it is mapped
                    file.unlink(missing_ok=True)


def forget_others(folder: Path, name: str) -> None:
    """Deletes what is kept of all models but the one of this table."""
    for file in (*folder.glob("vectors_*.json"), *folder.glob("vectors_*.kept-*")):
        if file.name != f"{name}.json" and not file.name.startswith(f"{name}.kept-"):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)


def _parts_of(matrix: VectorMatrix) -> list[VectorMatrix]:
    return [matrix] if matrix.names is None else [matrix, matrix.names]


def _columns(matrix: VectorMatrix, prepared: Prepared) -> list[Stack[Any]]:
    """Rows and hashes of the texts, their rounded rows and steps, rows and hashes of names."""
    rounded, steps, _, _ = prepared
    columns = [(part.all_rows(), _packed(part.hashes)) for part in _parts_of(matrix)]
    return [*columns[0], rounded, steps, *(column for both in columns[1:] for column in both)]


def _packed(hashes: Sequence[str]) -> Stack[np.bytes_]:
    return Stack(np.array([one.encode() for one in hashes], _HASH))
