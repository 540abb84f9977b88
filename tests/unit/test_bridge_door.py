"""The rules at the door, and the discovery file that tells clients where it is."""

from __future__ import annotations

import hmac
import json
import os
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from sidelight.bridge import discovery, door
from sidelight.bridge.client import connect
from sidelight.bridge.door import Door, bearer
from sidelight.config import Places, open_vault, places_for
from sidelight.errors import BridgeError

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    vault = tmp_path / "我的 vault"
    vault.mkdir()
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    own = places_for(open_vault(vault))
    return replace(own, discovery=run / "sidelight" / own.discovery.name)


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or real(a, b))
    gate = Door("ab" * 32)
    assert gate.knows("ab" * 32)
    for wrong in ("", "ab" * 31, "é" * 64, "\ud800", "ab" * 32 + "\0"):
        assert not gate.knows(wrong)
    assert len(compared) == 6


def test_the_delay_doubles_is_bounded_and_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    gate = Door("right")
    assert gate.delay_s() == 0.0
    delays = []
    for _ in range(40):
        gate.knows("wrong")
        delays.append(gate.delay_s())
    assert delays[:4] == [0.25, 0.5, 1.0, 2.0]
    assert delays[-1] == door.LONGEST_DELAY_S
    gate.knows("right")
    now += door.FORGET_S + 1
    assert gate.delay_s() == 0.0


def test_one_bearer_header_is_taken() -> None:
    assert bearer(["Bearer abc"]) == bearer(["bearer  abc "]) == "abc"
    for headers in ([], ["Bearer"], ["Bearer "], ["Basic abc"], ["Bearer a", "Bearer a"]):
        assert bearer(headers) is None


def test_no_host_is_right_before_the_port_is_known() -> None:
    assert Door("t").refusal(["127.0.0.1:0"], []) is not None


# --------------------------------------------------------------------------- discovery


def test_149_the_file_says_what_the_contract_says_and_is_private(places: Places) -> None:
    token = discovery.new_token()
    written = discovery.write(places, 4321, token)
    assert list(written) == [
        "pid", "port", "token", "protocol", "version", "vault", "started_at",
    ]  # fmt: skip
    assert discovery.read(places) == written
    assert json.loads(places.discovery.read_text("utf-8")) == written
    assert written["pid"] == os.getpid()
    assert written["vault"] == str(places.vault)
    if sys.platform != "win32":
        assert stat.S_IMODE(os.stat(places.discovery).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(places.discovery.parent).st_mode) == 0o700


def test_149_tokens_are_long_and_new_each_time() -> None:
    tokens = {discovery.new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {64}


@POSIX
def test_149_a_file_that_others_can_read_is_not_believed(places: Places) -> None:
    discovery.write(places, 4321, "t" * 64)
    places.discovery.chmod(0o644)
    assert discovery.read(places) is None
    places.discovery.chmod(0o600)
    assert discovery.read(places) is not None
    places.discovery.parent.chmod(0o755)
    assert discovery.read(places) is None


@POSIX
def test_an_own_folder_with_loose_mode_is_tightened(places: Places) -> None:
    places.discovery.parent.mkdir(mode=0o755)
    discovery.write(places, 4321, "t" * 64)
    assert stat.S_IMODE(os.stat(places.discovery.parent).st_mode) == 0o700


@POSIX
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can plant folders"
)
def test_149_a_folder_planted_in_a_shared_one_is_refused(tmp_path: Path, places: Places) -> None:
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    planted = shared / "runtime-0"
    (planted / "sidelight").mkdir(parents=True, mode=0o700)
    there = replace(places, discovery=planted / "sidelight" / "key.json")
    discovery.write(there, 1, "t" * 64)  # ours: fine
    os.chown(planted, 4_242, 4_242)
    with pytest.raises(BridgeError, match="XDG_RUNTIME_DIR"):
        discovery.write(there, 1, "t" * 64)
    os.chown(planted, 0, 0)
    os.chown(planted / "sidelight", 4_242, 4_242)
    with pytest.raises(BridgeError, match="not yours alone"):
        discovery.write(there, 1, "t" * 64)
    assert discovery.read(there) is None


@POSIX
def test_149_a_link_in_place_of_the_folder_or_file_is_refused(
    tmp_path: Path, places: Places
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    places.discovery.parent.symlink_to(elsewhere)
    with pytest.raises(BridgeError, match="not yours alone"):
        discovery.write(places, 1, "t" * 64)
    places.discovery.parent.unlink()
    discovery.write(places, 1, "t" * 64)
    moved = elsewhere / "moved.json"
    places.discovery.rename(moved)
    places.discovery.symlink_to(moved)
    assert discovery.read(places) is None


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "null", "7", '{"pid": 1}', "\x00", '"' + "x" * 100,
        '{"pid":1,"port":"x","token":"t","protocol":1,"version":"v","vault":"v","started_at":1}',
        '{"pid":1,"port":99999,"token":"t","protocol":1,"version":"v","vault":"v","started_at":1}',
        '{"pid":-1,"port":80,"token":"t","protocol":1,"version":"v","vault":"v","started_at":1}',
    ],
)  # fmt: skip
def test_a_damaged_file_counts_as_none(places: Places, content: str) -> None:
    discovery.write(places, 4321, "t" * 64)
    places.discovery.write_text(content, "utf-8")
    assert discovery.read(places) is None
    assert connect(places) is None


def test_a_file_of_a_later_version_may_say_more(places: Places) -> None:
    written = discovery.write(places, 4321, "t" * 64)
    places.discovery.write_text(json.dumps({**written, "more": [1]}), "utf-8")
    assert discovery.read(places) == written


def test_152_a_daemon_removes_its_own_file_and_never_a_newer_ones(places: Places) -> None:
    discovery.write(places, 1, "old" * 20)
    discovery.write(places, 2, "new" * 20)
    discovery.remove(places, "old" * 20)
    found = discovery.read(places)
    assert found is not None
    assert found["port"] == 2
    discovery.remove(places, "new" * 20)
    assert not places.discovery.exists()
    discovery.remove(places, "new" * 20)


def check_alive(
    places: Places, monkeypatch: Any, *, health: bool, expected: bool, **change: Any
) -> None:
    found: Any = {**discovery.write(places, 4321, "t" * 64), **change}
    monkeypatch.setattr(discovery, "answers_health", lambda port: health)
    assert discovery.is_alive(found) is expected


def test_stale_files_are_recognised_by_pid_and_port(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_pid = max(psutil.pids()) + 100_000
    born = psutil.Process().create_time()
    check_alive(places, monkeypatch, health=True, expected=True)
    check_alive(places, monkeypatch, health=False, expected=False)
    check_alive(places, monkeypatch, health=True, expected=False, pid=free_pid)
    # the id belongs to a younger process now
    check_alive(places, monkeypatch, health=True, expected=False, started_at=born - 100)
