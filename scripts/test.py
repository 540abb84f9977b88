#!/usr/bin/env python3
"""Everything that must hold, in one command.

    python3 scripts/test.py [--quick] [--soak]

Installs what it needs (`.venv` with the development packages, npm packages, Chromium where it
can), then runs every check as a named step, goes on after a failed one, and ends with a table,
what was left out and why, and exit code 0 or 1. Standard library only.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # before anything that an older Python could stumble over
    sys.exit(
        "Sidelight needs Python 3.11 or newer; this is Python " + sys.version.split()[0] + ". "
        "Start this script with a newer one, for example: python3.12 scripts/test.py"
    )

import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import chromium
import environment
from environment import ROOT, OneLineParser, SetupError, program

OLDEST_NODE = 20  # package.json: engines
NPM_STAMP = ROOT / "node_modules" / ".sidelight-installed"
TEST_WORKERS = 2  # more only help where there are more cores to embed with


@dataclass(frozen=True)
class Step:
    """One named check: a command to run in the checkout's folder, or a function to call."""

    name: str
    action: Sequence[str] | Callable[[], None]
    left_out: str = ""  # why it is not run, if it is not


@dataclass
class Report:
    """What came of the steps so far."""

    rows: list[tuple[str, str, float]] = field(default_factory=list)  # name, outcome, seconds

    def run(self, step: Step) -> bool:
        """Runs one step, showing its output; whether it passed (or was left out)."""
        if step.left_out:
            self.rows.append((step.name, "left out", 0.0))
            return True
        print(f"\n=== {step.name}", flush=True)
        started = time.monotonic()
        passed = _act(step.action)
        spent = time.monotonic() - started
        self.rows.append((step.name, "passed" if passed else "FAILED", spent))
        print(f"=== {step.name}: {'passed' if passed else 'FAILED'} in {spent:.1f} s", flush=True)
        return passed

    def failed(self) -> int:
        """How many steps failed."""
        return sum(outcome == "FAILED" for _, outcome, _ in self.rows)

    def passed(self) -> int:
        """How many steps passed."""
        return sum(outcome == "passed" for _, outcome, _ in self.rows)


def main() -> int:
    environment.prepare_console()
    parser = OneLineParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--soak", action="store_true", help="with the long runs")
    arguments = parser.parse_args()
    report = Report()
    try:
        steps = _set_up(report, quick=arguments.quick)
        if steps:
            for step in _steps(quick=arguments.quick, soak=arguments.soak):
                report.run(step)
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    return _conclude(report, quick=arguments.quick, soak=arguments.soak)


def _set_up(report: Report, *, quick: bool) -> bool:
    """Installs what the steps need; whether there is an environment to run them in."""
    if not report.run(Step("set up Python", lambda: environment.ensure_environment(["dev"]))):
        return False
    report.run(Step("set up Node", _install_node_packages))
    browser = Step("set up Chromium", _install_chromium, "takes minutes" if quick else "")
    report.run(browser)
    return True


def _steps(*, quick: bool, soak: bool) -> list[Step]:
    python = str(environment.PYTHON)
    shared = _shared_folder()
    slow = "takes minutes (--quick)" if quick else ""
    no_shared = "" if shared else "the folder ../shared is missing (or name it: SIDELIGHT_SHARED)"
    tests = [python, "-m", "pytest", "-q", "-n", str(TEST_WORKERS)]
    tests += ["-m", "not slow"] if quick else []
    tests += ["--soak"] if soak else []
    conformance = [python, "scripts/conformance.py", *_conformance_paths(shared)]
    return [
        Step("format (ruff)", [program("ruff"), "format", "--check", "."]),
        Step("lint (ruff)", [program("ruff"), "check", "."]),
        Step("types (mypy)", [program("mypy")]),
        Step("types of scripts (mypy)", [program("mypy"), *_scripts()]),
        Step("import layers", [program("lint-imports"), "--no-logo"]),
        Step("generated protocol", [python, "scripts/generate_protocol.py", "--check"]),
        Step("embedding model", [program("sidelight"), "model", "build"]),
        Step("conformance", conformance, no_shared),
        Step("tests", [*tests, "tests/unit", "tests/properties", "tests/integration"]),
        Step("plugin format (prettier)", _npm("format:check")),
        Step("plugin lint (eslint)", _npm("lint")),
        Step("plugin types (tsc)", _npm("typecheck")),
        Step("plugin tests (vitest)", _npm("test")),
        Step("plugin build (esbuild)", _npm("build")),
        Step("sidebar in Chromium", _npm("e2e"), slow or chromium.left_out()),
        Step("quality floors", [python, "-m", "pytest", "-q", "tests/quality"], slow),
    ]


def _scripts() -> list[str]:
    return [str(file.relative_to(ROOT)) for file in sorted((ROOT / "scripts").glob("*.py"))]


def _act(action: Sequence[str] | Callable[[], None]) -> bool:
    if callable(action):
        try:
            action()
        except SetupError as error:
            print(error, flush=True)
            return False
        return True
    try:
        return subprocess.run(list(action), cwd=ROOT, env=_variables(), check=False).returncode == 0
    except OSError as error:
        print(f"{action[0]} cannot be started ({error.strerror}).", flush=True)
        return False


def _variables() -> dict[str, str]:
    variables = environment.child_environment()
    found = chromium.find()
    if found:
        variables["CHROMIUM"] = found
    return variables


def _npm(script: str) -> list[str]:
    return [shutil.which("npm") or "npm", "run", "--silent", script]


def _install_node_packages() -> None:
    """`npm ci`, unless node_modules was made from this very package-lock.json.

    Raises:
        SetupError: Node is missing or too old, or the packages cannot be installed.
    """
    node = shutil.which("node")
    if not node or not shutil.which("npm"):
        raise SetupError(f"The plugin's checks need Node {OLDEST_NODE} or newer with npm.")
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)", answer.stdout)
    if not version or int(version.group(1)) < OLDEST_NODE:
        raise SetupError(
            f"The plugin's checks need Node {OLDEST_NODE} or newer; this is {answer.stdout.strip()}."
        )
    lock = (ROOT / "package-lock.json").read_bytes()
    wanted = hashlib.sha256(lock + answer.stdout.encode()).hexdigest()
    if NPM_STAMP.exists() and NPM_STAMP.read_text(encoding="utf-8") == wanted:
        print("node_modules fits package-lock.json.")
        return
    command = [shutil.which("npm") or "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        raise SetupError("npm ci failed; what it said stands above. Check the network connection.")
    NPM_STAMP.write_text(wanted, encoding="utf-8")


def _install_chromium() -> None:
    """Chromium and a Chinese font for the sidebar's test; missing ones fail only in CI.

    Raises:
        SetupError: in CI, where the sidebar must be tested.
    """
    chromium.install()
    reason = chromium.left_out()
    if reason and os.environ.get("CI"):
        raise SetupError(f"The sidebar cannot be tested: {reason}")
    print(reason or f"Chromium: {chromium.find()}")


def _shared_folder() -> Path | None:
    folder = Path(os.environ.get("SIDELIGHT_SHARED") or ROOT.parent / "shared")
    return folder if folder.is_dir() else None


def _conformance_paths(shared: Path | None) -> list[str]:
    if shared is None:
        return []
    cases = shared / "conformance"
    return [str(cases / "parsing.json"), str(cases / "citations.json"), str(shared / "oracle")]


def _conclude(report: Report, *, quick: bool, soak: bool) -> int:
    width = max(len(name) for name, _, _ in report.rows)
    print("\n" + "=" * (width + 22))
    for name, outcome, seconds in report.rows:
        print(
            f"{name:<{width}}  {outcome:<8}  {seconds:8.1f} s"
            if seconds
            else f"{name:<{width}}  {outcome}"
        )
    total = sum(seconds for _, _, seconds in report.rows)
    print(f"{'in all':<{width}}  {'':<8}  {total:8.1f} s")
    for line in _left_out(report, quick=quick, soak=soak):
        print("Left out: " + line)
    print(f"steps: {report.passed()} passed, {report.failed()} failed", flush=True)
    return 1 if report.failed() else 0


def _left_out(report: Report, *, quick: bool, soak: bool) -> list[str]:
    reasons = {step.name: step.left_out for step in _steps(quick=quick, soak=soak)}
    lines = []
    for name, outcome, _ in report.rows:
        if outcome == "left out":
            lines.append(f"{name}: {reasons.get(name) or 'takes minutes (--quick)'}")
    if quick:
        lines.append("tests marked slow: take minutes (--quick)")
    if not soak:
        lines.append("tests marked soak: long runs that prove a figure (--soak)")
    return lines


if __name__ == "__main__":
    sys.exit(main())
