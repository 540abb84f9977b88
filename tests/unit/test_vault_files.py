"""What the vault's listing holds, what is never read, and what sync services leave behind."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from sidelight.config import Settings
from sidelight.errors import AccessError, NotFoundError
from sidelight.types import Problem
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import is_note, read_note_bytes, scan, sync_conflict_original

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")


def fill(vault: Path, *paths: str) -> Path:
    for path in paths:
        file = vault.joinpath(*path.split("/"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text", "utf-8")
    return Path(os.path.realpath(vault))


def listed(vault: Path, settings: Settings | None = None) -> list[str]:
    settings = settings or Settings()
    return [entry.path for entry in scan(vault, Exclusions.load(vault, settings), settings)]


def test_listing_is_sorted_and_leaves_out_hidden_names(tmp_path: Path) -> None:
    vault = fill(
        tmp_path,
        "a.md",
        "b.md",
        "a/图.png",
        "a/甲.md",
        ".trash/x.md",
        ".obsidian/y.md",
        "a/.z.md",
        "B.base",
    )
    assert listed(vault) == ["B.base", "a.md", "a/图.png", "a/甲.md", "b.md"]


def test_renamed_configuration_folder_is_hidden_too(tmp_path: Path) -> None:
    vault = fill(tmp_path, "config/app.json", "config/x.md", "configs/y.md")
    (vault / "config" / "app.json").write_text('{"userIgnoreFilters": ["configs/"]}', "utf-8")
    settings = Settings(config_folder="config")
    assert listed(vault, settings) == ["configs/y.md"]
    assert Exclusions.load(vault, settings).excluded("configs/y.md")


@posix_only
def test_links_pipes_and_unreadable_folders_are_passed_over(tmp_path: Path) -> None:
    vault = fill(tmp_path / "vault", "a.md", "closed/b.md", "open/c.md")
    secret = fill(tmp_path / "outside", "secret.md")
    (vault / "link.md").symlink_to(secret / "secret.md")
    (vault / "folder").symlink_to(secret, target_is_directory=True)
    (vault / "loop").symlink_to(vault, target_is_directory=True)
    os.mkfifo(vault / "pipe.md")
    os.chmod(vault / "closed", 0)
    problems: list[tuple[str, Problem]] = []
    settings = Settings(followed_links=("folder", "loop"))
    found = [
        entry.path
        for entry in scan(
            vault, Exclusions(), settings, lambda path, problem: problems.append((path, problem))
        )
    ]
    os.chmod(vault / "closed", 0o700)
    readable_by_root = ["closed/b.md"] if os.geteuid() == 0 else []
    assert found == ["a.md", *readable_by_root, "folder/secret.md", "open/c.md"]
    codes = {path: problem.code for path, problem in problems}
    assert codes["loop"] == "folder-loop"
    assert readable_by_root or codes["closed"] == "folder-unreadable"
    assert listed(vault) == ["a.md", *readable_by_root, "open/c.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes any bytes as a name")
def test_names_of_any_bytes_and_both_compositions(tmp_path: Path) -> None:
    vault = fill(tmp_path, "é.md", unicodedata.normalize("NFD", "é.md"))
    with open(os.fsencode(vault) + b"/bad-\xff.md", "wb"):
        pass
    problems: list[str] = []
    found = list(scan(vault, Exclusions(), Settings(), lambda _, p: problems.append(p.code)))
    assert len({entry.path for entry in found}) == 2
    assert problems == ["name-undecodable"]


def test_cloud_files_are_marked_and_their_stubs_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = fill(tmp_path, "here.md", ".云端.md.icloud")
    entries = {entry.path: entry.placeholder for entry in scan(vault, Exclusions(), Settings())}
    assert entries == {"here.md": False, "云端.md": True}
    monkeypatch.setattr("sidelight.vault.files.is_placeholder", lambda status: status.st_size > 0)
    entries = {entry.path: entry.placeholder for entry in scan(vault, Exclusions(), Settings())}
    assert entries["here.md"] is True


# ---------------------------------------------------------------------- exclusions


def exclusions(vault: Path, filters: object = None, ignore: str = "", *own: str) -> Exclusions:
    (vault / ".obsidian").mkdir(exist_ok=True)
    content = json.dumps({"userIgnoreFilters": filters})
    (vault / ".obsidian" / "app.json").write_text(content, "utf-8")
    (vault / ".sidelightignore").write_text(ignore, "utf-8")
    return Exclusions.load(vault, Settings(excluded=own))


def test_obsidians_own_filters_are_prefixes_and_expressions(tmp_path: Path) -> None:
    rules = exclusions(tmp_path, ["Archive/", "模板", "/^日记\\/2023/", "/[broken/", "", 3])
    assert rules.excluded("Archive/x.md")
    assert rules.excluded("archive/x.md")
    assert rules.excluded("模板/甲.md")
    assert rules.excluded("日记/2023-01-01.md")
    assert not rules.excluded("日记/2024-01-01.md")
    assert not rules.excluded("My Archive/x.md")
    assert [problem.code for problem in rules.problems] == ["exclusion-invalid"]


def test_ignore_file_has_gitignore_syntax(tmp_path: Path) -> None:
    rules = exclusions(tmp_path, None, "# c\nprivate/\n*.私.md\n!keep.私.md\n", "drafts/**")
    assert rules.excluded("a/private/x.md")
    assert rules.excluded("甲.私.md")
    assert not rules.excluded("keep.私.md")
    assert rules.excluded("drafts/a/b.md")
    assert not rules.excluded("private.md")


@pytest.mark.parametrize("content", ["{", "[]", '{"userIgnoreFilters": 1}', "\ufeff{}"])
def test_unreadable_app_json_excludes_nothing_and_is_named(tmp_path: Path, content: str) -> None:
    exclusions(tmp_path)
    (tmp_path / ".obsidian" / "app.json").write_text(content, "utf-8")
    rules = Exclusions.load(tmp_path, Settings())
    assert not rules.excluded("a.md")
    assert [p.code for p in rules.problems] == (["app-json-unreadable"] if content == "{" else [])


def test_excluded_files_stay_in_the_listing_as_names(tmp_path: Path) -> None:
    vault = fill(tmp_path, "Archive/旧.md", "a.md")
    rules = exclusions(vault, ["Archive/"])
    found = [entry.path for entry in scan(vault, rules, Settings())]
    assert found == ["Archive/旧.md", "a.md"]
    assert [path for path in found if not rules.excluded(path)] == ["a.md"]


# -------------------------------------------------------------------------- reading


def test_reading_gives_the_bytes_up_to_the_limit(tmp_path: Path) -> None:
    vault = fill(tmp_path, "日记/甲.md")
    assert read_note_bytes(vault, "日记/甲.md", 100) == b"text"
    with pytest.raises(AccessError):
        read_note_bytes(vault, "日记/甲.md", 3)
    with pytest.raises(NotFoundError):
        read_note_bytes(vault, "日记/乙.md", 100)
    with pytest.raises(NotFoundError):
        read_note_bytes(vault, "日记/甲.md/x.md", 100)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x.md", "a/../../x.md", "a\0.md", "日记"])
def test_paths_that_leave_the_vault_or_are_no_file_are_refused(tmp_path: Path, path: str) -> None:
    vault = fill(tmp_path / "v", "日记/甲.md")
    fill(tmp_path, "x.md")
    with pytest.raises(AccessError):
        read_note_bytes(vault, path, 100)


@posix_only
def test_a_note_that_links_outside_is_refused_unless_its_folder_is_followed(
    tmp_path: Path,
) -> None:
    vault = fill(tmp_path / "vault", "a.md")
    outside = fill(tmp_path / "outside", "机密.md")
    (vault / "l.md").symlink_to(outside / "机密.md")
    (vault / "f").symlink_to(outside, target_is_directory=True)
    for path in ("l.md", "f/机密.md"):
        with pytest.raises(AccessError):
            read_note_bytes(vault, path, 100)
    assert read_note_bytes(vault, "f/机密.md", 100, ("f",)) == b"text"
    (outside / "again.md").symlink_to(tmp_path / "vault" / "a.md")
    with pytest.raises(AccessError):
        read_note_bytes(vault, "f/again.md", 100, ("f",))


def test_only_notes_and_canvases_are_parsed() -> None:
    names = ["a.md", "A.MD", "图.canvas", "b.base", "c.png", "md"]
    assert [is_note(name) for name in names] == [True, True, True, False, False, False]


# ------------------------------------------------------------------------ conflicts


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("a/Note.sync-conflict-20240131-101500-ABCDEFG.md", "a/Note.md"),
        ("笔记.sync-conflict-20240131-101500.md", "笔记.md"),
        ("Note (Anna's conflicted copy 2024-01-31).md", "Note.md"),
        ("笔记 (Anna 的冲突副本 2024-01-31).md", "笔记.md"),
        ("Note (Conflicted copy MacBook 202401311015).md", "Note.md"),
        ("Note (Anna (work)'s conflicted copy 2024-01-31) (1).md", "Note.md"),
        ("笔记（张三（家）的冲突副本 2024-01-31）(1).md", "笔记.md"),
        ("筆記 (張三 的衝突複本 2024-01-31).md", "筆記.md"),
        ("Note (James’ conflicted copy 2024-01-31 (1)).md", "Note.md"),
        ("Note (conflicted copy 2024-01-31 101500).md", "Note.md"),
        ("Note (conflicted copy Anna 2024-01-31 101500).md", "Note.md"),
        ("笔记 (冲突副本 MacBook 202401311015).md", "笔记.md"),
        ("笔记（张三的冲突文件 2024-01-31 10-15-00）.md", "笔记.md"),
        ("笔记(冲突副本2024-01-31).md", "笔记.md"),
        ("Git (how a conflicted copy arises).md", None),
        ("Git (how a conflicted copy arises 2024-01-31).md", None),
        ("Git (2024-01-31 on conflicted copy names).md", None),
        ("Git (conflicted copy cleanup 2024-01-31).md", None),
        ("Note (Anna's conflicted copy).md", None),
        ("面试（冲突文件处理办法）.md", None),
        ("面试（冲突文件处理办法 2024-01-31）.md", None),
        ("面试（2024-01-31 的冲突文件处理）.md", None),
        ("笔记 (张三的冲突副本).md", None),
        ("a-MacBook's conflict.md", None),
        ("Note (Case Conflict).md", None),
        ("Note_conflict-20240131-101500.md", "Note.md"),
        ("Border-conflict.md", None),
        ("Meeting (conflict of interest).md", None),
        ("战争 (冲突与和平).md", None),
        ("Conflict.md", None),
        ("The conflict in the East.md", None),
        ("冲突.md", None),
        ("Note.md", None),
        ("Note 2.md", None),
        ("noext", None),
    ],
)
def test_conflict_copies_name_their_original(copy: str, original: str | None) -> None:
    assert sync_conflict_original(copy) == original


def test_numbered_copy_counts_only_beside_its_original() -> None:
    there = {"a/笔记.md", "a/笔记 2.md"}
    assert sync_conflict_original("a/笔记 2.md", there.__contains__) == "a/笔记.md"
    assert sync_conflict_original("a/Chapter 2.md", there.__contains__) is None
    assert sync_conflict_original("a/笔记-LAPTOP-conflict.md", there.__contains__) == "a/笔记.md"
    assert sync_conflict_original("a/笔记 (Case Conflict 1).md", there.__contains__) == "a/笔记.md"
    assert sync_conflict_original("a/笔记 (大小写冲突).md", there.__contains__) == "a/笔记.md"
    assert sync_conflict_original("a/边境 (大小写冲突).md", there.__contains__) is None
    assert sync_conflict_original("a/边境-conflict.md", there.__contains__) is None


def test_words_about_conflicts_make_a_copy_only_beside_its_original() -> None:
    there = {"a/笔记.md", "a/Git.md", "a/MacBook's.md"}
    found = {
        "a/笔记（冲突文件处理办法）.md": "a/笔记.md",
        "a/笔记 (张三的冲突副本).md": "a/笔记.md",
        "a/Git (Anna's conflicted copy).md": "a/Git.md",
        "a/Git-MacBook's conflict.md": "a/Git.md",
        "a/笔记-小王's conflict.md": "a/笔记.md",
        "a/MacBook's conflict.md": None,
        "a/Hg-MacBook's conflict.md": None,
        "a/Hg (how a conflicted copy arises).md": None,
        "a/面试（冲突文件处理办法）.md": None,
        "a/Hg (Anna's conflicted copy 2024-01-31).md": "a/Hg.md",
    }
    assert {path: sync_conflict_original(path, there.__contains__) for path in found} == found


def test_expression_that_would_take_for_ever_does_not(tmp_path: Path) -> None:
    settings = tmp_path / ".obsidian"
    settings.mkdir()
    filters = ["/^(a+)+$/", "/(?=秘密)秘/", "/Private\\d/"]
    (settings / "app.json").write_text(json.dumps({"userIgnoreFilters": filters}), "utf-8")
    exclusions = Exclusions.load(tmp_path, Settings())
    assert not exclusions.excluded("a" * 40 + "!.md")  # Python's own engine needs days
    assert exclusions.excluded("日记/秘密.md"), "looking around still excludes"
    assert exclusions.excluded("private7/x.md")
    assert exclusions.problems == ()


# --------------------------------------------------------------------------- odd rules


def rules(vault: Path, ignore: str = "", filters: Any = ()) -> Exclusions:
    (vault / ".obsidian").mkdir(exist_ok=True)
    (vault / ".obsidian" / "app.json").write_text(
        json.dumps({"userIgnoreFilters": list(filters)}), "utf-8"
    )
    (vault / ".sidelightignore").write_text(ignore, "utf-8")
    return Exclusions.load(vault, Settings())


def test_a_rule_that_is_not_understood_is_named_and_leaves_the_others(tmp_path: Path) -> None:
    nested = "/" + "(" * 5_000 + "(?=a)" + ")" * 5_000 + "/"
    exclusions = rules(
        tmp_path,
        "[z-a].md\na[!b-a]\n私人/\nPrivate/\n",
        ["/(?=a)x{99999999999999999999}/", nested, "/(/", "日记/"],
    )
    assert [(place, problem.code) for place, problem in exclusions.faults] == [
        (".obsidian/app.json", "exclusion-invalid")
    ] * 3 + [(".sidelightignore", "exclusion-invalid")] * 2
    assert all(len(problem.message) < 200 for problem in exclusions.problems)
    for path in ("私人/a.md", "Private/a.md", "日记/a.md"):
        assert exclusions.excluded(path)
    assert not exclusions.excluded("a.md")


def test_classes_of_gitignore_are_known(tmp_path: Path) -> None:
    exclusions = rules(tmp_path, "[[:digit:]].md\n笔记[![:alpha:]_]/\n")
    assert exclusions.problems == ()
    assert [p for p in ("1.md", "a.md", "笔记1/x", "笔记a/x") if exclusions.excluded(p)] == [
        "1.md",
        "笔记1/x",
    ]


def test_a_rule_means_both_ways_to_write_an_accent(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        exclusions = rules(
            tmp_path,
            unicodedata.normalize(form, "Résumé/\n"),
            [unicodedata.normalize(form, text) for text in ("Café/", "/über$/", "バ/")],
        )
        for path in ("Résumé/a.md", "Café/a.md", "x/über", "バ/a.md"):
            for spelled in ("NFC", "NFD"):
                assert exclusions.excluded(unicodedata.normalize(spelled, path)), (form, path)
        assert not exclusions.excluded("Cafe/a.md")


def test_only_line_ends_end_a_rule(tmp_path: Path) -> None:
    exclusions = rules(tmp_path, "私\u2028x/\r\nb/\rc/\n")
    assert [p for p in ("私/a", "x/a", "b/a", "c/a", "私\u2028x/a") if exclusions.excluded(p)] == [
        "b/a",
        "c/a",
        "私\u2028x/a",
    ]


def test_files_of_rules_that_are_none_are_named(tmp_path: Path) -> None:
    rules(tmp_path)
    (tmp_path / ".obsidian" / "app.json").write_text("[" * 100_000, "utf-8")
    (tmp_path / ".sidelightignore").unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / ".sidelightignore")
    else:
        (tmp_path / ".sidelightignore").write_bytes(b"\xff\xfe\x00")
    assert [problem.code for problem in Exclusions.load(tmp_path, Settings()).problems] == [
        "app-json-unreadable",
        "ignore-unreadable",
    ]
