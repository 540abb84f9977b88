"""What a person may write about a source, and what is said of what they may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sidelight.config import (
    Settings,
    load_settings,
    open_vault,
    places_for,
    save_settings,
    settings_from,
)
from sidelight.errors import UsageError
from sidelight.source_settings import as_given, missing, sources_from

GOOD: list[dict[str, Any]] = [
    {"name": "Work", "kind": "vault", "path": "/work"},
    {"name": "手册", "kind": "markdown", "path": "~/手册", "description": "机器手册"},
    {"name": "People", "kind": "records", "path": "/people.csv", "text_columns": ["notes", "city"]},
    {"name": "Tickets", "kind": "records", "path": "/t.db", "table": "open", "timeout_s": 2},
    {"name": "Mail", "kind": "command", "command": ["mail", "--", "{query}"]},
    {"name": "Wiki", "kind": "command", "command": ["wiki"], "input": "json"},
]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"name": "A", "kind": "database"}, "'A' has no kind 'database'.*Kinds: vault"),
        ({"kind": "markdown", "path": "/x"}, "no name"),
        ({"name": "vault", "kind": "markdown", "path": "/x"}, "the vault itself"),
        ({"name": "A", "kind": "markdown"}, "'A' has no path"),
        ({"name": "A", "kind": "markdown", "path": "notes"}, "not whole"),
        ({"name": "甲", "kind": "markdown", "path": "~nobody-of-that-name/笔记"}, "not whole"),
        ({"name": "A", "kind": "markdown", "path": "/x", "table": "t"}, "has no 'table'"),
        ({"name": "A", "kind": "markdown", "path": "/x", "depth": 1}, "no field 'depth'"),
        ({"name": "A", "kind": "markdown", "path": "/x", "timeout_s": 0}, "from 0.1 to 300"),
        ({"name": "A", "kind": "records", "path": "/x.doc"}, "no known form"),
        ({"name": "A", "kind": "records", "path": "/x.db"}, "names no table"),
        ({"name": "A", "kind": "records", "path": "/x.csv", "encoding": "klingon"}, "encoding"),
        ({"name": "A", "kind": "command", "command": []}, "no command"),
        ({"name": "A", "kind": "command", "command": ["mail"]}, "never given the query"),
        ({"name": "A", "kind": "command", "command": "mail {query}"}, "list of strings"),
        ({"name": "A\nB", "kind": "markdown", "path": "/x"}, "one line"),
        ("Work", "must be an object"),
    ],
)
def test_a_wrong_source_is_refused_in_one_line_with_a_remedy(value: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        sources_from([value])
    assert "\n" not in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize("other", ["Work", "WORK", "Ｗork"])
def test_two_sources_of_one_name_are_refused(other: str) -> None:
    twice = [GOOD[0], {**GOOD[1], "name": other}]
    with pytest.raises(UsageError, match="Two sources are named") as caught:
        settings_from({"sources": twice})
    assert caught.value.remedy


def test_sources_come_back_from_the_settings_file_as_they_were_written(
    tmp_path: Path, isolated_home: Path
) -> None:
    (tmp_path / "v").mkdir()
    places = places_for(open_vault(tmp_path / "v"))
    settings = settings_from({"sources": GOOD})
    save_settings(places, settings)
    assert load_settings(places) == settings
    assert [as_given(source) for source in settings.sources] == [
        {**one, **({"timeout_s": 2.0} if "timeout_s" in one else {})} for one in GOOD
    ]
    assert load_settings(places) != Settings()


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    there, gone, file = sources_from(
        [
            {"name": "A", "kind": "markdown", "path": str(tmp_path / "there")},
            {"name": "B", "kind": "vault", "path": str(tmp_path / "gone")},
            {"name": "C", "kind": "records", "path": str(tmp_path / "gone.csv")},
        ]
    )
    assert missing(there) == ""
    assert "no folder" in missing(gone)
    assert "no file" in missing(file)
