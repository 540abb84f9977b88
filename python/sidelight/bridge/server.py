"""How does the bridge meet the network? HTTP and WebSocket on the loopback interface.

The only module that knows aiohttp. It has no router (so no redirects, no static files), sends no
CORS headers and takes every decision from `door.py`; what messages mean is `dispatch.py`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from aiohttp import WSMsgType, web
from aiohttp.web_protocol import RequestHandler

from sidelight import types
from sidelight.bridge.discovery import new_token
from sidelight.bridge.dispatch import Dispatcher
from sidelight.bridge.door import Door, Refusal, bearer
from sidelight.bridge.lanes import Lanes
from sidelight.bridge.methods import Doctor, Methods
from sidelight.bridge.needs import EngineLike, SourcesLike
from sidelight.bridge.peer import HEARTBEAT_S, SEND_S, Peer, post
from sidelight.bridge.protocol import HEALTH, MAX_FRAME_BYTES, SERVER_NAME
from sidelight.bridge.session import Session
from sidelight.errors import BridgeError

log = logging.getLogger("sidelight.bridge")
# aiohttp's own remarks quote what was asked
_quiet = logging.getLogger("sidelight.bridge.http")
for _remarks in (_quiet, logging.getLogger("aiohttp.websocket")):
    _remarks.addHandler(logging.NullHandler())
    _remarks.propagate = False

MAX_CONNECTIONS = 128  # half of macOS's default limit of open files
CLOSE_S = 2.0  # for the other side to answer a close
IDLE_S = 10.0  # a connection that asks nothing, and a body that does not arrive
FIRST_CLIENT_S = 60.0  # with exit_with_clients: a client that never came
LAST_CLIENT_S = 5.0  # and one that went: a reloading plugin comes back within it
LOOK_S = 0.1  # how soon a client that hung up is noticed
PORT_TRIES = 20


class BridgeServer:
    """The daemon's door for one vault.

    Args:
        engine: answers the methods.
        port: 0 for a free one.
        allow_origins: exact origins besides Obsidian's (development only).
        exit_with_clients: `finished` comes when the last client has gone.
        doctor: the checks of `doctor/run`.
        sources: the vault with other knowledge bases; None: the vault alone.

    Attributes:
        token: what clients must show; new with every instance.
        port: where it listens; 0 before `start`.
    """

    def __init__(
        self,
        engine: EngineLike,
        *,
        port: int = 0,
        allow_origins: Sequence[str] = (),
        exit_with_clients: bool = False,
        doctor: Doctor = tuple,
        sources: SourcesLike | None = None,
    ) -> None:
        self.token = new_token()
        self.port = port
        self._door = Door(self.token, allow_origins)
        self._engine = engine
        self._exit_with_clients = exit_with_clients
        self._lanes = Lanes()
        stop = lambda: self._finish("asked to stop")  # noqa: E731 - an argument with a name
        methods = Methods(engine, self._door, doctor, stop, sources)
        self._dispatcher = Dispatcher(methods.table(), self._lanes.run)
        self._peers: set[Peer] = set()
        self._runner: web.ServerRunner | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._leave: asyncio.TimerHandle | None = None
        self._finished: asyncio.Future[str] | None = None

    # ----------------------------------------------------------------- life

    async def start(self) -> int:
        """Listens on 127.0.0.1 and, where there is one, on ::1 with the same port.

        Returns:
            The port.

        Raises:
            BridgeError: the port is taken.
        """
        loop = asyncio.get_running_loop()
        self._finished = loop.create_future()
        sockets = _listen(self.port)
        self.port = sockets[0].getsockname()[1]
        self._door.listen_on(self.port)
        server = _Server(
            self._serve, access_log=None, logger=_quiet, keepalive_timeout=IDLE_S,
            auto_decompress=False, lingering_time=0.0,
        )  # fmt: skip
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=CLOSE_S)
        await self._runner.setup()
        for listening in sockets:
            await web.SockSite(self._runner, listening).start()
        self._unsubscribe = self._engine.subscribe(
            lambda kind, payload: post(loop, self._publish, kind, payload)
        )
        if self._exit_with_clients:
            self._leave = loop.call_later(FIRST_CLIENT_S, self._finish, "no client came")
        log.info("listening port=%d families=%d", self.port, len(sockets))
        return self.port

    async def stop(self) -> None:
        """Tells the clients, gives up what runs, closes the port. May be called twice."""
        self._unsubscribe()
        self._unsubscribe = lambda: None
        if self._leave:
            self._leave.cancel()
        await asyncio.gather(*(peer.leave() for peer in tuple(self._peers)))
        if self._runner:
            await self._runner.cleanup()
            self._runner = None
            log.info("stopped port=%d", self.port)
        await self._lanes.close()

    async def finished(self) -> str:
        """Waits until the daemon should leave by itself, and says why."""
        assert self._finished is not None, "start() comes first"
        return await asyncio.shield(self._finished)

    def _finish(self, why: str) -> None:
        if self._finished and not self._finished.done():
            log.info("leaving reason=%s", why.replace(" ", "-"))
            self._finished.set_result(why)

    # ----------------------------------------------------------------- requests

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, _Connection)
        connection.idle = False
        try:
            return await self._answered(request)
        finally:
            connection.idle = True

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        target = request.raw_path if request.raw_path in ("/health", "/rpc") else "?"
        if refusal := self._refusal(request, target):
            log.info("turned away status=%d reason=%s", refusal.status, refusal.why)
            return _plain(refusal.status, refusal.why)
        if target == "/health":
            return _answer(json.dumps(HEALTH).encode())
        if request.method == "POST":
            return await self._post(request)
        return await self._websocket(request)

    def _refusal(self, request: web.BaseRequest, target: str) -> Refusal | None:
        headers = request.headers
        if refusal := self._door.refusal(headers.getall("Host", []), headers.getall("Origin", [])):
            return refusal
        if target == "?":
            return Refusal(404, "path")  # also a query string: a token never stands in a URL
        upgrade = [value.strip().lower() for value in headers.getall("Upgrade", [])]
        if target == "/health":
            if request.method not in ("GET", "HEAD"):
                return Refusal(405, "method")
            return Refusal(400, "upgrade") if upgrade else None
        if request.method == "POST":
            if upgrade:
                return Refusal(400, "upgrade")
            if headers.get("Content-Encoding", "identity").lower() != "identity":
                return Refusal(415, "encoding")
            return None
        if request.method != "GET":
            return Refusal(405, "method")
        return None if upgrade == ["websocket"] else Refusal(426, "upgrade")

    async def _post(self, request: web.BaseRequest) -> web.StreamResponse:
        token = bearer(request.headers.getall("Authorization", []))
        if token is None or not self._door.knows(token):
            if token is not None:
                await asyncio.sleep(self._door.delay_s())
            log.info("turned away status=401 reason=token")
            return _plain(401, "token", {"WWW-Authenticate": "Bearer"})
        try:
            async with asyncio.timeout(IDLE_S):
                body = await _body(request)
        except TimeoutError:
            return _plain(408, "body")
        if body is None:
            log.info("turned away status=413 reason=size")
            return _plain(413, "size")
        session = Session("p", opened=True)
        with _watched(request, session):
            answer = await self._dispatcher.handle(body, session)
        response = web.Response(status=204) if answer is None else _answer(answer.encode())
        return await _sent(request, response)

    async def _websocket(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S,
            compress=False,  # no decompression, no bombs
            max_msg_size=MAX_FRAME_BYTES + 1,  # aiohttp refuses at the limit, we above it
            timeout=CLOSE_S,
        )
        response.headers["Server"] = SERVER_NAME
        if not response.can_prepare(request).ok:
            log.info("turned away status=400 reason=handshake")
            return _plain(400, "handshake")
        await response.prepare(request)
        peer = Peer(_Socket(response, request), self._dispatcher, self._door, self._arrived)
        self._peers.add(peer)
        try:
            await peer.serve()
        finally:
            self._peers.discard(peer)
            self._departed()
        return response

    # ----------------------------------------------------------------- clients

    def _arrived(self) -> None:
        if self._leave:
            self._leave.cancel()
            self._leave = None

    def _departed(self) -> None:
        if self._exit_with_clients and not any(peer.session.open for peer in self._peers):
            if self._leave:
                return  # nobody was let in since it was set
            loop = asyncio.get_running_loop()
            self._leave = loop.call_later(LAST_CLIENT_S, self._finish, "last client left")

    def _publish(self, kind: str, payload: Any) -> None:
        for peer in self._peers:
            if isinstance(payload, types.Progress):
                peer.tell_progress(payload)
            elif kind == "changed":
                peer.tell_changed(payload)


# --------------------------------------------------------------------------- connections


class _Socket:
    """A WebSocket as a `Wire`."""

    def __init__(self, response: web.WebSocketResponse, request: web.BaseRequest) -> None:
        self._response = response
        self._request = request

    async def receive(self) -> str | bytes | None:
        message = await self._response.receive()
        if message.type is WSMsgType.TEXT or message.type is WSMsgType.BINARY:
            data: str | bytes = message.data
            return data
        return None

    async def send(self, text: str) -> None:
        await self._response.send_str(text)

    async def close(self, code: int, reason: str) -> None:
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._response.close(code=code, message=reason.encode(), drain=False)
        except (TimeoutError, ConnectionError):
            log.debug("close not answered code=%d", code)
        if transport := self._request.transport:  # a client that never reads holds no memory
            transport.abort()


class _Connection(RequestHandler):
    """aiohttp's connection, without its remarks about itself and about what was asked.

    Attributes:
        idle: it has asked for nothing, or all it asked for is answered.
    """

    idle = True

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """One bare answer to what is no HTTP."""
        log.info("turned away status=%d reason=http", status)
        if request.writer.output_size > 0:
            raise ConnectionError("The answer has already begun.")
        return _plain(status, "http")


class _Server(web.Server):
    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self.connections) <= MAX_CONNECTIONS:
            return
        # The one that has idled longest gives way, so that nobody keeps the owner out by
        # opening connections and asking for nothing.
        idle = (c for c in self.connections if isinstance(c, _Connection) and c.idle)
        victim = next(idle, handler)
        if isinstance(victim, _Connection):
            victim.idle = False  # the next one too many has another give way
        log.warning("turned away reason=connections limit=%d", MAX_CONNECTIONS)
        if victim.transport:  # later: aiohttp does not expect it while it sets up
            asyncio.get_running_loop().call_soon(victim.transport.abort)


def _answer(body: bytes) -> web.Response:
    return web.Response(
        body=body,
        content_type="application/json",
        headers={
            "Server": SERVER_NAME,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )


def _plain(status: int, why: str, headers: dict[str, str] | None = None) -> web.Response:
    response = web.Response(
        status=status, text=why + "\n", headers={"Server": SERVER_NAME, **(headers or {})}
    )
    response.force_close()
    return response


async def _body(request: web.BaseRequest) -> bytes | None:
    """The body, or None if it is larger than a frame may be."""
    if (request.content_length or 0) > MAX_FRAME_BYTES:
        return None
    body = bytearray()
    async for part in request.content.iter_chunked(65_536):
        body += part
        if len(body) > MAX_FRAME_BYTES:
            return None
    return bytes(body)


async def _sent(request: web.BaseRequest, response: web.Response) -> web.Response:
    """Sends an answer; a client that does not read it in time holds no memory."""
    try:
        async with asyncio.timeout(SEND_S):
            await response.prepare(request)
            await response.write_eof()
    except TimeoutError:
        log.info("ended session=post reason=TOO_SLOW")
        if request.transport:
            request.transport.abort()
    return response


@contextmanager
def _watched(request: web.BaseRequest, session: Session) -> Iterator[None]:
    """Gives the request up when its client hangs up; a timer, as most are answered before it."""
    loop = asyncio.get_running_loop()

    answered = False

    def look() -> None:
        if answered:
            return
        if request.transport is None or request.transport.is_closing():
            session.cancel_all()
        else:
            loop.call_later(LOOK_S, look)

    loop.call_later(LOOK_S, look)
    try:
        yield
    finally:
        answered = True


# --------------------------------------------------------------------------- sockets


def _listen(port: int) -> list[socket.socket]:
    """Listening sockets on both loopback addresses, on one port.

    Both, because `localhost` may mean either, and because a port left free on one of them could
    be taken by another program to catch tokens.
    """
    for _ in range(PORT_TRIES if port == 0 else 1):
        try:
            first = _bound(socket.AF_INET, "127.0.0.1", port)
        except OSError as error:
            raise BridgeError(
                f"Port {port} cannot be used ({error.strerror}).",
                "Leave --port out to take a free one, or stop the program that uses it.",
            ) from error
        try:
            second = _bound(socket.AF_INET6, "::1", first.getsockname()[1])
        except OSError:
            if not _has_ipv6():
                return [first]
            first.close()
            continue
        return [first, second]
    raise BridgeError(
        "No port is free on both loopback addresses.", "Name another one with --port."
    )


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":  # there, reuse would let another program share the port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:  # so that a restart within a second can bind again
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((address, port))
        listening.listen(128)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _has_ipv6() -> bool:
    try:
        _bound(socket.AF_INET6, "::1", 0).close()
    except OSError:
        return False
    return True
