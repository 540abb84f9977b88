"""The shared conformance set and captures of Obsidian itself, on the real parser."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "conformance"
CASES = json.loads((FIXTURES / "parsing.json").read_text("utf-8"))["cases"]
# Our own inputs in the same form, dozens a rule.
RULES = json.loads((FIXTURES.parent / "rules.json").read_text("utf-8"))["cases"]


def load_script() -> ModuleType:
    name = "conformance_script"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / "conformance.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


conformance = load_script()


@pytest.mark.parametrize("case", CASES, ids=[f"{c['id']}-{c['area']}" for c in CASES])
def test_note_is_read_as_the_conformance_set_says(case: dict[str, Any]) -> None:
    outcome = conformance.run_parsing(case)
    assert outcome.passed or outcome.low, outcome.line()


@pytest.mark.parametrize("ask", sorted({case["ask"] for case in RULES}))
def test_own_inputs_are_read_as_the_rules_say(ask: str) -> None:
    outcomes = [conformance.run_parsing(case) for case in RULES if case["ask"] == ask]
    assert len(outcomes) >= 30
    assert [outcome.line() for outcome in outcomes if not outcome.passed] == []


def test_notes_are_read_as_obsidian_itself_read_them(shared: Path) -> None:
    outcomes = list(conformance.outcomes(shared / "oracle"))
    assert len(outcomes) >= 50
    assert [outcome.line() for outcome in outcomes if not outcome.passed] == []


def check_run(capsys: pytest.CaptureFixture[str], path: Path, code: int, last: str) -> list[str]:
    assert conformance.main([str(path)]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == last
    return lines


def case_file(folder: Path, **changes: Any) -> Path:
    case = {**CASES[0], **changes}
    content = {
        "format": "vault-conformance/parsing",
        "version": 1,
        "cases": [{key: value for key, value in case.items() if value is not None}],
    }
    path = folder / "cases.json"
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_script_counts_the_fixtures(capsys: pytest.CaptureFixture[str]) -> None:
    lines = check_run(capsys, FIXTURES, 0, "153 passed, 0 failed")
    assert sum(line.startswith("low confidence") for line in lines) == 3


def test_script_fails_a_wrong_expectation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = check_run(capsys, case_file(tmp_path, expect=[]), 1, "0 passed, 1 failed")
    assert lines[0].startswith(f"{CASES[0]['id']}: links: expected [] got [")


def test_script_never_fails_a_case_of_low_confidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = case_file(tmp_path, expect=[], confidence="low")
    lines = check_run(capsys, path, 0, "0 passed, 0 failed")
    assert "differs, not counted" in lines[0]


@pytest.mark.parametrize(
    "changes", [{"ask": "weather"}, {"files": None}, {"expect": None}, {"from": "gone.md"}]
)
def test_script_fails_an_unknown_question_or_a_missing_key(
    changes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_run(capsys, case_file(tmp_path, **changes), 1, "0 passed, 1 failed")


def test_script_fails_a_file_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text('{"format": "other"}', "utf-8")
    (tmp_path / "y.json").write_text("not json", "utf-8")
    check_run(capsys, tmp_path, 1, "0 passed, 2 failed")
    check_run(capsys, tmp_path / "missing", 1, "0 passed, 1 failed")


def test_script_fails_a_capture_that_differs_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    position = {"start": {"line": 1, "col": 0}, "end": {"line": 1, "col": 3}}
    capture = {
        "filePath": "N.md",
        "fileContents": "# H\n",
        "cachedMetadata": {"headings": [{"heading": "H", "level": 1, "position": position}]},
    }
    path = tmp_path / "capture.json"
    path.write_text(json.dumps(capture), "utf-8")
    lines = check_run(capsys, path, 1, "0 passed, 1 failed")
    assert "headings" in lines[0]
