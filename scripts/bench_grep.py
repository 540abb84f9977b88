"""A line search over 15,000 notes, against ripgrep alone on the same folder."""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import Timing

NOTES = 15_000  # issue "Fast where it counts"
ROUNDS = 7
MOST_TIMES = 2.0  # ripgrep's own time (issue "Fast where it counts")
WORDS = ["kiln", "glaze", "釉烧", "gateway", "网关", "restart", "拿铁", "cone", "north", "稳态误差"]


def measure() -> Iterator[Timing]:
    from sidelight.vault.grep import grep

    with tempfile.TemporaryDirectory(prefix="sidelight-bench-") as folder:
        vault = Path(folder).resolve()
        paths = _written(vault)
        for name, with_ripgrep in (("with ripgrep", True), ("with RE2", False)):
            for pattern in ("拿铁 cone", "no such line"):
                spent = _median(lambda p=pattern, r=with_ripgrep: grep(vault, paths, p, ripgrep=r))  # type: ignore[misc]
                yield Timing(f"{name}: {pattern!r} in {NOTES} notes", spent)
        program = shutil.which("rg", path=sysconfig.get_path("scripts")) or shutil.which("rg")
        if program is None:
            print("ripgrep is not installed: its own time is left out")
            return
        command = [program, "-F", "-n", "--no-config", "--sort", "path", "no such line", "."]
        alone, ours = [], []
        for _ in range(ROUNDS):  # in turns, so that a noisy machine spoils neither
            alone.append(_spent(lambda: subprocess.run(command, cwd=vault, capture_output=True)))
            ours.append(_spent(lambda: grep(vault, paths, "no such line")))
        yield Timing("ripgrep alone", statistics.median(alone))
        times = statistics.median(ours) / statistics.median(alone)
        yield Timing("times ripgrep's own", times, "x", MOST_TIMES)


def _written(vault: Path) -> list[str]:
    dice = random.Random(8)
    paths = []
    for number in range(NOTES):
        path = f"{number % 40:02}/笔记 {number:05}.md"
        (vault / path).parent.mkdir(exist_ok=True)
        lines = (" ".join(dice.choices(WORDS, k=8)) for _ in range(12))
        (vault / path).write_text("\n".join(lines) + "\n", "utf-8")
        paths.append(path)
    return paths


def _median(work: Callable[[], object]) -> float:
    return statistics.median(_spent(work) for _ in range(ROUNDS))


def _spent(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1_000
