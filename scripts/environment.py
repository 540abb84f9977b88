"""How do the scripts get an environment they can run in? A virtual one, beside the checkout.

Standard library only, as it runs before anything is installed. It never touches the Python it
was started with, and once the packages are there it needs no network.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
CONSTRAINTS = ROOT / "scripts" / "constraints.txt"
# What pip says when it is the network, which it otherwise takes for versions that are not there.
UNREACHABLE = re.compile(r"connection|timed? ?out|resolve host|name resolution|proxy|SSL", re.I)
STAMP = VENV / "sidelight-installed.json"
# pyproject.toml: build-system, and what it needs; then what jieba, a source archive, is built
# with (the setuptools that comes with Python 3.11 is too old to make a wheel by itself).
BUILD_BACKEND = ("editables", "hatchling", "setuptools", "wheel")
LOG = VENV / "sidelight-install.log"


class SetupError(Exception):
    """The environment cannot be made; the message is one line with a remedy."""


class OneLineParser(argparse.ArgumentParser):
    """Answers wrong arguments with one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Prints the message with the usage and exits."""
        usage = " ".join(self.format_usage().split())
        self.exit(2, f"{self.prog}: {message} ({usage})\n")


def prepare_console() -> None:
    """Lets Chinese be printed on any console, and shows each line as soon as it is printed."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace", line_buffering=True)


def child_environment() -> dict[str, str]:
    """The variables a child starts with: UTF-8 everywhere, the environment's programs first."""
    variables = {**os.environ, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"}
    variables["PATH"] = str(BIN) + os.pathsep + variables.get("PATH", "")
    variables["VIRTUAL_ENV"] = str(VENV)
    variables.pop("PYTHONHOME", None)  # would point the environment at another library
    return variables


def program(name: str) -> str:
    """The path of a program that the environment brings (`sidelight`, `ruff`, ...)."""
    return str(BIN / (name + ".exe" if os.name == "nt" else name))


def use_environment() -> None:
    """Starts the running script again in `.venv` if it was started with another Python."""
    if importlib.util.find_spec("sidelight") is not None:
        return
    if not PYTHON.exists():
        sys.exit("Sidelight is not installed yet: run python3 scripts/run.py --once first.")
    command = [str(PYTHON), *sys.argv]
    if os.name == "nt":  # exec would return to the shell at once there
        sys.exit(subprocess.run(command, env=child_environment(), check=False).returncode)
    os.execve(PYTHON, command, child_environment())


def ensure_environment(extras: Sequence[str] = ()) -> None:
    """Makes `.venv` with the package in it, or keeps the one that already fits.

    An environment fits when it was installed from the same pyproject.toml and the same pinned
    versions, by the same Python, with at least these extras; then nothing is run and no network
    is used.

    Raises:
        SetupError: it cannot be made; what to do stands in the message.
    """
    wanted = _fingerprint()
    installed = _read_stamp()
    healthy = _is_healthy()
    if healthy:
        extras = sorted({*extras, *installed.get("extras", [])})
        if installed.get("fingerprint") == wanted and extras == installed.get("extras"):
            return
    else:
        _create()
    _install(extras)
    stamp = {"fingerprint": wanted, "extras": sorted(extras)}
    STAMP.write_text(json.dumps(stamp) + "\n", encoding="utf-8")


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for part in (ROOT / "pyproject.toml", CONSTRAINTS):
        digest.update(part.read_bytes())
    digest.update(f"{ROOT}|{sys.version_info[:2]}".encode())
    return digest.hexdigest()


def _read_stamp() -> dict[str, Any]:
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _is_healthy() -> bool:
    """Whether the environment's Python starts and is the version this script runs with."""
    if not PYTHON.exists():
        return False
    ask = "import sys, pip; print(sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [str(PYTHON), "-c", ask], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == str(sys.version_info[:2])


def _create() -> None:
    print(f"Making a virtual environment in {VENV}", flush=True)
    if VENV.exists():
        shutil.rmtree(VENV, ignore_errors=True)
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        reason = _last_line(made.stderr or made.stdout)
        raise SetupError(
            f"The virtual environment cannot be made ({reason}). On Debian and Ubuntu install "
            "the package python3-venv; elsewhere use the Python from python.org."
        )


def _install(extras: Iterable[str]) -> None:
    extras = sorted(extras)
    package = f".[{','.join(extras)}]" if extras else "."
    print("Installing the packages (about 250 MB the first time, a few minutes)", flush=True)
    LOG.write_text("", encoding="utf-8")
    # Built by a backend that is installed beside it, not by one fetched for the occasion: so a
    # changed checkout can be installed again without a network.
    ours = ["--no-build-isolation", "-e", package]
    pinned = ["install", "-c", str(CONSTRAINTS)]
    output = _pip(*pinned, *BUILD_BACKEND) or _pip(*pinned, *ours)
    if output is not None and _versions_do_not_fit(output):
        print("The pinned versions do not fit this Python: trying the newest that do.", flush=True)
        output = _pip("install", *BUILD_BACKEND) or _pip("install", *ours)
    if output is not None:
        raise SetupError(_explain(output))


def _pip(*arguments: str) -> list[str] | None:
    """Runs pip, showing what it downloads; its output if it failed, else None."""
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    command += ["--progress-bar", "off"]
    lines: list[str] = []
    with (
        LOG.open("a", encoding="utf-8") as log,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=child_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        for line in process.stdout or ():
            log.write(line)
            lines.append(line.rstrip())
            hint = _progress_hint(lines[-1])
            if hint:
                print("  " + hint, flush=True)
    return None if process.returncode == 0 else lines


def _progress_hint(line: str) -> str:
    """What of a line of pip's output tells a person that something goes on; often nothing."""
    download = re.match(r"\s*Downloading (?:\S*/)?([^/\s]+?)-\d\S* \((.+)\)", line)
    if download:
        name, size = download.groups()
        return f"downloading {name} ({size})" if re.search(r"\d MB", size) else ""
    if line.startswith("WARNING: Retrying"):
        return "no answer from the package index, trying again"
    return "installing" if line.startswith("Installing collected packages") else ""


def _versions_do_not_fit(output: Sequence[str]) -> bool:
    misfit = r"No matching distribution|ResolutionImpossible|metadata-generation"
    text = "\n".join(output)
    return bool(re.search(misfit, text)) and not UNREACHABLE.search(text)


def _explain(output: Sequence[str]) -> str:
    text = "\n".join(output)
    errors = [line.strip() for line in output if line.strip().lower().startswith("error:")]
    reason = errors[-1][len("error:") :].strip() if errors else _last_line(text)
    remedy = "Start again with another Python version, or report it with the log."
    if re.search(r"No space left|Errno 28", text):
        reason, remedy = "the disk is full", "Free about 2 GB and start again."
    elif UNREACHABLE.search(text):
        reason = "the package index cannot be reached"
        remedy = "Check the network connection (or pip's proxy settings) and start again."
    return f"The packages cannot be installed: {reason}. {remedy} Log: {LOG}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"
