"""The bridge over real sockets with an engine in memory: what a client can rely on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from bridge_fakes import FakeEngine, Raw, ask, call, opened, outside, post

from sidelight.bridge import server as server_module
from sidelight.bridge.protocol import CloseCode, ErrorNumber
from sidelight.bridge.server import BridgeServer
from sidelight.types import Progress


async def test_health_tells_name_and_protocol_and_nothing_else(server: BridgeServer) -> None:
    def talk() -> tuple[int, dict[str, str], bytes]:
        raw = Raw(server.port).request("GET /health HTTP/1.1")
        status, headers = raw.head()
        return status, headers, raw.body(headers)

    status, headers, body = await outside(talk)
    assert (status, json.loads(body)) == (200, {"name": "sidelight", "protocol": 1})
    assert headers["server"] == "sidelight"


async def test_hello_opens_the_session_and_tells_what_the_daemon_offers(
    server: BridgeServer, engine: FakeEngine
) -> None:
    def talk() -> Any:
        raw = Raw(server.port).upgrade()
        raw.head()
        return raw.hello(server.token)

    result = (await outside(talk))["result"]
    assert result["vault"] == str(engine.vault)
    assert result["protocol"] == 1
    assert "query/search" in result["capabilities"]["methods"]
    assert result["index"]["index"]["notes"] == 3
    assert result["index"]["failed"][0]["problems"][0]["code"] == "yaml-invalid"


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("query/search", {"text": "咖啡 beans", "mode": "lexical", "limit": 3}, "ok"),
        ("query/related", {"path": "咖啡.md", "line": 3}, "ok"),
        ("citation/resolve", {"ref": "r1", "buffer": "打开的文本"}, "打开的文本"),
        ("citation/indexed", {"ref": "r1"}, "# Coffee"),
        ("note/read", {"path": "咖啡.md", "start_line": 3, "end_line": 3}, "埃塞俄比亚"),
        ("note/read", {"path": "Coffee.md"}, "Ethiopia"),
        ("note/links", {"path": "folder/Deep.md", "direction": "out"}, "[[Coffee]]"),
        ("note/mentions", {"path": "咖啡.md", "buffer": "x"}, '"columns": [3, 9]'),
        ("note/grep", {"pattern": "豆子"}, "咖啡.md"),
        ("note/grep", {"pattern": "^t.o", "regex": True, "path_glob": "folder/"}, "two"),
        ("settings/get", None, "user_words"),
        ("settings/set", {"values": {"user_words": ["知识图谱"]}}, "知识图谱"),
        ("doctor/run", {}, "findings"),
        ("index/status", {"path": "Coffee.md"}, '"hash": "ab"'),
        ("index/rebuild", {}, "true"),
        ("index/pause", {}, "true"),
        ("index/resume", {}, "true"),
    ],
)
async def test_every_method_answers_over_both_ways(
    server: BridgeServer, method: str, params: Any, expected: str
) -> None:
    by_socket = await outside(lambda: ask(opened(server), method, params))
    status, _, by_post = await outside(lambda: post(server, call(method, params)))
    assert expected in json.dumps(by_socket["result"], ensure_ascii=False)
    assert status == 200
    assert by_post == by_socket


async def test_both_loopback_families_answer_on_the_same_port(server: BridgeServer) -> None:
    if not server_module._has_ipv6():
        pytest.skip("this machine has no ::1")

    def talk() -> int:
        raw = Raw(server.port, "::1").request("GET /health HTTP/1.1", Host=f"[::1]:{server.port}")
        return raw.head()[0]

    assert await outside(talk) == 200


async def test_binds_again_within_a_second(engine: FakeEngine) -> None:
    first = BridgeServer(engine)
    port = await first.start()
    await outside(lambda: opened(first))
    await first.stop()
    second = BridgeServer(engine, port=port)
    assert await second.start() == port
    assert second.token != first.token
    await second.stop()


async def test_a_taken_port_is_an_error_with_a_remedy(
    server: BridgeServer, engine: FakeEngine
) -> None:
    other = BridgeServer(engine, port=server.port)
    with pytest.raises(server_module.BridgeError, match="--port"):
        await other.start()


async def test_a_newer_search_cancels_the_older_one(
    server: BridgeServer, engine: FakeEngine
) -> None:
    def talk() -> tuple[Any, Any]:
        raw = opened(server)
        raw.frame(json.dumps(call("query/search", {"text": "block 旧"}, 1)))
        while "block 旧" not in engine.started:
            pass
        raw.frame(json.dumps(call("query/search", {"text": "新"}, 2)))
        return raw.message(), raw.message()

    first, second = await outside(talk)
    assert first["id"] == 1
    assert first["error"]["code"] == ErrorNumber.CANCELLED
    assert second["result"]["query"]["text"] == "新"


async def test_searches_of_different_clients_do_not_cancel_each_other(
    server: BridgeServer, engine: FakeEngine
) -> None:
    def talk() -> tuple[Any, Any]:
        one, two = opened(server), opened(server)
        one.frame(json.dumps(call("query/search", {"text": "block"}, 1)))
        second = ask(two, "query/search", {"text": "x"}, 2)
        engine.release.set()
        return one.message(), second

    first, second = await outside(talk)
    assert "result" in first
    assert "result" in second


async def test_cancel_request_answers_at_once(server: BridgeServer, engine: FakeEngine) -> None:
    def talk() -> Any:
        raw = opened(server)
        raw.frame(json.dumps(call("query/search", {"text": "block"}, "甲")))
        cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "甲"}}
        return raw.frame(json.dumps(cancel)).message()

    answer = await outside(talk)
    assert answer["id"] == "甲"
    assert answer["error"]["data"]["code"] == "CANCELLED"


async def test_a_client_that_goes_gives_its_requests_up(
    server: BridgeServer, engine: FakeEngine
) -> None:
    def talk() -> None:
        raw = opened(server)
        raw.frame(json.dumps(call("query/search", {"text": "block"}, 1)))
        while "block" not in engine.started:
            pass
        raw.close()
        body = json.dumps(call("query/search", {"text": "block post"})).encode()
        posting = Raw(server.port).request(
            "POST /rpc HTTP/1.1", body, Authorization=f"Bearer {server.token}"
        )
        while "block post" not in engine.started:
            pass
        posting.close()

    await outside(talk)
    async with asyncio.timeout(5):
        while len(engine.cancelled) < 2:
            await asyncio.sleep(0.01)


async def test_notifications_reach_every_client_that_said_hello(
    server: BridgeServer, engine: FakeEngine
) -> None:
    def talk() -> list[Any]:
        clients = [opened(server), opened(server)]
        Raw(server.port).upgrade().head()  # one that never says hello
        engine.announce("changed", ["咖啡.md"])
        engine.announce("progress", Progress("words", 1, 2, 3.0, 0.5))
        seen = []
        for raw in clients:
            methods: dict[str, Any] = {}
            while len(methods) < 2:
                message = raw.message()
                methods[message["method"]] = message["params"]
            seen.append(methods)
        return seen

    for methods in await outside(talk):
        assert methods["index/changed"] == {"paths": ["咖啡.md"], "more": False}
        assert methods["index/progress"]["seconds_left"] == 0.5


async def test_a_flood_of_changes_is_merged_not_lost(
    server: BridgeServer, engine: FakeEngine
) -> None:
    def talk() -> set[str]:
        raw = opened(server)
        for number in range(300):
            engine.announce("changed", [f"{number}.md"])
        seen: set[str] = set()
        while len(seen) < 300:
            seen |= set(raw.message()["params"]["paths"])
        return seen

    assert len(await outside(talk)) == 300


async def test_protocol_mismatch_says_which_side_is_older(server: BridgeServer) -> None:
    def talk(protocol: int) -> tuple[Any, Any]:
        raw = Raw(server.port).upgrade()
        raw.head()
        return raw.hello(server.token, protocol), raw.message()

    for protocol, older in ((0, "client"), (2, "server")):
        answer, end = await outside(lambda protocol=protocol: talk(protocol))
        assert answer["error"]["data"]["older"] == older
        assert answer["error"]["data"]["remedy"]
        assert end == {"closed": CloseCode.PROTOCOL_MISMATCH}


async def test_leaves_when_the_last_client_has_gone(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "LAST_CLIENT_S", 0.05)
    bridge = BridgeServer(engine, exit_with_clients=True)
    await bridge.start()
    one, two = await outside(lambda: (opened(bridge), opened(bridge)))
    one.close()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(bridge.finished(), 0.3)
    two.close()
    assert await asyncio.wait_for(bridge.finished(), 5) == "last client left"
    await bridge.stop()


async def test_leaves_when_no_client_ever_came(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "FIRST_CLIENT_S", 0.05)
    bridge = BridgeServer(engine, exit_with_clients=True)
    await bridge.start()
    assert await asyncio.wait_for(bridge.finished(), 5) == "no client came"
    await bridge.stop()


async def test_stays_without_clients_by_default(server: BridgeServer) -> None:
    raw = await outside(lambda: opened(server))
    raw.close()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(server.finished(), 0.2)


async def test_can_be_asked_to_stop(server: BridgeServer) -> None:
    status, _, answer = await outside(lambda: post(server, call("daemon/stop")))
    assert (status, answer["result"]) == (200, {"ok": True})
    assert await asyncio.wait_for(server.finished(), 5) == "asked to stop"


async def test_stopping_tells_the_clients(server: BridgeServer) -> None:
    raw = await outside(lambda: opened(server))
    stopping = asyncio.create_task(server.stop())
    assert await outside(raw.message) == {"closed": CloseCode.GOING_AWAY}
    raw.close()
    await stopping


async def test_a_notification_by_post_has_no_answer(
    server: BridgeServer, engine: FakeEngine
) -> None:
    status, _, _ = await outside(lambda: post(server, {"jsonrpc": "2.0", "method": "index/pause"}))
    assert status == 204
    assert engine.calls == ["pause"]


async def test_a_half_open_connection_is_dropped_by_the_heartbeat(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(server_module, "LAST_CLIENT_S", 0.05)
    bridge = BridgeServer(engine, exit_with_clients=True)
    await bridge.start()
    raw = await outside(lambda: opened(bridge))  # never answers a ping, never closes
    assert await asyncio.wait_for(bridge.finished(), 5) == "last client left"
    raw.close()
    await bridge.stop()
