"""Every case of the shared conformance set for citations, on the real parser and resolver."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sidelight.query.cite import LiveFile, cite
from sidelight.types import CitationStatus, Passage, PassageKind, heading_path_at
from sidelight.vault.markdown import parse_note
from sidelight.vault.relocate import relocate

CASES = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "conformance" / "citations.json").read_text("utf-8")
)["cases"]


def passage_of(case: dict[str, Any]) -> Passage:
    select = case["select"]
    return Passage(
        PassageKind.LINES,
        tuple(select["heading_path"]),
        select["start_line"],
        select["end_line"],
        None,
        None,
        select["text"],
    )


def file_now(case: dict[str, Any]) -> LiveFile | None:
    edit = case["edit"]
    if edit is None:
        return None
    if isinstance(edit, dict):
        return LiveFile(edit["moved_to"], edit["text"].encode())
    return LiveFile(case["path"], edit.encode())


@pytest.mark.parametrize("case", CASES, ids=[f"{c['id']}-{c['area']}" for c in CASES])
def test_citation_is_where_the_conformance_set_says(case: dict[str, Any]) -> None:
    before = case["before"].encode()
    live = file_now(case)
    indexed_hash = hashlib.sha256(before).hexdigest()
    got = cite(passage_of(case), indexed_hash, lambda: before, live)
    expect = case["expect"]
    shown = None if got.status is CitationStatus.UNRESOLVABLE else live and live.path
    assert {
        "status": got.status,
        "path": shown,
        "start_line": got.start_line,
        "end_line": got.end_line,
        "match": got.match,
    } == expect, f"{case['why']} Got: {got.why}."


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_parsed_notes_and_bare_bytes_give_the_same_citation(case: dict[str, Any]) -> None:
    live = file_now(case)
    before = parse_note(case["path"], case["before"].encode())
    if live is None or live.content_hash == before.content_hash:
        assert case["expect"]["status"] != "source_changed"
        return
    passage = passage_of(case)
    by_notes = relocate(before, passage, live.note)
    by_bytes = cite(passage, before.content_hash, lambda: case["before"].encode(), live)
    assert (by_notes.status, by_notes.start_line, by_notes.end_line, by_notes.text) == (
        by_bytes.status,
        by_bytes.start_line,
        by_bytes.end_line,
        by_bytes.text,
    )


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_the_parser_gives_the_heading_path_of_the_case(case: dict[str, Any]) -> None:
    note = parse_note(case["path"], case["before"].encode())
    select = case["select"]
    assert list(heading_path_at(note.blocks, select["start_line"])) == select["heading_path"]
