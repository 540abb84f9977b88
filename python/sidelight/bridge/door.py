"""Who may come in? Host, Origin and token, decided on plain strings.

Knows no socket and no HTTP library. Browsers apply no same-origin rule to a WebSocket and any
page can be made to name a loopback address (DNS rebinding), so Host, Origin and token are all
needed, each compared exactly.
"""

from __future__ import annotations

import hmac
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from sidelight.bridge.protocol import OBSIDIAN_ORIGIN
from sidelight.errors import UsageError

FORGET_S = 60.0  # a wrong token stops counting after this time
FIRST_DELAY_S = 0.25
LONGEST_DELAY_S = 4.0  # under the time limit of a hello, so that the answer still arrives


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is turned away before anything runs."""

    status: int
    why: str


class Door:
    """The rules of one daemon.

    Args:
        token: what a client must know.
        allow_origins: further exact origins (development only).

    Attributes:
        extra_origins: those, for `doctor` to show.
    """

    def __init__(self, token: str, allow_origins: Sequence[str] = ()) -> None:
        for origin in allow_origins:
            if "*" in origin or "://" not in origin or origin.lower() == "null":
                raise UsageError(
                    f"'{origin}' is not an origin.",
                    "Give it exactly, for example http://127.0.0.1:5173; there are no wildcards.",
                )
        self.extra_origins = tuple(allow_origins)
        self._token = token.encode()
        self._origins = frozenset({OBSIDIAN_ORIGIN, *allow_origins})
        self._hosts: frozenset[str] = frozenset()
        self._wrong: deque[float] = deque(maxlen=16)

    def listen_on(self, port: int) -> None:
        """From now on the daemon's own names carry this port."""
        self._hosts = frozenset(f"{n}:{port}" for n in ("127.0.0.1", "localhost", "[::1]"))

    def refusal(self, hosts: Sequence[str], origins: Sequence[str]) -> Refusal | None:
        """Whether a request with these `Host` and `Origin` headers is turned away."""
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return Refusal(403, "host")
        if origins and (len(origins) != 1 or origins[0] not in self._origins):
            return Refusal(403, "origin")
        return None

    def knows(self, token: str) -> bool:
        """Whether the token is right; takes the same time for every wrong one."""
        right = hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._token)
        if not right:
            self._wrong.append(time.monotonic())
        return right

    def delay_s(self) -> float:
        """How long a wrong attempt waits for its answer: doubles with each in a minute."""
        since = time.monotonic() - FORGET_S
        recent = sum(moment > since for moment in self._wrong)
        return min(FIRST_DELAY_S * 2.0 ** max(recent - 1, 0), LONGEST_DELAY_S) if recent else 0.0


def bearer(headers: Sequence[str]) -> str | None:
    """The token of an `Authorization` header, if there is exactly one of the right kind."""
    if len(headers) != 1:
        return None
    kind, _, token = headers[0].partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None
