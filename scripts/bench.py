#!/usr/bin/env python3
"""Timings of Sidelight's parts on this machine, one section a part.

Usage: python scripts/bench.py [SECTION...] [--json]

A section is a module `scripts/bench_SECTION.py` with `measure() -> Iterator[Timing]`; without
arguments all run. Timing lives here, not in the tests; a bound that is missed is marked and
makes the exit code 1.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]


@dataclass(frozen=True)
class Timing:
    """One measured figure; `bound` is what it must not exceed, in the same unit."""

    name: str
    value: float
    unit: str = "ms"
    bound: float | None = None
    at: str = ""  # size of what was measured, where there are several

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
    for name in names:
        for timing in importlib.import_module(f"bench_{name}").measure():
            yield replace(timing, name=f"{name}: {timing.name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("section", nargs="*", help=", ".join(sections()))
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    unknown = set(options.section) - set(sections())
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(sections())}")
    timings = []
    for timing in run(options.section or sections()):
        timings.append(timing)
        if not options.json:
            bound = "" if timing.bound is None else f"  at most {timing.bound:g}"
            mark = "" if timing.kept else "  MISSED"
            print(
                f"{timing.full_name:72} {timing.value:10.2f} {timing.unit}{bound}{mark}", flush=True
            )
    if options.json:
        print(json.dumps([asdict(timing) for timing in timings], ensure_ascii=False, indent=2))
    return 0 if all(timing.kept for timing in timings) else 1


if __name__ == "__main__":
    raise SystemExit(main())
