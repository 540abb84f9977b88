"""Which daemon stays when a second one starts: the newer, and it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sidelight import daemon
from sidelight.config import PROTOCOL, Places, open_vault, places_for
from sidelight.errors import BridgeError

OURS = "1.10.0"


@pytest.fixture
def places(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    del isolated_home
    vault = tmp_path / "我的 vault"
    vault.mkdir()
    monkeypatch.setattr(daemon.discovery, "installed_version", lambda: OURS)
    monkeypatch.setattr(daemon.discovery, "is_alive", lambda _: True)
    return places_for(open_vault(vault), tmp_path / "data")


def running(monkeypatch: pytest.MonkeyPatch, version: str, protocol: int = PROTOCOL) -> list[Any]:
    """A daemon of that version; what was asked to leave."""
    asked: list[Any] = []
    found = {"pid": 4711, "port": 9, "token": "t", "version": version, "protocol": protocol}
    monkeypatch.setattr(daemon.discovery, "read", lambda _: found)
    monkeypatch.setattr(daemon, "retire", lambda who, _: asked.append(who) or True)
    return asked


@pytest.mark.parametrize(
    ("version", "protocol"), [("1.9.12", PROTOCOL), ("0.3", PROTOCOL), ("1.10.0", PROTOCOL - 1)]
)
def test_an_older_daemon_is_asked_to_leave(
    places: Places, monkeypatch: pytest.MonkeyPatch, version: str, protocol: int
) -> None:
    asked = running(monkeypatch, version, protocol)
    assert daemon._make_room(places)
    assert len(asked) == 1


@pytest.mark.parametrize("version", ["1.10.0", "1.10.1", "2.0"])
def test_one_of_this_version_or_a_newer_one_stays(
    places: Places, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    asked = running(monkeypatch, version)
    with pytest.raises(BridgeError, match="4711") as refused:
        daemon._make_room(places)
    assert refused.value.code == "ALREADY_RUNNING"
    assert asked == []


def test_an_older_one_that_does_not_leave_is_named(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    running(monkeypatch, "1.0.0")
    monkeypatch.setattr(daemon, "retire", lambda *_: False)
    with pytest.raises(BridgeError, match="does not leave") as refused:
        daemon._make_room(places)
    assert "4711" in refused.value.remedy


def test_where_none_runs_there_is_room(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon.discovery, "read", lambda _: None)
    assert not daemon._make_room(places)
