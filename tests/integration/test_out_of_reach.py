"""A note that cannot be read for a while stays as it was indexed; English and Chinese."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kept_index import Kept, found, wait_for

from sidelight.engine import Engine
from sidelight.indexing import out_of_reach
from sidelight.indexing.out_of_reach import OutOfReach
from sidelight.vault import files as vault_files

REASONS = {
    errno.EACCES: PermissionError,
    errno.EIO: OSError,
    errno.ESTALE: OSError,
}
NAMES = ("garden.md", "花园/日记 一.md")


class Failing:
    """A file system that refuses to look at, or to read, some files of a vault."""

    def __init__(self, vault: Path, patch: pytest.MonkeyPatch) -> None:
        self.vault = vault
        self.looking: dict[str, int] = {}
        self.reading: dict[str, int] = {}
        lstat, opened, scandir = Path.lstat, os.open, os.scandir

        def look(path: Path, *rest: Any, **named: Any) -> os.stat_result:
            self._refuse(path, self.looking)
            return lstat(path, *rest, **named)

        def read(path: Any, *rest: Any, **named: Any) -> int:
            self._refuse(path, self.reading)
            return opened(path, *rest, **named)

        class Entry:
            def __init__(self, entry: os.DirEntry[str]) -> None:
                self._entry = entry

            def __getattr__(self, name: str) -> Any:
                return getattr(self._entry, name)

            def stat(entry, **named: Any) -> os.stat_result:  # noqa: N805 - self is the failing
                self._refuse(entry._entry.path, self.looking)
                return entry._entry.stat(**named)

        class Listing:
            def __init__(self, folder: Any) -> None:
                self._listing = scandir(folder)

            def __iter__(self) -> Iterator[Any]:
                return map(Entry, self._listing)

            def __enter__(self) -> Iterator[Any]:
                return map(Entry, self._listing.__enter__())

            def __exit__(self, *rest: Any) -> None:
                self._listing.__exit__(*rest)

            def close(self) -> None:
                self._listing.close()

        patch.setattr(Path, "lstat", look)
        patch.setattr(vault_files.os, "open", read)
        patch.setattr(vault_files.os, "scandir", Listing)

    def _refuse(self, path: Any, codes: dict[str, int]) -> None:
        try:
            name = Path(path).relative_to(self.vault).as_posix()
        except ValueError:
            return
        if name in codes:
            code = codes[name]
            raise OSError(code, os.strerror(code), str(path))


@pytest.fixture
def failing(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> Failing:
    monkeypatch.setattr(out_of_reach, "_FIRST_S", 0.1)
    monkeypatch.setattr(out_of_reach, "_CEILING_S", 0.2)
    return Failing(kept.vault, monkeypatch)


def listed(engine: Engine) -> dict[str, str | None]:
    return {note.path: note.error for note in engine.failed_notes()}


def check_kept(engine: Engine, name: str) -> None:
    """Its rows of before are there. (A query shows nothing whose file it cannot read.)"""
    assert engine.note_status(name).indexed
    assert len(engine._catalog.by_note[name]) == 1
    assert len(engine._tables.snapshots([name])[name]) == len("marzipan 拿铁\n".encode())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("code", REASONS)
@pytest.mark.parametrize("act", ["looking", "reading"])
def test_watched_it_keeps_its_rows_is_listed_and_is_taken_in_by_itself(
    kept: Kept, failing: Failing, name: str, code: int, act: str
) -> None:
    kept.put(name, "marzipan 拿铁\n")
    kept.put("other 别的.md", "nougat 绿茶\n")
    engine = kept.watched()
    refused = getattr(failing, act)
    refused[name] = code
    kept.put(name, "marzipan 拿铁\n\nthylacine 袋狼\n")
    wait_for(lambda: name in listed(engine))
    assert os.strerror(code) in str(listed(engine)[name])
    assert engine.note_status(name).error == listed(engine)[name]
    check_kept(engine, name)
    kept.put("other 别的.md", "zugzwang 守拙\n")
    wait_for(lambda: found(engine, "守拙") == ["other 别的.md"])
    check_kept(engine, name)
    refused.clear()
    wait_for(lambda: found(engine, "袋狼") == [name])
    assert listed(engine) == {}
    kept.check_equals_fresh()


@pytest.mark.parametrize("name", NAMES)
def test_who_only_reads_the_index_lists_it_too(kept: Kept, failing: Failing, name: str) -> None:
    kept.put(name, "marzipan 拿铁\n")
    kept.synced().close()
    failing.looking[name] = errno.EACCES
    reader = kept.open(read_only=True)
    assert list(listed(reader)) == [name]
    assert os.strerror(errno.EACCES) in str(listed(reader)[name])
    assert reader.state().pending == 0, "nothing is known to have changed"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("code", REASONS)
@pytest.mark.parametrize("act", ["looking", "reading"])
def test_scanned_it_keeps_its_rows_and_is_taken_in_by_itself(
    kept: Kept, failing: Failing, name: str, code: int, act: str
) -> None:
    kept.put(name, "marzipan 拿铁\n")
    kept.synced().close()
    kept.put(name, "marzipan 拿铁\n\nthylacine 袋狼\n")
    kept.put("new 新.md", "nougat 绿茶\n")
    refused = getattr(failing, act)
    refused |= {name: code, "new 新.md": code}
    engine = kept.watched()
    assert set(listed(engine)) == {name, "new 新.md"}
    assert all(os.strerror(code) in str(reason) for reason in listed(engine).values())
    check_kept(engine, name)
    refused.clear()
    wait_for(lambda: found(engine, "袋狼") == [name])
    wait_for(lambda: found(engine, "绿茶") == ["new 新.md"])
    wait_for(lambda: listed(engine) == {})
    kept.check_equals_fresh()


@pytest.mark.parametrize("name", NAMES)
def test_what_goes_while_it_cannot_be_read_is_forgotten(
    kept: Kept, failing: Failing, name: str
) -> None:
    file = kept.put(name, "marzipan 拿铁\n")
    engine = kept.watched()
    failing.looking[name] = errno.EACCES
    file.unlink()
    wait_for(lambda: name in listed(engine))
    check_kept(engine, name)
    failing.looking.clear()
    wait_for(lambda: engine.state().notes == 0)
    assert listed(engine) == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_note_that_a_rebuild_cannot_read_is_made_anew_later_also_after_a_restart(
    kept: Kept, failing: Failing, name: str
) -> None:
    kept.put(name, "marzipan 拿铁\n")
    engine = kept.watched()
    failing.reading[name] = errno.EIO
    engine.rebuild()
    wait_for(lambda: name in listed(engine))
    wait_for(lambda: engine.state().pending == 0)
    check_kept(engine, name)
    before = engine.note_status(name).indexed_at
    engine.close()
    failing.reading.clear()
    drafted: list[str] = []
    engine = kept.open()
    real = engine._tables.replace

    def replace(drafts: Any, *rest: Any) -> None:
        drafted.extend(draft.row.path for draft in drafts)
        real(drafts, *rest)

    engine._tables.replace = replace  # type: ignore[method-assign]
    engine.sync(lexical_only=True)
    assert drafted == [name]
    assert engine.note_status(name).indexed_at == before
    kept.check_equals_fresh()


def test_it_is_tried_less_and_less_often_and_then_every_five_minutes() -> None:
    now = [0.0]
    waiting = OutOfReach(lambda: now[0])
    waiting.add("笔记.md", "held")
    waits = []
    for _ in range(10):
        wait = waiting.wait_s()
        assert wait is not None
        waits.append(wait)
        assert waiting.due() == set()
        now[0] += wait
        assert waiting.due() == {"笔记.md"}
        waiting.add("笔记.md", "held by another program")
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert waiting.reasons() == {"笔记.md": "held by another program"}
    waiting.forget(["笔记.md"])
    assert waiting.wait_s() is None


@pytest.mark.parametrize(
    ("error", "gone"),
    [
        (FileNotFoundError(2, "no such file"), True),
        (NotADirectoryError(20, "not a directory"), True),
        (PermissionError(13, "denied"), False),
        (OSError(5, "input/output error"), False),
        (TimeoutError(110, "timed out"), False),
    ],
)
def test_only_a_missing_file_is_gone(error: OSError, gone: bool) -> None:
    assert vault_files.is_gone(error) is gone


@pytest.mark.parametrize(
    ("reason", "gone"), [(2, True), (3, True), (267, True), (5, False), (32, False), (53, False)]
)
def test_on_windows_a_server_that_is_away_is_no_missing_file(reason: int, gone: bool) -> None:
    error = FileNotFoundError(2, "away")
    error.winerror = reason  # type: ignore[attr-defined]
    assert vault_files.is_gone(error) is gone
