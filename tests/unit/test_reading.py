"""Reading inside the vault, and grep over it; the attacks come again over the wire."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sidelight.errors import AccessError, CancelledError, NotFoundError, UsageError
from sidelight.vault import grep as grep_module
from sidelight.vault import reading
from sidelight.vault.grep import grep
from sidelight.vault.reading import read_inside, safe_path

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX file types")
BOTH = pytest.mark.parametrize("ripgrep", [True, False], ids=["ripgrep", "re2"])


class Nothing:
    """Leaves out what begins with a dot."""

    def excluded(self, path: str) -> bool:
        return path.startswith(".")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path)) / "vault"
    real.mkdir()
    return real


def write(vault: Path, path: str, text: str | bytes) -> str:
    place = vault / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_notes_are_read_in_any_script(vault: Path) -> None:
    for path in ("Note.md", "目录/笔记 ☕.md", "a b/c'd.canvas"):
        write(vault, path, "内容 text")
        assert safe_path(vault, path, Nothing()) == vault / path
        assert read_inside(vault, path, Nothing(), 100) == "内容 text".encode()


def test_a_file_over_the_limit_is_refused(vault: Path) -> None:
    write(vault, "Big.md", "x" * 101)
    assert len(read_inside(vault, "Big.md", Nothing(), 101)) == 101
    with pytest.raises(AccessError):
        read_inside(vault, "Big.md", Nothing(), 100)


@POSIX
def test_followed_links_lead_out_of_the_vault_and_no_further(vault: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    write(shared, "Note.md", "shared")
    write(tmp_path, "Secret.md", "secret")
    (shared / "Out.md").symlink_to(tmp_path / "Secret.md")
    (vault / "shared").symlink_to(shared)
    with pytest.raises(AccessError):
        safe_path(vault, "shared/Note.md", Nothing())
    assert read_inside(vault, "shared/Note.md", Nothing(), 100, ["shared"]) == b"shared"
    assert read_inside(vault, "shared/Note.md", Nothing(), 100, ["/shared/"]) == b"shared"
    for path, followed in (("shared/Out.md", ["shared"]), ("shared/Note.md", ["share"])):
        with pytest.raises(AccessError):
            read_inside(vault, path, Nothing(), 100, followed)


@POSIX
def test_a_link_put_in_between_check_and_opening_is_refused(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = write(tmp_path, "Secret.md", "secret")
    write(vault, "Note.md", "fine")
    real = reading.safe_path

    def swap(*args: Any) -> Path:
        place = real(*args)
        place.unlink()
        place.symlink_to(tmp_path / secret)
        return place

    monkeypatch.setattr(reading, "safe_path", swap)
    with pytest.raises(AccessError):
        read_inside(vault, "Note.md", Nothing(), 100)


@POSIX
def test_a_fifo_put_in_between_is_refused_without_waiting(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(vault, "Note.md", "fine")
    real = reading.safe_path

    def swap(*args: Any) -> Path:
        place = real(*args)
        place.unlink()
        os.mkfifo(place)
        return place

    monkeypatch.setattr(reading, "safe_path", swap)
    with pytest.raises(AccessError):
        read_inside(vault, "Note.md", Nothing(), 100)


def fold_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that finds names in any case, as on Windows and macOS."""
    real = os.lstat

    def lstat(path: Any) -> os.stat_result:
        place = Path("/")
        for part in Path(path).parts[1:]:
            names = os.listdir(place) if place.is_dir() else []
            same = (name for name in names if name.casefold() == part.casefold())
            place = place / (part if part in names else next(same, part))
        return real(place)

    monkeypatch.setattr(os, "lstat", lstat)


def test_another_case_is_refused_where_the_file_system_takes_it(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(vault, "Private/Note.md", "x")
    with pytest.raises(NotFoundError):
        safe_path(vault, "private/Note.md", Nothing())
    fold_case(monkeypatch)
    assert safe_path(vault, "Private/Note.md", Nothing())
    for path in ("private/Note.md", "PRIVATE/Note.md", "Private/NOTE.md", "Private/note.md"):
        with pytest.raises(AccessError):
            safe_path(vault, path, Nothing())


@pytest.mark.parametrize(
    "name",
    ["CON", "con.md", "NUL.md", "com1.md", "COM¹.md", "lpt9", "aux .md", "note.md:stream",
     "note.md::$DATA", "note.md.", "note.md ", "CONIN$"],
)  # fmt: skip
def test_names_that_windows_does_not_take_as_they_stand(name: str) -> None:
    assert not reading._plain_on_windows(name)


@pytest.mark.parametrize("name", ["note.md", "console.md", "第1章.md", ".md", "nullable", "a.con"])
def test_names_that_windows_takes(name: str) -> None:
    assert reading._plain_on_windows(name)


@POSIX
def test_a_file_without_permission_is_refused(vault: Path) -> None:
    if os.geteuid() == 0:
        os.mkfifo(vault / "Note.md")  # root may read any file: another kind then
    else:
        write(vault, "Note.md", "x")
        (vault / "Note.md").chmod(0)
    with pytest.raises(AccessError):
        read_inside(vault, "Note.md", Nothing(), 100)
    assert stat.S_IMODE(os.lstat(vault / "Note.md").st_mode) != 0o777


# --------------------------------------------------------------------------- grep


def check_grep(vault: Path, expected: list[tuple[str, int, str]], pattern: str, **how: Any) -> None:
    paths = [p.relative_to(vault).as_posix() for p in vault.rglob("*") if p.is_file()]
    found, truncated = grep(vault, paths, pattern, **how)
    assert found == expected
    assert truncated is False


@BOTH
def test_grep_finds_lines_by_path_and_line(vault: Path, ripgrep: bool) -> None:
    write(vault, "b.md", "one\ntwo 豆子\nthree 豆子\n")
    write(vault, "a/z.md", "豆子\r\nnothing\r\n再来豆子\r\n")
    write(vault, "a.md", "无\n")
    write(vault, "中文/笔记.md", "\ufeff豆子 first\nlast 豆子")
    check_grep(
        vault,
        [
            ("a/z.md", 1, "豆子"),
            ("a/z.md", 3, "再来豆子"),
            ("b.md", 2, "two 豆子"),
            ("b.md", 3, "three 豆子"),
            ("中文/笔记.md", 1, "豆子 first"),
            ("中文/笔记.md", 2, "last 豆子"),
        ],
        "豆子",
        ripgrep=ripgrep,
    )


@BOTH
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"^\w+子$", "咖啡豆子"),
        (r"\d{2}:\d{2}", "at 12:30"),
        (r"[\w-]+@[\w.]+", "mail 张三@example.com"),
        (r"a\s+b$", "a  b"),
        (r"(?i)HELLO", "Hello"),
        (r"\bbeans\b", "two beans here"),
        (r"[^\x00-\x7F]{4}", "咖啡豆子"),
        (r"^$", ""),
    ],
)
def test_expressions_mean_the_same_in_both_engines(
    vault: Path, ripgrep: bool, pattern: str, expected: str
) -> None:
    text = "咖啡豆子\r\nat 12:30\nmail 张三@example.com\na  b\nHello\ntwo beans here\n\nbeansx"
    write(vault, "n.md", text)
    found, _ = grep(vault, ["n.md"], pattern, True, ripgrep=ripgrep)
    assert expected in [line for _, _, line in found]


@BOTH
def test_plain_text_is_plain_and_case_matters(vault: Path, ripgrep: bool) -> None:
    write(vault, "n.md", "a.b*c [[x]] $\nA.B\naxb\n-e x\n")
    check_grep(vault, [("n.md", 1, "a.b*c [[x]] $")], "a.b*c [[x]] $", ripgrep=ripgrep)
    check_grep(vault, [("n.md", 4, "-e x")], "-e x", ripgrep=ripgrep)
    check_grep(vault, [], "a\nb", ripgrep=ripgrep)


@BOTH
def test_lone_carriage_returns_end_lines(vault: Path, ripgrep: bool) -> None:
    write(vault, "mac.md", "one\rtwo beans\rthree\r\nfour beans")
    expected = [("mac.md", 2, "two beans"), ("mac.md", 4, "four beans")]
    check_grep(vault, expected, "beans", ripgrep=ripgrep)


@BOTH
def test_form_feeds_and_unicode_line_separators_end_no_line(vault: Path, ripgrep: bool) -> None:
    write(vault, "n.md", "a\u2028b\x0c\x85c\nbeans\x00\n")
    check_grep(vault, [("n.md", 2, "beans\ufffd")], "beans", ripgrep=ripgrep)


@BOTH
def test_bytes_that_are_no_text_do_not_stop_grep(vault: Path, ripgrep: bool) -> None:
    write(vault, "n.md", b"\x80\xff beans\n\x80\n")
    write(vault, "utf16.md", "一\r\n二 beans\r\n".encode("utf-16"))
    expected = [("n.md", 1, "\ufffd\ufffd beans"), ("utf16.md", 2, "二 beans")]
    check_grep(vault, expected, "beans", ripgrep=ripgrep)


@BOTH
def test_a_long_line_is_cut_around_the_match(vault: Path, ripgrep: bool) -> None:
    write(vault, "n.md", "甲" * 200_000 + "豆子" + "乙" * 200_000)
    ((_, line, text),), _ = grep(vault, ["n.md"], "豆子", ripgrep=ripgrep)
    assert line == 1
    assert "豆子" in text
    assert len(text) <= grep_module.MAX_LINE_CHARS


@BOTH
def test_the_limit_says_that_there_is_more(vault: Path, ripgrep: bool) -> None:
    write(vault, "n.md", "豆\n" * 10)
    found, truncated = grep(vault, ["n.md"], "豆", limit=3, ripgrep=ripgrep)
    assert ([line for _, line, _ in found], truncated) == ([1, 2, 3], True)
    found, truncated = grep(vault, ["n.md"], "豆", limit=10, ripgrep=ripgrep)
    assert (len(found), truncated) == (10, False)


@BOTH
@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.md", ["a.md", "x/a.md", "x/y/b.md"]),
        ("a.*", ["a.md", "x/a.md"]),
        ("x/*", ["x/a.md"]),
        ("x/**", ["x/a.md", "x/y/b.md"]),
        ("x/", ["x/a.md", "x/y/b.md"]),
        ("**/b.md", ["x/y/b.md"]),
        ("/a.md", ["a.md"]),
        ("?.md", ["a.md", "x/a.md", "x/y/b.md"]),
        ("[a].md", []),
        ("A.md", []),
    ],
)
def test_path_globs(vault: Path, ripgrep: bool, glob: str, expected: list[str]) -> None:
    paths = [write(vault, path, "豆") for path in ("a.md", "x/a.md", "x/y/b.md")]
    found, _ = grep(vault, paths, "豆", path_glob=glob, ripgrep=ripgrep)
    assert [path for path, _, _ in found] == expected


@BOTH
def test_only_the_paths_that_were_named_are_shown(vault: Path, ripgrep: bool) -> None:
    write(vault, "other.md", "豆")
    write(vault, ".hidden/x.md", "豆")
    assert grep(vault, [write(vault, "a.md", "豆")], "豆", ripgrep=ripgrep)[0] == [
        ("a.md", 1, "豆")
    ]


@POSIX
@BOTH
def test_a_named_path_that_became_a_link_out_is_not_shown(
    vault: Path, tmp_path: Path, ripgrep: bool
) -> None:
    write(tmp_path, "Secret.md", "豆 secret")
    (vault / "a.md").symlink_to(tmp_path / "Secret.md")
    os.mkfifo(vault / "b.md")
    assert grep(vault, ["a.md", "b.md"], "豆", ripgrep=ripgrep)[0] == []


@POSIX
@BOTH
def test_followed_folders_are_searched(vault: Path, tmp_path: Path, ripgrep: bool) -> None:
    write(tmp_path / "shared", "n.md", "豆")
    (vault / "shared").symlink_to(tmp_path / "shared")
    how: Any = {"followed": ["shared/"], "ripgrep": ripgrep}
    assert grep(vault, ["shared/n.md"], "豆", **how)[0] == [("shared/n.md", 1, "豆")]


@BOTH
@pytest.mark.parametrize("pattern", ["(", "[z-a]", "(?<=x)y", r"(x)\1", "*"])
def test_expressions_that_cannot_be_used(vault: Path, ripgrep: bool, pattern: str) -> None:
    write(vault, "n.md", "x")
    with pytest.raises(UsageError, match="cannot be used"):
        grep(vault, ["n.md"], pattern, True, ripgrep=ripgrep)
    with pytest.raises(UsageError, match="empty"):
        grep(vault, ["n.md"], "", True, ripgrep=ripgrep)


@BOTH
def test_grep_can_be_cancelled(vault: Path, ripgrep: bool) -> None:
    paths = [write(vault, f"{n}.md", "x" * 10_000) for n in range(50)]
    with pytest.raises(CancelledError):
        grep(vault, paths, "豆", cancelled=lambda: True, ripgrep=ripgrep)


@BOTH
def test_grep_stops_in_time_and_says_so(vault: Path, ripgrep: bool) -> None:
    paths = [write(vault, f"{n}.md", "x" * 100_000) for n in range(300)]
    started = time.perf_counter()
    _, truncated = grep(vault, paths, "(x+x+)+y", True, time_limit_s=0.05, ripgrep=ripgrep)
    assert truncated
    assert time.perf_counter() - started < 4


@BOTH
def test_grep_leaves_no_process_or_thread_behind(vault: Path, ripgrep: bool) -> None:
    import psutil

    write(vault, "n.md", "豆\n" * 5_000)
    for _ in range(3):
        grep(vault, ["n.md"], "豆", limit=2, ripgrep=ripgrep)
    assert not [child for child in psutil.Process().children() if "rg" in child.name()]
    assert not [thread for thread in threading.enumerate() if thread.name == "grep-watch"]


@POSIX
def test_a_program_inside_the_vault_is_never_run(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = grep_module._ripgrep(vault)
    marker = tmp_path / "ran"
    for folder in (vault / "bin", tmp_path / "links"):
        folder.mkdir()
    (vault / "bin" / "rg").write_text(f"#!/bin/sh\ntouch {marker}\n", "utf-8")
    (vault / "bin" / "rg").chmod(0o755)
    (tmp_path / "links" / "rg").symlink_to(vault / "bin" / "rg")
    hostile = [".", "", "bin", str(vault / "bin"), str(tmp_path / "links")]
    monkeypatch.setenv("PATH", os.pathsep.join(hostile))
    monkeypatch.chdir(vault)
    monkeypatch.setattr(grep_module.sysconfig, "get_path", lambda name: str(vault / "bin"))
    assert grep_module._ripgrep(vault) is None
    write(vault, "n.md", "豆")
    assert grep(vault, ["n.md"], "豆")[0] == [("n.md", 1, "豆")]
    assert not marker.exists()
    assert found is None or not Path(found).is_relative_to(vault)
