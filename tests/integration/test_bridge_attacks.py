"""Attacks on the bridge, each beside the legitimate request that it imitates.

Numbers are those of the field reports that the test answers.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from bridge_fakes import FakeEngine, Raw, answer, ask, call, opened, outside, post

from sidelight.bridge import door as door_module
from sidelight.bridge import peer as peer_module
from sidelight.bridge import server as server_module
from sidelight.bridge.protocol import (
    MAX_BULK_IN_FLIGHT,
    MAX_FRAME_BYTES,
    MAX_QUEUED,
    CloseCode,
    ErrorNumber,
)
from sidelight.bridge.server import BridgeServer
from sidelight.errors import UsageError
from sidelight.vault.grep import TIME_LIMIT_S

OBSIDIAN = "app://obsidian.md"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX file types")


def upgraded(server: BridgeServer, **headers: str | None) -> int:
    """Status of an upgrade with these headers."""
    raw = Raw(server.port).upgrade(**headers)
    status, seen = raw.head()
    assert not [name for name in seen if name.startswith("access-control")]
    raw.close()
    return status


# --------------------------------------------------------------------------- Origin (145)


@pytest.mark.parametrize("origin", [OBSIDIAN, None])
async def test_145_obsidian_and_programs_without_origin_are_let_in(
    server: BridgeServer, origin: str | None
) -> None:
    def talk() -> Any:
        raw = Raw(server.port).upgrade(Origin=origin)
        assert raw.head()[0] == 101
        return raw.hello(server.token)

    assert "result" in await outside(talk)


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "app://obsidian.md.evil",
        "app://obsidian.md/",
        "app://obsidian.md:80",
        "app://obsidian.md@evil",
        "app://evil/app://obsidian.md",
        "APP://OBSIDIAN.MD",
        "http://obsidian.md",
        "app://obsidian.md, https://evil.example",
        "http://127.0.0.1",
        "http://localhost",
        "capacitor://localhost",
        "app://obsidian.md\t.evil",
    ],
)
async def test_145_every_other_origin_is_refused(server: BridgeServer, origin: str) -> None:
    assert await outside(lambda: upgraded(server, Origin=origin)) in (400, 403)


async def test_145_two_origins_are_refused(server: BridgeServer) -> None:
    def talk() -> int:
        raw = Raw(server.port)
        head = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        raw.send(f"{head}Origin: {OBSIDIAN}\r\nOrigin: https://evil.example\r\n\r\n".encode())
        return raw.head()[0]

    assert await outside(talk) == 403


async def test_145_origin_counts_for_every_path_and_gives_no_cors_headers(
    server: BridgeServer,
) -> None:
    def talk(line: str, origin: str) -> tuple[int, dict[str, str]]:
        raw = Raw(server.port).request(line, Origin=origin)
        return raw.head()

    for line in ("GET /health HTTP/1.1", "POST /rpc HTTP/1.1", "OPTIONS /rpc HTTP/1.1"):
        for origin in (OBSIDIAN, "https://evil.example"):
            status, headers = await outside(lambda line=line, origin=origin: talk(line, origin))
            assert not [name for name in headers if name.startswith("access-control")]
            assert origin == OBSIDIAN or status == 403


async def test_145_a_development_origin_is_let_in_only_when_named_exactly(
    engine: FakeEngine,
) -> None:
    bridge = BridgeServer(engine, allow_origins=["http://127.0.0.1:5173"])
    await bridge.start()
    assert await outside(lambda: upgraded(bridge, Origin="http://127.0.0.1:5173")) == 101
    assert await outside(lambda: upgraded(bridge, Origin="http://127.0.0.1:5174")) == 403
    assert await outside(lambda: upgraded(bridge, Origin=OBSIDIAN)) == 101
    _, _, said = await outside(lambda: post(bridge, call("doctor/run")))
    assert "http://127.0.0.1:5173" in said["result"]["findings"][0]["finding"]
    await bridge.stop()
    for wild in ("*", "null", "http://*", "obsidian.md"):
        with pytest.raises(UsageError, match="not an origin"):
            BridgeServer(engine, allow_origins=[wild])


# --------------------------------------------------------------------------- Host (146)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
async def test_146_our_own_names_are_let_in(server: BridgeServer, name: str) -> None:
    assert await outside(lambda: upgraded(server, Host=f"{name}:{server.port}")) == 101


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "evil.example",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:1",
        "127.0.0.1.evil.example:{port}",
        "localhost.:{port}",
        "localhost@evil.example:{port}",
        "127.0.0.2:{port}",
        "0.0.0.0:{port}",
        "127.1:{port}",
        "2130706433:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "127.0.0.1:0{port}",
        "",
        None,
    ],
)
async def test_146_any_other_host_is_refused(server: BridgeServer, host: str | None) -> None:
    named = host.format(port=server.port) if host else host
    assert await outside(lambda: upgraded(server, Host=named)) in (400, 403)


async def test_146_two_hosts_are_refused(server: BridgeServer) -> None:
    def talk() -> int:
        raw = Raw(server.port)
        ours = f"Host: 127.0.0.1:{server.port}\r\n"
        raw.send(f"GET /health HTTP/1.1\r\n{ours}Host: evil.example\r\n\r\n".encode())
        return raw.head()[0]

    assert await outside(talk) in (400, 403)


async def test_146_a_full_address_in_the_request_line_is_refused(server: BridgeServer) -> None:
    lines = [
        f"GET http://evil.example:{server.port}/health HTTP/1.1",
        f"GET http://127.0.0.1:{server.port}/health HTTP/1.1",
        "GET //evil.example/health HTTP/1.1",
    ]
    for line in lines:
        status = await outside(lambda line=line: Raw(server.port).request(line).head()[0])
        assert status in (400, 403, 404)


# --------------------------------------------------------------------------- bind (148)


async def test_148_listens_on_loopback_only(server: BridgeServer) -> None:
    import psutil

    mine = [
        c.laddr.ip
        for c in psutil.Process().net_connections("tcp")
        if c.status == psutil.CONN_LISTEN and c.laddr.port == server.port
    ]
    assert "127.0.0.1" in mine
    assert set(mine) <= {"127.0.0.1", "::1"}


# --------------------------------------------------------------------------- token


async def test_the_right_token_opens_both_ways(server: BridgeServer) -> None:
    assert (await outside(lambda: post(server, call("settings/get"))))[0] == 200
    assert "result" in await outside(lambda: ask(opened(server), "settings/get"))


async def test_without_a_token_no_method_runs(server: BridgeServer, engine: FakeEngine) -> None:
    def talk() -> tuple[Any, Any]:
        raw = Raw(server.port).upgrade()
        raw.head()
        return ask(raw, "index/pause"), raw.message()

    refused, end = await outside(talk)
    assert refused["error"]["code"] == ErrorNumber.HELLO_REQUIRED
    assert end == {"closed": CloseCode.HELLO_REQUIRED}
    status, _, said = await outside(lambda: post(server, call("index/pause"), token=None))
    assert (status, said) == (401, "token\n")
    assert engine.calls == []


async def test_a_notification_before_hello_is_no_way_in(
    server: BridgeServer, engine: FakeEngine
) -> None:
    def talk() -> Any:
        raw = Raw(server.port).upgrade()
        raw.head()
        return raw.frame('{"jsonrpc":"2.0","method":"index/pause"}').message()

    assert await outside(talk) == {"closed": CloseCode.HELLO_REQUIRED}
    assert engine.calls == []


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: t + "0", lambda t: "é" * 64, str.upper]
)
async def test_a_wrong_token_is_refused(
    server: BridgeServer, change: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(door_module, "FIRST_DELAY_S", 0.01)
    server.token, right = "ab" * 32, server.token
    server._door._token = server.token.encode()
    wrong = change(server.token)
    assert wrong != server.token

    def talk() -> tuple[Any, Any]:
        raw = Raw(server.port).upgrade()
        raw.head()
        return raw.hello(wrong), raw.message()

    refused, end = await outside(talk)
    assert refused["error"]["data"]["code"] == "TOKEN_REFUSED"
    assert "version" not in json.dumps(refused)
    assert end == {"closed": CloseCode.TOKEN_REFUSED}
    assert (await outside(lambda: post(server, call("settings/get"), token=right)))[0] == 401


async def test_wrong_tokens_are_slowed_and_right_ones_are_not(server: BridgeServer) -> None:
    def spent(token: str) -> float:
        started = time.perf_counter()
        post(server, call("index/status"), token=token)
        return time.perf_counter() - started

    assert await outside(lambda: spent(server.token)) < 0.2
    first = await outside(lambda: spent("wrong"))
    second = await outside(lambda: spent("wrong"))
    assert first >= 0.25
    assert second >= 0.5
    assert await outside(lambda: spent(server.token)) < 0.2


async def test_wrong_tokens_in_hello_are_slowed_too(server: BridgeServer) -> None:
    def spent(token: str) -> float:
        raw = Raw(server.port).upgrade()
        raw.head()
        started = time.perf_counter()
        raw.hello(token)
        raw.close()
        return time.perf_counter() - started

    assert await outside(lambda: spent("wrong")) >= 0.25
    assert await outside(lambda: spent("错误")) >= 0.5
    assert await outside(lambda: spent(server.token)) < 0.2


async def test_a_token_in_the_url_is_never_looked_at(server: BridgeServer) -> None:
    def talk(line: str) -> int:
        raw = Raw(server.port).upgrade() if False else Raw(server.port)
        return raw.request(line, body=b"{}").head()[0]

    for line in (
        f"POST /rpc?token={server.token} HTTP/1.1",
        f"GET /health?access_token={server.token} HTTP/1.1",
        f"POST /rpc/{server.token} HTTP/1.1",
    ):
        assert await outside(lambda line=line: talk(line)) == 404


@pytest.mark.parametrize("kind", ["Basic {}", "{}", "Bearer", "Bearer x {}", "Token {}"])
async def test_the_token_comes_in_one_way_only(
    server: BridgeServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_module, "FIRST_DELAY_S", 0.01)

    def talk() -> int:
        body = json.dumps(call("settings/get")).encode()
        header = kind.format(server.token)
        return Raw(server.port).request("POST /rpc HTTP/1.1", body, Authorization=header).head()[0]

    assert await outside(talk) == 401


# --------------------------------------------------------------------------- HTTP


async def test_unknown_paths_and_methods_are_refused_without_detail(server: BridgeServer) -> None:
    def talk(line: str) -> tuple[int, dict[str, str], bytes]:
        raw = Raw(server.port).request(line)
        status, headers = raw.head()
        return status, headers, raw.body(headers)

    for line, expected in {
        "GET / HTTP/1.1": 404,
        "GET /rpc/ HTTP/1.1": 404,
        "GET /rpc/../health HTTP/1.1": 404,
        "GET /%72pc HTTP/1.1": 404,
        "GET /RPC HTTP/1.1": 404,
        "GET /.well-known HTTP/1.1": 404,
        "PUT /rpc HTTP/1.1": 405,
        "OPTIONS /rpc HTTP/1.1": 405,
        "TRACE /rpc HTTP/1.1": 405,
        "POST /health HTTP/1.1": 405,
        "GET /rpc HTTP/1.1": 426,
        "GET /rpc HTTP/9.9": 400,
        "NONSENSE": 400,
        "CONNECT evil.example:80 HTTP/1.1": 400,
    }.items():
        status, headers, body = await outside(lambda line=line: talk(line))
        assert status in (expected, 404), line
        assert "location" not in headers
        assert headers["server"] == "sidelight"
        assert len(body) < 20
        assert b"Python" not in body
        assert b"aiohttp" not in body


async def test_an_upgrade_smuggles_no_second_request(
    server: BridgeServer, engine: FakeEngine
) -> None:
    hidden = (
        f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","method":"index/pause"}'
    ).encode()

    def talk(**headers: str | None) -> list[int]:
        raw = Raw(server.port).upgrade(**headers).send(hidden)
        statuses = []
        while status := raw.head()[0]:
            statuses.append(status)
        return statuses

    assert await outside(lambda: talk(Origin="https://evil.example")) == [403]
    assert await outside(lambda: talk(Upgrade="h2c")) == [426]
    assert await outside(lambda: talk(Upgrade="websocket, h2c")) == [426]
    assert await outside(lambda: talk(Sec_WebSocket_Version="99")) == [400]
    assert await outside(lambda: talk(Sec_WebSocket_Key="short")) == [400]
    assert engine.calls == []


async def test_an_upgrade_of_another_path_is_refused(server: BridgeServer) -> None:
    def talk() -> int:
        return (
            Raw(server.port)
            .request("GET /health HTTP/1.1", Upgrade="websocket", Connection="Upgrade")
            .head()[0]
        )

    assert await outside(talk) == 400


async def test_two_lengths_are_no_request(server: BridgeServer, engine: FakeEngine) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "index/pause"}).encode()

    def talk(**headers: str) -> int:
        return (
            Raw(server.port)
            .request("POST /rpc HTTP/1.1", body, Authorization=f"Bearer {server.token}", **headers)
            .head()[0]
        )

    smuggled = {"Content_Length": "5", "Transfer_Encoding": "chunked"}
    assert await outside(lambda: talk(**smuggled)) == 400
    assert await outside(lambda: talk(Content_Length="-1")) == 400
    assert await outside(lambda: talk(Content_Length="4, 4")) == 400
    assert await outside(lambda: talk(Transfer_Encoding="xchunked")) in (400, 501)
    assert engine.calls == []
    assert await outside(lambda: talk()) == 204


async def test_a_chunked_request_is_a_request(server: BridgeServer) -> None:
    body = json.dumps(call("index/status")).encode()
    chunked = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"

    def talk() -> int:
        return (
            Raw(server.port)
            .request(
                "POST /rpc HTTP/1.1",
                chunked,
                Authorization=f"Bearer {server.token}",
                Transfer_Encoding="chunked",
            )
            .head()[0]
        )

    assert await outside(talk) == 200


# --------------------------------------------------------------------------- sizes


def padded(size: int) -> bytes:
    """A valid request of exactly this many bytes."""
    request = json.dumps(call("citation/resolve", {"ref": "r1", "buffer": ""}))
    return request.replace('"buffer": ""', f'"buffer": "{"x" * (size - len(request))}"').encode()


async def test_a_frame_of_one_mebibyte_is_read_and_a_larger_one_is_not(
    server: BridgeServer,
) -> None:
    assert len(padded(MAX_FRAME_BYTES)) == MAX_FRAME_BYTES

    def talk(size: int) -> Any:
        return opened(server).frame(padded(size)).message()

    assert "result" in await outside(lambda: talk(MAX_FRAME_BYTES))
    assert await outside(lambda: talk(MAX_FRAME_BYTES + 1)) == {"closed": CloseCode.TOO_BIG}


async def test_an_announced_giant_frame_is_refused_before_it_is_read(server: BridgeServer) -> None:
    for length in (MAX_FRAME_BYTES + 1, 2**40, 2**63 - 1, 2**64 - 1):

        def talk(length: int = length) -> Any:
            return opened(server).frame(b"x", length=length).message()

        assert await outside(talk) == {"closed": CloseCode.TOO_BIG}


async def test_fragments_are_put_together_up_to_the_limit(server: BridgeServer) -> None:
    request = padded(200_000)

    def whole() -> Any:
        raw = opened(server)
        raw.frame(request[:70_000], fin=False).frame(b"", opcode=9)  # a ping in between
        raw.frame(request[70_000:90_000], opcode=0, fin=False)
        return raw.frame(request[90_000:], opcode=0).message()

    def too_many() -> Any:
        raw = opened(server).frame(b"[", fin=False)
        for _ in range(40):
            try:
                raw.frame(b"x" * 60_000, opcode=0, fin=False)
            except ConnectionError:
                break
        return raw.message()

    assert "result" in await outside(whole)
    assert (await outside(too_many))["closed"] in (CloseCode.TOO_BIG, None)


async def test_a_large_post_is_refused(server: BridgeServer) -> None:
    assert (await outside(lambda: post(server, padded(MAX_FRAME_BYTES))))[0] == 200
    assert (await outside(lambda: post(server, padded(MAX_FRAME_BYTES + 1))))[0] == 413

    def chunked() -> int:
        raw = Raw(server.port).request(
            "POST /rpc HTTP/1.1",
            Authorization=f"Bearer {server.token}",
            Transfer_Encoding="chunked",
        )
        try:
            for _ in range(40):
                raw.send(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
        except ConnectionError:
            return 413
        return raw.head()[0]

    assert await outside(chunked) in (413, 0)


async def test_large_headers_are_refused(server: BridgeServer) -> None:
    def talk(**headers: str) -> int:
        return Raw(server.port).request("GET /health HTTP/1.1", **headers).head()[0]

    assert await outside(lambda: talk(X_Small="x")) == 200
    assert await outside(lambda: talk(X_Large="x" * 100_000)) in (400, 0)
    many = {f"X_{n}": "x" for n in range(5_000)}
    assert await outside(lambda: talk(**many)) in (400, 0)


async def test_an_answer_that_is_too_large_is_an_error_with_a_remedy(
    server: BridgeServer, engine: FakeEngine
) -> None:
    (engine.vault / "Big.md").write_text("豆子\n" * 800_000, "utf-8")

    def talk(params: Any) -> Any:
        return ask(opened(server), "note/read", params)

    refused = await outside(lambda: talk({"path": "Big.md"}))
    assert refused["error"]["data"]["code"] == "RESULT_TOO_LARGE"
    assert "range of lines" in refused["error"]["data"]["remedy"]
    part = await outside(lambda: talk({"path": "Big.md", "start_line": 1, "end_line": 3}))
    assert part["result"]["text"] == "豆子\n豆子\n豆子"


# --------------------------------------------------------------------------- compression


async def test_compression_is_not_offered_and_not_taken(server: BridgeServer) -> None:
    def offered() -> dict[str, str]:
        raw = Raw(server.port).upgrade(Sec_WebSocket_Extensions="permessage-deflate")
        return raw.head()[1]

    assert "sec-websocket-extensions" not in await outside(offered)
    bomb = gzip.compress(b"[" * 50_000_000)
    ended = await outside(lambda: opened(server).frame(bomb[:50_000], rsv=4).message())
    assert ended == {"closed": 1002}

    def posted(encoding: str | None, body: bytes) -> int:
        return (
            Raw(server.port)
            .request(
                "POST /rpc HTTP/1.1",
                body,
                Authorization=f"Bearer {server.token}",
                Content_Encoding=encoding,
            )
            .head()[0]
        )

    request = json.dumps(call("index/status")).encode()
    assert await outside(lambda: posted(None, request)) == 200
    for encoding in ("gzip", "deflate", "br", "zstd", "GZIP"):
        refused = await outside(lambda encoding=encoding: posted(encoding, bomb))
        assert refused in (400, 415)


# --------------------------------------------------------------------------- messages


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("[" * 100_000, ErrorNumber.INVALID_REQUEST),
        ("[" * 500 + "]" * 500, ErrorNumber.INVALID_REQUEST),
        ('{"a":' * 20_000 + "1" + "}" * 20_000, ErrorNumber.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1,"id":2,"method":"index/pause"}', ErrorNumber.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1,"method":"x","method":"index/pause"}', ErrorNumber.INVALID_REQUEST),
        (f'{{"jsonrpc":"2.0","id":{"9" * 500_000},"method":"index/pause"}}', ErrorNumber.INVALID_REQUEST),
        (f'{{"jsonrpc":"2.0","id":"{"9" * 500_000}","method":"index/pause"}}', ErrorNumber.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":1e999,"method":"index/pause"}', ErrorNumber.INVALID_REQUEST),
        ('{"jsonrpc":"2.0","id":NaN,"method":"index/pause"}', ErrorNumber.PARSE_ERROR),
        ('{"jsonrpc":"2.0","id":{},"method":"index/pause"}', ErrorNumber.INVALID_REQUEST),
        ("", ErrorNumber.PARSE_ERROR),
        ("\ufeff{}", ErrorNumber.PARSE_ERROR),
        ("[]", ErrorNumber.INVALID_REQUEST),
        ('[{"jsonrpc":"2.0","id":1,"method":"index/pause"}]', ErrorNumber.INVALID_REQUEST),
    ],
)  # fmt: skip
async def test_deep_doubled_huge_and_batched_json_is_answered_and_runs_nothing(
    server: BridgeServer, engine: FakeEngine, message: str, number: ErrorNumber
) -> None:
    def talk() -> tuple[Any, Any]:
        raw = opened(server)
        refused = raw.frame(message).message()
        return refused, ask(raw, "index/status")

    refused, after = await outside(talk)
    assert refused["error"]["code"] == number
    assert refused["id"] is None
    assert "result" in after
    assert engine.calls == []


@pytest.mark.parametrize("request_id", [0, -1, 2**53, 10**200, 1.5, "", "编号", "x" * 256, None])
async def test_reasonable_ids_come_back(server: BridgeServer, request_id: Any) -> None:
    back = await outside(lambda: ask(opened(server), "index/status", {}, request_id))
    assert back["id"] == request_id
    assert "result" in back


async def test_invalid_utf8_ends_a_websocket_and_is_a_parse_error_by_post(
    server: BridgeServer,
) -> None:
    bad = b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}'
    ended = await outside(lambda: opened(server).frame(bad).message())
    assert ended == {"closed": CloseCode.INVALID_TEXT}
    _, _, said = await outside(lambda: post(server, bad))
    assert said["error"]["code"] == ErrorNumber.PARSE_ERROR


async def test_half_characters_are_answered(server: BridgeServer) -> None:
    for text in ('"\\ud800"', '"豆\\udfff子"'):
        body = f'{{"jsonrpc":"2.0","id":{text},"method":"query/search","params":{{"text":{text}}}}}'
        _, _, said = await outside(lambda body=body: post(server, body.encode()))
        assert said["result"]["query"]["text"].replace("\ufffd", "") in ("", "豆子")
        assert json.dumps(said["id"]) == json.dumps(json.loads(text))


async def test_binary_messages_end_the_connection(server: BridgeServer) -> None:
    request = json.dumps(call("index/status"))
    assert "result" in await outside(lambda: opened(server).frame(request).message())
    ended = await outside(lambda: opened(server).frame(request, opcode=2).message())
    assert ended == {"closed": CloseCode.UNSUPPORTED_DATA}


@pytest.mark.parametrize(
    "raw_bytes", [b"\x83\x80\0\0\0\0", b"\x80\x80\0\0\0\0", b"\x0f\x80\0\0\0\0", b"\xff" * 64]
)
async def test_broken_frames_end_the_connection(server: BridgeServer, raw_bytes: bytes) -> None:
    ended = await outside(lambda: opened(server).send(raw_bytes).message())
    assert ended["closed"] in (1002, CloseCode.TOO_BIG)
    assert "result" in await outside(lambda: ask(opened(server), "index/status"))


# --------------------------------------------------------------------------- time and memory


async def test_a_connection_that_asks_nothing_is_closed(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "IDLE_S", 0.2)
    monkeypatch.setattr(peer_module, "HELLO_TIMEOUT_MS", 200)
    bridge = BridgeServer(engine)
    await bridge.start()

    def silent(begin: bytes) -> tuple[int, dict[str, str]]:
        return Raw(bridge.port).send(begin).head()

    def no_hello() -> Any:
        raw = Raw(bridge.port).upgrade()
        raw.head()
        return raw.message()

    def no_body() -> int:
        return (
            Raw(bridge.port)
            .request(
                "POST /rpc HTTP/1.1",
                b"{",
                Authorization=f"Bearer {bridge.token}",
                Content_Length="100",
            )
            .head()[0]
        )

    for begin in (b"", b"GET", b"GET /health HTTP/1.1\r\nHost: 127"):
        assert (await outside(lambda begin=begin: silent(begin)))[0] == 0
    assert await outside(no_hello) == {"closed": CloseCode.HELLO_TIMEOUT}
    assert await outside(no_body) == 408
    patient = await outside(lambda: opened(bridge))
    await asyncio.sleep(0.5)  # a session that said hello may be silent
    assert "result" in await outside(lambda: ask(patient, "index/status"))
    await bridge.stop()


async def test_a_client_that_does_not_read_is_dropped_with_a_reason(
    server: BridgeServer, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(peer_module, "SEND_S", 0.3)
    (engine.vault / "Big.md").write_text("x" * 3_000_000, "utf-8")
    caplog.set_level("INFO", "sidelight.bridge")

    def flood() -> Raw:
        raw = opened(server)
        for number in range(200):
            raw.frame(json.dumps(call("note/read", {"path": "Big.md"}, number)))
        return raw

    raw = await outside(flood)
    async with asyncio.timeout(10):
        while "TOO_SLOW" not in caplog.text:
            await asyncio.sleep(0.02)
    assert "result" in await outside(lambda: ask(opened(server), "index/status"))
    raw.close()


async def test_a_post_whose_answer_is_not_read_is_dropped(
    server: BridgeServer, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "SEND_S", 0.3)
    (engine.vault / "Big.md").write_text("x" * 4_000_000, "utf-8")
    body = json.dumps(call("note/read", {"path": "Big.md"})).encode()

    def asked(read: bool) -> int:
        raw = Raw(server.port)
        raw.request("POST /rpc HTTP/1.1", body, Authorization=f"Bearer {server.token}")
        if not read:
            time.sleep(1.5)
        _, headers = raw.head()
        size = len(raw.body(headers))
        raw.close()
        return size

    assert await outside(lambda: asked(read=False)) < 4_000_000
    monkeypatch.setattr(server_module, "SEND_S", 30)
    assert await outside(lambda: asked(read=True)) > 4_000_000


async def test_a_client_that_asks_too_much_is_told_and_queries_go_before_bulk_work(
    server: BridgeServer, engine: FakeEngine
) -> None:
    def wait(*_: Any, **__: Any) -> tuple[list[Any], bool]:
        engine.release.wait(10)
        return [], False

    engine.grep = wait  # type: ignore[method-assign, assignment]

    def talk() -> tuple[Any, dict[Any, Any]]:
        raw = opened(server)
        for number in range(400):
            raw.frame(json.dumps(call("note/grep", {"pattern": "豆子"}, number)))
        raw.frame(json.dumps(call("index/status", {}, "late")))
        answers = {}
        while "late" not in answers:  # a full queue of bulk work turns no query away
            message = raw.message()
            answers[message["id"]] = message
        late = answers.pop("late")
        engine.release.set()
        while len(answers) < 400:
            message = raw.message()
            answers[message["id"]] = message
        return late, answers

    late, answers = await outside(talk)
    assert "result" in late
    busy = [a for a in answers.values() if a.get("error", {}).get("data", {}).get("code") == "BUSY"]
    assert len(busy) == 400 - MAX_QUEUED - MAX_BULK_IN_FLIGHT
    assert sum("result" in a for a in answers.values()) == MAX_QUEUED + MAX_BULK_IN_FLIGHT


async def test_queries_go_before_bulk_work(server: BridgeServer, engine: FakeEngine) -> None:
    def wait(*_: Any, **__: Any) -> tuple[list[Any], bool]:
        engine.release.wait(10)
        return [], False

    engine.grep = wait  # type: ignore[method-assign, assignment]

    def talk() -> list[Any]:
        raw = opened(server)
        for number in range(20):
            raw.frame(json.dumps(call("note/grep", {"pattern": "豆子"}, number)))
        raw.frame(json.dumps(call("query/search", {"text": "快"}, "query")))
        first = raw.message()["id"]
        engine.release.set()
        return [first, *(raw.message()["id"] for _ in range(20))]

    order = await outside(talk)
    assert order[0] == "query"
    assert sorted(order[1:]) == list(range(20))


@pytest.fixture
async def remarks() -> AsyncIterator[list[dict[str, Any]]]:
    """What the event loop would print of failed callbacks and tasks."""
    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    yield said
    gc.collect()  # a task that failed unseen is told of when it is thrown away
    await asyncio.sleep(0)
    assert not said


def ended(raw: Raw) -> bool:
    """Whether the other side has closed or reset the connection."""
    raw.socket.settimeout(0.05)
    try:
        return raw.socket.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


async def test_connections_that_ask_for_nothing_keep_nobody_out(
    server: BridgeServer, monkeypatch: pytest.MonkeyPatch, remarks: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 5)

    def talk() -> tuple[list[int], Any, int]:
        owner = opened(server)
        held, statuses = [], []
        for _ in range(4):
            held.extend(Raw(server.port) for _ in range(4))
            statuses.append(post(server, call("index/status"))[0])
        answer = ask(owner, "index/status", {})
        time.sleep(0.2)
        gone = sum(ended(raw) for raw in held)
        for raw in (owner, *held):
            raw.close()
        return statuses, answer, gone

    statuses, answer, gone = await outside(talk)
    assert statuses == [200] * 4
    assert "result" in answer
    assert gone >= 12  # 16 were opened, the owner's stays, at most 5 are open
    assert not remarks


async def test_more_clients_than_allowed_are_turned_away_and_later_ones_are_welcome(
    server: BridgeServer, monkeypatch: pytest.MonkeyPatch, remarks: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 3)

    def talk() -> tuple[int, Any]:
        clients = [opened(server) for _ in range(3)]
        more = Raw(server.port).request("GET /health HTTP/1.1").head()[0]
        answers = [ask(client, "index/status", {}) for client in clients]
        for client in clients:
            client.close()
        return more, answers

    more, answers = await outside(talk)
    assert more == 0
    assert all("result" in answer for answer in answers)
    async with asyncio.timeout(5):
        while (await outside(lambda: post(server, call("index/status"))))[0] != 200:
            await asyncio.sleep(0.05)
    assert not remarks


# --------------------------------------------------------------------------- paths


def planted(engine: FakeEngine) -> None:
    """Lays out everything that must not be read."""
    outside_vault = engine.vault.parent / "outside"
    outside_vault.mkdir()
    (outside_vault / "Secret.md").write_text("SECRET", "utf-8")
    for folder in (".obsidian", "Private"):
        (engine.vault / folder).mkdir()
        (engine.vault / folder / "Secret.md").write_text("SECRET", "utf-8")
    if hasattr(os, "mkfifo"):
        os.mkfifo(engine.vault / "Pipe.md")
        (engine.vault / "Link.md").symlink_to(outside_vault / "Secret.md")
        (engine.vault / "Dangling.md").symlink_to(outside_vault / "Nothing.md")
        (engine.vault / "linked").symlink_to(outside_vault)
        (engine.vault / "Into.md").symlink_to(engine.vault / "Private" / "Secret.md")
        (engine.vault / "Null.md").symlink_to("/dev/null")
        (engine.vault / "Loop.md").symlink_to(engine.vault / "Loop.md")
        (engine.vault / "Fine.md").symlink_to(engine.vault / "Coffee.md")


ESCAPES = [
    "../outside/Secret.md",
    "folder/../../outside/Secret.md",
    "..",
    ".",
    "./Coffee.md",
    "folder//Deep.md",
    "folder/./Deep.md",
    "folder/../Coffee.md",
    "/etc/passwd",
    "//etc/passwd",
    "C:/Windows/win.ini",
    "C:Coffee.md",
    "\\\\server\\share\\x.md",
    "..\\outside\\Secret.md",
    "folder\\Deep.md",
    "~/.ssh/id_rsa/../../x",
    "Coffee.md\x00.png",
    "Coffee.md\n",
    "%2e%2e/outside/Secret.md/..",
    ".obsidian/Secret.md",
    ".obsidian/Nothing.md",
    "Private/Secret.md",
    "Private/Nothing.md",
    "folder",
    "folder/",
    "Pipe.md",
    "Link.md",
    "Dangling.md",
    "Into.md",
    "Null.md",
    "Loop.md",
    "linked/Secret.md",
    "linked/Nothing.md",
    "x" * 4_000 + ".md",
    "\ud800.md",
]


@POSIX
@pytest.mark.parametrize("method", ["note/read", "note/links", "query/related"])
async def test_no_path_leaves_the_vault_and_every_refusal_is_the_same(
    server: BridgeServer, engine: FakeEngine, method: str
) -> None:
    planted(engine)
    refusals = set()
    for path in ESCAPES:
        _, _, said = await outside(lambda path=path: post(server, call(method, {"path": path})))
        assert "error" in said, path
        refusals.add(json.dumps(said["error"], sort_keys=True))
    assert len(refusals) == 1
    assert "PATH_REFUSED" in refusals.pop()
    for path in ("Coffee.md", "咖啡.md", "folder/Deep.md", "Fine.md"):
        _, _, said = await outside(lambda path=path: post(server, call(method, {"path": path})))
        assert "result" in said, path


async def test_a_missing_note_is_not_found(server: BridgeServer) -> None:
    _, _, said = await outside(lambda: post(server, call("note/read", {"path": "没有.md"})))
    assert said["error"]["code"] == ErrorNumber.NOT_FOUND


@POSIX
async def test_grep_never_shows_what_lies_outside_or_is_excluded(
    server: BridgeServer, engine: FakeEngine
) -> None:
    planted(engine)
    for params in (
        {"pattern": "SECRET"},
        {"pattern": "S.CRET", "regex": True},
        {"pattern": "SECRET", "path_glob": "../**"},
        {"pattern": "SECRET", "path_glob": "/**"},
        {"pattern": "SECRET", "path_glob": "Private/*"},
        {"pattern": "-e SECRET /"},
        {"pattern": "--pre=/bin/sh"},
    ):
        _, _, said = await outside(lambda params=params: post(server, call("note/grep", params)))
        assert said["result"]["matches"] == []
    _, _, said = await outside(lambda: post(server, call("note/grep", {"pattern": "Ethiopia"})))
    assert [match["path"] for match in said["result"]["matches"]] == ["Coffee.md"]


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|a)*b", r"(.*)*x", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(\w+\s?)*$"]
)
async def test_grep_cannot_be_made_to_hang(
    server: BridgeServer, engine: FakeEngine, pattern: str
) -> None:
    (engine.vault / "Long.md").write_text("a" * 400_000 + "!", "utf-8")
    started = time.perf_counter()
    params = {"pattern": pattern, "regex": True}
    _, _, said = await outside(lambda: post(server, call("note/grep", params)))
    assert "result" in said
    assert time.perf_counter() - started < TIME_LIMIT_S + 1
    assert all(len(match["text"]) <= 1_000 for match in said["result"]["matches"])


async def test_matches_in_one_huge_line_hold_up_nobody_else(
    server: BridgeServer, engine: FakeEngine
) -> None:
    """Each of 400,000 matches in a line was an object, and the daemon stood still meanwhile."""
    image = "图 ![x](data:image/png;base64," + "iVBORw0KGgo" * 36_000 + ")"
    (engine.vault / "Image.md").write_text(f"# 豆子\n{image}\n{image}\n", "utf-8")
    gaps = [0.0]

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            gaps.append(time.perf_counter() - before)

    watching = asyncio.create_task(watch())
    for pattern, regex in (("i", False), (r"\w", True), (".", True), ("图", False)):
        params = {"pattern": pattern, "regex": regex, "limit": 10_000}
        _, _, said = await outside(lambda params=params: post(server, call("note/grep", params)))
        found = [m for m in said["result"]["matches"] if m["path"] == "Image.md"]
        assert [match["line"] for match in found][-2:] == [2, 3], pattern
        assert all(0 < len(match["text"]) <= 1_000 for match in found), pattern
    watching.cancel()
    assert max(gaps) < 1.0  # it was 5 to 12 s


async def test_a_bad_expression_is_the_callers_fault(server: BridgeServer) -> None:
    for pattern in ("(", "[z-a]", r"(?=x)", r"\1", "a{1000}{1000}{1000}"):
        params = {"pattern": pattern, "regex": True}
        _, _, said = await outside(lambda params=params: post(server, call("note/grep", params)))
        assert said["error"]["code"] == ErrorNumber.INVALID_PARAMS
        assert said["error"]["data"]["remedy"]


# --------------------------------------------------------------------------- contents of notes


async def test_markup_in_a_note_travels_as_text(server: BridgeServer, engine: FakeEngine) -> None:
    markup = '<img src=x onerror="alert(1)"></script><b>豆子</b> \u2028 [x](javascript:alert(1))'
    (engine.vault / "Markup.md").write_text(markup, "utf-8")
    engine.search = lambda request, cancelled: answer("x", note_text=markup)  # type: ignore[method-assign]

    def talk() -> tuple[dict[str, str], Any]:
        _, headers, said = post(server, call("query/search", {"text": "x"}))
        return headers, said["result"]["results"][0]

    headers, found = await outside(talk)
    assert headers["content-type"].startswith("application/json")
    assert headers["x-content-type-options"] == "nosniff"
    assert found["text"] == found["snippet"]["text"] == markup
    said = await outside(lambda: ask(opened(server), "note/read", {"path": "Markup.md"}))
    assert said["result"]["text"] == markup


@POSIX
async def test_157_files_in_the_vault_that_pretend_to_be_configuration_run_nothing(
    server: BridgeServer, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    marker = tmp_path / "executed"
    script = f"#!/bin/sh\ntouch {marker}\n"
    plugin = engine.vault / ".obsidian" / "plugins" / "sidelight"
    plugin.mkdir(parents=True)
    config = json.dumps({"command": script, "daemon": str(engine.vault / "rg"), "token": "x"})
    for name in ("sidelight.json", ".sidelight.json", "sidelight.toml", "config.json"):
        (engine.vault / name).write_text(config, "utf-8")
    (plugin / "data.json").write_text(config, "utf-8")
    (engine.vault / ".ripgreprc").write_text(f"--pre={engine.vault / 'rg'}\n", "utf-8")
    (engine.vault / ".ignore").write_text("*\n", "utf-8")
    for name in ("rg", "rg.exe", "sidelight", "git"):
        (engine.vault / name).write_text(script, "utf-8")
        (engine.vault / name).chmod(0o755)
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(engine.vault / ".ripgreprc"))
    path = os.pathsep.join([".", "", str(engine.vault), os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)
    monkeypatch.chdir(engine.vault)
    for method, params in (
        ("note/grep", {"pattern": "豆子"}),
        ("query/search", {"text": "豆子"}),
        ("settings/get", {}),
        ("doctor/run", {}),
        ("index/rebuild", {}),
    ):
        _, _, said = await outside(lambda m=method, p=params: post(server, call(m, p)))
        assert "result" in said
        if method == "note/grep":
            assert [match["path"] for match in said["result"]["matches"]] == ["咖啡.md"]
    assert not marker.exists()


async def test_152_a_stopping_daemon_leaves_its_port(engine: FakeEngine) -> None:
    bridge = BridgeServer(engine)
    port = await bridge.start()
    await bridge.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
