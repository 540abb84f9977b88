"""A second process drafts beside the first: the same drafts in the same order, whatever it does."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from sidelight.engine import Engine
from sidelight.indexing import drafting
from sidelight.indexing.draft import draft_note
from sidelight.indexing.drafting import Content, Outcome, SecondProcess, in_order
from sidelight.language.terms import Terms
from sidelight.store.rows import NoteDraft
from sidelight.types import FileEntry

WORDS = ("生椰拿铁", "closed loop")
TERMS = Terms(WORDS)
_START_S = 60.0  # a second process on a machine that is busy with something else


def _contents(count: int = 120) -> list[Content]:
    """Notes in both languages, with properties, links, headings and a word of the user's own."""
    made = []
    for number in range(count):
        text = (
            f"---\ntags: [咖啡, brew]\ncreated: 2024-10-{number % 28 + 1:02}\n---\n"
            f"# 记录 {number}\n\n生椰拿铁的做法，见[[笔记 {number - 1}|上一篇]]。\n\n"
            f"## Closed loop\n\nThe closed loop of note {number} costs ¥{number}. #tuning\n"
        )
        entry = FileEntry(f"folder/笔记 {number}.md", len(text), number)
        made.append(Content(entry, text.encode(), 1000.0 + number))
    return made


def _draft(content: Content) -> NoteDraft:
    return draft_note(content.entry, content.data, TERMS, at=content.at)


def _never() -> bool:
    return False


def _begun(terms: Terms = TERMS) -> SecondProcess:
    second = SecondProcess(terms, things=False)
    until = time.monotonic() + _START_S
    while not second.has_room and time.monotonic() < until:
        time.sleep(0.01)
    assert second.has_room
    return second


@pytest.fixture
def second() -> Iterator[SecondProcess]:
    begun = _begun()
    yield begun
    begun.close()


def test_drafts_are_those_of_one_process_in_the_same_order(second: SecondProcess) -> None:
    contents = _contents(300)  # more than it is asked for at a time: some are drafted here
    items: list[Content | Outcome] = [*contents[:50], None, *contents[50:]]
    here: list[str] = []

    def draft(content: Content) -> NoteDraft:
        here.append(content.entry.path)
        return _draft(content)

    made = list(in_order(items, draft, second, _never))
    assert made == [None if item is None else _draft(item) for item in items]  # type: ignore[arg-type]
    assert 0 < len(here) < len(contents)  # both did


def test_no_second_process_is_asked_while_it_has_not_begun() -> None:
    contents = _contents(40)
    second = SecondProcess(TERMS, things=False)
    try:
        assert list(in_order(contents, _draft, second, _never)) == list(map(_draft, contents))
    finally:
        second.close()


def test_a_note_that_fails_there_is_drafted_here(second: SecondProcess) -> None:
    bad = replace(_contents(1)[0], data="no bytes")  # type: ignore[arg-type]
    contents = [*_contents(20), bad]
    asked = []

    def draft(content: Content) -> NoteDraft | None:
        if content is bad:
            asked.append(content)
            return None
        return _draft(content)

    made = list(in_order(contents, draft, second, _never))
    assert made == [*map(_draft, contents[:-1]), None]
    assert asked == [bad]


def test_a_second_process_that_is_killed_costs_nothing_but_time(
    second: SecondProcess, caplog: pytest.LogCaptureFixture
) -> None:
    contents = _contents(300)  # more than it is asked for at a time

    def draft(content: Content) -> NoteDraft:
        if second._process is not None and second._process.poll() is None:
            second._process.kill()
        return _draft(content)

    with caplog.at_level(logging.WARNING):
        assert list(in_order(contents, draft, second, _never)) == list(map(_draft, contents))
    assert "notes are read by one process" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="such a signal is needed")
def test_one_that_hangs_is_done_without(
    second: SecondProcess, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    contents = _contents(60)
    monkeypatch.setattr(drafting, "_PATIENCE_S", 0.5)
    assert second._process is not None
    os.kill(second._process.pid, signal.SIGSTOP)
    until = time.monotonic() + _START_S
    with caplog.at_level(logging.WARNING):
        made = list(in_order(contents, _draft, second, lambda: time.monotonic() > until))
    assert made == list(map(_draft, contents))
    assert "notes are read by one process" in caplog.text


def test_one_that_cannot_be_started_is_done_without(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    contents = _contents(20)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    with caplog.at_level(logging.WARNING), drafting.beside(TERMS, 10**9, things=False) as second:
        assert list(in_order(contents, _draft, second, _never)) == list(map(_draft, contents))
    assert "notes are read by one process" in caplog.text


def test_one_with_other_words_is_not_asked(caplog: pytest.LogCaptureFixture) -> None:
    terms = Terms(WORDS)
    terms.signature = "of an older version"
    second = SecondProcess(terms, things=False)
    try:
        until = time.monotonic() + _START_S
        with caplog.at_level(logging.WARNING):
            while not second._ended and time.monotonic() < until:
                time.sleep(0.01)
        assert not second.has_room
        assert "notes are read by one process" in caplog.text
    finally:
        second.close()


def test_who_waits_for_it_stops_when_told() -> None:
    class Silent(SecondProcess):
        def __init__(self) -> None:
            self.groups: list[drafting._Group] = []

        @property
        def has_room(self) -> bool:
            return not self.groups

        def ask(self, group: drafting._Group) -> None:
            self.groups.append(group)

    contents = _contents(20)
    assert list(in_order(contents, _draft, Silent(), lambda: True)) == []


def test_it_ends_with_the_process_that_began_it() -> None:
    program = (
        "import os, sys, time\n"
        "from sidelight.indexing.drafting import SecondProcess\n"
        "from sidelight.language.terms import Terms\n"
        "second = SecondProcess(Terms(), things=False)\n"
        "while not second.has_room: time.sleep(0.01)\n"
        "print(second._process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    first = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    process = psutil.Process(int(first.stdout.readline()))
    first.kill()
    first.wait()
    first.stdout.close()
    process.wait(_START_S)
    assert not process.is_running()


def test_nothing_beside_this_process_for_a_few_notes() -> None:
    with drafting.beside(TERMS, 1_000, things=False) as second:
        assert second is None


def test_an_index_made_by_two_is_that_made_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = tmp_path / "vault"
    for content in _contents(400):
        file = vault / content.entry.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.data)
        os.utime(file, (1, 1))
    rows = []
    for much in (0, 10**9):
        monkeypatch.setattr(drafting, "_MUCH", much)
        engine = Engine.open(vault, data_dir=tmp_path / str(much), lexical_only=True)
        try:
            engine.sync(lexical_only=True)
            catalog = engine._catalog
            notes = [replace(catalog.notes[path], indexed_at=0.0) for path in sorted(catalog.notes)]
            terms = catalog.vocabulary.all_terms()
            chunks = [
                (one.chunk_id, one.language, one.length, [terms[code] for code in one.codes])
                for one in (catalog.chunks[chunk_id] for chunk_id in sorted(catalog.chunks))
            ]
            rows.append((notes, chunks, catalog.snapshot("")))
        finally:
            engine.close()
    assert rows[0] == rows[1]
