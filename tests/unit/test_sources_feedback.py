"""What people say of results: kept, told, exported, deleted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sidelight.errors import UsageError
from sidelight.evaluation.topics import read_topics
from sidelight.sources import feedback as feedback_module
from sidelight.sources.feedback import FeedbackLog, Verdict, as_json, export, render, report, topics


@pytest.fixture
def log(tmp_path: Path) -> FeedbackLog:
    return FeedbackLog(tmp_path / "config" / "f.jsonl", lambda: 5.0)


def say(log: FeedbackLog, query: str, verdict: str, path: str, source: str = "vault") -> None:
    log.record(
        Verdict(
            query, f"ref-{path}", verdict, source, path, rank=1, channels={"bm25": 2}, snapshot="s1"
        )
    )


def test_the_report_shows_what_finds_nothing_what_does_not_help_and_who_does(
    log: FeedbackLog,
) -> None:
    for query in ("怎么除垢", " 怎么除垢 ", "tide gauge"):
        log.found_nothing(query, "s1")
    say(log, "kettle", "unhelpful", "a.md")
    say(log, "pot", "unhelpful", "a.md")
    say(log, "kettle", "helpful", "b.md")
    say(log, "kettle", "helpful", "boiler.md", "Manuals")
    found = report(log.entries())
    assert found.nothing == [("怎么除垢", 2), ("tide gauge", 1)]
    assert found.unhelpful == [("vault", "a.md", 2, 0)]
    assert found.sources == [("Manuals", 1, 0), ("vault", 1, 2)]
    assert "怎么除垢" in render(found)
    assert as_json(found)["entries"] == 7
    entry = log.entries()[3]
    assert (entry["channels"], entry["snapshot"], entry["when"]) == ({"bm25": 2}, "s1", 5.0)


def test_the_last_word_counts_and_can_be_withdrawn(log: FeedbackLog) -> None:
    say(log, "kettle", "unhelpful", "a.md")
    say(log, "Kettle ", "helpful", "a.md")
    say(log, "pot", "helpful", "b.md")
    say(log, "pot", "withdrawn", "b.md")
    assert [(t["query"], t["relevant"]) for t in topics(log.entries())] == [
        ("Kettle ", [{"path": "a.md"}])
    ]


def test_the_export_is_a_query_file(log: FeedbackLog, tmp_path: Path) -> None:
    say(log, "除垢", "helpful", "壶.md")
    say(log, "除垢", "unhelpful", "c.md")
    say(log, "nothing helps", "unhelpful", "c.md")
    say(log, "elsewhere", "helpful", "boiler.md", "Manuals")
    log.found_nothing("unjudged", "s1")
    assert export(log.entries(), tmp_path / "q.jsonl") == 2
    first, second = read_topics(tmp_path / "q.jsonl")
    assert (first.query, first.relevant, first.answerable) == ("除垢", {"壶.md"}, True)
    assert (second.query, second.kind, second.answerable) == ("nothing helps", "no-answer", False)


def test_an_empty_log_exports_nothing_and_says_so(log: FeedbackLog, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no feedback"):
        export(log.entries(), tmp_path / "q.jsonl")
    assert not (tmp_path / "q.jsonl").exists()
    assert render(report([])) == "The feedback log is empty."


def test_the_log_is_private_and_can_be_cleared(log: FeedbackLog, tmp_path: Path) -> None:
    say(log, "kettle", "helpful", "a.md")
    file = tmp_path / "config" / "f.jsonl"
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
    assert (log.clear(), log.entries(), file.exists()) == (1, [], False)
    assert log.clear() == 0


def test_broken_lines_cost_only_themselves(log: FeedbackLog, tmp_path: Path) -> None:
    say(log, "kettle", "helpful", "a.md")
    with (tmp_path / "config" / "f.jsonl").open("ab") as file:
        file.write(b'{"query": 5}\n[1]\n{"query": "x", "verd\xff')
    assert [entry["query"] for entry in log.entries()] == ["kettle"]


def test_the_log_stays_small(log: FeedbackLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback_module, "MAX_BYTES", 2_000)
    for number in range(100):
        log.found_nothing(f"q{number}", "s")
    kept = [json.dumps(entry) for entry in log.entries()]
    assert "q99" in kept[-1]
    assert len(kept) < 60


def test_a_wrong_verdict_is_refused(log: FeedbackLog) -> None:
    with pytest.raises(UsageError, match="helpful, unhelpful"):
        say(log, "kettle", "great", "a.md")
