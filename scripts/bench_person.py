"""What a person waits for beside a query: a command, its help, a saved note; and what is installed.

Commands run as whole processes, in turns with a bare Python, whose own time says how busy the
machine is. A saved note is looked for by a word of its own; the time that the daemon waits for
more saves (`debounce_ms`) is taken off.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from bench import Timing
from bench_index import _daemon, _stand_in_vectors, is_found, wait_until_idle
from generate_vault import write_vault
from sidelight.bridge.client import BridgeClient
from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.models.build import default_folder

NOTES = 300  # about a thousand passages
ROUNDS = 9
SAVES = 20
# Issue "Fast where it counts".
MOST_SEARCH_MS, MOST_HELP_MS, MOST_SAVED_MS, MOST_MODEL_MB = 400.0, 200.0, 300.0, 90.0


def measure() -> Iterator[Timing]:
    yield from _sizes()
    with tempfile.TemporaryDirectory(prefix="sidelight-bench-") as root:
        vault, data = Path(root) / "vault", Path(root) / "data"
        write_vault(vault, NOTES)
        engine = Engine.open(vault, data_dir=data, lexical_only=True)
        engine.sync(lexical_only=True)
        engine.close()
        _stand_in_vectors(vault, data)
        with _daemon(vault, data) as (client, _):
            wait_until_idle(client)
            yield from _commands(vault, data)
            yield from _saved(vault, client)


def _commands(vault: Path, data: Path) -> Iterator[Timing]:
    program = _program()
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "sidelight --help": [*program, "--help"],
        "sidelight search, beside a daemon": [
            *program, "search", str(vault), "拿铁 cone", "--json", "--data-dir", str(data)
        ],
    }  # fmt: skip
    most = dict(zip(commands, (None, MOST_HELP_MS, MOST_SEARCH_MS), strict=True))
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            took[name].append(_run(command))
    for name, runs in took.items():
        walls, processors = zip(*runs, strict=True)
        yield Timing(f"{name}, median", statistics.median(walls), "ms", most[name])
        if os.name != "nt":  # which does not count the time of children
            yield Timing(f"{name}, of the processor", statistics.median(processors), "ms")


def _program() -> list[str]:
    """The installed command, as people run it; else the module."""
    beside = shutil.which("sidelight", path=str(Path(sys.executable).parent))
    return [beside] if beside else [sys.executable, "-m", "sidelight"]


def _run(command: list[str]) -> tuple[float, float]:
    """Milliseconds a command takes, and of them those of the processor."""
    before, started = os.times(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    spent, after = time.perf_counter() - started, os.times()
    if done.returncode not in (0, 1):  # 1: there is no evidence
        raise RuntimeError(f"{command} failed: {done.stderr.decode('utf-8', 'replace')}")
    processor = after.children_user - before.children_user
    processor += after.children_system - before.children_system
    return spent * 1000, processor * 1000


def _saved(vault: Path, client: BridgeClient) -> Iterator[Timing]:
    waits = Settings().debounce_ms
    times = sorted(_found_ms(vault, client, number) - waits for number in range(SAVES))
    yield Timing(
        "saved note, found by words, median", statistics.median(times), "ms", MOST_SAVED_MS
    )
    yield Timing("saved note, found by words, p95", times[int(0.95 * (SAVES - 1))], "ms")


def _found_ms(vault: Path, client: BridgeClient, number: int) -> float:
    word = f"zwischenzug{number}q"
    started = time.perf_counter()
    path = f"守拙 {number}.md"
    (vault / path).write_text(f"# 一篇\n\n新词 {word}\n", "utf-8")
    while not is_found(client, word, path):
        if time.perf_counter() - started > 30:
            raise RuntimeError("a saved note was not found within 30 s")
        time.sleep(0.005)
    spent = time.perf_counter() - started
    wait_until_idle(client)
    return spent * 1000


def _sizes() -> Iterator[Timing]:
    sizes = {name: _megabytes(name) for name in sorted(_needed("sidelight"))}
    yield Timing("packages that Sidelight needs", sum(sizes.values()), "MB")
    for name in sorted(sizes, key=lambda name: -sizes[name])[:5]:
        yield Timing(f"of which {name}", sizes[name], "MB")
    model = default_folder() / "model.onnx"
    if not model.exists():
        print("the default model is not installed: its size is left out", file=sys.stderr)
        return
    yield Timing("default model", model.stat().st_size / 1e6, "MB", MOST_MODEL_MB)
    whole = sum(file.stat().st_size for file in model.parent.iterdir())
    yield Timing("default model with its tokenizer", whole / 1e6, "MB")


def _needed(package: str) -> set[str]:
    """The distributions that a package needs here, and those that they need, without extras."""
    found: set[str] = set()
    waiting = [(package, "")]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        for line in importlib.metadata.requires(name) or ():
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                canonical = re.sub(r"[-_.]+", "-", wanted.name).lower()
                found.add(canonical)
                new = {(canonical, e) for e in ("", *wanted.extras)} - seen
                waiting += new
                seen |= new
    return found


def _megabytes(package: str) -> float:
    """What a distribution's files take on disk, without compiled Python."""
    files = importlib.metadata.files(package) or ()
    paths = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.exists()) / 1e6
