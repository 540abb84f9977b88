"""Citations from the search to the click: the lines shown, resolved, read and linked agree."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import NotFoundError
from sidelight.query import cite as stage
from sidelight.types import Citation, CitationStatus, Match, SearchRequest, SearchResult

PIER = "# Pier\n\nThe lamp at the pier is lit at dusk.\n\nSee [[Boats]] for the ferries.\n"
TEA = "# 茶\n\n白茶要用八十度的水，泡三分钟 🍵。\n\n另见 [[Pier]]。\n"
NOTES = {
    "Pier.md": PIER,
    "Boats.md": "# Boats\n\nThe ferry leaves at seven.\n",
    "茶/白茶.md": TEA,
    "Windows.md": "\ufeff# Café\r\n\r\nThe zinc counter 🎉 is polished e\u0301very morning.\r\n",
}
QUERIES = {"Pier.md": "lamp dusk", "茶/白茶.md": "白茶八十度", "Windows.md": "zinc counter"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    for path, text in NOTES.items():
        write(tmp_path / "vault" / path, text)
    return tmp_path / "vault"


@pytest.fixture
def engine(vault: Path, tmp_path: Path) -> Iterator[Engine]:
    opened = Engine.open(
        vault,
        settings=Settings(gate_strictness="off"),
        lexical_only=True,
        data_dir=tmp_path / "data",
    )
    opened.sync(lexical_only=True)
    yield opened
    opened.close()


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode("utf-8"))


def ask(engine: Engine, path: str) -> SearchResult:
    return engine.search(SearchRequest(QUERIES[path]))


def lines(citation: Citation) -> tuple[int | None, int | None]:
    return citation.start_line, citation.end_line


def unchanged(text: str) -> str:
    return text


def lines_above(text: str) -> str:
    return "new\n\n另一行\n\n" + text.removeprefix("\ufeff")


def other_endings(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


@pytest.mark.parametrize("path", QUERIES)
@pytest.mark.parametrize("edit", [unchanged, lines_above, other_endings])
def test_lines_shown_resolved_and_read_are_the_same(
    engine: Engine, vault: Path, path: str, edit: Callable[[str], str]
) -> None:
    write(vault / path, edit(NOTES[path]))
    one = ask(engine, path).results[0]
    assert one.path == path
    where, now = engine.resolve(one.ref)
    assert (where, lines(now), now.status) == (path, lines(one.citation), one.citation.status)
    text, content_hash, _ = engine.read_note(path, one.citation.start_line, one.citation.end_line)
    assert text.replace("\r\n", "\n").strip("\n") == one.text == now.text
    assert content_hash == one.citation.file_hash


@pytest.mark.parametrize("path", ["Pier.md", "茶/白茶.md"])
def test_links_are_told_with_the_lines_they_have_now(
    engine: Engine, vault: Path, path: str
) -> None:
    write(vault / path, lines_above(NOTES[path]))
    (link,) = engine.links(path)
    text, _, _ = engine.read_note(path, link.link.line, link.link.line)
    assert link.link.source_text in text


def sharing_violation() -> OSError:
    """What Windows says while another program holds a file."""
    error = PermissionError(13, "The process cannot access the file")
    error.winerror = 32  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize("path", ["Pier.md", "茶/白茶.md"])
def test_locked_file_is_left_out_and_counted_until_it_is_free(
    engine: Engine, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = ask(engine, path).results[0].ref

    free = os.open

    def locked(name: Any, *given: Any, **options: Any) -> int:
        if str(name).endswith(path.rpartition("/")[2]):
            raise sharing_violation()
        return free(name, *given, **options)

    monkeypatch.setattr(os, "open", locked)
    held = ask(engine, path)
    assert path not in [one.path for one in held.results]
    assert "unresolvable" in [reason.kind for reason in held.reasons]
    _, citation = engine.resolve(ref)
    assert citation.status is CitationStatus.UNRESOLVABLE
    assert "cannot access" in citation.why
    monkeypatch.undo()
    assert ask(engine, path).results[0].path == path


def test_placeholder_is_left_out_without_being_fetched(
    engine: Engine, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = ask(engine, "Pier.md").results[0].ref
    monkeypatch.setattr(stage, "is_placeholder", lambda status: status.st_size == len(PIER))
    monkeypatch.setattr(stage, "read_note_bytes", lambda *given: pytest.fail(f"{given} was read"))
    _, citation = engine.resolve(ref)
    assert (citation.status, citation.why) == (
        CitationStatus.UNRESOLVABLE,
        "the file lies in the cloud only",
    )


@pytest.mark.parametrize(("old", "new"), [("Pier.md", "Old/Pier 2.md"), ("茶/白茶.md", "茶.md")])
def test_passage_follows_a_rename_also_when_it_was_edited_since(
    engine: Engine, vault: Path, old: str, new: str
) -> None:
    ref = ask(engine, old).results[0].ref
    (vault / new).parent.mkdir(exist_ok=True)
    (vault / old).rename(vault / new)
    engine.sync(lexical_only=True)
    write(vault / new, lines_above(NOTES[old]))
    path, citation = engine.resolve(ref)
    assert (path, citation.match, citation.start_line) == (new, Match.EXACT, 5)
    one = ask(engine, old).results[0]
    assert (one.path, lines(one.citation)) == (new, lines(citation))
    path, citation = engine.resolve(ref, "unsaved\n\n" + lines_above(NOTES[old]))
    assert (path, citation.start_line) == (new, 7)


def test_vanished_note_is_unresolvable_at_the_click(engine: Engine, vault: Path) -> None:
    ref = ask(engine, "Pier.md").results[0].ref
    (vault / "Pier.md").unlink()
    path, citation = engine.resolve(ref)
    assert (path, citation.status) == ("Pier.md", CitationStatus.UNRESOLVABLE)
    assert lines(citation) == (None, None)


def test_source_that_was_never_given_is_refused(engine: Engine) -> None:  # 121
    given = [one.ref for one in ask(engine, "Pier.md").results]
    made_up = given[0][:-1] + ("A" if given[0][-1] != "A" else "B")
    for ref in (made_up, given[0] + "7", "[7]"):
        with pytest.raises(NotFoundError):
            engine.resolve(ref)


@pytest.mark.parametrize(
    ("first", "second"), [("Pier.md", "茶/白茶.md"), ("茶/白茶.md", "Pier.md")]
)
def test_sources_of_one_question_are_not_those_of_the_next(  # 122
    engine: Engine, first: str, second: str
) -> None:
    alone = ask(engine, second)
    ask(engine, first)
    after = ask(engine, second)
    assert [one.ref for one in after.results] == [one.ref for one in alone.results]
    assert first not in [one.path for one in after.results if one.origin.value == "direct"]
