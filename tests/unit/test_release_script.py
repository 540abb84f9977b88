"""What `scripts/release.py` refuses, and what it makes."""

from __future__ import annotations

import datetime
import json
import shutil
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from test_scripts import load, start

ROOT = Path(__file__).resolve().parents[2]
CHECKED = ("manifest.json", "versions.json", "package.json", "pyproject.toml", "CHANGELOG.md")


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load("release", monkeypatch)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in (*CHECKED, "LICENSE", "README.md"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def built(folder: Path, main: str = 'const v = "0.1.0";') -> Path:
    folder.mkdir()
    (folder / "main.js").write_text(main, encoding="utf-8")
    (folder / "styles.css").write_text(".a {}", encoding="utf-8")
    shutil.copyfile(ROOT / "manifest.json", folder / "manifest.json")
    return folder


def change(file: Path, **values: Any) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    content.update(values)
    file.write_text(json.dumps(content), encoding="utf-8")


def test_the_repository_is_ready(release: ModuleType) -> None:
    assert list(release.source_problems(ROOT)) == []
    assert start("release.py", "--check").returncode == 0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"version": "v0.2"}, "'version' must have the form"),
        ({"minAppVersion": "1.13"}, "'minAppVersion' must have the form"),
        ({"id": "obsidian-sidelight"}, "'id' must not hold the word 'obsidian'"),
        ({"name": "Sidelight Plugin"}, "'name' must not hold the word 'plugin'"),
        ({"description": "short."}, "10 to 250"),
        ({"description": "No full stop at the end of it"}, "full stop"),
        ({"description": "在仓库里查找证据，并打开所在的行。"}, "plain text"),
        ({"isDesktopOnly": False}, "'isDesktopOnly' must be true"),
        ({"token": "x"}, "'token', which Obsidian does not know"),
    ],
)
def test_what_the_directory_refuses_is_named(
    release: ModuleType, checkout: Path, values: dict[str, Any], expected: str
) -> None:
    change(checkout / "manifest.json", **values)
    assert expected in "\n".join(release.source_problems(checkout))


def test_versions_that_do_not_fit_together_are_named(release: ModuleType, checkout: Path) -> None:
    change(checkout / "manifest.json", version="0.2.0")
    assert "must map 0.2.0" in "\n".join(release.source_problems(checkout))
    change(checkout / "manifest.json", version="0.1.0")
    change(checkout / "versions.json", **{"0.3.0": "1.13.0"})
    assert "knows 0.3.0" in "\n".join(release.source_problems(checkout))
    change(checkout / "package.json", version="9.9.9")
    assert "version of its own" in "\n".join(release.source_problems(checkout))


def test_setting_a_version_writes_it_everywhere_and_once(
    release: ModuleType, checkout: Path
) -> None:
    day = datetime.date(2026, 12, 1)
    assert release.set_version(checkout, "0.2.0", day) == ""
    assert release.set_version(checkout, "0.2.0", day) == ""
    assert list(release.source_problems(checkout)) == []
    versions = json.loads((checkout / "versions.json").read_text(encoding="utf-8"))
    assert versions == {"0.1.0": "1.13.0", "0.2.0": "1.13.0"}
    changelog = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    assert changelog.count("## [0.2.0] - 2026-12-01") == 1
    assert changelog.index("[Unreleased]") < changelog.index("[0.2.0]")
    assert "is older" in release.set_version(checkout, "0.1.9", day)
    assert "is no version" in release.set_version(checkout, "v1", day)


@pytest.mark.parametrize(
    ("main", "expected"),
    [
        ('"0.1.0"; eval("1")', "eval("),
        ('"0.1.0"\n//# sourceMappingURL=main.js.map', "sourceMappingURL"),
        ('"0.1.0"' + " " * 150_000, "the limit is 150000"),
        ('"0.0.9"', "another version"),
    ],
)
def test_built_files_that_a_review_refuses_are_named(
    release: ModuleType, tmp_path: Path, main: str, expected: str
) -> None:
    dist = built(tmp_path / "dist", main)
    assert expected in "\n".join(release.file_problems(dist, ROOT))


def test_the_same_files_make_the_same_archive(release: ModuleType, tmp_path: Path) -> None:
    dist = built(tmp_path / "dist")
    assert list(release.file_problems(dist, ROOT)) == []
    archives = []
    for name in ("one", "two"):
        folder = release.collect(dist, tmp_path / name)
        archives.append((folder / "sidelight-0.1.0.zip").read_bytes())
    assert archives[0] == archives[1]
    assert sorted(f.name for f in (tmp_path / "one").iterdir()) == sorted(
        [*release.FILES, "sidelight-0.1.0.zip"]
    )
    with zipfile.ZipFile(tmp_path / "one" / "sidelight-0.1.0.zip") as archive:
        assert archive.namelist() == [f"sidelight/{name}" for name in release.FILES]
