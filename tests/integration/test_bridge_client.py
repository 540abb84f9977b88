"""The command line's own client against a running bridge, a dead one, and ones that misbehave."""

from __future__ import annotations

import asyncio
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bridge_fakes import FakeEngine

from sidelight.bridge import client as client_module
from sidelight.bridge import discovery
from sidelight.bridge import server as server_module
from sidelight.bridge.client import BridgeClient, connect, retire
from sidelight.bridge.server import BridgeServer
from sidelight.config import Places, open_vault, places_for
from sidelight.errors import AccessError, BridgeError, NotFoundError, UsageError


class Running:
    """A bridge in a thread of its own, as a daemon beside the test."""

    def __init__(self, engine: FakeEngine, places: Places) -> None:
        self.engine = engine
        self.places = places
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.server = self.wait(self._make())
        discovery.write(places, self.server.port, self.server.token)

    async def _make(self) -> BridgeServer:
        server = BridgeServer(self.engine)
        await server.start()
        return server

    def wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    def stop(self) -> None:
        self.engine.release.set()
        self.wait(self.server.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    vault = tmp_path / "vault"
    vault.mkdir()
    own = places_for(open_vault(vault))
    return replace(own, discovery=tmp_path / "run" / own.discovery.name)


@pytest.fixture
def running(places: Places) -> Iterator[Running]:
    bridge = Running(FakeEngine(places.vault), places)
    yield bridge
    bridge.stop()


def connected(places: Places) -> BridgeClient:
    client = connect(places)
    assert client is not None
    return client


def test_asks_in_both_languages(running: Running) -> None:
    client = connected(running.places)
    assert client.call("query/search", {"text": "咖啡 beans"})["query"]["text"] == "咖啡 beans"
    assert "埃塞俄比亚" in client.call("note/read", {"path": "咖啡.md"})["text"]
    client.close()
    assert client.call("index/status")["index"]["notes"] == 3


def test_errors_come_back_as_what_they_were(running: Running) -> None:
    client = connected(running.places)
    for method, params, error in (
        ("note/read", {"path": "../x.md"}, AccessError),
        ("note/read", {"path": "没有.md"}, NotFoundError),
        ("settings/set", {"values": {"nothing": 1}}, UsageError),
        ("query/search", {}, UsageError),
    ):
        with pytest.raises(error) as caught:
            client.call(method, params)
        assert caught.value.message


def test_an_idle_connection_that_the_daemon_closed_is_made_again(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "IDLE_S", 0.1)
    bridge = Running(FakeEngine(places.vault), places)
    client = connected(places)
    gone = threading.Event()
    gone.wait(0.4)  # longer than the daemon keeps it
    assert client.call("index/status")["index"]["notes"] == 3
    bridge.stop()


def test_no_daemon_is_none_and_so_is_a_stale_file(running: Running, places: Places) -> None:
    discovery.remove(places, running.server.token)
    assert connect(places) is None
    unused = Running(FakeEngine(places.vault), places)
    found = discovery.read(places)
    unused.stop()
    assert found is not None
    assert connect(places) is None  # nothing listens on its port


def test_a_port_that_another_daemon_took_is_no_daemon_of_ours(running: Running) -> None:
    discovery.write(running.places, running.server.port, "another token")
    assert connect(running.places) is None


@pytest.mark.parametrize(("protocol", "words"), [(0, "older than this"), (2, "This command is")])
def test_152_another_protocol_says_which_side_is_older(
    running: Running, protocol: int, words: str
) -> None:
    found = json.loads(running.places.discovery.read_text("utf-8"))
    running.places.discovery.write_text(json.dumps({**found, "protocol": protocol}), "utf-8")
    with pytest.raises(BridgeError, match=words) as caught:
        connect(running.places)
    assert caught.value.remedy


def test_a_daemon_that_stops_meanwhile_is_an_error_with_a_remedy(places: Places) -> None:
    bridge = Running(FakeEngine(places.vault), places)
    client = connected(places)
    bridge.stop()
    with pytest.raises(BridgeError, match="sidelight serve"):
        client.call("index/status")


def test_152_an_old_daemon_can_be_retired(places: Places) -> None:
    bridge = Running(FakeEngine(places.vault), places)
    found = discovery.read(places)
    assert found is not None
    leaving = threading.Thread(
        target=lambda: (bridge.wait(bridge.server.finished()), bridge.stop())
    )
    leaving.start()
    assert retire({**found, "token": "wrong"}, 1) is False
    assert discovery.answers_health(found["port"])
    assert retire(found) is True
    leaving.join()
    assert retire(found) is True  # it has gone already


def test_a_late_answer_is_given_up(running: Running) -> None:
    client = connected(running.places)
    with pytest.raises(BridgeError, match=r"within 0\.2 seconds"):
        client.call("query/search", {"text": "block"}, timeout=0.2)
    running.engine.release.set()
    assert client.call("index/status")["index"]["notes"] == 3


@contextmanager
def impostor(status: int, body: bytes) -> Iterator[int]:
    """A server that says it is Sidelight and then answers like this."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(200, b'{"name":"sidelight","protocol":1}')

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(status, body)

        def answer(self, code: int, data: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b""), (200, b"{"), (200, b"[]"), (200, b"{}"), (200, b'{"error":1}'), (500, b"x"),
     (302, b""), (200, b"\xff")],
)  # fmt: skip
def test_a_wrong_answer_is_one_error(places: Places, status: int, body: bytes) -> None:
    with impostor(status, body) as port:
        discovery.write(places, port, "t" * 64)
        found = discovery.read(places)
        assert found is not None
        client = BridgeClient(found)
        with pytest.raises(BridgeError):
            client.call("index/status")
        client.close()


def test_asking_imports_neither_aiohttp_nor_the_index() -> None:
    code = (
        "import sys, sidelight.bridge.client; "
        "print([m for m in ('aiohttp', 'lancedb', 'pyarrow', 'numpy', 'onnxruntime', 'psutil')"
        " if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    assert client_module.CALL_S > 0


@pytest.mark.parametrize("query", ["gateway", "稳态误差"])
def test_a_search_asked_of_a_daemon_imports_neither_the_index_nor_a_model(
    places: Places, query: str
) -> None:
    """The whole process of `sidelight search` beside a daemon; its answer does not matter here."""
    with impostor(200, b'{"jsonrpc": "2.0", "id": 1, "result": {}}') as port:
        discovery.write(places, port, "t" * 64)
        code = (
            "import sys\n"
            "from sidelight.bridge import discovery\n"
            f"discovery.read = lambda places: {discovery.read(places)!r}\n"
            "discovery.answers_health = lambda *_: True\n"
            "from sidelight.cli.commands import main\n"
            f"sys.argv = ['sidelight', 'search', {str(places.vault)!r}, {query!r}, '--json']\n"
            "try:\n    main()\n"
            "finally:\n"
            "    heavy = ('aiohttp', 'asyncio', 'lancedb', 'pyarrow', 'numpy', 'onnxruntime', "
            "'tokenizers', 'jieba', 'rich')\n"
            "    print([m for m in heavy if m in sys.modules])\n"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.splitlines() == ["{}", "[]"], run.stderr
