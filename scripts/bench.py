#!/usr/bin/env python3
"""Timings of Sidelight's parts on this machine, one section a part; and against its rivals.

Usage: python scripts/bench.py [SECTION...] [--json | --markdown] [--check | --store]

A section is a module `scripts/bench_SECTION.py` with `measure() -> Iterator[Timing]`; without
arguments all run. Timing lives here, not in the tests; a bound that is missed is marked and
makes the exit code 1. `--store` keeps the figures as the baseline (`bench_baseline.json`), each
as soon as it is measured, with when, at which commit and under which load; a run that is stopped
keeps what it has. `--check` instead makes the exit code 1 only where a ratio is more than a
quarter worse than there.
"""

from __future__ import annotations

import argparse
import compileall
import importlib
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

BASELINE = HERE / "bench_baseline.json"
RATIO = "x"  # the unit of what is compared with the baseline; smaller is better
MOST_WORSE = 1.25
PACKAGES = ("lancedb", "numpy", "onnxruntime", "tantivy", "sqlite-vec", "apsw")


@dataclass(frozen=True)
class Timing:
    """One measured figure; `bound` is what it must not exceed, in the same unit."""

    name: str
    value: float
    unit: str = "ms"
    bound: float | None = None
    at: str = ""  # size of what was measured, where there are several
    taken: str = ""  # when, at which commit, under which load

    @property
    def full_name(self) -> str:
        """Tells it from every other figure."""
        return f"{self.name}, {self.at}" if self.at else self.name

    @property
    def kept(self) -> bool:
        """Whether the bound holds."""
        return self.bound is None or self.value <= self.bound


def sections() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def run(names: list[str]) -> Iterator[Timing]:
    commit = _commit()
    for name in names:
        for timing in importlib.import_module(f"bench_{name}").measure():
            yield replace(timing, name=f"{name}: {timing.name}", taken=_taken(commit))


def document(timings: Sequence[Timing]) -> dict[str, Any]:
    """The figures with where and with what they were measured."""
    return {
        "measured_at": _now(),
        "commit": _commit(),
        "machine": {
            "system": platform.platform(terse=True),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "load": _load(),
        },
        "versions": {"python": platform.python_version(), **_versions()},
        "figures": [asdict(timing) for timing in timings],
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _commit() -> str:
    """The commit that is checked out, with a + if the package differs from it."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    name = subprocess.run(asked, capture_output=True, text=True, cwd=HERE).stdout.strip()
    same = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "../python"], cwd=HERE)
    return name + "+" * (same.returncode != 0)


def _load() -> float | None:
    """Processes that wanted a core over the last minute, ours among them; Windows has none."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _taken(commit: str) -> str:
    load = _load()
    return f"{_now()}, {commit}" + ("" if load is None else f", load {load}")


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def worse(timings: Sequence[Timing], baseline: Mapping[str, Any]) -> list[str]:
    """One line for each ratio that is more than a quarter worse than in the baseline."""
    before = {Timing(**figure).full_name: figure["value"] for figure in baseline["figures"]}
    return [
        f"{now.full_name}: {now.value:.2f}, was {before[now.full_name]:.2f}"
        for now in timings
        if now.unit == RATIO
        and now.full_name in before
        and now.value > MOST_WORSE * before[now.full_name]
    ]


def merged(timings: Sequence[Timing], baseline: Mapping[str, Any]) -> list[Timing]:
    """The baseline's figures with those measured now in their places."""
    kept = [Timing(**figure) for figure in baseline.get("figures", ())]
    new = {timing.full_name: timing for timing in timings}
    return [new.pop(timing.full_name, timing) for timing in kept] + list(new.values())


def _store(timings: Sequence[Timing], known: Mapping[str, Any]) -> None:
    text = json.dumps(document(merged(timings, known)), ensure_ascii=False, indent=1) + "\n"
    part = BASELINE.with_suffix(".part")
    part.write_text(text, "utf-8")
    part.replace(BASELINE)  # whole or not at all


def markdown(timings: Sequence[Timing]) -> str:
    """A table: a row a figure, a column a size."""
    sizes = list(dict.fromkeys(timing.at for timing in timings))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for timing in timings:
        value = f"{timing.value:.2f}" if timing.unit == RATIO else f"{timing.value:,.1f}"
        shown = value if timing.kept else f"{value} (target {timing.bound:g})"
        rows.setdefault((timing.name, timing.unit), {})[timing.at] = shown
    lines = [f"| | unit | {' | '.join(sizes)} |", "| --- " * (len(sizes) + 2) + "|"]
    for (name, unit), cells in rows.items():
        lines.append(f"| {name} | {unit} | {' | '.join(cells.get(s, '') for s in sizes)} |")
    return "\n".join(lines)


def shown(timing: Timing) -> str:
    bound = "" if timing.bound is None else f"  at most {timing.bound:g}"
    mark = "" if timing.kept else "  MISSED"
    return f"{timing.full_name:72} {timing.value:10.2f} {timing.unit}{bound}{mark}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("section", nargs="*", help=", ".join(sections()))
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document")
    form.add_argument("--markdown", action="store_true", help="one table")
    use = parser.add_mutually_exclusive_group()
    use.add_argument("--store", action="store_true", help="keep the figures as the baseline")
    use.add_argument("--check", action="store_true", help="compare the ratios with the baseline")
    options = parser.parse_args()
    unknown = set(options.section) - set(sections())
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(sections())}")
    known = json.loads(BASELINE.read_text("utf-8")) if BASELINE.exists() else {"figures": []}
    if options.check and not known["figures"]:
        parser.error(f"there is no baseline in {BASELINE}: run with --store first")
    compileall.compile_dir(str(HERE.parent / "python"), quiet=1)  # as it is where it is installed
    timings = []
    for timing in run(options.section or sections()):
        timings.append(timing)
        if options.store:
            _store(timings, known)
        if not options.json and not options.markdown:
            print(shown(timing), flush=True)
    if options.json:
        print(json.dumps(document(timings), ensure_ascii=False, indent=2))
    if options.markdown:
        print(markdown(timings))
    if options.check:
        lines = worse(timings, known)
        print("\n".join(lines) or "no ratio is worse than in the baseline", file=sys.stderr)
        return 1 if lines else 0
    return 0 if all(timing.kept for timing in timings) else 1


if __name__ == "__main__":
    raise SystemExit(main())
