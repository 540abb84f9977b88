"""How does a program of this package ask a running daemon? A small blocking client.

Standard library only (`POST /rpc` by `http.client`), because `sidelight search` should answer
before a heavier import would have ended. Connects to 127.0.0.1 only and never sends the token
anywhere else.
"""

from __future__ import annotations

import http.client
import itertools
import json
import time
from collections.abc import Mapping
from typing import Any

from sidelight.bridge import discovery
from sidelight.bridge.messages import error_from
from sidelight.bridge.protocol import JSONRPC, Discovery
from sidelight.bridge.wire import encode
from sidelight.config import PROTOCOL, Places
from sidelight.errors import BridgeError, SidelightError

CONNECT_S = 2.0
BUSY_S = 20.0  # a daemon that loads its model answers nobody for some seconds
CALL_S = 60.0


def connect(places: Places) -> BridgeClient | None:
    """The daemon of a vault; None if none runs (a stale discovery file counts as none).

    Raises:
        BridgeError: a daemon runs, but speaks another protocol; the message says which side is
            older and what to do.
    """
    found = discovery.read(places)
    if found is None:
        return None
    if not discovery.answers_health(found["port"], CONNECT_S) and not (
        discovery.runs(found) and discovery.answers_health(found["port"], BUSY_S)
    ):
        return None
    if found["protocol"] != PROTOCOL:
        raise BridgeError(*_mismatch(found))
    client = BridgeClient(found)
    return client if client.is_welcome() else None


def retire(found: Discovery, timeout_s: float = 20.0) -> bool:
    """Asks a daemon to leave, whatever its version, and waits until its port is silent.

    Returns:
        Whether it has gone.
    """
    client = BridgeClient(found)
    try:
        client.call("daemon/stop", timeout=timeout_s)
    except SidelightError:
        return not discovery.answers_health(found["port"])
    finally:
        client.close()
    until = time.monotonic() + timeout_s
    while discovery.answers_health(found["port"]):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _mismatch(found: Discovery) -> tuple[str, str]:
    if found["protocol"] < PROTOCOL:
        return (
            f"The daemon that runs (version {found['version']}) is older than this command.",
            "Stop it and start it again.",
        )
    return (
        f"This command is older than the daemon that runs (version {found['version']}).",
        "Update the sidelight package that this command belongs to.",
    )


class BridgeClient:
    """One daemon. Not to be shared between threads.

    Attributes:
        found: what its discovery file says.
    """

    def __init__(self, found: Discovery) -> None:
        self.found = found
        self._ids = itertools.count(1)
        self._connection = http.client.HTTPConnection("127.0.0.1", found["port"])

    def is_welcome(self) -> bool:
        """Whether this daemon takes our token; another one may have taken the port."""
        try:
            return self._ask("index/status", {}, CALL_S)[0] == 200
        except BridgeError:
            return False

    def call(
        self, method: str, params: Mapping[str, Any] | None = None, timeout: float = CALL_S
    ) -> Any:
        """The result of a method.

        Args:
            method: a name of the method table.
            params: by name.
            timeout: seconds until it is given up.

        Raises:
            SidelightError: the leaf that the daemon's error code stands for.
            BridgeError: the daemon went away, refuses, or does not answer in time.
        """
        status, body = self._ask(method, params or {}, timeout)
        if status != 200:
            raise BridgeError(
                f"The daemon refused the request (HTTP {status}).", "Stop it and start it again."
            )
        try:
            answer = json.loads(body)
            if "error" in answer:
                raise error_from(dict(answer["error"]))
            return answer["result"]
        except (ValueError, TypeError, KeyError) as error:
            raise BridgeError(
                "The daemon gave an answer that is none.", "Stop it and start it again."
            ) from error

    def close(self) -> None:
        """Ends the connection; the client can still be used."""
        self._connection.close()

    def _ask(self, method: str, params: Mapping[str, Any], timeout: float) -> tuple[int, bytes]:
        request = {"jsonrpc": JSONRPC, "id": next(self._ids), "method": method, "params": params}
        body = encode(request).encode("utf-8")
        try:
            return self._send(body, timeout)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            self._connection.close()  # the daemon closes idle connections: once more on a new one
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(error, timeout) from error
        try:
            return self._send(body, timeout)
        except (OSError, http.client.HTTPException) as error:
            raise self._lost(error, timeout) from error

    def _send(self, body: bytes, timeout: float) -> tuple[int, bytes]:
        self._connection.timeout = timeout
        if self._connection.sock is not None:
            self._connection.sock.settimeout(timeout)
        self._connection.request(
            "POST",
            "/rpc",
            body,
            {
                "Authorization": f"Bearer {self.found['token']}",
                "Content-Type": "application/json",
            },
        )
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def _lost(self, error: Exception, timeout: float) -> BridgeError:
        self._connection.close()
        if isinstance(error, TimeoutError):
            return BridgeError(
                f"The daemon did not answer within {timeout:g} seconds.",
                "Try again; `sidelight doctor` tells what it is busy with.",
            )
        return BridgeError("The daemon went away.", "Start it again with `sidelight serve`.")
