"""What happens on one WebSocket? Hello first, then requests in, answers and news out.

Knows no HTTP library: a `Wire` carries texts. Writes are bounded: one message at a time, each
within `SEND_S`, and news that has not left yet is merged, so a client that does not read costs
little and is dropped with a reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from sidelight import types
from sidelight.bridge.dispatch import Dispatcher
from sidelight.bridge.door import Door
from sidelight.bridge.messages import notification_text
from sidelight.bridge.protocol import (
    HELLO_TIMEOUT_MS,
    MAX_CHANGED_PATHS,
    MAX_IN_FLIGHT,
    MAX_QUEUED,
    ChangedParams,
    CloseCode,
)
from sidelight.bridge.session import Session
from sidelight.bridge.wire import progress_json

log = logging.getLogger("sidelight.bridge")

HEARTBEAT_S = 20.0  # a peer that answers no ping is gone after half as long again
SEND_S = 10.0  # one message must leave within it
NEWS_S = 0.1  # at most ten reports of progress a second
MAX_TASKS = MAX_IN_FLIGHT + 3 * MAX_QUEUED  # what full queues of the three lanes hold
LINGER_S = 5.0  # what still runs for a client that has gone
_REASONS = {
    CloseCode.GOING_AWAY: "the daemon stops",
    CloseCode.UNSUPPORTED_DATA: "messages are text",
    CloseCode.HELLO_REQUIRED: "session/hello comes first",
    CloseCode.TOKEN_REFUSED: "the token is wrong",
    CloseCode.PROTOCOL_MISMATCH: "the protocols differ",
    CloseCode.HELLO_TIMEOUT: "no session/hello in time",
    CloseCode.TOO_SLOW: "reads too slowly",
}


class Wire(Protocol):
    """A connection that carries whole messages."""

    async def receive(self) -> str | bytes | None:
        """The next message; bytes for a binary one, None when the connection has ended."""

    async def send(self, text: str) -> None:
        """Sends a message; waits while the other side does not read.

        Raises:
            ConnectionError: the connection has ended.
        """

    async def close(self, code: int, reason: str) -> None:
        """Ends the connection, soon and whatever the other side does."""


class Peer:
    """One client.

    Args:
        wire: its connection.
        dispatcher: answers its messages.
        door: slows wrong tokens.
        arrived: called once it has been let in.
    """

    def __init__(
        self, wire: Wire, dispatcher: Dispatcher, door: Door, arrived: Callable[[], None]
    ) -> None:
        self.session = Session("w")
        self._wire = wire
        self._dispatcher = dispatcher
        self._door = door
        self._arrived = arrived
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._progress: types.Progress | None = None
        self._changed: dict[str, None] = {}
        self._more: dict[str, Any] = {}  # the newest fuller answer of each stream
        self._ended = False
        loop = asyncio.get_running_loop()
        self.session.notify = lambda method, params: post(loop, self._tell_more, method, params)

    async def serve(self) -> None:
        """Talks until the connection ends."""
        telling: asyncio.Task[None] | None = None
        try:
            if await self._greet():
                self._arrived()
                log.info("opened session=%s", self.session.name)
                telling = asyncio.create_task(self._tell())
                await self._converse()
        finally:
            self._ended = True
            self.session.cancel_all()
            if telling:
                telling.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=LINGER_S)
            log.info("closed session=%s", self.session.name)

    async def leave(self) -> None:
        """Ends the connection because the daemon stops."""
        self.session.cancel_all()
        await self._end(CloseCode.GOING_AWAY)

    # ----------------------------------------------------------------- in

    async def _greet(self) -> bool:
        """Whether the first message was a `session/hello` that is accepted."""
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_MS / 1000):
                first = await self._wire.receive()
        except TimeoutError:
            await self._end(CloseCode.HELLO_TIMEOUT)
            return False
        if first is None:
            return False
        if isinstance(first, bytes):
            await self._end(CloseCode.UNSUPPORTED_DATA)
            return False
        with contextlib.suppress(ConnectionError):
            await self._dispatcher.serve(first, self.session, self._deliver_slowly)
        if not self.session.open:
            await self._end(self.session.refusal or CloseCode.HELLO_REQUIRED)
        return self.session.open

    async def _deliver_slowly(self, text: str) -> None:
        if self.session.refusal is CloseCode.TOKEN_REFUSED:
            await asyncio.sleep(self._door.delay_s())
        await self._deliver(text)

    async def _converse(self) -> None:
        while (message := await self._wire.receive()) is not None:
            if isinstance(message, bytes):
                await self._end(CloseCode.UNSUPPORTED_DATA)
                return
            if len(self._tasks) > MAX_TASKS:
                await self._respond(message)  # answers pile up: reads no further meanwhile
                continue
            task = asyncio.create_task(self._respond(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await asyncio.sleep(0)  # it takes its place in the queue before the next is read

    async def _respond(self, message: str) -> None:
        with contextlib.suppress(ConnectionError):
            await self._dispatcher.serve(message, self.session, self._deliver)

    # ----------------------------------------------------------------- out

    async def _deliver(self, text: str) -> None:
        async with self._writing:
            if self._ended:
                raise ConnectionResetError("The connection has ended.")
            try:
                async with asyncio.timeout(SEND_S):
                    await self._wire.send(text)
            except TimeoutError as error:
                await self._end(CloseCode.TOO_SLOW)
                raise ConnectionResetError("The client reads too slowly.") from error

    async def _end(self, code: CloseCode) -> None:
        if self._ended:
            return
        self._ended = True
        log.info("ended session=%s code=%d reason=%s", self.session.name, code, code.name)
        await self._wire.close(code, _REASONS.get(code, ""))

    def tell_progress(self, progress: types.Progress) -> None:
        """Sends the newest progress; older ones that have not left are replaced."""
        self._progress = progress
        self._news.set()

    def tell_changed(self, paths: Iterable[str]) -> None:
        """Sends which notes changed; merged with what has not left yet, never lost."""
        for path in paths:
            if len(self._changed) > MAX_CHANGED_PATHS:
                break  # `more` says so
            self._changed[path] = None
        self._news.set()

    def _tell_more(self, method: str, params: Any) -> None:
        self._more[params["stream"]] = (method, params)
        self._news.set()

    async def _tell(self) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                await self._news.wait()
                self._news.clear()
                for method, params in self._take_news():
                    await self._deliver(notification_text(method, params))
                await asyncio.sleep(NEWS_S)

    def _take_news(self) -> list[tuple[str, Any]]:
        news: list[tuple[str, Any]] = []
        if self._changed:
            paths = list(self._changed)
            self._changed = {}
            changed: ChangedParams = {
                "paths": paths[:MAX_CHANGED_PATHS],
                "more": len(paths) > MAX_CHANGED_PATHS,
            }
            news.append(("index/changed", changed))
        if self._progress is not None:
            news.append(("index/progress", progress_json(self._progress)))
            self._progress = None
        news += self._more.values()
        self._more = {}
        return news


def post(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *arguments: Any) -> None:
    """Calls something in the loop, from any thread."""
    with contextlib.suppress(RuntimeError):  # the loop has closed: nobody listens any more
        loop.call_soon_threadsafe(call, *arguments)
