"""How is a program run that may hang, fork or never stop talking? Bounded in time and output.

No shell. Output is UTF-8 or replaced; standard error is drained and only its end kept. At the
time limit the program goes with everything it started: its process group on POSIX, its tree
elsewhere, and whatever carries this run's mark in its environment. Should this process be
killed itself, a small companion ends what it had running.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import psutil

MARK = "SIDELIGHT_RUN"  # in the environment of every process of one run
MAX_OUTPUT_BYTES = 4_000_000  # of standard output; 25 results of 8,000 characters are 0.8 MB
MAX_ERROR_BYTES = 2_000  # the end of standard error, for saying why
POLL_S = 0.02
GRACE_S = 0.5  # for output to arrive after the program has ended
_PART = 65_536


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    Attributes:
        output: standard output, at most `MAX_OUTPUT_BYTES`.
        error: the end of standard error.
        code: exit code; None if it was killed.
        why_killed: "", "time", "output" or "cancelled".
    """

    output: bytes
    error: str
    code: int | None
    why_killed: str


def run(
    command: Sequence[str],
    given: bytes,
    environment: Mapping[str, str],
    seconds: float,
    cancelled: Callable[[], bool],
) -> Ended:
    """Runs a program to its end or its limits.

    Args:
        command: program and arguments; no shell sees them.
        given: its standard input.
        environment: variables on top of ours.
        seconds: after which it is killed.
        cancelled: asked 50 times a second.

    Raises:
        OSError: it cannot be started.
    """
    _COMPANION.start()
    mark = f"{_COMPANION.marks}{secrets.token_hex(8)}"
    process = subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=os.path.expanduser("~"),
        env={**os.environ, **_utf8(), **environment, MARK: mark},
        **_own_group(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    output, error = _Kept(MAX_OUTPUT_BYTES), _Kept(MAX_ERROR_BYTES, tail=True)
    threads = [
        threading.Thread(target=_give, args=(process.stdin, given), daemon=True),
        threading.Thread(target=output.read, args=(process.stdout,), daemon=True),
        threading.Thread(target=error.read, args=(process.stderr,), daemon=True),
    ]
    for thread in threads:
        thread.start()
    why = _wait(process, output, time.monotonic() + seconds, cancelled)
    if why or not _has_closed(threads[1:]):
        kill_run(process, mark)
    elif os.name == "posix":
        _kill_group(process)  # what it left behind in its own group
    process.wait()
    for thread in threads[1:]:
        thread.join(GRACE_S)
    for pipe in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(OSError, ValueError):
            pipe.close()
    return Ended(
        output.data, error.data.decode("utf-8", "replace").strip(),
        None if why else process.returncode, why,
    )  # fmt: skip


def _wait(
    process: subprocess.Popen[bytes], output: _Kept, until: float, cancelled: Callable[[], bool]
) -> str:
    """Waits for the end; why it must be killed before, or ""."""
    while process.poll() is None:
        if output.full.is_set():
            return "output"
        if cancelled():
            return "cancelled"
        if time.monotonic() > until:
            return "time"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_S)
    return ""


def _has_closed(readers: Sequence[threading.Thread]) -> bool:
    """Whether the pipes of a program that has ended are closed, too: else a child holds them."""
    until = time.monotonic() + GRACE_S
    for reader in readers:
        reader.join(max(0.0, until - time.monotonic()))
    return not any(reader.is_alive() for reader in readers)


class _Kept:
    """What arrives by a pipe, up to a limit; the rest is read and dropped."""

    def __init__(self, limit: int, *, tail: bool = False) -> None:
        self._limit = limit
        self._tail = tail
        self._data = bytearray()
        self.full = threading.Event()

    @property
    def data(self) -> bytes:
        return bytes(self._data)

    def read(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed under us, once it is over
            while part := os.read(pipe.fileno(), _PART):
                if self._tail:
                    self._data += part
                    del self._data[: max(0, len(self._data) - self._limit)]
                elif len(self._data) < self._limit:
                    self._data += part[: self._limit - len(self._data)]
                    if len(self._data) == self._limit:
                        self.full.set()


def _give(pipe: IO[bytes], given: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):  # it does not read what it is given
        pipe.write(given)
        pipe.close()


class _Companion:
    """Outlives this process by a moment: ends every run of ours once our end of its pipe closes."""

    _PROGRAM = """
import psutil, sys
variable, marks = sys.argv[1:]
sys.stdin.buffer.read()
for process in psutil.process_iter():
    try:
        if process.environ().get(variable, "").startswith(marks):
            process.kill()
    except (psutil.Error, OSError):
        pass
"""

    def __init__(self) -> None:
        self.marks = secrets.token_hex(8)  # begins the mark of every run of this process
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Once; and again if somebody has ended it."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self._process = subprocess.Popen(
                [sys.executable, "-c", self._PROGRAM, MARK, self.marks],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **_own_group(),
            )


_COMPANION = _Companion()


# --------------------------------------------------------------------------- platforms


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        return {"creationflags": flags}
    return {"start_new_session": True}


def _utf8() -> dict[str, str]:
    """Variables that make common programs speak UTF-8."""
    names = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}
    if sys.platform != "win32":
        locale = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG")
        if "utf" not in (locale or "").lower():
            names["LC_ALL"] = "C.UTF-8" if sys.platform != "darwin" else "en_US.UTF-8"
    return names


def kill_run(process: subprocess.Popen[bytes], mark: str) -> None:
    """Ends a program and everything it started, also what has left its group or its parent."""
    tree = list(_tree(process.pid))
    _kill_group(process)
    for _ in range(3):  # one that forks meanwhile leaves a child to the next look
        victims = {p.pid: p for p in (*tree, *_marked(mark))}
        if not _killed(victims.values()):
            return
        tree = []


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()


def _tree(pid: int) -> Iterator[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        yield from psutil.Process(pid).children(recursive=True)


def _marked(mark: str) -> Iterator[psutil.Process]:
    """Processes of ours that inherited the mark of a run."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                yield process


def _killed(victims: Any) -> bool:
    """Kills what still runs; whether there was anything."""
    found = False
    for victim in victims:
        with contextlib.suppress(psutil.Error, OSError):
            if victim.is_running() and victim.status() != psutil.STATUS_ZOMBIE:
                victim.kill()
                found = True
    return found
