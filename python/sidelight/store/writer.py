"""Which process writes an index? One at a time: a lock, and beside it who holds it.

The system lets go of the lock when the process ends, however it does; the file that names the
holder may outlive it and counts only while that process lives. Touches no table.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

import filelock

from sidelight.config import write_private
from sidelight.errors import IndexUnavailableError

_LOCK = "writer.lock"
_HOLDER = "writer.json"
_SAME_START_S = 2.0  # systems give the start of a process in steps of up to 10 ms; ids come again


@dataclass(frozen=True, slots=True)
class Writer:
    """The process that writes an index, or said so last."""

    pid: int
    started_at: float  # seconds since 1970, of the process
    computer: str
    vault: str  # its real path

    @property
    def is_elsewhere(self) -> bool:
        """Whether it ran on another computer, of whose processes nothing is known here."""
        return self.computer != platform.node()

    @property
    def runs(self) -> bool:
        """Whether the process is there, and is that very one."""
        return not self.is_elsewhere and abs(_start_of(self.pid) - self.started_at) < _SAME_START_S


class WriterLock:
    """The lock of the one process that may write. Made by taking it.

    Args:
        data: the data folder; made if missing.
        vault: real path of the vault whose index it is to be.

    Raises:
        IndexUnavailableError: another process has it (`INDEX_BUSY`), or the folder cannot be used.
    """

    def __init__(self, data: Path, vault: Path) -> None:
        self._data = data
        try:
            data.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = filelock.FileLock(data / _LOCK)
            self._lock.acquire(timeout=0)
        except filelock.Timeout as error:
            raise _busy(writer_of(data), vault) from error
        except OSError as error:
            raise _unusable(data, error) from error
        try:
            self._sign(vault)
        except OSError as error:
            self._lock.release()
            raise _unusable(data, error) from error

    def _sign(self, vault: Path) -> None:
        pid = os.getpid()
        writer = Writer(pid, _start_of(pid), platform.node(), str(vault))
        write_private(self._data / _HOLDER, json.dumps(asdict(writer), ensure_ascii=False) + "\n")

    def release(self) -> None:
        """Lets others write. May be called twice."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):  # a full or read-only disk: nobody believes it
                (self._data / _HOLDER).unlink()
            self._lock.release()

    def __enter__(self) -> WriterLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def writer_of(data: Path) -> Writer | None:
    """Who said that it writes this index; None if nobody did. It may be gone: ask `runs`."""
    try:
        content = json.loads((data / _HOLDER).read_text("utf-8"))
        return Writer(
            int(content["pid"]), float(content["started_at"]),
            str(content["computer"]), str(content["vault"]),
        )  # fmt: skip
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _busy(writer: Writer | None, vault: Path) -> IndexUnavailableError:
    remedy = "A daemon may be running: use it, or stop it first."
    if writer is not None and writer.runs and writer.vault == str(vault):
        remedy = f"It is process {writer.pid}: if it is a daemon, use it, or stop it first."
    elif writer is not None and writer.runs:
        remedy = (
            f"It is process {writer.pid}, for {writer.vault}: give each vault a data folder of its "
            "own (--data-dir)."
        )
    return IndexUnavailableError(
        "Another process is already writing this vault's index.", remedy, code="INDEX_BUSY"
    )


def _unusable(data: Path, error: OSError) -> IndexUnavailableError:
    return IndexUnavailableError(
        f"The data folder {data} cannot be used ({error.strerror}).",
        "Check its permissions and free space, or choose another with --data-dir.",
    )


def _start_of(pid: int) -> float:
    """When a process began, in seconds since 1970; 0 if there is none or it hides."""
    import psutil  # 20 ms; a plain search never comes here

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0
