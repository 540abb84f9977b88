"""The vectors of one model as queries use them, in files that are mapped at the next start.

Centred rows and their hashes, end to end: new ones are appended, so a saved note costs a few
kilobytes. Derived: they count only while the files of the model's table are those that they were
last compared with, and only for the same centring. Losing them costs one slow start.
"""

from __future__ import annotations

import contextlib
import json
import logging
import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sidelight.config import write_private
from sidelight.store.vectors import VectorMatrix

log = logging.getLogger(__name__)

_FORM = 1
_HASH = np.dtype("S40")  # the longest hash, of a name, has 37 bytes
_AT_ONCE = 4_096  # rows written at a time
_BINARY = getattr(os, "O_BINARY", 0)  # Windows asks for it
_EMPTY = (0, 0)


@dataclass(frozen=True, slots=True)
class _Label:
    """What is said of the files: their names begin with `files`.

    Attributes:
        form, dimension, centred_by: how they are to be read.
        stamp: of the table when they held the same.
        counts: of each column (`_columns`) how many rows count and their CRC-32.
    """

    form: int
    dimension: int
    centred_by: str
    stamp: str
    files: str
    counts: list[list[int]]


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
            columns = self._map(label)
            with ThreadPoolExecutor(1) as beside:  # zlib lets others run meanwhile
                checks = [crc for _, crc in label.counts]
                sound = beside.submit(lambda: [crc32(one.data) for one in columns] == checks)
                for part, rows, hashes in zip(parts, columns[::2], columns[1::2], strict=True):
                    part.begin(rows, [one.decode("ascii") for one in hashes.tolist()])
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

    def keep(self, matrix: VectorMatrix) -> None:
        """Appends what is new in memory; a full disk only costs the next start."""
        forgotten = [part.forgotten for part in _parts_of(matrix)]
        before = self._label if self._forgotten == forgotten else None  # else rows have moved
        files = before.files if before else f"{self._name}.kept-{time.time_ns()}"
        try:
            counts = [
                self._append(f"{files}-{number}", column, *(before.counts[number] if before else _EMPTY))
                for number, column in enumerate(_columns(matrix))
            ]  # fmt: skip
            label = _Label(_FORM, matrix.dimension, self._centred_by, self._stamp(), files, counts)
            if label != self._label:
                write_private(self._labelled, json.dumps(asdict(label)) + "\n")
        except OSError as error:
            log.warning("the vectors cannot be kept (%s)", error.strerror)
            self.forget()
        else:
            self._label, self._forgotten = label, forgotten
            self._delete_but(files)

    def forget(self) -> None:
        """What is kept counts no more; a folder that cannot be written only keeps the files."""
        self._label = None
        with contextlib.suppress(OSError):
            self._labelled.unlink(missing_ok=True)
            self._delete_but("")

    @property
    def _labelled(self) -> Path:
        return self._folder / f"{self._name}.json"

    def _map(self, label: _Label) -> list[NDArray[Any]]:
        columns = []
        for number, (rows, _) in enumerate(label.counts):
            kind, width = (_HASH, 1) if number % 2 else (np.dtype(np.float32), label.dimension)
            if not rows:
                columns.append(np.zeros(rows if number % 2 else (rows, width), kind))
                continue
            with (self._folder / f"{label.files}-{number}").open("rb") as handle:
                size = rows * width * kind.itemsize
                mapped = mmap.mmap(handle.fileno(), size, access=mmap.ACCESS_READ)
            column = np.frombuffer(mapped, kind)
            columns.append(column if number % 2 else column.reshape(rows, width))
        return columns

    def _append(self, name: str, column: NDArray[Any], rows: int, crc: int) -> list[int]:
        """Writes the rows from `rows` on behind those; what a crash left there is written over."""
        if len(column) > rows:
            file = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | _BINARY, 0o600)
            with os.fdopen(file, "wb") as handle:
                handle.seek(rows * column[:1].nbytes)
                for start in range(rows, len(column), _AT_ONCE):
                    data = np.ascontiguousarray(column[start : start + _AT_ONCE]).tobytes()
                    crc = crc32(data, crc)
                    handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
        return [len(column), crc]

    def _delete_but(self, files: str) -> None:
        for file in self._folder.glob(f"{self._name}.kept-*"):
            if not files or not file.name.startswith(f"{files}-"):
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


def _columns(matrix: VectorMatrix) -> list[NDArray[Any]]:
    """Rows and hashes of the texts, then of the names."""
    return [
        column
        for part in _parts_of(matrix)
        for column in (part.all_rows(), np.array([h.encode() for h in part.hashes], _HASH))
    ]
