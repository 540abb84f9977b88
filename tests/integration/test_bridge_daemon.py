"""The bridge of the real daemon: methods, attacks and the log, end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from bridge_fakes import Raw, call

from sidelight.bridge.protocol import METHODS, ErrorNumber

READY_S = 120  # a cold start on a busy machine
NOTES = {
    "咖啡.md": "---\naliases: [手冲]\n---\n# 咖啡\n\n埃塞俄比亚的豆子用九十三度的水冲。见 [[Brewing#Water]]。\n",
    "Brewing.md": "# Brewing\n\n## Water\n\nWater at ninety-three degrees suits light roasts.\n",
    "folder/Deep.md": "# Deep\n\nquuxword alone here, see [[咖啡]].\n",
    "Markup.md": "# Markup\n\n<img src=x onerror=alert(1)> markupword <script>alert(2)</script>\n",
    "Private/Diary.md": "# Diary\n\nthe secretword of the diary\n",
}


@dataclass
class Daemon:
    """A running `sidelight serve`."""

    process: subprocess.Popen[str]
    discovery: dict[str, Any]
    file: Path
    vault: Path
    home: Path

    def post(self, method: str, params: Any = None) -> Any:
        raw = Raw(self.discovery["port"])
        raw.socket.settimeout(60)
        body = json.dumps(call(method, params)).encode()
        raw.request("POST /rpc HTTP/1.1", body, Authorization=f"Bearer {self.discovery['token']}")
        status, headers = raw.head()
        assert status == 200
        answer = json.loads(raw.body(headers))
        raw.close()
        return answer


def start(home: Path, vault: Path, *options: str) -> Daemon:
    folders = {"XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache",
               "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run", "HOME": "",
               "LOCALAPPDATA": "local", "WIN_PD_OVERRIDE_LOCAL_APPDATA": "local"}  # fmt: skip
    variables = {name: str(home / folder) for name, folder in folders.items()}
    (home / "run").mkdir(mode=0o700, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "sidelight", "serve", str(vault), "--json", *options],
        env={**os.environ, **variables, "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    ready = json.loads(line)
    file = Path(ready["discovery"])
    discovery = json.loads(file.read_text("utf-8"))
    assert (ready["event"], ready["port"], ready["pid"]) == (
        "ready", discovery["port"], discovery["pid"],
    )  # fmt: skip
    return Daemon(process, discovery, file, vault, home)


def finish(daemon: Daemon) -> None:
    if daemon.process.poll() is None:
        daemon.process.terminate()
    daemon.process.communicate(timeout=60)


def wait_until_indexed(daemon: Daemon) -> None:
    until = time.monotonic() + READY_S
    while True:
        index = daemon.post("index/status")["result"]["index"]
        if index["notes"] >= 4 and index["pending"] == 0:
            return
        assert time.monotonic() < until, "not indexed in time"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("home")
    vault = tmp_path_factory.mktemp("私人 vault")
    for path, text in NOTES.items():
        (vault / path).parent.mkdir(exist_ok=True)
        (vault / path).write_text(text, "utf-8")
    (vault / ".sidelightignore").write_text("Private/\n", "utf-8")
    outside = home / "Outside.md"
    outside.write_text("the secretword outside", "utf-8")
    if sys.platform != "win32":
        (vault / "Link.md").symlink_to(outside)
        os.mkfifo(vault / "Pipe.md")
    running = start(home, vault)
    wait_until_indexed(running)
    yield running
    finish(running)


def test_every_method_of_the_table_answers(daemon: Daemon) -> None:
    found = daemon.post("query/search", {"text": "豆子", "mode": "lexical", "explain": True})
    first = found["result"]["results"][0]
    assert first["path"] == "咖啡.md"
    start, end = first["snippet"]["highlights"][0]
    units = first["snippet"]["text"].encode("utf-16-le")
    assert units[2 * start : 2 * end].decode("utf-16-le") in ("豆子", "豆")
    assert daemon.post("query/related", {"path": "咖啡.md"})["result"]["status"]
    for ask in ("citation/resolve", "citation/indexed"):
        assert daemon.post(ask, {"ref": first["ref"]})["result"]["path"] == "咖啡.md"
    moved = {"ref": first["ref"], "buffer": "前言\n\n" + NOTES["咖啡.md"]}
    assert (
        daemon.post("citation/resolve", moved)["result"]["citation"]["status"] == "source_changed"
    )
    read = daemon.post("note/read", {"path": "Brewing.md", "start_line": 5, "end_line": 5})
    assert read["result"]["text"] == "Water at ninety-three degrees suits light roasts."
    links = daemon.post("note/links", {"path": "咖啡.md", "direction": "out"})["result"]["links"]
    assert (links[0]["path"], links[0]["target_line"]) == ("Brewing.md", 3)
    back = daemon.post("note/links", {"path": "咖啡.md", "direction": "in"})["result"]["links"]
    assert [link["source_path"] for link in back] == ["folder/Deep.md"]
    grep = daemon.post("note/grep", {"pattern": "九十三度"})["result"]
    assert [(m["path"], m["line"]) for m in grep["matches"]] == [("咖啡.md", 6)]
    settings = daemon.post("settings/set", {"values": {"user_words": ["埃塞俄比亚"]}})["result"]
    assert settings["rebuilds"]
    assert daemon.post("settings/get")["result"]["settings"]["user_words"] == ["埃塞俄比亚"]
    assert daemon.post("doctor/run")["result"]["findings"]
    status = daemon.post("index/status", {"path": "咖啡.md"})["result"]["note"]
    assert status["indexed"]
    for ask in ("index/pause", "index/resume", "index/rebuild"):
        assert daemon.post(ask)["result"] == {"ok": True}
    time.sleep(1)  # the rebuild begins
    wait_until_indexed(daemon)


def test_a_search_without_evidence_says_so(daemon: Daemon) -> None:
    answer = daemon.post("query/search", {"text": "zzqqxx 量子纠缠", "mode": "lexical"})["result"]
    assert answer["status"] == "no_evidence"
    assert answer["code"] == "RAG_NO_EVIDENCE"
    assert answer["reasons"]


@pytest.mark.parametrize("method", ["note/read", "note/links", "query/related"])
def test_no_path_leaves_the_vault(daemon: Daemon, method: str) -> None:
    escapes = ["../Outside.md", "/etc/passwd", "folder/../../x", "Private/Diary.md",
               ".sidelightignore", "Link.md", "Pipe.md", "C:\\x.md", "咖啡.md\x00", "folder"]  # fmt: skip
    codes = set()
    for path in escapes:
        if sys.platform == "win32" and path in ("Link.md", "Pipe.md"):
            continue
        answer = daemon.post(method, {"path": path})
        assert "error" in answer, path
        assert "secretword" not in json.dumps(answer)
        codes.add(answer["error"]["code"])
    assert codes <= {ErrorNumber.PATH_REFUSED, ErrorNumber.NOT_FOUND}
    if method == "note/read":
        assert codes == {ErrorNumber.PATH_REFUSED}
    assert "result" in daemon.post(method, {"path": "咖啡.md"})


@pytest.mark.parametrize("half", ["\ud800", "咖\udc80啡"])
def test_half_characters_are_no_internal_error(daemon: Daemon, half: str) -> None:
    for method, params in (
        ("note/read", {"path": f"{half}.md"}),
        ("note/links", {"path": f"{half}.md"}),
        ("index/status", {"path": f"{half}.md"}),
        ("query/related", {"path": f"{half}.md"}),
        ("citation/resolve", {"ref": half}),
        ("citation/resolve", {"ref": "r", "buffer": half}),
        ("note/grep", {"pattern": half}),
        ("note/grep", {"pattern": "a", "path_glob": half}),
        ("query/search", {"text": half, "mode": "lexical"}),
        ("query/search", {"text": "a", "filters": {"path": half}}),
        ("settings/set", {"values": {"user_words": [half]}}),
    ):
        said = daemon.post(method, params)
        assert said.get("error", {}).get("data", {}).get("code") != "INTERNAL", (method, said)
    assert "result" in daemon.post("note/read", {"path": "咖啡.md"})


def test_nothing_excluded_is_found_or_grepped(daemon: Daemon) -> None:
    assert daemon.post("note/grep", {"pattern": "secretword"})["result"]["matches"] == []
    found = daemon.post("query/search", {"text": "secretword", "mode": "lexical"})["result"]
    assert "Private" not in json.dumps(found["results"])
    assert len(daemon.post("note/grep", {"pattern": "quuxword"})["result"]["matches"]) == 1


def test_markup_in_a_note_travels_as_text(daemon: Daemon) -> None:
    found = daemon.post("query/search", {"text": "markupword", "mode": "lexical"})["result"]
    text = json.dumps([found["results"], found["near_misses"]])
    assert "<img src=x onerror=alert(1)>" in text
    assert "&lt;" not in text


def test_saved_notes_are_announced(daemon: Daemon) -> None:
    raw = Raw(daemon.discovery["port"]).upgrade()
    raw.socket.settimeout(60)
    assert raw.head()[0] == 101
    assert "result" in raw.hello(daemon.discovery["token"])
    (daemon.vault / "新笔记.md").write_text("# 新\n\n刚刚写下的句子\n", "utf-8")
    while True:
        message = raw.message()
        assert "closed" not in message
        if message["method"] == "index/changed" and "新笔记.md" in message["params"]["paths"]:
            break
    raw.close()
    found = daemon.post("query/search", {"text": "刚刚写下的句子", "mode": "lexical"})["result"]
    shown = [*found["results"], *found["near_misses"]]
    assert "新笔记.md" in [item["path"] for item in shown]


def test_149_the_discovery_file_is_private(daemon: Daemon) -> None:
    assert set(daemon.discovery) == {
        "pid", "port", "token", "protocol", "version", "vault", "started_at",
    }  # fmt: skip
    assert not daemon.file.is_relative_to(daemon.vault)
    if sys.platform != "win32":
        assert daemon.file.stat().st_mode & 0o777 == 0o600
        assert daemon.file.parent.stat().st_mode & 0o777 == 0o700


def test_nothing_private_stands_in_the_log_of_this_run(daemon: Daemon) -> None:
    daemon.post("query/search", {"text": "秘密查询 xyzzy", "mode": "lexical"})
    daemon.post("note/read", {"path": "Nowhere-xyzzy.md"})
    daemon.post("note/grep", {"pattern": "xyzzy"})
    daemon.post("citation/resolve", {"path": "Nowhere-xyzzy.md"})
    daemon.post("index/resume")
    (log,) = (daemon.home / "state").rglob("*.log")
    text = log.read_text("utf-8")
    words = [
        *("xyzzy", "秘密查询", "豆子", "咖啡", "手冲", "埃塞俄比亚", "quuxword", "markupword"),
        *("secretword", "Brewing", "ninety-three", "新笔记", "刚刚写下", "Private", "Deep"),
        *(daemon.discovery["token"], str(daemon.vault), "私人"),
    ]
    assert [word for word in words if word in text] == []
    served = ["query/search", "note/read", "note/grep", "citation/resolve", "index/resume"]
    assert [name for name in served if f"method={name} " not in text] == []


def test_152_a_second_daemon_leaves_the_first_and_its_file_alone(daemon: Daemon) -> None:
    before = daemon.file.read_text("utf-8")
    with pytest.raises(AssertionError, match="already serves"):
        start(daemon.home, daemon.vault)
    assert daemon.file.read_text("utf-8") == before
    assert daemon.post("index/status")["result"]["index"]["notes"]


def test_151_154_leaves_on_a_signal_and_serves_again_at_once(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("一", "utf-8")
    first = start(tmp_path, vault)
    first.process.send_signal(signal.SIGTERM)
    first.process.communicate(timeout=60)
    if sys.platform != "win32":  # there, a process that is ended cannot tidy up
        assert first.process.returncode == 0
        assert not first.file.exists()
    second = start(tmp_path, vault, "--port", str(first.discovery["port"]), "--exit-with-clients")
    assert second.discovery["port"] == first.discovery["port"]
    assert second.discovery["token"] != first.discovery["token"]
    raw = Raw(second.discovery["port"]).upgrade()
    raw.head()
    assert "result" in raw.hello(second.discovery["token"])
    raw.close()  # as when Obsidian is killed
    second.process.communicate(timeout=60)
    assert second.process.returncode == 0
    assert not psutil.pid_exists(second.discovery["pid"])
    assert not second.file.exists()


def test_the_daemon_offers_exactly_the_methods_of_the_protocol(daemon: Daemon) -> None:
    token = daemon.discovery["token"]
    offered = daemon.post("session/hello", {"token": token, "protocol": 1})["result"]
    assert offered["capabilities"]["methods"] == [spec.name for spec in METHODS]
