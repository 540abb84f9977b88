"""Who drafts many notes? This process, and for a first index a second one beside it.

Drafting is two thirds of a first index and holds Python's lock, so that threads would not help.
The second process gets bytes and gives back drafts over its own two pipes. It ends with this one,
however that ends, as its input does; if it cannot begin, is killed or hangs, this one goes on alone.
Reads no file.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO, TypeAlias

from sidelight.indexing.draft import DRAFT_VERSION, draft_note
from sidelight.language.terms import Terms
from sidelight.store.rows import NoteDraft, NoteRow
from sidelight.types import FileEntry

log = logging.getLogger(__name__)

_MUCH = 2_000_000  # bytes of notes; the second process takes a second or two to begin
_GROUP, _GROUP_BYTES = 16, 50_000  # handed over at a time: some 30 ms of work
_ASKED = 8  # groups it has to do: as much as it drafts while this process writes a commit
# Groups done or asked for while the next in order is not: so many that a second process of a
# quarter of this one's speed keeps nobody waiting, so few that they take some 20 MB.
_AHEAD = 40
_LOOK_S = 0.1  # how often who waits for a group looks whether to stop
_PATIENCE_S = 60.0  # for one group, with nothing else to do: twice the time of the largest note
_LEAVE_S = 5.0
_PROGRAM = "from sidelight.indexing.drafting import serve; serve()"
_NICE = 5  # people's own programs, and queries, come first


@dataclass(frozen=True, slots=True)
class Content:
    """A note that is to be drafted."""

    entry: FileEntry
    data: bytes
    at: float  # when it was read, seconds since the epoch


Outcome: TypeAlias = NoteDraft | NoteRow | None  # of a note that was looked at
Draft: TypeAlias = Callable[[Content], Outcome]
_Answers: TypeAlias = list[NoteDraft | None]  # without their bytes; None for one that failed


@dataclass(slots=True)
class _Group:
    items: list[Content | Outcome]
    answers: _Answers | None = None  # of those to be drafted, once they are there
    ready: threading.Event = field(default_factory=threading.Event)

    @property
    def contents(self) -> list[Content]:
        return [item for item in self.items if isinstance(item, Content)]

    def outcomes(self, draft: Draft) -> Iterator[Outcome]:
        """In order; what the second process has not drafted is drafted here."""
        contents = self.contents
        drafts = iter(self.answers or [None] * len(contents))
        for item in self.items:
            if not isinstance(item, Content):
                yield item
            elif (made := next(drafts)) is None:
                yield draft(item)
            else:
                yield replace(made, snapshot=item.data)


class SecondProcess:
    """Drafts beside this process. Not thread-safe: one thread asks.

    Args:
        terms: the index's own.
        things: as for `draft_note`.
    """

    def __init__(self, terms: Terms, *, things: bool) -> None:
        self._asked: deque[_Group] = deque()
        self._orders: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._began = self._ended = self._closing = False
        self._setup = (tuple(terms.user_words.words), things)
        self._expected = (DRAFT_VERSION, terms.signature)
        self._process: subprocess.Popen[bytes] | None = None
        low = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
        hidden = getattr(subprocess, "CREATE_NO_WINDOW", 0)
        try:
            # -P: nothing of the folder it happens to be started in (a vault) is imported.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=low | hidden,
            )
        except OSError:
            log.debug("no second process", exc_info=True)
            self._end()
            return
        self._threads = [
            threading.Thread(target=run, name="drafting", daemon=True)
            for run in (self._write, self._read)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def has_room(self) -> bool:
        """Whether it would take a group."""
        return self._began and not self._ended and len(self._asked) < _ASKED

    def ask(self, group: _Group) -> None:
        """Hands a group over; it becomes `ready`, if need be without answers."""
        self._asked.append(group)
        self._orders.put(group.contents)
        if self._ended:  # perhaps just before it was appended
            self._give_up()

    def give_up(self) -> None:
        """Ends one that does not answer; what it was asked becomes ready without answers."""
        if self._process is not None:
            self._process.kill()  # `_read` sees its end

    def close(self) -> None:
        """Ends it, at once."""
        self._closing = True
        self._orders.put(None)
        if self._process is None:
            return
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_S)
        for thread in self._threads:
            thread.join(_LEAVE_S)

    def _write(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as pipe:  # `_read` sees its end
            pickle.dump(self._setup, pipe, pickle.HIGHEST_PROTOCOL)
            pipe.flush()
            while (order := self._orders.get()) is not None:
                pickle.dump(order, pipe, pickle.HIGHEST_PROTOCOL)
                pipe.flush()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            try:
                made = pickle.load(pipe)
                if made != self._expected:
                    raise ValueError(f"it would draft by {made}")
                self._began = True
                while True:
                    answers = pickle.load(pipe)
                    group = self._asked.popleft()
                    group.answers = answers
                    group.ready.set()
            except Exception:  # whatever a process that is killed leaves in its pipe
                log.debug("the second process gives no more drafts", exc_info=True)
                self._end()

    def _end(self) -> None:
        self._ended = True
        if not self._closing:
            log.warning("notes are read by one process: the one that was to help is not there")
        self._give_up()

    def _give_up(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._asked.popleft().ready.set()


@contextlib.contextmanager
def beside(terms: Terms, size: int, *, things: bool) -> Iterator[SecondProcess | None]:
    """A second process where it is worth it; None where it is not, or cannot be.

    Args:
        terms: the index's own.
        size: bytes there are to be drafted.
        things: as for `draft_note`.
    """
    frozen = getattr(sys, "frozen", False)  # such an executable is no Python to start
    if size < _MUCH or (os.cpu_count() or 1) < 2 or frozen or not sys.executable:
        yield None
        return
    second = SecondProcess(terms, things=things)
    try:
        yield second
    finally:
        second.close()


def in_order(
    items: Iterable[Content | Outcome],
    draft: Draft,
    second: SecondProcess | None,
    stopped: Callable[[], bool],
) -> Iterator[Outcome]:
    """What becomes of each note, in order.

    Args:
        items: notes to be drafted, and what became of others already; read only as far as needed.
        draft: drafts one here.
        second: drafts others meanwhile.
        stopped: ends it while it waits for the second process.
    """
    if second is None:
        for item in items:
            yield draft(item) if isinstance(item, Content) else item
        return
    groups = _groups(items)
    ahead: deque[_Group] = deque()
    looks = 0
    while True:
        while second.has_room and (group := next(groups, None)) is not None:
            second.ask(group)
            ahead.append(group)
        if ahead and ahead[0].ready.is_set():
            looks = 0
            yield from ahead.popleft().outcomes(draft)
        elif len(ahead) < _AHEAD and (group := next(groups, None)) is not None:
            done = _Group(list(group.outcomes(draft)))
            done.ready.set()
            ahead.append(done)
        elif not ahead or (not ahead[0].ready.wait(_LOOK_S) and stopped()):
            return
        else:
            looks += 1
            if looks * _LOOK_S > _PATIENCE_S:
                second.give_up()


def _groups(items: Iterable[Content | Outcome]) -> Iterator[_Group]:
    group: list[Content | Outcome] = []
    size = 0
    for item in items:
        group.append(item)
        size += len(item.data) if isinstance(item, Content) else 0
        if len(group) == _GROUP or size >= _GROUP_BYTES:
            yield _Group(group)
            group, size = [], 0
    if group:
        yield _Group(group)


def _drafts(contents: Sequence[Content], terms: Terms, *, things: bool) -> _Answers:
    answers: _Answers = []
    for content in contents:
        try:
            made = draft_note(content.entry, content.data, terms, things=things, at=content.at)
            answers.append(replace(made, snapshot=b""))
        except Exception:  # the first process drafts it again, and lists what is wrong with it
            log.debug("a note failed", exc_info=True)
            answers.append(None)
    return answers


def serve() -> None:
    """The second process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the process that began it
    if sys.platform != "win32":
        os.nice(_NICE)
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # nothing else is to get between
    with contextlib.suppress(OSError):  # the other end went
        _answer(sys.stdin.buffer, answers)


def _answer(orders: BinaryIO, answers: BinaryIO) -> None:
    """Drafts what comes until nothing does."""
    words, things = pickle.load(orders)
    terms = Terms(words)
    terms.prepare()
    made: object = (DRAFT_VERSION, terms.signature)
    while True:
        pickle.dump(made, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()
        try:
            made = _drafts(pickle.load(orders), terms, things=things)
        except EOFError:
            return
