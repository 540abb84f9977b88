"""Which lines of which notes match? Plain line search over the notes the caller names.

ripgrep does it where there is one (in this Python's environment, else on the PATH), google-re2
otherwise: both are linear in the text whatever the expression, so none can make it hang. Bounded
by a time limit besides. Never writes, never leaves the vault, never runs anything from it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import sysconfig
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import re2

from sidelight.errors import CancelledError, SidelightError, UsageError
from sidelight.vault.lines import decode, split_lines
from sidelight.vault.reading import read_inside, read_regular, safe_path

TIME_LIMIT_S = 5.0  # 10,000 notes take 0.2 s; what takes longer returns what it has
POLL_S = 0.02  # how often a running search is asked whether it should stop
MAX_LINE_CHARS = 1_000  # of one match; a longer line is cut around it
BEFORE_MATCH_CHARS = 200
MAX_ROOTS = 200  # files or folders named to ripgrep: well within any command line
MAX_NOTE_BYTES = 10_000_000  # default of the setting of the same name

Found = tuple[str, int, str]
_LONE_RETURN = re.compile(rb"\r(?!\n)")


def never() -> bool:
    """Nobody cancels."""
    return False


def grep(
    vault: Path,
    paths: Iterable[str],
    pattern: str,
    regex: bool = False,
    limit: int = 200,
    cancelled: Callable[[], bool] = never,
    *,
    path_glob: str | None = None,
    followed: Sequence[str] = (),
    max_note_bytes: int = MAX_NOTE_BYTES,
    time_limit_s: float = TIME_LIMIT_S,
    ripgrep: bool = True,
) -> tuple[list[Found], bool]:
    """Matching lines, by path and line.

    Args:
        vault: real path of the vault.
        paths: the notes that may be searched (the caller left out what is excluded).
        pattern: a text, or with `regex` an expression (Rust or RE2 syntax); case matters.
        regex: whether it is an expression.
        limit: lines at most.
        cancelled: asked about 50 times a second.
        path_glob: only paths that match it (`*`, `**`, `?`; without `/` it means file names).
        followed: symlinked folders that the settings allow.
        max_note_bytes: larger files are left out.
        time_limit_s: seconds after which what was found so far is returned.
        ripgrep: False to leave ripgrep out even if there is one.

    Returns:
        (path, line, text of the line or the part of it around the match) in order of folders and
        names, and whether there may be more.

    Raises:
        UsageError: the expression or the pattern cannot be used; says why.
        CancelledError: `cancelled` said so.
    """
    if not pattern:
        raise UsageError("The pattern is empty.", "Give at least one character.")
    if not regex and re.search(r"[\r\n]", pattern):
        return [], False  # no line holds a line end
    allowed = _selected(paths, path_glob)
    job = _Job(vault, allowed, followed, max_note_bytes, cancelled, time_limit_s)
    program = _ripgrep(vault) if ripgrep and not re.search(r"[\r\n]", pattern) else None
    expression = _compiled(pattern, regex, strict=program is None)
    if program:
        matches = _with_ripgrep(job, program, pattern, regex, expression)
    else:
        assert expression is not None, "strict"
        matches = _with_re2(job, expression)
    found: list[Found] = []
    for match in matches:
        if len(found) == limit:
            return found, True
        found.append(match)
    if cancelled():
        raise CancelledError("The search was cancelled.")
    return found, job.stopped


class _Job:
    """What may be searched, and until when."""

    def __init__(
        self,
        vault: Path,
        allowed: Sequence[str],
        followed: Sequence[str],
        max_note_bytes: int,
        cancelled: Callable[[], bool],
        time_limit_s: float,
    ) -> None:
        self.vault = vault
        self.allowed = allowed
        self._chosen = frozenset(allowed)
        self.followed = tuple(folder.strip("/") for folder in followed)
        self.max_note_bytes = max_note_bytes
        self.stopped = False
        self._cancelled = cancelled
        self._end = time.monotonic() + time_limit_s

    def excluded(self, path: str) -> bool:
        """Everything but the chosen paths: a link may lead to one of them, to nothing else."""
        return path not in self._chosen

    def must_stop(self) -> bool:
        """Whether time is up or nobody waits."""
        self.stopped = self.stopped or self._cancelled() or time.monotonic() > self._end
        return self.stopped

    def bytes(self, path: str) -> bytes:
        """Bytes of a note; none if it cannot be read. Whether it may be shown: `is_safe`."""
        with contextlib.suppress(OSError):  # a link, perhaps one that may be followed
            return read_regular(self.vault / path, self.max_note_bytes)[0]
        if not any(f"{path}/".startswith(f"{folder}/") for folder in self.followed):
            return b""  # ripgrep, too, leaves out links that the settings do not name
        try:
            return read_inside(self.vault, path, self, self.max_note_bytes, self.followed)
        except SidelightError:
            return b""

    def lines(self, path: str) -> list[str]:
        """Lines of a note; none if it cannot be read."""
        return split_lines(decode(self.bytes(path))[0])

    def is_safe(self, path: str) -> bool:
        """Whether what was searched still is a file inside the vault."""
        try:
            safe_path(self.vault, path, self, self.followed)
        except SidelightError:
            return False
        return True


# --------------------------------------------------------------------------- paths


def _selected(paths: Iterable[str], path_glob: str | None) -> list[str]:
    chosen = list(paths)
    if path_glob:
        fits = glob_expression(path_glob)
        chosen = [path for path in chosen if fits.fullmatch(path)]
    return sorted(chosen, key=lambda path: path.split("/"))


def glob_expression(path_glob: str) -> Any:
    """A linear-time expression for a path glob: `*` and `?` stay within a name, `**` does not."""
    glob = path_glob if "/" in path_glob.rstrip("/") else f"**/{path_glob}"
    glob = glob.removeprefix("/")
    glob += "**" if glob.endswith("/") else ""
    spelled = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    body = "".join(spelled.get(part) or re2.escape(part) for part in parts)
    return re2.compile(f"(?s:{body})", _options())


# --------------------------------------------------------------------------- ripgrep


def _ripgrep(vault: Path) -> str | None:
    """A ripgrep that the user installed: never one that lies in the vault or the working folder."""
    name = "rg.exe" if os.name == "nt" else "rg"
    folders = [sysconfig.get_path("scripts"), *os.environ.get("PATH", "").split(os.pathsep)]
    for folder in folders:
        program = Path(folder) / name
        if not program.is_absolute() or not os.access(program, os.X_OK) or not program.is_file():
            continue
        if not Path(os.path.realpath(program)).is_relative_to(vault):
            return str(program)
    return None


class _Match(NamedTuple):
    """A line that matches, as ripgrep tells it."""

    path: str
    line: int
    column: int  # of the first match, in bytes from 1
    text: str | None  # None where it is too long to be handed over


def _with_ripgrep(
    job: _Job, program: str, pattern: str, regex: bool, expression: _Expression | None
) -> Iterator[Found]:
    # Plain lines, the long ones left out: as JSON each match in a line of 400 kB is an object.
    command = [
        program, "--no-config", "--no-ignore", "--no-messages", "--no-heading", "--with-filename",
        "--null", "--line-number", "--column", "--color", "never", "--sort", "path", "--crlf",
        "--text", "--path-separator", "/", "--max-filesize", str(job.max_note_bytes),
        "--max-columns", str(MAX_LINE_CHARS), *(() if regex else ("--fixed-strings",)),
        "--file", "-", "--", *_roots(job),
    ]  # fmt: skip
    wanted = frozenset(job.allowed)
    own_count: dict[str, bool] = {}  # path: whether its lines must be counted by us
    long_lines = _LongLines(job)
    with _Running(command, job) as running:
        running.give(pattern)
        for match in running.matches():
            if match.path not in wanted:
                continue
            if match.path not in own_count:
                own_count[match.path] = _has_lone_return(job, match.path)
                if own_count[match.path] and expression is not None:
                    yield from _in_note(job, match.path, expression)
            if not own_count[match.path] and job.is_safe(match.path):
                text = long_lines.around(match) if match.text is None else match.text
                yield match.path, match.line, text.replace("\0", "\ufffd")
        running.check()


def _roots(job: _Job) -> list[str]:
    """Where ripgrep looks: the files themselves if they are few, else folders that hold them.

    What is excluded or not asked for is not even read then, as far as folders tell them apart.
    """
    roots = ["", *job.followed]  # a link is followed only where it is named
    parts = [path.split("/") for path in job.allowed]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        deeper = dict.fromkeys("/".join(names[:depth]) for names in parts)
        if len(deeper) > MAX_ROOTS:
            break
        roots = list(deeper)
    return [f"./{root}" for root in roots if _is_root(job, root)]


def _is_root(job: _Job, root: str) -> bool:
    """Whether ripgrep may be sent there: it would follow a link and wait for a FIFO named to it."""
    try:
        mode = os.lstat(job.vault / root).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or root in job.followed


class _LongLines:
    """The lines that ripgrep does not hand over; remembers the note it read last."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        self._path = ""
        self._lines: list[str] = []

    def around(self, match: _Match) -> str:
        """The part of the line around its first match; "" if the file has changed meanwhile."""
        if match.path != self._path:
            self._path, self._lines = match.path, self._job.lines(match.path)
        if match.line > len(self._lines):
            return ""
        line = self._lines[match.line - 1]
        before = line[: match.column - 1].encode("utf-8", "replace")[: match.column - 1]
        return _cut(line, len(before.decode("utf-8", "ignore")))


class _Running:
    """A ripgrep process that ends when its job must stop."""

    def __init__(self, command: Sequence[str], job: _Job) -> None:
        self._command = command
        self._job = job
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._guard, name="grep-watch", daemon=True)

    def __enter__(self) -> _Running:
        hidden = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # no console flashes on Windows
        self._process = subprocess.Popen(
            self._command,
            cwd=self._job.vault,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            creationflags=hidden,
        )
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):  # the pattern that it never read
                pipe.close()
        self._watch.join()

    def _guard(self) -> None:
        while not self._over.wait(POLL_S):
            if self._job.must_stop():
                self._process.kill()
                return

    def give(self, pattern: str) -> None:
        """Hands the pattern over by standard input: command lines are public on a machine."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(pattern.encode("utf-8", "replace") + b"\n")
            self._process.stdin.close()
        except OSError:  # it has ended already; `check` says why
            return

    def matches(self) -> Iterator[_Match]:
        """Every matching line, in ripgrep's order."""
        assert self._process.stdout is not None
        name = b""
        for said in self._process.stdout:
            path, null, rest = (name + said).partition(b"\0")
            if not null:  # a line end within a file name
                name = path
                continue
            name = b""
            number, _, rest = rest.partition(b":")
            column, _, raw = rest.partition(b":")
            if not raw.endswith(b"\n"):
                return  # stopped in the middle of a line
            text = None if raw.startswith(b"[Omitted long ") else raw.rstrip(b"\r\n")
            yield _Match(
                os.fsdecode(path).removeprefix("./"),
                int(number),
                int(column),
                None if text is None else text.decode("utf-8", "replace"),
            )

    def check(self) -> None:
        """Raises UsageError if ripgrep did not take the expression."""
        assert self._process.stderr is not None
        said = self._process.stderr.read().decode("utf-8", "replace").strip()
        if self._process.wait() == 2 and said:
            raise _bad_expression(said.splitlines()[-1].removeprefix("error: "))


def _has_lone_return(job: _Job, path: str) -> bool:
    """Whether a note has line ends that ripgrep does not count."""
    data = job.bytes(path)
    return b"\r" in data and _LONE_RETURN.search(data) is not None


# --------------------------------------------------------------------------- RE2


def _with_re2(job: _Job, expression: _Expression) -> Iterator[Found]:
    for path in job.allowed:
        if job.must_stop():
            return
        yield from _in_note(job, path, expression)


def _in_note(job: _Job, path: str, expression: _Expression) -> Iterator[Found]:
    lines = job.lines(path)
    if not expression.note.search("\n".join(lines)) or not job.is_safe(path):
        return
    for number, line in enumerate(lines, 1):
        if number % 1_000 == 0 and job.must_stop():
            return
        if match := expression.line.search(line):
            yield path, number, _cut(line, match.start())


@dataclass(frozen=True, slots=True)
class _Expression:
    """What to look for.

    Attributes:
        line: decides about a line.
        note: matches every note in which a line can match (and perhaps others); quick.
    """

    line: Any
    note: Any


def _compiled(pattern: str, regex: bool, *, strict: bool) -> _Expression | None:
    """The RE2 expression; None where RE2 does not take it and need not."""
    source = _unicode_classes(pattern) if regex else re2.escape(pattern)
    # `\A` and `\z` mean the ends of a line here, which a whole note cannot show
    note = "" if regex and re.search(r"\\[AzZ]", pattern) else f"(?m){source}"
    try:
        return _Expression(re2.compile(source, _options()), re2.compile(note, _options()))
    except re2.error as error:
        if not strict:
            return None
        said = error.args[0] if error.args else error
        raise _bad_expression(
            said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        ) from error


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False  # it would write the pattern to standard error
    return options


# RE2's own classes know ASCII only; ripgrep's know Unicode, so that `\w` finds Chinese.
_CLASSES = {"w": r"\pL\pM\pN_", "d": r"\p{Nd}", "s": r"\s\p{Z}\x{85}"}


def _unicode_classes(pattern: str) -> str:
    out: list[str] = []
    in_class = False
    for piece in re.findall(r"\\.|.", pattern, re.DOTALL):
        name = piece[1:].lower() if piece.startswith("\\") else ""
        if name in _CLASSES and in_class and piece[1].islower():
            piece = _CLASSES[name]
        elif name in _CLASSES and not in_class:
            piece = f"[{'^' if piece[1].isupper() else ''}{_CLASSES[name]}]"
        elif piece == "[":
            in_class = True
        elif piece == "]":
            in_class = False
        out.append(piece)
    return "".join(out)


def _bad_expression(said: str) -> UsageError:
    return UsageError(
        f"The regular expression cannot be used: {said}",
        "Look-around and backreferences are not supported; leave out `regex` for plain text.",
    )


def _cut(line: str, start: int) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    begin = max(0, start - BEFORE_MATCH_CHARS)
    return line[begin : begin + MAX_LINE_CHARS]
