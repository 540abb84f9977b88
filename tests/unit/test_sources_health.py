"""Failing sources are left alone for longer and longer; likely ones are asked first."""

from __future__ import annotations

from pathlib import Path

import pytest
from source_fakes import TERMS, ask, source

from sidelight.sources.health import LONGEST_PAUSE_S, Health
from sidelight.sources.routing import likely


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_repeated_failures_pause_a_source_with_growing_intervals(tmp_path: Path) -> None:
    clock = Clock()
    health = Health(tmp_path / "h.json", clock)
    pauses = []
    for _ in range(12):
        health.failed("A", "no folder", "correct it")
        pauses.append(health.pause_left("A"))
        clock.now += pauses[-1]
        assert health.pause_left("A") == 0.0
    assert pauses[:6] == [0, 0, 30, 60, 120, 240]
    assert pauses[-1] == LONGEST_PAUSE_S
    health.answered("A", 12.0)
    assert health.of("A").streak == 0
    health.failed("A", "again", "")
    assert health.pause_left("A") == 0.0


def test_what_is_known_survives_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    health = Health(tmp_path / "h.json", clock)
    for spent in (10.0, 30.0, 20.0):
        health.answered("A", spent, ["除垢", "kettle"])
    health.failed("A", "gone", "")
    health.save()
    record = Health(tmp_path / "h.json", clock).of("A")
    assert (record.typical_ms, record.error_rate) == (20.0, 0.25)
    assert (record.last_success, record.words["除垢"]) == (1_000.0, 3)


@pytest.mark.parametrize("content", ["", "[]", '{"A": {"streak": "x"}}', '{"A": 5}', "\xff"])
def test_a_damaged_file_begins_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / "h.json").write_text(content, "latin-1")
    assert Health(tmp_path / "h.json").of("A").streak == 0


def test_ten_likely_sources_are_asked_in_the_order_of_the_settings(tmp_path: Path) -> None:
    health = Health(tmp_path / "h.json")
    sources = [
        source(kind="markdown", path=f"/x{n}", name=f"S{n}", description="garden")
        for n in range(20)
    ]
    sources[15] = source(kind="markdown", path="/c", name="Coffee", description="咖啡机 descaling")
    health.answered("S17", 5.0, [t.term for t in ask("descaling kettle").terms])
    question = ask("descaling the kettle")
    records = {s.name: health.of(s.name) for s in sources}
    chosen = likely(sources, records, TERMS, question.terms, question.mass)
    assert len(chosen) == 10
    assert {"Coffee", "S17"} <= {s.name for s in chosen}
    assert [sources.index(s) for s in chosen] == sorted(sources.index(s) for s in chosen)
    chinese = ask("咖啡机")
    again = likely(sources, records, TERMS, chinese.terms, chinese.mass, limit=1)
    assert [s.name for s in again] == ["Coffee"]
    assert likely(sources[:10], {}, TERMS, question.terms, question.mass) == sources[:10]
