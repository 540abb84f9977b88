"""Citations from the search to the click: the lines shown, resolved, read and linked agree."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import IndexUnavailableError, NotFoundError
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


def sync(engine: Engine) -> None:
    engine.sync(lexical_only=True)


def note_at(engine: Engine, vault: Path, path: str, text: str) -> str:
    """Writes and indexes a note; the reference of its only passage."""
    write(vault / path, text)
    sync(engine)
    return ref_at(engine, path)


def ref_at(engine: Engine, path: str) -> str:
    found = engine.search(SearchRequest(f'path:"{path}"')).results
    return next(one.ref for one in found if one.path == path)


def move(engine: Engine, vault: Path, old: str, new: str) -> None:
    (vault / old).rename(vault / new)
    sync(engine)


def answer(engine: Engine, ref: str) -> tuple[str, str]:
    path, citation = engine.resolve(ref)
    return path, str(citation.match or citation.status)


def reopened(engine: Engine, vault: Path) -> Engine:
    data, settings = engine.places.data, engine.settings
    engine.close()
    return Engine.open(vault, settings=settings, lexical_only=True, data_dir=data)


KEEPER = "# Keeper\n\nThe keeper winds the clock of the tower on Sunday evening.\n"
LIKE_IT = "# Keeper\n\nThe keeper winds the clock of the tower on Monday evening.\n"
OTHER = "# Oats\n\nPorridge wants salt.\n"
TEXTS = {
    "en": ("keeper clock", KEEPER, LIKE_IT, OTHER),
    "zh": (
        "钟楼守钟人",
        "# 钟楼\n\n守钟人每个星期日的傍晚给钟楼的大钟上发条。\n",
        "# 钟楼\n\n守钟人每个星期一的傍晚给钟楼的大钟上发条。\n",
        "# 燕麦\n\n燕麦粥要放一点盐。\n",
    ),
}
both = pytest.mark.parametrize("language", TEXTS)


@both
def test_note_under_a_name_that_was_renamed_away_is_itself(
    engine: Engine, vault: Path, language: str
) -> None:
    words, text, _, other = TEXTS[language]
    note_at(engine, vault, "Untitled.md", other)
    move(engine, vault, "Untitled.md", "Forest.md")
    ref = note_at(engine, vault, "Untitled.md", text)
    assert engine.search(SearchRequest(words)).results[0].path == "Untitled.md"
    assert answer(engine, ref) == ("Untitled.md", "exact")
    again = reopened(engine, vault)
    assert again.search(SearchRequest(words)).results[0].path == "Untitled.md"
    write(vault / "Untitled.md", lines_above(text))  # and before it is indexed again
    assert again.search(SearchRequest(words)).results[0].path == "Untitled.md"
    assert answer(again, ref) == ("Untitled.md", "exact")
    again.close()


@both
@pytest.mark.parametrize("kept", ["A.md", "B.md"])
def test_reference_of_a_note_that_had_a_copy_is_its_own(
    engine: Engine, vault: Path, language: str, kept: str
) -> None:
    _, text, like_it, other = TEXTS[language]
    refs = {path: note_at(engine, vault, path, text) for path in ("A.md", "B.md")}
    replaced = "B.md" if kept == "A.md" else "A.md"
    for first in (kept, replaced):  # whichever was edited last
        write(vault / first, like_it if first == kept else other)
        sync(engine)
        assert answer(engine, refs[replaced])[0] == replaced
    assert answer(engine, refs[kept]) == (kept, "similar")
    assert answer(engine, refs[replaced]) == (replaced, "unresolvable")
    write(vault / replaced, other + "\n")
    sync(engine)
    assert answer(engine, refs[kept]) == (kept, "similar")


@both
def test_rename_is_followed_though_a_copy_stands(
    engine: Engine, vault: Path, language: str
) -> None:
    _, text, _, _ = TEXTS[language]
    note_at(engine, vault, "R2.md", text)
    ref = note_at(engine, vault, "R1.md", text)
    move(engine, vault, "R1.md", "R3.md")
    assert engine.resolve(ref)[0] == "R3.md"
    assert engine.resolve(ref)[1].status is CitationStatus.FRESH
    write(vault / "R3.md", lines_above(text))
    sync(engine)
    assert answer(engine, ref) == ("R3.md", "exact")
    (vault / "R3.md").unlink()
    sync(engine)
    assert engine.resolve(ref)[1].status is CitationStatus.UNRESOLVABLE


@both
def test_copy_that_always_stood_there_is_no_rename(
    engine: Engine, vault: Path, language: str
) -> None:
    _, text, _, _ = TEXTS[language]
    note_at(engine, vault, "b.md", text)
    ref = note_at(engine, vault, "a.md", text)
    (vault / "a.md").unlink()
    sync(engine)
    assert answer(engine, ref) == ("a.md", "unresolvable")
    engine.update_settings({"user_words": ["钟楼"]})
    sync(engine)  # every note is read again, at its old place
    assert answer(engine, ref) == ("a.md", "unresolvable")


@both
def test_file_that_shows_up_later_is_a_rename(engine: Engine, vault: Path, language: str) -> None:
    _, text, _, _ = TEXTS[language]
    ref = note_at(engine, vault, "a.md", text)
    (vault / "a.md").rename(vault.parent / "aside")
    sync(engine)
    assert answer(engine, ref) == ("a.md", "unresolvable")
    (vault.parent / "aside").rename(vault / "c.md")
    sync(engine)
    assert answer(engine, ref) == ("c.md", "exact")


@both
@pytest.mark.parametrize("settled", [True, False])
def test_renamed_note_wins_over_a_similar_one_at_its_old_path(
    engine: Engine, vault: Path, language: str, settled: bool
) -> None:
    _, text, like_it, _ = TEXTS[language]
    ref = note_at(engine, vault, "P.md", text)
    (vault / "P.md").rename(vault / "P2.md")
    if settled:
        sync(engine)
    new = note_at(engine, vault, "P.md", like_it)
    assert engine.resolve(ref)[0] == "P2.md"
    assert engine.resolve(ref)[1].status is CitationStatus.FRESH
    assert answer(engine, new) == ("P.md", "exact")
    write(vault / "P2.md", lines_above(text))
    sync(engine)
    assert answer(engine, ref) == ("P2.md", "exact")


@both
@pytest.mark.parametrize("settled", [True, False])
def test_notes_that_swapped_their_names_keep_their_references(
    engine: Engine, vault: Path, language: str, settled: bool
) -> None:
    _, text, like_it, _ = TEXTS[language]
    first = note_at(engine, vault, "S2.md", text)
    second = note_at(engine, vault, "S3.md", like_it)
    os.utime(vault / "S3.md", ns=(1, 1))  # told apart from the first by its time
    sync(engine)
    for old, new in (("S2.md", "tmp.md"), ("S3.md", "S2.md"), ("tmp.md", "S3.md")):
        (vault / old).rename(vault / new)
        if settled:
            sync(engine)
    sync(engine)
    for ref, path in ((first, "S3.md"), (second, "S2.md")):
        assert engine.resolve(ref)[0] == path
        assert engine.resolve(ref)[1].status is CitationStatus.FRESH
    write(vault / "S3.md", lines_above(text))
    sync(engine)
    assert answer(engine, first) == ("S3.md", "exact")


@both
def test_note_that_was_renamed_to_a_deleted_ones_path_is_another(
    engine: Engine, vault: Path, language: str
) -> None:
    _, text, like_it, _ = TEXTS[language]
    ref = note_at(engine, vault, "gone.md", text)
    note_at(engine, vault, "like it.md", like_it)
    (vault / "gone.md").unlink()
    sync(engine)
    move(engine, vault, "like it.md", "gone.md")
    assert answer(engine, ref) == ("gone.md", "unresolvable")


@both
def test_touched_note_with_a_copy_of_its_time_stays(
    engine: Engine, vault: Path, language: str
) -> None:
    _, text, _, _ = TEXTS[language]
    ref = note_at(engine, vault, "T.md", text)
    write(vault / "copy.md", text)
    now = (vault / "T.md").stat().st_mtime_ns
    os.utime(vault / "copy.md", ns=(now, now))
    os.utime(vault / "T.md", ns=(now + 10**9, now + 10**9))
    sync(engine)
    write(vault / "T.md", lines_above(text))
    sync(engine)
    assert answer(engine, ref) == ("T.md", "exact")


@both
def test_edit_then_rename_then_new_note_is_followed(
    engine: Engine, vault: Path, language: str
) -> None:
    _, text, like_it, _ = TEXTS[language]
    ref = note_at(engine, vault, "P.md", text)
    note_at(engine, vault, "P.md", lines_above(text))
    move(engine, vault, "P.md", "P2.md")
    note_at(engine, vault, "P.md", like_it)
    assert answer(engine, ref) == ("P2.md", "exact")


@both
def test_rename_that_could_not_be_committed_is_followed(
    engine: Engine, vault: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, text, _, _ = TEXTS[language]
    ref = note_at(engine, vault, "old.md", text)

    def full(*given: Any) -> None:
        raise IndexUnavailableError("The disk is full.", "Free some space.")

    monkeypatch.setattr(engine._tables, "replace", full)
    for _ in range(2):
        (vault / ("old.md" if (vault / "old.md").exists() else "new.md")).rename(vault / "new.md")
        with pytest.raises(IndexUnavailableError):
            sync(engine)
        assert engine.search(SearchRequest(words)).results[0].path == "new.md"
        assert answer(engine, ref) == ("new.md", "exact")
    assert len(engine._renames.seen()) == 1, "tried again, not seen again"
    monkeypatch.undo()
    sync(engine)
    assert answer(engine, ref) == ("new.md", "exact")


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


@pytest.mark.parametrize("name", ["码头", "harbour"])
def test_a_note_that_is_just_being_renamed_is_shown_once(
    engine: Engine, vault: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(vault / "old.md", f"---\ntags: [{name}]\n---\n")
    engine.sync(lexical_only=True)
    (vault / "old.md").rename(vault / "new.md")
    monkeypatch.setattr(engine._tables, "remove", lambda *_: None)  # before the old rows go
    engine.sync(lexical_only=True)
    assert {"old.md", "new.md"} < set(engine._catalog.notes)
    found = engine.search(SearchRequest(name)).results
    assert [result.path for result in found] == ["new.md"]
