"""Citing from files as they are now: read once, unsaved, vanished, locked, elsewhere, half there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from sidelight.query import cite as stage
from sidelight.query.cite import LiveFiles, cite
from sidelight.types import Citation, CitationStatus, Passage, PassageKind

TEXT = "# 港口 Harbour\n\nThe gate closes at nine.\n\n大门九点关闭。\n"
PASSAGE = Passage(
    PassageKind.LINES, ("港口 Harbour",), 3, 3, None, None, "The gate closes at nine."
)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "Note.md").write_text(TEXT, "utf-8", newline="")
    return Path(os.path.realpath(tmp_path))


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def cited(files: LiveFiles, path: str = "Note.md", indexed: str = TEXT) -> Citation:
    return cite(PASSAGE, sha(indexed), indexed.encode, files.get(path))


def test_the_same_bytes_are_fresh_and_no_snapshot_is_asked_for(vault: Path) -> None:
    def refuse() -> bytes:
        raise AssertionError("the snapshot is not needed")

    got = cite(PASSAGE, sha(TEXT), refuse, LiveFiles(vault, 10_000).get("Note.md"))
    assert (got.status, got.start_line, got.file_hash) == (CitationStatus.FRESH, 3, sha(TEXT))
    assert got.text == PASSAGE.text


def test_a_changed_file_gives_its_own_hash_and_its_own_text(vault: Path) -> None:
    now = "intro\n" + TEXT.replace("nine", "ten")
    (vault / "Note.md").write_text(now, "utf-8", newline="")
    got = cited(LiveFiles(vault, 10_000))
    assert (got.status, got.start_line) == (CitationStatus.SOURCE_CHANGED, 4)
    assert (got.text, got.file_hash) == ("The gate closes at ten.", sha(now))


def test_each_file_is_read_once_and_each_snapshot_asked_once(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "Note.md").write_text("x\n" + TEXT, "utf-8", newline="")
    reads, snapshots = [], []
    real = stage.read_note_bytes
    monkeypatch.setattr(
        stage, "read_note_bytes", lambda *given: (reads.append(given[1]), real(*given))[1]
    )
    files = LiveFiles(vault, 10_000)
    for _ in range(20):
        live = files.get("Note.md")
        got = cite(PASSAGE, sha(TEXT), lambda: (snapshots.append(1), TEXT.encode())[1], live)
        assert got.start_line == 4
        assert files.get("Gone.md") is None
    assert (reads, len(snapshots)) == (["Note.md"], 1)


def test_a_vanished_file_is_unresolvable(vault: Path) -> None:
    (vault / "Note.md").unlink()
    got = cited(LiveFiles(vault, 10_000))
    assert (got.status, got.why, got.start_line) == (
        CitationStatus.UNRESOLVABLE,
        "the file is gone",
        None,
    )


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(11, "Resource unavailable")]
)
def test_a_locked_file_is_unresolvable_and_says_why(
    vault: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    def locked(*_given: object) -> bytes:
        raise error

    monkeypatch.setattr(stage, "read_note_bytes", locked)
    got = cited(LiveFiles(vault, 10_000))
    assert got.status is CitationStatus.UNRESOLVABLE
    assert str(error.strerror) in got.why


def test_a_cloud_placeholder_is_not_read(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat(vault / "Note.md")
    stub = SimpleNamespace(
        st_size=real.st_size, st_mtime_ns=real.st_mtime_ns, st_blocks=0, st_mode=real.st_mode
    )
    monkeypatch.setattr(stage.os, "stat", lambda _path: stub)
    monkeypatch.setattr(stage, "read_note_bytes", lambda *_: pytest.fail("it was read"))
    got = cited(LiveFiles(vault, 10_000))
    assert (got.status, got.why) == (
        CitationStatus.UNRESOLVABLE,
        "the file lies in the cloud only",
    )


def test_a_file_that_is_being_written_is_read_again(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, whole = stage.read_note_bytes, "line above\n" + TEXT
    halves = [whole[:8], whole[:30]]

    def read(*given: object) -> bytes:
        data = real(*given)  # type: ignore[arg-type]
        if halves:  # the writer goes on right after we have read
            halves.pop()
            (vault / "Note.md").write_text(halves[-1] if halves else whole, "utf-8", newline="")
        return data

    monkeypatch.setattr(stage, "read_note_bytes", read)
    assert cited(LiveFiles(vault, 10_000)).start_line == 4


def test_a_file_that_never_comes_to_rest_is_unresolvable(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = stage.read_note_bytes

    def read(*given: object) -> bytes:
        data = real(*given)  # type: ignore[arg-type]
        with open(vault / "Note.md", "a", encoding="utf-8") as file:
            file.write("more\n")
        return data

    monkeypatch.setattr(stage, "read_note_bytes", read)
    got = cited(LiveFiles(vault, 10_000))
    assert (got.status, got.why) == (CitationStatus.UNRESOLVABLE, "the file is being written")


def test_an_empty_or_half_written_file_gives_no_wrong_line(vault: Path) -> None:
    for size in range(len(TEXT.encode())):
        (vault / "Note.md").write_bytes(TEXT.encode()[:size])
        got = cited(LiveFiles(vault, 10_000))
        assert got.start_line in (None, 3)
        assert got.start_line is None or got.text.startswith("The gate closes")


def test_no_path_leads_out_of_the_vault(
    vault: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text(TEXT, "utf-8")
    files = LiveFiles(vault, 10_000)
    paths = ["../secret.md", str(outside)]
    try:
        (vault / "link.md").symlink_to(outside)
        paths.append("link.md")
    except OSError:  # Windows without the right to make links: the other paths remain
        assert os.name == "nt"
    for path in paths:
        assert cited(files, path).status is CitationStatus.UNRESOLVABLE


def test_a_file_that_grew_too_large_is_unresolvable(vault: Path) -> None:
    assert cited(LiveFiles(vault, 20)).status is CitationStatus.UNRESOLVABLE


def test_the_open_editors_text_counts_instead_of_the_file(vault: Path) -> None:
    buffer = "# 港口 Harbour\n\n新的一行\n\nThe gate closes at nine.\n"
    got = cited(LiveFiles(vault, 10_000).with_buffer("Note.md", buffer))
    assert (got.status, got.start_line) == (CitationStatus.SOURCE_CHANGED, 5)
    assert got.file_hash == sha(buffer)


@pytest.mark.parametrize("indexed", [TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT, TEXT])
def test_an_editor_without_changes_is_fresh_whatever_the_line_endings(
    vault: Path, indexed: str
) -> None:
    files = LiveFiles(vault, 10_000).with_buffer("Note.md", TEXT)
    assert cited(files, indexed=indexed).status is CitationStatus.FRESH


def test_a_changed_line_ending_on_disk_is_not_fresh(vault: Path) -> None:
    got = cited(LiveFiles(vault, 10_000), indexed=TEXT.replace("\n", "\r\n"))
    assert (got.status, got.start_line) == (CitationStatus.SOURCE_CHANGED, 3)
