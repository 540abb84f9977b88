"""The set-up scripts: one clear line for what is wrong, and no work that was done before."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script as a module, under a name that hides nothing (`test` is Python's own)."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location(f"script_{name}", SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def start(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / script), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("script", "arguments"),
    [("run.py", ["--what"]), ("run.py", ["a", "b"]), ("run.py", [""]), ("test.py", ["x"])],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(script: str, arguments: list[str]) -> None:
    done = start(script, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "usage" in done.stderr


def test_a_vault_that_is_not_there_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    file = tmp_path / "笔记.md"
    file.write_text("x", encoding="utf-8")
    for vault in (tmp_path / "没有", file):
        done = start("run.py", str(vault), "--once")
        assert done.returncode == 1
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert vault.name in done.stderr


@pytest.mark.parametrize("script", ["run.py", "test.py"])
def test_an_older_python_is_told_which_one_is_needed(script: str) -> None:
    pretend = (
        "import runpy, sys; sys.version_info = (3, 10, 4); sys.version = '3.10.4 (main)'; "
        f"runpy.run_path({str(SCRIPTS / script)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", pretend], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Sidelight needs Python 3.11 or newer; this is Python 3.10.4.")
    assert len(done.stderr.splitlines()) == 1


# ------------------------------------------------------------------------------- environment


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The environment module with a checkout of its own and a pip that records its calls."""
    module = load("environment", monkeypatch)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "pyproject.toml").write_text("a", encoding="utf-8")
    (tmp_path / "scripts" / "constraints.txt").write_text("b", encoding="utf-8")
    venv = tmp_path / ".venv"
    state: dict[str, Any] = {"calls": [], "outputs": []}

    def pip(*arguments: str) -> list[str] | None:
        if arguments[-1] == "wheel":
            return None
        state["calls"].append(arguments)
        return state["outputs"].pop(0) if state["outputs"] else None

    def create() -> None:
        venv.mkdir()

    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "CONSTRAINTS", tmp_path / "scripts" / "constraints.txt")
    monkeypatch.setattr(module, "VENV", venv)
    monkeypatch.setattr(module, "STAMP", venv / "stamp.json")
    monkeypatch.setattr(module, "LOG", venv / "log")
    monkeypatch.setattr(module, "_pip", pip)
    monkeypatch.setattr(module, "_create", create)
    monkeypatch.setattr(module, "_is_healthy", venv.exists)
    monkeypatch.setattr(module, "state", state, raising=False)
    return module


def packages(environment: ModuleType) -> list[str]:
    return [arguments[-1] for arguments in environment.state["calls"]]


def test_a_second_start_runs_nothing(environment: ModuleType) -> None:
    environment.ensure_environment()
    environment.ensure_environment()
    assert packages(environment) == ["."]


def test_the_development_packages_are_added_once_and_kept(environment: ModuleType) -> None:
    environment.ensure_environment()
    environment.ensure_environment(["dev"])
    environment.ensure_environment()
    environment.ensure_environment(["dev"])
    assert packages(environment) == [".", ".[dev]"]
    (environment.ROOT / "pyproject.toml").write_text("changed", encoding="utf-8")
    environment.ensure_environment()
    assert packages(environment)[2:] == [".[dev]"]


def test_a_failed_installation_is_told_and_tried_again(environment: ModuleType) -> None:
    failure = ["WARNING: Retrying after connection broken", "ERROR: ResolutionImpossible: help"]
    environment.state["outputs"] = [failure]
    with pytest.raises(environment.SetupError, match="network") as caught:
        environment.ensure_environment()
    assert "cannot be reached" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not environment.STAMP.exists()
    environment.ensure_environment()
    assert environment.STAMP.exists()


def test_versions_that_do_not_fit_this_python_are_not_insisted_on(environment: ModuleType) -> None:
    environment.state["outputs"] = [["ERROR: No matching distribution found for numpy==2.4.6"]]
    environment.ensure_environment()
    assert len(environment.state["calls"]) == 2
    assert "-c" not in environment.state["calls"][1]


def test_an_unreadable_stamp_counts_for_nothing(environment: ModuleType) -> None:
    environment.ensure_environment()
    environment.STAMP.write_text("[", encoding="utf-8")
    environment.ensure_environment()
    assert len(environment.state["calls"]) == 2


def test_only_large_downloads_are_worth_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    hint = load("environment", monkeypatch)._progress_hint
    assert hint("  Downloading lancedb-0.40.0-cp39-abi3-x.whl (75.2 MB)") == (
        "downloading lancedb (75.2 MB)"
    )
    assert hint("  Downloading idna-3.20-py3-none-any.whl (70 kB)") == ""
    assert hint("Requirement already satisfied: idna") == ""
    assert hint("Installing collected packages: a, b") == "installing"


# ------------------------------------------------------------------------------- test.py


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load("test", monkeypatch)


def test_a_failed_step_fails_the_run_and_the_others_go_on(
    checks: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    report = checks.Report()
    python = sys.executable
    assert not report.run(checks.Step("first", [python, "-c", "raise SystemExit(3)"]))
    assert report.run(checks.Step("second", [python, "-c", "print('中文')"]))
    assert not report.run(checks.Step("third", ["no-such-program"]))
    assert report.run(checks.Step("fourth", [python], "has no reason to run"))
    assert checks._conclude(report, quick=True, soak=False) == 1
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == "steps: 1 passed, 2 failed"
    assert any("no-such-program cannot be started" in line for line in lines)
    assert any(line.startswith("Left out: fourth") for line in lines)


def test_a_run_without_a_failure_passes(
    checks: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    report = checks.Report()
    report.run(checks.Step("only", [sys.executable, "-c", ""]))
    assert checks._conclude(report, quick=False, soak=True) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "steps: 1 passed, 0 failed"


def test_a_set_up_that_fails_says_why(
    checks: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise checks.SetupError("npm ci failed.")

    assert not checks.Report().run(checks.Step("set up", refuse))
    assert "npm ci failed." in capfd.readouterr().out


def test_quick_leaves_out_what_takes_minutes_and_nothing_else(
    checks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks.chromium, "left_out", lambda: "")
    whole = {step.name for step in checks._steps(quick=False, soak=False) if not step.left_out}
    quick = {step.name for step in checks._steps(quick=True, soak=False) if not step.left_out}
    assert whole - quick == {"sidebar in Chromium", "quality floors"}


def test_without_the_shared_material_the_conformance_set_is_left_out_and_named(
    checks: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SIDELIGHT_SHARED", str(tmp_path / "missing"))
    steps = {step.name: step for step in checks._steps(quick=False, soak=False)}
    assert "SIDELIGHT_SHARED" in steps["conformance"].left_out


def test_a_missing_chromium_fails_in_ci_alone(
    checks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks.chromium, "install", lambda: None)
    monkeypatch.setattr(checks.chromium, "left_out", lambda: "no Chromium was found")
    monkeypatch.delenv("CI", raising=False)
    checks._install_chromium()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(checks.SetupError, match="no Chromium"):
        checks._install_chromium()


def test_the_pinned_versions_are_one_a_line_without_a_host() -> None:
    lines = (SCRIPTS / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert len(pins) > 40
    assert all(line.count("==") == 1 and "/" not in line and "@" not in line for line in pins)


def test_package_lock_names_are_hashed_with_the_node_version(
    checks: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, 0, stdout="v22.1.0\n", stderr="")

    (tmp_path / "node_modules").mkdir()
    (tmp_path / "package-lock.json").write_text(json.dumps({}), encoding="utf-8")
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setattr(checks, "NPM_STAMP", tmp_path / "node_modules" / "stamp")
    monkeypatch.setattr(checks.subprocess, "run", run)
    monkeypatch.setattr(checks.shutil, "which", lambda name: name)
    checks._install_node_packages()
    checks._install_node_packages()
    assert [command[1] for command in ran] == ["--version", "ci", "--version"]


def test_an_old_node_is_told(checks: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess([], 0, stdout="v18.2.0\n", stderr="")
    monkeypatch.setattr(checks.subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(checks.shutil, "which", lambda name: name)
    with pytest.raises(checks.SetupError, match=r"Node 20 .*v18\.2\.0"):
        checks._install_node_packages()
