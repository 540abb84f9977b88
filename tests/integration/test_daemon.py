"""The real daemon as a process: it watches, answers, survives kills, leaves cleanly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from sidelight.bridge.client import BridgeClient, connect
from sidelight.config import open_vault, places_for

START_S = 90.0  # a loaded machine takes long to import and to open
FOUND_S = 30.0  # far above the promise, which `scripts/bench.py` measures; here only that it comes


class Daemon:
    """One `sidelight serve` process of a vault."""

    def __init__(self, vault: Path, data: Path, *options: str) -> None:
        self.vault, self.data = vault, data
        command = [sys.executable, "-m", "sidelight", "serve", str(vault), "--json"]
        self.process = subprocess.Popen(
            [*command, "--data-dir", str(data), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read() if self.process.stderr else ""
        self.ready: dict[str, Any] = json.loads(line)

    @property
    def client(self) -> BridgeClient:
        found = connect(places_for(open_vault(self.vault), self.data))
        assert found is not None
        return found

    def search(self, text: str) -> dict[str, Any]:
        """By words alone: the model may or may not be there yet."""
        params = {"text": text, "mode": "lexical"}
        answer: dict[str, Any] = self.client.call("query/search", params)
        return answer

    def stop(self) -> int:
        if os.name == "nt":
            self.process.terminate()
        else:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "我的 vault"
    (folder / "日记").mkdir(parents=True)
    (folder / "日记" / "小票.md").write_text("# 小票\n\n桂花乌龙生椰拿铁。\n", "utf-8")
    (folder / "Note.md").write_text("# Note\n\nA line about marzipan.\n", "utf-8")
    return folder


@pytest.fixture
def serve(vault: Path, tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    running: list[Daemon] = []

    def start(*options: str) -> Daemon:
        running.append(Daemon(vault, tmp_path / "data", *options))
        return running[-1]

    yield start
    for daemon in running:
        if daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.wait(timeout=30)
        for stream in (daemon.process.stdout, daemon.process.stderr):
            if stream is not None:
                stream.close()


def eventually(what: Callable[[], Any], seconds: float = FOUND_S) -> Any:
    """The first true value of `what`; fails when the time is up."""
    end = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.05)
    return value


def paths(answer: dict[str, Any]) -> list[str]:
    return [one["path"] for one in answer["results"]]


def test_it_serves_watches_and_leaves_nothing_behind(
    serve: Callable[..., Daemon], vault: Path
) -> None:
    daemon = serve()
    assert set(daemon.ready) == {"event", "pid", "port", "discovery"}
    assert daemon.ready["pid"] == daemon.process.pid
    discovery = Path(daemon.ready["discovery"])
    assert discovery.is_file()
    eventually(lambda: paths(daemon.search("拿铁")) == ["日记/小票.md"])
    (vault / "New.md").write_text("An unusual word: zugzwang.\n", "utf-8")
    eventually(lambda: paths(daemon.search("zugzwang")) == ["New.md"])
    temporary = vault / ".New.md.tmp"
    temporary.write_text("An unusual word: 守拙。\n", "utf-8")
    os.replace(temporary, vault / "New.md")
    eventually(lambda: paths(daemon.search("守拙")) == ["New.md"])
    eventually(lambda: not paths(daemon.search("zugzwang")))
    (vault / "日记").rename(vault / "diary")
    eventually(lambda: paths(daemon.search("拿铁")) == ["diary/小票.md"])
    (vault / "New.md").unlink()
    eventually(lambda: not paths(daemon.search("守拙")))
    assert daemon.stop() == 0
    assert not discovery.exists()
    assert sorted(p.name for p in vault.iterdir()) == ["Note.md", "diary"]


def test_kill_leaves_an_index_the_next_start_goes_on_with(
    serve: Callable[..., Daemon], vault: Path
) -> None:
    daemon = serve()
    eventually(lambda: paths(daemon.search("marzipan")))
    daemon.process.kill()
    daemon.process.wait(timeout=30)
    (vault / "Note.md").write_text("# Note\n\nNow about nougat.\n", "utf-8")
    again = serve()
    eventually(lambda: paths(again.search("nougat")) == ["Note.md"])
    gone = again.search("marzipan")
    assert not gone["results"], gone
    assert again.stop() == 0


def test_second_daemon_says_that_one_runs(
    serve: Callable[..., Daemon], vault: Path, tmp_path: Path
) -> None:
    daemon = serve()
    command = [sys.executable, "-m", "sidelight", "serve", str(vault)]
    second = subprocess.run(
        [*command, "--data-dir", str(tmp_path / "data")],
        capture_output=True, text=True, encoding="utf-8", timeout=START_S, check=False,
    )  # fmt: skip
    assert second.returncode == 1
    assert str(daemon.process.pid) in second.stderr
    assert second.stderr.count("\n") == 1
    assert Path(daemon.ready["discovery"]).is_file(), "the first one's file must stay"
    assert daemon.search("marzipan")["status"] in ("ok", "no_evidence")


def test_of_daemons_started_at_once_one_serves(vault: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sidelight", "serve", str(vault), "--json"]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [
        subprocess.Popen([*command, "--data-dir", str(tmp_path / "data")], **options)
        for _ in range(3)
    ]
    try:
        eventually(lambda: sum(one.poll() is None for one in started) == 1, START_S)
        (left,) = [one for one in started if one.poll() is None]
        assert json.loads(left.stdout.readline())["event"] == "ready"  # type: ignore[union-attr]
        for refused in (one for one in started if one is not left):
            said = refused.stderr.read()  # type: ignore[union-attr]
            assert (refused.returncode, said.count("\n")) == (1, 1)
            assert "use it" in said.lower()
    finally:
        for one in started:
            one.terminate()
            one.communicate(timeout=30)


def test_commands_ask_the_running_daemon(
    serve: Callable[..., Daemon], vault: Path, tmp_path: Path
) -> None:
    daemon = serve()
    options = ["--data-dir", str(tmp_path / "data")]
    command = [sys.executable, "-m", "sidelight"]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *arguments, *options],
            capture_output=True, text=True, encoding="utf-8", timeout=START_S, check=False,
        )  # fmt: skip

    indexed = run("index", str(vault))
    assert indexed.returncode == 0, indexed.stderr
    assert "2 notes" in indexed.stdout
    found = run("search", str(vault), "拿铁", "--json", "--mode", "lexical")
    assert found.returncode == 0
    assert paths(json.loads(found.stdout)) == ["日记/小票.md"]
    rebuilt = run("index", str(vault), "--rebuild")
    assert rebuilt.returncode == 0, rebuilt.stderr
    assert "2 notes" in rebuilt.stdout
    assert daemon.process.poll() is None


def test_index_says_why_the_daemon_cannot_go_on(
    serve: Callable[..., Daemon], vault: Path, tmp_path: Path
) -> None:
    daemon = serve()
    eventually(lambda: paths(daemon.search("桂花乌龙")))
    away = vault.with_name("移走了")
    vault.rename(away)
    vault.mkdir()  # where a drive was mounted
    try:
        command = [sys.executable, "-m", "sidelight", "index", str(vault)]
        ran = subprocess.run(
            [*command, "--data-dir", str(tmp_path / "data")],
            capture_output=True, text=True, encoding="utf-8", timeout=120,
        )  # fmt: skip
    finally:
        vault.rmdir()
        away.rename(vault)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith(f"sidelight: The vault {vault} is empty")


def test_a_running_daemon_decides_by_a_new_calibration(
    serve: Callable[..., Daemon], vault: Path, tmp_path: Path
) -> None:
    daemon = serve()
    eventually(lambda: daemon.search("拿铁")["results"])

    def threshold() -> float:
        params = {"text": "拿铁", "mode": "lexical", "explain": True}
        return float(daemon.client.call("query/search", params)["trace"]["gate"]["threshold"])

    asked = [{"query": "拿铁" + "？" * n, "relevant": ["日记/小票.md"]} for n in range(5)]
    questions = tmp_path / "questions.jsonl"
    questions.write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    before = threshold()
    command = [sys.executable, "-m", "sidelight", "calibrate", str(vault), str(questions)]
    fitted = subprocess.run(
        [*command, "--data-dir", str(tmp_path / "data")],
        capture_output=True, text=True, encoding="utf-8", timeout=START_S, check=False,
    )  # fmt: skip
    assert fitted.returncode == 0, fitted.stderr
    assert threshold() != before


def test_idle_daemon_uses_no_processor(serve: Callable[..., Daemon]) -> None:
    daemon = serve()

    def is_idle() -> bool:
        status = daemon.client.call("index/status")
        return bool(status["progress"]["phase"] == "idle" and status["index"]["pending"] == 0)

    eventually(is_idle, START_S)
    process = psutil.Process(daemon.process.pid)

    def spent_in_5_s() -> float:
        before = process.cpu_times()
        time.sleep(5)  # what is measured is that nothing happens
        after = process.cpu_times()
        return (after.user - before.user) + (after.system - before.system)

    # Two in a hundred of one core, once what the start left over is done.
    eventually(lambda: spent_in_5_s() < 0.1, 40)
