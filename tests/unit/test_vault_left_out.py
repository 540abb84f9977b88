"""What is left out is named, with a reason and a remedy: in `inspect`, `doctor` and status."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sidelight.cli.inspecting import inspect_note, render_inspection
from sidelight.config import Settings
from sidelight.errors import AccessError, NotFoundError
from sidelight.indexing.coverage import failed_notes
from sidelight.store.catalog import Catalog
from sidelight.types import Problem
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import scan
from sidelight.vault.left_out import REMEDIES

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs symlinks and FIFOs")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "库"
    folder.mkdir()
    (folder / "读.md").write_text("text", encoding="utf-8")
    return folder


def reason(vault: Path, path: str) -> str:
    with pytest.raises((AccessError, NotFoundError)) as caught:
        inspect_note(vault, path)
    assert caught.value.remedy
    return caught.value.message


def listed(vault: Path) -> dict[str, str]:
    """Vault paths that a scan reports, with the code of the problem."""
    problems: dict[str, str] = {}

    def report(path: str, problem: Problem) -> None:
        problems[path] = problem.code

    list(scan(vault, Exclusions(), Settings(), report))
    assert set(problems.values()) <= set(REMEDIES)
    return problems


@posix_only
def test_links_and_pipes_are_named_with_what_they_are(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "外").mkdir()
    (tmp_path / "外" / "x.md").write_text("secret", encoding="utf-8")
    (vault / "断.md").symlink_to(tmp_path / "gone.md")
    (vault / "out.md").symlink_to(tmp_path / "外" / "x.md")
    (vault / "folder").symlink_to(tmp_path / "外", target_is_directory=True)
    (vault / "picture.png").symlink_to(tmp_path / "gone.png")
    os.mkfifo(vault / "pipe.md")
    assert listed(vault) == {
        "断.md": "link-broken",
        "out.md": "link-not-followed",
        "folder": "link-not-followed",
        "pipe.md": "not-a-file",
    }
    assert "not there" in reason(vault, "断.md")
    assert "links are not followed" in reason(vault, "out.md")
    assert "links are not followed" in reason(vault, "folder/x.md")
    assert "pipe" in reason(vault, "pipe.md")


def test_a_large_a_hidden_and_an_excluded_note_say_why(vault: Path) -> None:
    (vault / ".sidelightignore").write_text("私密/\n", encoding="utf-8")
    (vault / "私密").mkdir()
    (vault / "私密" / "a.md").write_text("x", encoding="utf-8")
    (vault / "大.md").write_bytes(b"x" * (Settings().max_note_bytes + 1))
    assert "limit of 10 MB" in reason(vault, "大.md")
    assert "excluded" in reason(vault, "私密/a.md")
    assert "hidden" in reason(vault, ".trash/a.md")
    assert reason(vault, "none.md")
    assert reason(vault, "../x.md")


@posix_only
def test_a_name_with_a_line_ending_is_inspected(vault: Path) -> None:
    (vault / "一\n二.md").write_text("# 题\n", encoding="utf-8")
    seen = inspect_note(vault, "一\n二.md")
    assert seen["headings"][0]["text"] == "题"
    assert render_inspection(seen).split("\n")[0].startswith("一\\n二.md")


@posix_only
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_note_without_permission_says_so(vault: Path) -> None:
    (vault / "锁.md").write_text("x", encoding="utf-8")
    (vault / "锁.md").chmod(0)
    assert "ermission" in reason(vault, "锁.md")


def test_status_names_what_was_not_listed_and_rules_not_understood(vault: Path) -> None:
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "app.json").write_text("{", encoding="utf-8")
    (vault / ".sidelightignore").write_bytes(b"\xff\n")
    exclusions = Exclusions.load(vault, Settings(excluded=("a/***/[",)))
    unlisted = [
        ("日记", Problem("folder-unreadable", "Permission denied.")),
        ("folder", Problem("link-not-followed", "It is a link.")),
        ("note.md", Problem("link-broken", "It is a link.")),
    ]
    states = failed_notes(Catalog(), exclusions, {}, unlisted)
    named = {state.path: state.error or "" for state in states}
    assert {"日记", "note.md", ".obsidian/app.json", ".sidelightignore"} <= set(named)
    assert "folder" not in named
    assert all(". " in error and error.endswith(".") for error in named.values())
