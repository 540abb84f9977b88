"""A drive that is mounted on a folder inside the vault, and goes; English and Chinese, words only."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest
from kept_index import Kept, found, wait_for

from sidelight.engine import Engine
from sidelight.indexing import mounts, out_of_reach
from sidelight.indexing.mounts import Mounts

NAMES = ("work", "工作/资料")


class Drive:
    """What is mounted on a folder of the vault: to `mounts` it lies on a device of its own."""

    def __init__(self, kept: Kept, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.name = name
        self._at, self._away = kept.vault / name, kept.data.with_name("drive")
        self.is_mounted = True
        real = mounts._device

        def device(place: Path) -> int | None:
            found = real(place)
            on_it = self.is_mounted and (place == self._at or self._at in place.parents)
            return found if found is None or not on_it else found + 1

        monkeypatch.setattr(mounts, "_device", device)

    def unmount(self) -> None:
        self.is_mounted = False
        shutil.copytree(self._at, self._away)
        for entry in self._at.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def mount(self) -> None:
        shutil.copytree(self._away, self._at, dirs_exist_ok=True)
        self.is_mounted = True


@pytest.fixture(params=NAMES)
def drive(request: pytest.FixtureRequest, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> Drive:
    monkeypatch.setattr(out_of_reach, "_FIRST_S", 0.1)
    monkeypatch.setattr(out_of_reach, "_CEILING_S", 0.2)
    kept.put("here.md", "marzipan 拿铁\n")
    kept.put(f"{request.param}/a.md", "thylacine 袋狼\n")
    kept.put(f"{request.param}/深/b.md", "a thylacine, 一只袋狼\n")
    return Drive(kept, request.param, monkeypatch)


def kept_notes(engine: Engine, drive: Drive) -> int:
    return len([path for path in engine._catalog.notes if path.startswith(drive.name + "/")])


def listed(engine: Engine) -> dict[str, str | None]:
    return {note.path: note.error for note in engine.failed_notes()}


def check_waits(engine: Engine, drive: Drive) -> None:
    assert kept_notes(engine, drive) == 2
    assert list(listed(engine)) == [drive.name]
    assert "not mounted" in str(listed(engine)[drive.name])
    assert "is kept" in str(listed(engine)[drive.name])


def test_notes_of_a_drive_that_is_away_at_the_start_stay_and_come_back(
    kept: Kept, drive: Drive
) -> None:
    kept.synced().close()
    drive.unmount()
    reader = kept.open(read_only=True)
    check_waits(reader, drive)
    assert reader.state().pending == 0
    engine = kept.watched()
    check_waits(engine, drive)
    assert found(engine, "marzipan") == ["here.md"]
    drive.mount()
    wait_for(lambda: listed(engine) == {})
    assert len(found(engine, "袋狼")) == 2
    kept.put(f"{drive.name}/深/b.md", "zugzwang 守拙\n")
    wait_for(lambda: found(engine, "守拙") == [f"{drive.name}/深/b.md"])
    kept.check_equals_fresh()


def test_a_drive_that_goes_while_it_is_watched_takes_no_notes_with_it(
    kept: Kept, drive: Drive
) -> None:
    engine = kept.watched()
    drive.unmount()  # with an event for each note, as the worst of systems might give
    wait_for(lambda: listed(engine))
    kept.put("here.md", "nougat 绿茶\n")
    wait_for(lambda: found(engine, "绿茶") == ["here.md"])
    assert kept_notes(engine, drive) == 2
    kept.synced()
    check_waits(kept.engines[-1], drive)


def test_a_drive_that_is_mounted_later_is_watched_from_then_on(
    kept: Kept, drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system tells neither of the drive nor, until it watches anew, of what is saved there."""
    drive.unmount()
    engine = kept.watched()
    restarts: list[object] = []
    monkeypatch.setattr(engine._watcher, "restart", restarts.append)
    drive.mount()
    engine._worker.rescan()
    wait_for(lambda: len(found(engine, "袋狼")) == 2 and restarts)
    engine._worker.rescan()
    wait_for(lambda: engine.state().pending == 0)
    assert len(restarts) == 1


@pytest.mark.parametrize("act", ["emptied", "deleted", "written"])
def test_a_folder_without_a_drive_is_what_it_shows(kept: Kept, drive: Drive, act: str) -> None:
    if act == "emptied":
        drive.is_mounted = False  # it never was: an ordinary folder
    kept.synced().close()
    drive.unmount()
    if act == "deleted":
        (kept.vault / drive.name).rmdir()
    if act == "written":
        kept.put(f"{drive.name}/new 新.md", "nougat 绿茶\n")
    engine = kept.synced()
    assert sorted(engine._catalog.notes) == sorted(
        ["here.md", *([f"{drive.name}/new 新.md"] if act == "written" else [])]
    )
    assert listed(engine) == {}


def test_a_link_to_another_drive_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault, other = tmp_path / "vault", tmp_path / "other"
    (other / "sub").mkdir(parents=True)
    vault.mkdir()
    try:
        (vault / "链接").symlink_to(other, target_is_directory=True)
    except OSError:
        pytest.skip("this system lets nobody make links")
    real = os.lstat

    def looked(place: Path) -> os.stat_result:
        status = real(place)
        if stat.S_ISLNK(status.st_mode) or "链接" not in str(place):
            return status
        values = list(status)
        values[stat.ST_DEV] += 1
        return os.stat_result(values)

    monkeypatch.setattr(mounts.os, "lstat", looked)
    known = Mounts(vault, tmp_path / "mounts.json")
    known.see(["链接/sub/a.md"])
    assert not (tmp_path / "mounts.json").exists()
