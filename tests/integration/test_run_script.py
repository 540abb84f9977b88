"""`scripts/run.py` from vault to answer, with the real daemon, in the environment of the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sidelight.config import open_vault, places_for

pytestmark = pytest.mark.slow  # each starts a daemon and most load the model

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
# The environment is there already: only what comes after it is tried here.
PRELUDE = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(SCRIPTS)!r})
import environment
environment.ensure_environment = lambda *extras: None
environment.BIN = Path(sys.executable).parent
import run
"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "我的 vault"
    folder.mkdir()
    (folder / "garden.md").write_text("# Garden\n\nTomatoes need water.\n", encoding="utf-8")
    (folder / "咖啡小票.md").write_text("# 小票\n\n生椰拿铁 26 元。\n", encoding="utf-8")
    os.utime(folder / "garden.md", (1_700_000_000, 1_700_000_000))  # the receipt is newer
    return folder


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", f"{PRELUDE}\nsys.argv[1:] = {arguments!r}\nsys.exit(run.main())"]


def run_once(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments, "--once"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **variables},
        timeout=300,
        check=False,
    )


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(f): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def test_once_indexes_serves_searches_and_leaves_nothing_behind(vault: Path) -> None:
    before = files_in(vault)
    done = run_once(str(vault))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Sidelight listens on 127.0.0.1:" in done.stdout
    assert f'sidelight search "{vault}" "咖啡小票"' in done.stdout
    assert "1. 咖啡小票.md" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert files_in(vault) == before
    assert not places_for(open_vault(vault)).discovery.exists()


def test_an_empty_vault_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run_once(str(tmp_path / "empty"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "holds no notes yet" in done.stdout


@pytest.mark.usefixtures("isolated_home")
def test_without_a_model_and_a_network_it_goes_on_with_words(vault: Path) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    done = run_once(str(vault), PIP_CONFIG_FILE=os.devnull, PIP_NO_INDEX="1", **nowhere)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "going on with words only" in done.stdout
    assert "1. 咖啡小票.md" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="a signal to one process is POSIX's")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_or_a_kill_stops_the_daemon_cleanly(vault: Path, number: int) -> None:
    process = subprocess.Popen(
        command(str(vault)), stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            if "Stop it with Ctrl-C" in line:
                break
        discovery = places_for(open_vault(vault)).discovery
        assert discovery.exists(), "".join(lines)
        process.send_signal(number)
        assert process.wait(timeout=30) == 0
        assert not discovery.exists()
    finally:
        process.kill()
        process.wait()
