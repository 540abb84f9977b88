"""How is a model asked? One OpenAI-compatible endpoint that the user named, and nowhere else.

The only module that knows an HTTP client. No redirect is followed and no proxy of the environment
is used: text goes to the named host or it does not go. The key is read from an environment
variable when it is needed and kept nowhere. A call ends at its deadline, whatever is being sent.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sidelight.errors import CancelledError, SidelightError, UsageError

Message = dict[str, str]

CONNECT_S = 10.0
_LOOK_S = 0.1  # between two looks at the clock and at whether the question was cancelled
_MOST_LINE = 1_000_000  # bytes of one line of a stream
_MOST_RUBBISH = 50  # lines that are no events, in a row, before a stream is given up
_SHOWN = 200  # characters of an endpoint's own message


class EndpointError(SidelightError):
    """The endpoint cannot be reached, refuses, or does not speak the protocol."""

    code = "ENDPOINT"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model somewhere.

    Attributes:
        url: base, for example http://127.0.0.1:11434/v1; `/chat/completions` is added.
        model: its name there.
        key_variable: environment variable that holds the key; "" for none.
    """

    url: str
    model: str
    key_variable: str = ""

    @property
    def place(self) -> str:
        """Host and port, as a person is told where text goes."""
        return urlsplit(self.url).netloc

    def check(self) -> None:
        """Whether it can be one.

        Raises:
            UsageError: it is not named, or is no plain http or https address.
        """
        if not self.url:
            raise UsageError(
                "No model is named: asking is off.",
                "Name an OpenAI-compatible endpoint in the setting ask_endpoint, or with --endpoint.",
                code="ASK_OFF",
            )
        try:
            parts = urlsplit(self.url)
            right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            right = False
        if not right or parts.username or parts.query or parts.fragment:
            raise UsageError(
                "The endpoint is not a plain http or https address.",
                "Give it like http://127.0.0.1:11434/v1, without a key in it.",
            )

    def stream(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        deadline: float,
        cancelled: Callable[[], bool],
        usage: Callable[[int], None],
    ) -> Iterator[str]:
        """The answer to a chat, piece by piece.

        Args:
            messages: with `role` and `content`.
            max_tokens: of the answer.
            deadline: in `time.monotonic()` seconds.
            cancelled: asked ten times a second, from another thread.
            usage: told the tokens of prompt and answer, where the endpoint counts them.

        Raises:
            EndpointError: it cannot be reached, is late, refuses, or sends what is no stream.
            CancelledError: `cancelled` said so.
        """
        self.check()
        body = {
            "model": self.model, "messages": list(messages), "stream": True, "temperature": 0,
            "max_tokens": max_tokens, "stream_options": {"include_usage": True},
        }  # fmt: skip
        connection = self._connection(deadline)
        try:
            connection.connect()
            with _Watch(connection.sock, deadline, cancelled) as watch:
                yield from _events(self._sent(connection, body, deadline), watch, usage)
        except TimeoutError as error:
            raise EndpointError(
                f"The model at {self.place} did not answer in time.",
                "Use a quicker model, or raise the setting ask_seconds.",
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise EndpointError(
                f"The model at {self.place} cannot be reached ({_words(error)}).",
                "Start it, or correct the setting ask_endpoint.",
            ) from error
        finally:
            connection.close()

    def _connection(self, deadline: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        seconds = min(_left(deadline), CONNECT_S)
        host = parts.hostname or ""
        if parts.scheme == "https":
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(host, parts.port, timeout=seconds, context=context)
        return http.client.HTTPConnection(host, parts.port, timeout=seconds)

    def _sent(
        self, connection: http.client.HTTPConnection, body: dict[str, Any], deadline: float
    ) -> http.client.HTTPResponse:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self.key_variable:
            key = os.environ.get(self.key_variable, "")
            if not key:
                raise EndpointError(
                    f"The environment variable {self.key_variable} is empty.",
                    "Set it to the key of the endpoint, or clear the setting ask_key_variable.",
                )
            headers["Authorization"] = f"Bearer {key}"
        path = urlsplit(self.url).path.rstrip("/") + "/chat/completions"
        text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        if connection.sock is not None:  # a model may think long before its first word
            connection.sock.settimeout(_left(deadline))
        connection.request("POST", path, text, headers)
        return connection.getresponse()


class _Watch:
    """Hangs up a call that is late or cancelled.

    A read that waits sees neither, and one byte in a while keeps it waiting for ever.
    """

    def __init__(self, line: socket.socket, deadline: float, cancelled: Callable[[], bool]) -> None:
        self._line, self._deadline, self._cancelled = line, deadline, cancelled
        self._done = threading.Event()
        self.ended: Exception | None = None
        """Why it hung up."""

    def __enter__(self) -> _Watch:
        threading.Thread(target=self._look, daemon=True, name="endpoint-watch").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._done.set()
        if self.ended is not None and kind is not GeneratorExit:
            raise self.ended  # in place of whatever the hanging up looked like

    def _look(self) -> None:
        while not self._done.wait(_LOOK_S):
            if self._cancelled():
                self.ended = CancelledError("The question was cancelled.")
            elif time.monotonic() > self._deadline:
                self.ended = TimeoutError()
            if self.ended is not None:
                with contextlib.suppress(OSError):  # it is closed already
                    socket.socket.shutdown(self._line, socket.SHUT_RDWR)  # also below TLS
                return


def _events(
    answer: http.client.HTTPResponse, watch: _Watch, usage: Callable[[int], None]
) -> Iterator[str]:
    if answer.status != 200:
        raise _refused(answer)
    if "json" in (answer.headers.get_content_type() or ""):  # it does not stream
        yield _whole(answer, usage)
        return
    rubbish, seen = 0, False
    while watch.ended is None:
        line = answer.readline(_MOST_LINE)
        if not line:
            break
        text = line.decode("utf-8", "replace").strip()
        if not text or text.startswith((":", "event:", "id:", "retry:")):
            continue
        if text == "data: [DONE]" or text == "data:[DONE]":
            return
        piece = _piece(text.removeprefix("data:"), usage) if text.startswith("data:") else None
        if piece is None:
            rubbish += 1
            if rubbish > _MOST_RUBBISH:
                break
            continue
        rubbish, seen = 0, True
        if piece:
            yield piece
    if not seen:
        raise _no_stream()


def _piece(text: str, usage: Callable[[int], None]) -> str | None:
    """The words of one event; None if it is none."""
    try:
        event = json.loads(text)
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    if "error" in event:
        raise EndpointError(f"The model failed: {_message(event)}.", "See the endpoint's own log.")
    _count(event, usage)
    choices = event.get("choices")
    if not isinstance(choices, list):
        return None
    if not choices or not isinstance(choices[0], dict):
        return ""
    delta = choices[0].get("delta")
    content = delta.get("content") if isinstance(delta, dict) else None
    return content if isinstance(content, str) else ""


def _whole(answer: http.client.HTTPResponse, usage: Callable[[int], None]) -> str:
    try:
        event = json.loads(answer.read(_MOST_LINE * 4))
        _count(event, usage)
        content = event["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise _no_stream() from error
    if not isinstance(content, str):
        raise _no_stream()
    return content


def _count(event: Any, usage: Callable[[int], None]) -> None:
    counted = event.get("usage") if isinstance(event, dict) else None
    total = counted.get("total_tokens") if isinstance(counted, dict) else None
    if isinstance(total, int) and not isinstance(total, bool) and 0 < total < 10**9:
        usage(total)


def _refused(answer: http.client.HTTPResponse) -> EndpointError:
    if 300 <= answer.status < 400:
        return EndpointError(
            f"The endpoint sends elsewhere (HTTP {answer.status}), and text goes only where you "
            "named.",
            "Name the address it leads to, if you trust it.",
        )
    try:
        said = _message(json.loads(answer.read(10_000)))
    except (ValueError, OSError):
        said = ""
    return EndpointError(
        f"The endpoint refused (HTTP {answer.status}{': ' + said if said else ''}).",
        "Check its address, the model's name and the key.",
    )


def _message(event: Any) -> str:
    error = event.get("error") if isinstance(event, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return " ".join(str(said or "it gave no reason").split())[:_SHOWN]


def _no_stream() -> EndpointError:
    return EndpointError(
        "The endpoint answered with what is no chat answer.",
        "Check that the address is an OpenAI-compatible one, for example ending in /v1.",
    )


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _words(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:_SHOWN]
