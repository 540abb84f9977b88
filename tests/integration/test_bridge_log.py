"""The log of a whole run: every request in it, nothing private in it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_fakes import NOTES, FakeEngine, Raw, ask, call, opened, outside, post

from sidelight.bridge import door as door_module
from sidelight.bridge.server import BridgeServer

EVENT = re.compile(r"(INFO|WARNING|ERROR) sidelight\.bridge [a-z ]+( [a-z_]+=\S+)* ?.*")
PRIVATE_QUERY = "私密查询 xyzzy"
PRIVATE_PATH = "秘密文件夹/Plugh.md"


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    """Everything that any logger says at the default level."""
    file = tmp_path / "whole.log"
    keeping = logging.FileHandler(file, encoding="utf-8")
    keeping.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
    root = logging.getLogger()
    before = root.level
    root.addHandler(keeping)
    root.setLevel(logging.INFO)
    ours = logging.getLogger("sidelight")
    propagated, ours.propagate = ours.propagate, True  # a command that ran before turned it off
    yield file
    ours.propagate = propagated
    root.removeHandler(keeping)
    root.setLevel(before)
    keeping.close()


async def test_the_log_of_a_whole_run_holds_every_request_and_nothing_private(
    tmp_path: Path, log_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_module, "FIRST_DELAY_S", 0.01)
    vault = tmp_path / "私人 vault"
    vault.mkdir()
    engine = FakeEngine(vault)
    note = vault / PRIVATE_PATH
    note.parent.mkdir()
    note.write_text("笔记正文 frobnicate [[Coffee]]\n", "utf-8")
    bridge = BridgeServer(engine)
    await bridge.start()
    requests: list[tuple[str, Any]] = [
        ("query/search", {"text": PRIVATE_QUERY}),
        ("query/search", {"text": "crash"}),
        ("query/search", {"text": "panic"}),
        ("query/search", {"text": PRIVATE_QUERY, "limit": "wrong"}),
        ("query/related", {"path": PRIVATE_PATH}),
        ("citation/resolve", {"ref": "ref-quux", "buffer": "缓冲区 waldo"}),
        ("citation/resolve", {"ref": "gone"}),
        ("citation/indexed", {"ref": "ref-quux"}),
        ("note/read", {"path": PRIVATE_PATH}),
        ("note/read", {"path": "../" + PRIVATE_PATH}),
        ("note/links", {"path": PRIVATE_PATH}),
        ("note/grep", {"pattern": "frobnicate"}),
        ("note/grep", {"pattern": "(xyzzy", "regex": True}),
        ("settings/get", {}),
        ("settings/set", {"values": {"user_words": ["用户词garply"]}}),
        ("settings/set", {"values": {"xyzzy": 1}}),
        ("doctor/run", {}),
        ("index/status", {"path": PRIVATE_PATH}),
        ("index/rebuild", {}),
        ("index/pause", {}),
        ("index/resume", {}),
        ("xyzzy/私密查询", {}),
    ]

    def talk() -> None:
        raw = opened(bridge)
        for number, (method, params) in enumerate(requests):
            ask(raw, method, params, f"xyzzy\n{number}")
            post(bridge, call(method, params))
        raw.frame("not json xyzzy").message()
        raw.frame(
            json.dumps({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "xyzzy"}})
        )
        ask(raw, "index/status")
        raw.frame("xyzzy", rsv=7).message()
        post(bridge, call("index/status"), token="xyzzy")
        wrong = Raw(bridge.port).upgrade()
        wrong.head()
        wrong.hello("xyzzy")
        for line in (
            f"GET /rpc?token={bridge.token} HTTP/1.1",
            "GET /xyzzy HTTP/1.1",
            "xyzzy xyzzy",
        ):
            Raw(bridge.port).request(line, Cookie="xyzzy").head()
        Raw(bridge.port).upgrade(Origin="https://xyzzy.example").head()
        Raw(bridge.port).upgrade(Host="xyzzy.example").head()
        Raw(bridge.port).upgrade(Sec_WebSocket_Protocol="xyzzy").head()

    engine.announce("changed", [PRIVATE_PATH])
    await outside(talk)
    await bridge.stop()
    await asyncio.sleep(0)
    text = log_file.read_text("utf-8")
    private = [
        *("私密查询", "xyzzy", "秘密文件夹", "Plugh", "笔记正文", "frobnicate", "缓冲区", "waldo"),
        *("ref-quux", "garply", "用户词", "Coffee", "Ethiopia", "豆子", "secret of", "Rust panic"),
        *(bridge.token, bridge.token[:16], str(vault), "私人", *NOTES),
    ]
    assert [word for word in private if word in text] == []
    for method, _ in requests[:-1]:
        assert f"method={method} " in text
    lines = [line for line in text.splitlines() if "sidelight.bridge" in line]
    assert [line for line in lines if not EVENT.fullmatch(line)] == []
    answered = [line for line in lines if " request id=" in line]
    assert len(answered) >= 2 * (len(requests) - 1)
    for field in ("id=", "method=", "ms=", "in=", "out=", "outcome="):
        assert all(field in line for line in answered)
    ids = [re.search(r"id=(\S+)", line).group(1) for line in answered]  # type: ignore[union-attr]
    assert len(ids) == len(set(ids))
