"""Arbitrary bytes on real sockets: the server answers or closes, and goes on serving."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from bridge_fakes import FakeEngine, Raw, ask, call, opened, outside

from sidelight.bridge import door as door_module
from sidelight.bridge import peer as peer_module
from sidelight.bridge import server as server_module
from sidelight.bridge.server import BridgeServer

SEED = 20_261_129
CONNECTIONS = 250


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BridgeServer]:
    monkeypatch.setattr(server_module, "IDLE_S", 0.1)
    monkeypatch.setattr(peer_module, "HELLO_TIMEOUT_MS", 2_000)
    monkeypatch.setattr(door_module, "LONGEST_DELAY_S", 0.0)
    (tmp_path / "vault").mkdir()
    bridge = BridgeServer(FakeEngine(tmp_path / "vault"))
    await bridge.start()
    yield bridge
    await bridge.stop()


def mutated(chance: random.Random, data: bytes) -> bytes:
    """`data` with bytes changed, doubled, cut out or put in."""
    raw = bytearray(data)
    for _ in range(chance.randint(0, 2)):
        place = chance.randrange(len(raw) + 1)
        match chance.randrange(4):
            case 0 if place < len(raw):
                raw[place] = chance.randrange(256)
            case 1:
                del raw[place : place + chance.randint(1, 20)]
            case 2:
                raw[place:place] = chance.randbytes(chance.randint(1, 20))
            case _:
                raw[place:place] = raw[max(0, place - 30) : place]
    return bytes(raw)


async def test_http_bytes_at_random_never_stop_the_server(server: BridgeServer) -> None:
    chance = random.Random(SEED)
    lines = (
        f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {server.token}\r\nContent-Length: "
    )
    body = json.dumps(call("index/status"))
    request = f"{lines}{len(body)}\r\n\r\n{body}".encode()
    seen: Counter[int] = Counter()

    def talk(data: bytes) -> int:
        raw = Raw(server.port).send(data)
        status, headers = raw.head()
        assert "traceback" not in raw.body(headers).decode("latin-1").lower()
        raw.close()
        return status

    for _ in range(CONNECTIONS):
        seen[await outside(lambda: talk(mutated(chance, request)))] += 1
    print(f"http fuzz: {CONNECTIONS} connections, {dict(sorted(seen.items()))}")
    assert set(seen) <= {0, 200, 204, 400, 401, 403, 404, 405, 408, 413, 415, 426}
    assert {200, 400, 401} <= set(seen)
    assert "result" in await outside(lambda: ask(opened(server), "index/status"))


async def test_frames_at_random_never_stop_the_server(server: BridgeServer) -> None:
    chance = random.Random(SEED)
    text = json.dumps(call("index/status"))
    seen: Counter[Any] = Counter()

    def talk(seed: int) -> Any:
        mine = random.Random(seed)
        raw = opened(server)
        raw.socket.settimeout(0.2)  # a frame that promises more than it holds is waited for
        frame = bytes([0x81, 0x80 | len(text)]) + b"\0\0\0\0" + text.encode()
        raw.send(mutated(mine, frame)).frame("end")
        while True:
            message = raw.message()
            if "closed" in message or (message.get("error") or {}).get("code") == -32700:
                raw.close()
                return message.get("closed", "answered")

    for _ in range(CONNECTIONS):
        async with asyncio.timeout(15):
            seen[await outside(lambda: talk(chance.randrange(2**32)))] += 1
    print(f"frame fuzz: {CONNECTIONS} connections, {dict(seen)}")
    assert set(seen) <= {"answered", None, 1000, 1002, 1003, 1005, 1007, 1009}
    assert len(seen) > 2
    assert "result" in await outside(lambda: ask(opened(server), "index/status"))
