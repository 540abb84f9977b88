"""Which method answers which message? JSON-RPC 2.0 on strings.

Never sees a socket, a thread or the engine: methods are given as a table, and how they are run
(threads, inline in tests) as a function. Whatever comes in, exactly one valid answer goes out,
or none where JSON-RPC asks for silence.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from sidelight.bridge.messages import (
    Refused,
    Request,
    error_object,
    error_text,
    read_request,
    result_text,
)
from sidelight.bridge.params import checked
from sidelight.bridge.protocol import (
    MAX_QUEUED,
    MAX_RESULT_BYTES,
    CloseCode,
    ErrorNumber,
    Lane,
    MethodSpec,
)
from sidelight.bridge.session import Call, Session
from sidelight.errors import CancelledError, SidelightError

log = logging.getLogger("sidelight.bridge")

SLOW_MS = 1_000.0  # above it a request logs how long each stage took

Deliver = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Method:
    """A method of the protocol and the blocking function that answers it."""

    spec: MethodSpec
    answer: Callable[[dict[str, Any], Call], Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back, and what the log may say of it."""

    text: str
    outcome: str = "ok"
    stages: Mapping[str, Any] | None = None
    # of a refused `session/hello`
    refusal: CloseCode | None = None


# Carries out blocking work without blocking the event loop.
Run = Callable[[Lane, Callable[[], Answer]], Awaitable[Answer]]


class SessionRefusedError(SidelightError):
    """`session/hello` was not accepted: the connection ends after the answer."""

    def __init__(self, close: CloseCode, message: str, remedy: str, **data: Any) -> None:
        super().__init__(message, remedy, code=close.name)
        self.close = close
        self.data = data


async def run_inline(lane: Lane, work: Callable[[], Answer]) -> Answer:
    """Runs the work where it stands (for tests and for methods that only touch memory)."""
    return work()


class Dispatcher:
    """Messages in, answers out.

    Args:
        methods: by name.
        run: how blocking work is carried out.
    """

    def __init__(self, methods: Mapping[str, Method], run: Run = run_inline) -> None:
        self._methods = methods
        self._run = run

    async def handle(self, message: str | bytes, session: Session) -> str | None:
        """The answer to one message; None for a notification. Never raises."""
        answers: list[str] = []

        async def keep(text: str) -> None:
            answers.append(text)

        await self.serve(message, session, keep)
        return answers[0] if answers else None

    async def serve(self, message: str | bytes, session: Session, deliver: Deliver) -> None:
        """Answers one message through `deliver`, at most once.

        A request keeps its slot until its answer is delivered, so a client that does not read
        holds a bounded number of answers.
        """
        try:
            request = read_request(message)
        except Refused as refused:
            if not session.open:
                session.refusal = CloseCode.HELLO_REQUIRED
            log.info("refused session=%s in=%d code=%d", session.name, len(message), refused.number)
            await deliver(error_text(refused.id, error_object(_refusal(refused))))
            return
        if error := self._turned_away(request, session):
            log.info(
                "refused session=%s method=%s in=%d code=%s",
                session.name,
                request.method if request.method in self._methods else "?",
                len(message),
                error.code,
            )
            if not request.notification:
                await deliver(error_text(request.id, error_object(error)))
            return
        await self._answer(request, session, len(message), deliver)

    def _turned_away(self, request: Request, session: Session) -> SidelightError | None:
        """Why a request is not even begun."""
        if not session.open and request.method != "session/hello":
            session.refusal = CloseCode.HELLO_REQUIRED
            return SidelightError(
                "The first message must be session/hello.",
                "Send session/hello with the token of the discovery file.",
                code="HELLO_REQUIRED",
            )
        if request.method not in self._methods:
            return SidelightError(
                "There is no such method.", "See docs/protocol.md.", code="METHOD_NOT_FOUND"
            )
        if session.knows(request):
            return SidelightError(
                "A request with this id is still running.",
                "Give every request its own id.",
                code="INVALID_REQUEST",
            )
        if session.full(self._methods[request.method].spec.lane):
            return SidelightError(
                f"More than {MAX_QUEUED} requests are waiting.",
                "Wait for answers before asking on.",
                code="BUSY",
            )
        return None

    async def _answer(
        self, request: Request, session: Session, size: int, deliver: Deliver
    ) -> None:
        method = self._methods[request.method]
        started = time.perf_counter()

        async def give(answer: Answer) -> None:
            spent_ms = (time.perf_counter() - started) * 1e3
            if answer.refusal is not None:
                session.refusal = answer.refusal
            try:
                if not request.notification:
                    await deliver(answer.text)
            finally:  # afterwards: nobody waits for a line in the log
                _log_request(request.method, call, size, answer, spent_ms)

        with session.call(request, method.spec) as call:
            lane = method.spec.lane
            if lane is Lane.LOOP:
                await give(_carry_out(method, request, call))
                return
            slots = session.slots  # one that is free costs no task
            if not slots.take(lane) and not await _first(
                asyncio.ensure_future(slots.acquire(lane)), call
            ):
                await give(_given_up(request))
                return
            try:
                work = asyncio.ensure_future(
                    self._run(lane, lambda: _carry_out(method, request, call))
                )
                if not await _first(work, call, drop=False):
                    await give(_given_up(request))
                    await asyncio.wait({work})  # the thread stops at its next stage boundary
                    _ = work.exception()
                else:
                    await give(work.result())
            finally:
                slots.release(lane)


async def _first(work: asyncio.Future[Any], call: Call, *, drop: bool = True) -> bool:
    """Whether `work` was done before the call was given up; drops unneeded work."""
    await asyncio.wait({work, call.given_up}, return_when=asyncio.FIRST_COMPLETED)
    if not call.cancelled():
        return True
    if drop and work.done():
        return True  # it has its slot; `_carry_out` sees that it is given up
    if drop:
        work.cancel()
    return False


def _carry_out(method: Method, request: Request, call: Call) -> Answer:
    """Runs a method; every way it can end is an answer."""
    try:
        if call.cancelled():
            raise CancelledError("The request was cancelled.")
        result = method.answer(checked(method.spec.params, request.params), call)
        text = result_text(request.id, result)
        if len(text) > MAX_RESULT_BYTES // 4 and len(text.encode()) > MAX_RESULT_BYTES:
            raise SidelightError(
                "The answer is too large to send.",
                "Ask for less: a lower limit, or a range of lines.",
                code="RESULT_TOO_LARGE",
            )
        return Answer(text, stages=_stages(result))
    except SessionRefusedError as refused:
        error = error_object(refused)
        error["data"] |= refused.data
        return Answer(error_text(request.id, error), refused.code, refusal=refused.close)
    except SidelightError as expected:
        return Answer(error_text(request.id, error_object(expected)), expected.code)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as unexpected:  # noqa: BLE001 - Rust panics are no Exceptions
        return _internal(request, unexpected)


def _given_up(request: Request) -> Answer:
    error = CancelledError("The request was cancelled.")
    return Answer(error_text(request.id, error_object(error)), error.code)


def _internal(request: Request, error: BaseException) -> Answer:
    """One internal error with an id; what happened stands in the log, without its message."""
    error_id = secrets.token_hex(4)
    log.error("internal error_id=%s type=%s at=%s", error_id, type(error).__name__, _places(error))
    log.debug("internal error_id=%s", error_id, exc_info=error)
    answer = error_object(
        SidelightError(
            "Something went wrong inside Sidelight.",
            f"Look for {error_id} in the log; `sidelight doctor` may know more.",
            code="INTERNAL",
        )
    )
    answer["data"]["error_id"] = error_id
    return Answer(error_text(request.id, answer), "INTERNAL")


def _places(error: BaseException) -> str:
    """Where it happened, innermost first: our own file names, lines and functions."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return "<".join(f"{PurePath(f.filename).name}:{f.lineno}:{f.name}" for f in reversed(frames))


def _refusal(refused: Refused) -> SidelightError:
    code = ErrorNumber(refused.number).name
    return SidelightError(refused.message, "See docs/protocol.md.", code=code)


def _stages(result: Any) -> Mapping[str, Any] | None:
    stages = result.get("timing_ms") if isinstance(result, Mapping) else None
    return stages if isinstance(stages, Mapping) else None


def _log_request(method: str, call: Call, size: int, answer: Answer, spent_ms: float) -> None:
    """One line a request. Never an id, a parameter or a result: clients put anything there."""
    log.info(
        "request id=%s method=%s ms=%.1f in=%d out=%d outcome=%s",
        call.name,
        method,
        spent_ms,
        size,
        len(answer.text),
        answer.outcome,
    )
    if spent_ms >= SLOW_MS and answer.stages:
        log.warning("slow id=%s method=%s %s", call.name, method, _tree(answer.stages))


def _tree(stages: Mapping[str, Any]) -> str:
    parts = []
    for name, spent in stages.items():
        inner = f"({_tree(spent)})" if isinstance(spent, Mapping) else f"={spent:.1f}ms"
        parts.append(f"{name}{inner}")
    return " ".join(parts)
