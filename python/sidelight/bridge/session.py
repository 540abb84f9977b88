"""What is one connection doing? Its requests in flight, their order, and who cancels whom.

Knows no socket and no method. Used from one event loop; only `Call.cancelled` is asked from
other threads.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sidelight.bridge.messages import Id, Request
from sidelight.bridge.protocol import (
    MAX_BULK_IN_FLIGHT,
    MAX_IN_FLIGHT,
    MAX_QUEUED,
    CloseCode,
    Lane,
    MethodSpec,
)

_SERIAL = itertools.count(1)
_ORDER = (Lane.QUERY, Lane.SEARCH, Lane.BULK)  # who comes first when a slot is free


class Call:
    """One request on its way.

    Attributes:
        name: of this request in the log; never anything the client wrote.
        session: the connection it came by.
        given_up: done when its client cancelled it, a newer one replaced it, or the
            connection went.
    """

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name
        self.given_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._cancelled = False

    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more; asked from any thread."""
        return self._cancelled

    def cancel(self) -> None:
        """Gives the request up; its answer is the error CANCELLED."""
        self._cancelled = True
        if not self.given_up.done():
            self.given_up.set_result(None)


class Session:
    """One client: a WebSocket, or one `POST`.

    Attributes:
        open: whether it has shown the token.
        refusal: why it may not be opened, where it may not.
        slots: the right to run, for which requests queue.
        notify: sends a notification, from any thread; None where nothing can be sent unasked.
    """

    def __init__(self, kind: str = "w", *, opened: bool = False) -> None:
        self.name = f"{kind}{next(_SERIAL)}"
        self.open = opened
        self.refusal: CloseCode | None = None
        self.notify: Callable[[str, Any], None] | None = None
        self._later = threading.Event()  # set: nobody waits for what an answer left open
        self._count = 0
        self._calls: dict[tuple[type, Id], Call] = {}  # those that can be cancelled by id
        self._all: set[Call] = set()
        self._newest: dict[str, Call] = {}
        self.slots = Slots()

    def full(self, lane: Lane) -> bool:
        """Whether a further request of this lane must be turned away."""
        return self.slots.waiting(lane) >= MAX_QUEUED

    def knows(self, request: Request) -> bool:
        """Whether a request with the same id is still on its way."""
        return not request.notification and _key(request.id) in self._calls

    @contextmanager
    def call(self, request: Request, spec: MethodSpec) -> Iterator[Call]:
        """Registers a request; a newer search gives the older one up."""
        self._count += 1
        call = Call(self, f"{self.name}.{self._count}")
        key = None if request.notification or request.id is None else _key(request.id)
        if key is not None:
            self._calls[key] = call
        self._all.add(call)
        if spec.newest_only:
            if older := self._newest.get(spec.name):
                older.cancel()
            self._newest[spec.name] = call
        try:
            yield call
        finally:
            self._all.discard(call)
            if key is not None and self._calls.get(key) is call:
                del self._calls[key]
            if self._newest.get(spec.name) is call:
                del self._newest[spec.name]

    def cancel(self, request_id: Id) -> None:
        """Gives one request up; unknown ids are ignored (it may just have been answered)."""
        if call := self._calls.get(_key(request_id)):
            call.cancel()

    def begin_later(self) -> threading.Event:
        """Ends what the search before left open; the event ends what this one will."""
        self._later.set()
        self._later = threading.Event()
        return self._later

    def cancel_all(self) -> None:
        """The client has gone."""
        self._later.set()
        for call in tuple(self._all):
            call.cancel()


def _key(request_id: Id) -> tuple[type, Id]:
    return (str if isinstance(request_id, str) else float, request_id)


class Slots:
    """How many requests of a connection run, and who comes next."""

    def __init__(self) -> None:
        self._running = dict.fromkeys(_ORDER, 0)
        self._waiting: dict[Lane, deque[asyncio.Future[None]]] = {lane: deque() for lane in _ORDER}

    def waiting(self, lane: Lane) -> int:
        """Requests of a lane that have no slot yet."""
        return len(self._waiting.get(lane, ()))

    def _fits(self, lane: Lane) -> bool:
        if lane is Lane.BULK and self._running[Lane.BULK] >= MAX_BULK_IN_FLIGHT:
            return False
        return sum(self._running.values()) < MAX_IN_FLIGHT

    def take(self, lane: Lane) -> bool:
        """Takes a slot if one is free and nobody waits for it."""
        if self._waiting[lane] or not self._fits(lane):
            return False
        self._running[lane] += 1
        return True

    async def acquire(self, lane: Lane) -> None:
        """Waits for a slot, first come, first served within a lane."""
        if self.take(lane):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[lane].append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release(lane)
            elif turn in self._waiting[lane]:
                self._waiting[lane].remove(turn)
            raise

    def release(self, lane: Lane) -> None:
        """Gives a slot back and wakes whoever is next."""
        self._running[lane] -= 1
        for waiting_lane in _ORDER:
            waiting = self._waiting[waiting_lane]
            while waiting and self._fits(waiting_lane):
                turn = waiting.popleft()
                if not turn.done():
                    self._running[waiting_lane] += 1
                    turn.set_result(None)
