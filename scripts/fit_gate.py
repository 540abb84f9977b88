#!/usr/bin/env python3
"""Fits the evidence gate that ships with the default model, on the shared test sets.

    python scripts/fit_gate.py [--sets SET ...] [--out FILE] [--dry-run]

Every set counts the same, whatever its size, and folds are whole sets, so that weights,
penalty and thresholds are chosen for vaults that were not seen. The adversarial set (questions
written to look answerable) is only reported on: fitted to it, a gate would distrust the truth. Prints how a gate fitted
without a set does on that set; writes `python/sidelight/query/gate.json` in the form that
`evaluation/calibration.py` describes, without the feature `shipped`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from environment import use_environment

use_environment()

from evaluate import ADVERSARIAL, CACHE, ROOT, SETS, open_indexed, topics_of
from sidelight.errors import SidelightError
from sidelight.evaluation.calibration import FORMAT, observe_all, report
from sidelight.evaluation.gate_fit import SHIPPED, Observation, fit_gate
from sidelight.evaluation.report import share, table

SAME_SAY = 500.0  # questions each set counts as; only the ratio to the penalties matters


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "python/sidelight/query/gate.json")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the indexes are kept")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS, metavar="SET")
    parser.add_argument("--dry-run", action="store_true", help="fit and report, write nothing")
    arguments = parser.parse_args()
    if len(set(arguments.sets) - {ADVERSARIAL}) < 2:
        parser.error(f"at least two sets besides {ADVERSARIAL} are needed")
    try:
        model, seen = _observe(arguments.sets, arguments.cache)
    except SidelightError as error:
        print(f"fit_gate.py: {error}", file=sys.stderr)
        return 1
    gates = {}
    for channels in sorted(seen):
        print(f"\n{channels}\n{_leave_one_out(seen[channels])}")
        gates[channels] = fit_gate(_pooled(seen[channels])).as_json()
    if not arguments.dry_run:
        content = {
            "format": FORMAT,
            "model": model,
            "fitted_at": round(time.time()),
            "gates": gates,
        }
        arguments.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        print(f"\nWritten to {arguments.out}")
    return 0


def _observe(
    names: Sequence[str], cache: Path
) -> tuple[str, dict[str, dict[str, list[Observation]]]]:
    """The model's id, and by set of channels and test set what the gate sees of each question."""
    model = ""
    seen: dict[str, dict[str, list[Observation]]] = {}
    for name in names:
        topics = topics_of(name)
        with closing(open_indexed(name, cache)) as engine:
            model = engine.model_id
            for channels, observations in observe_all(engine, topics).items():
                weight = SAME_SAY / len(observations)
                seen.setdefault(channels, {})[name] = [
                    Observation(
                        {k: v for k, v in o.features.items() if k != SHIPPED},
                        o.answerable,
                        weight,
                        group=name,
                    )
                    for o in observations
                ]
    return model, seen


def _pooled(sets: Mapping[str, Sequence[Observation]], without: str = "") -> list[Observation]:
    """The questions of every set that a gate is fitted on."""
    left_out = (ADVERSARIAL, without)
    return [o for name, rows in sets.items() if name not in left_out for o in rows]


def _leave_one_out(sets: Mapping[str, Sequence[Observation]]) -> str:
    rows = [["fitted without the set", "threshold", "AUC", "kept", "refused"]]
    figures = []
    for name, held_out in sets.items():
        done = report(fit_gate(_pooled(sets, without=name)), held_out)
        row = (done.auc, done.recall, done.refused)
        rows.append([name, share(done.threshold), *(share(value) for value in row)])
        if name != ADVERSARIAL:
            figures.append(row)
    means = []
    for column in zip(*figures, strict=True):
        known = [value for value in column if value is not None]
        means.append(share(sum(known) / len(known) if known else None))
    rows.append([f"mean without {ADVERSARIAL}", "", *means])
    return table(rows)


if __name__ == "__main__":
    sys.exit(main())
