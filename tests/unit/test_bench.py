"""The benchmark's own arithmetic: what counts as worse, what is kept, what the table says."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import bench

    return bench


def test_a_ratio_that_is_more_than_a_quarter_worse_is_named(bench: ModuleType) -> None:
    before = bench.document(
        [bench.Timing("全文 words", 2.0, "x", at="1,000"), bench.Timing("median", 10.0, "ms")]
    )
    fine = [bench.Timing("全文 words", 2.5, "x", at="1,000"), bench.Timing("median", 90.0, "ms")]
    assert bench.worse(fine, before) == [], "milliseconds of two machines are not compared"
    slow = [bench.Timing("全文 words", 2.51, "x", at="1,000"), bench.Timing("new", 9.0, "x")]
    assert bench.worse(slow, before) == ["全文 words, 1,000: 2.51, was 2.00"]
    elsewhere = [bench.Timing("全文 words", 9.0, "x", at="5,000")]
    assert bench.worse(elsewhere, before) == [], "another size is another figure"


def test_storing_one_section_keeps_the_others(bench: ModuleType) -> None:
    before = bench.document([bench.Timing("a", 1.0, "x"), bench.Timing("b", 2.0, "x")])
    after = bench.merged([bench.Timing("b", 3.0, "x"), bench.Timing("c", 4.0, "x")], before)
    assert [(t.name, t.value) for t in after] == [("a", 1.0), ("b", 3.0), ("c", 4.0)]


def test_the_table_has_a_row_a_figure_and_a_column_a_size(bench: ModuleType) -> None:
    timings = [
        bench.Timing("words", 1.5, "x", 2.0, "1,000"),
        bench.Timing("words", 2.5, "x", 2.0, "5,000"),
        bench.Timing("median", 1234.0, "ms", at="5,000"),
    ]
    assert bench.markdown(timings).splitlines()[2:] == [
        "| words | x | 1.50 | 2.50 (target 2) |",
        "| median | ms |  | 1,234.0 |",
    ]


def test_the_stored_baseline_says_where_it_was_measured(bench: ModuleType) -> None:
    stored = json.loads(bench.BASELINE.read_text("utf-8"))
    assert {"machine", "versions", "commit", "measured_at", "figures"} <= stored.keys()
    assert {"numpy", "lancedb", "python"} <= stored["versions"].keys()
    assert any(figure["unit"] == bench.RATIO for figure in stored["figures"])


@pytest.mark.parametrize("language", [0, 1])
def test_the_readmes_show_the_stored_figures(bench: ModuleType, language: int) -> None:
    import readme_table

    readme = readme_table.READMES[language].read_text("utf-8")
    stored = json.loads(bench.BASELINE.read_text("utf-8"))
    same = readme_table.written(readme, stored, language)
    assert same == readme, "run scripts/readme_table.py"
    for figure in stored["figures"]:
        figure["value"] += 1
    assert readme_table.written(readme, stored, language) != readme


def test_the_readme_names_only_figures_that_are_measured(bench: ModuleType) -> None:
    import readme_table

    modules = "".join(
        (bench.HERE / f"bench_{section}.py").read_text("utf-8")
        for section in ("query", "person", "index", "grep")
    )
    for full in (*readme_table.AGAINST, *readme_table.OWN, *readme_table.ONCE):
        name = full.partition(": ")[2].removesuffix(", median")
        assert name in modules, full
