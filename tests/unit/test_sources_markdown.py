"""A folder of Markdown that nobody indexes: found live, cited by lines that hold."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from source_fakes import TERMS, ask, source

from sidelight.query.parse import parse_query
from sidelight.sources import markdown as markdown_module
from sidelight.sources.asking import Found, SourceError
from sidelight.sources.markdown import MarkdownFolder
from sidelight.sources.refs import parse, ref_of
from sidelight.types import Citation, CitationStatus, Match

BOILER = "# Boiler\n\nAbout it.\n\n## Cleaning\n\nDescale the boiler with citric acid.\n"
TEA = "# 茶\n\n桂花乌龙泡三分钟。\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "manuals"
    (root / "茶").mkdir(parents=True)
    (root / "boiler.md").write_text(BOILER, "utf-8")
    (root / "茶" / "乌龙.md").write_text(TEA, "utf-8")
    (root / "notes.txt").write_text("citric acid", "utf-8")
    return root


def opened(folder: Path, **options: Any) -> MarkdownFolder:
    return MarkdownFolder(source(kind="markdown", path=str(folder)), TERMS, **options)


def first(manuals: MarkdownFolder, query: str) -> Found:
    return manuals.ask(ask(query)).found[0]


def lines(citation: Citation) -> tuple[int | None, int | None]:
    return citation.start_line, citation.end_line


@pytest.mark.parametrize("ripgrep", [True, False])
def test_passages_are_found_in_both_languages_with_their_lines(folder: Path, ripgrep: bool) -> None:
    manuals = opened(folder, ripgrep=ripgrep)
    found = first(manuals, "citric ACID")
    assert (found.path, found.heading_path) == ("boiler.md", ("Boiler", "Cleaning"))
    assert lines(found.citation) == (5, 7)
    assert first(manuals, "桂花烏龍").path == "茶/乌龙.md"
    assert manuals.ask(ask("submarine")).found == []


@pytest.mark.parametrize("query", ["boiler path:deep", "锅炉 path:deep", '锅炉 "rare word"'])
def test_a_filter_finds_its_file_behind_many_better_ones(folder: Path, query: str) -> None:
    for n in range(60):
        (folder / f"{n}.md").write_text(f"# Boiler 锅炉 {n}\n\nboiler 锅炉 boiler 锅炉\n", "utf-8")
    (folder / "deep").mkdir()
    text = "# Other\n\nA rare word, and among many others a boiler 锅炉 too.\n"
    (folder / "deep" / "last.md").write_text(text, "utf-8")
    asked = replace(ask(query.split()[0]), filter=parse_query(query).filter)
    assert [one.path for one in opened(folder).ask(asked).found] == ["deep/last.md"]


def located(manuals: MarkdownFolder, found: Found) -> Citation | None:
    ref = parse(ref_of("Other", found))
    return manuals.locate(ref.path, ref.content_hash, ref.chunk_index, ref.text_hash)[1]


def test_a_citation_holds_after_the_file_has_changed(folder: Path) -> None:
    manuals = opened(folder)
    found = first(manuals, "citric acid")
    unchanged = located(manuals, found)
    assert unchanged is not None
    assert (unchanged.status, lines(unchanged)) == (CitationStatus.FRESH, (5, 7))
    (folder / "boiler.md").write_text("New first line.\n\n" + BOILER, "utf-8")
    for again in (manuals, opened(folder)):  # also by a daemon that was started since
        moved = located(again, found)
        assert moved is not None
        assert (moved.status, moved.match) == (CitationStatus.SOURCE_CHANGED, Match.EXACT)
        assert lines(moved) == (7, 9)
    (folder / "boiler.md").write_text("# Boiler\n\nNothing of it is left.\n", "utf-8")
    gone = located(manuals, found)
    assert gone is None or gone.status is CitationStatus.UNRESOLVABLE
    (folder / "boiler.md").unlink()
    assert located(manuals, found) is None


def test_a_folder_that_is_gone_is_told(folder: Path) -> None:
    manuals = opened(folder)
    shutil.rmtree(folder)
    for call in (manuals.ask, manuals.check):
        with pytest.raises(SourceError, match="no folder at") as caught:
            call(ask("citric acid"))
        assert caught.value.remedy


def test_a_folder_that_vanishes_during_a_query_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manuals = opened(folder)
    searched = markdown_module.grep

    def grep_then_vanish(*arguments: Any, **options: Any) -> Any:
        found = searched(*arguments, **options)
        shutil.rmtree(folder)
        return found

    monkeypatch.setattr(markdown_module, "grep", grep_then_vanish)
    with pytest.raises(SourceError, match="no folder at"):
        manuals.ask(ask("citric acid"))


def test_what_is_ignored_or_outside_is_never_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n\nThe citric password.\n", "utf-8")
    (folder / ".sidelightignore").write_text("private/\n", "utf-8")
    (folder / "private").mkdir()
    (folder / "private" / "diary.md").write_text("citric diary", "utf-8")
    manuals = opened(folder)
    assert {one.path for one in manuals.ask(ask("citric")).found} == {"boiler.md"}
    for path in ("../secret.md", "private/diary.md", "/etc/hostname", "notes.txt/../boiler.md"):
        with pytest.raises(SourceError):
            manuals.ask(ask("citric", arguments={"path": path}))
        assert manuals.place_of(path) is None
        assert not manuals.has_target({"path": path}, ask(""))
    assert manuals.place_of("boiler.md") == folder / "boiler.md"
