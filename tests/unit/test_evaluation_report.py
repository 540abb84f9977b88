"""What a person reads of an evaluation or a calibration has every figure, lined up."""

from __future__ import annotations

from pathlib import Path

from evaluation_fakes import Answer, FakeEngine

from sidelight.evaluation.calibration import calibrate
from sidelight.evaluation.report import render_calibration, render_evaluation, share, table
from sidelight.evaluation.runs import evaluate
from sidelight.evaluation.topics import Topic

TOPICS = (
    Topic("1", "拿铁", "zh", "exact-symbol", True, frozenset({"小票.md"})),
    Topic("2", "nothing", "en", "no-answer", False, frozenset()),
)


def engine(folder: Path) -> FakeEngine:
    answers = {
        "拿铁": Answer(["小票.md"], (), {"bm25": ["小票.md"], "metadata": []}, ["小票.md"]),
        "nothing": Answer([], (), {"bm25": [], "metadata": []}, [], ok=False, confidence=0.1),
    }
    return FakeEngine(folder, answers)


def test_every_system_kind_and_gate_figure_is_shown(tmp_path: Path) -> None:
    text = render_evaluation(evaluate(engine(tmp_path), TOPICS))
    lines = text.splitlines()
    assert lines[0] == "2 queries, 1 of them answerable"
    by_name = {line.split()[0]: line.split()[1:] for line in lines if line.strip()}
    assert by_name["pipeline"] == ["1", *["1.000"] * 5]
    assert by_name["vector"] == ["-"] * 6  # words only: it did not run
    assert by_name["exact-symbol"][:3] == ["1", "1.000", "0.000"]
    assert "no-answer: refused 1.000 of 1" in text
    assert "exact-symbol: kept 1.000 of 1" in text
    assert "AUC 1.000" in text


def test_a_calibration_says_what_was_chosen_and_whether_it_counts(tmp_path: Path) -> None:
    made = calibrate(engine(tmp_path), TOPICS * 5, model="m")
    text = render_calibration(made)
    assert "balanced" in text
    assert "fitted on" in text
    assert "fewer than 30 questions" in text
    assert text.endswith("This calibration is now in use.")
    assert render_calibration(made, dry_run=True).endswith("Nothing was written (dry run).")


def test_columns_line_up() -> None:
    lines = table([["", "n", "share"], ["one", "1", share(0.5)], ["three", "100", share(None)]])
    assert lines.splitlines() == ["         n  share", "one      1  0.500", "three  100      -"]
