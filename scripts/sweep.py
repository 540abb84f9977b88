#!/usr/bin/env python3
"""What would another value of a ranking setting do on the shared test sets?

    python scripts/sweep.py SETTING VALUE [VALUE ...] [--sets SET ...] [--measure hit@1]

Searches each set's kept index (see `scripts/evaluate.py`) once with every value and prints the
pipeline's figure by set, with the default's own first. Changes no setting of anyone.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path

from environment import use_environment

use_environment()

from evaluate import CACHE, SETS, open_indexed, topics_of
from sidelight.config import Settings, settings_from
from sidelight.errors import SidelightError
from sidelight.evaluation.metrics import NAMES
from sidelight.evaluation.report import share, table
from sidelight.evaluation.runs import evaluate


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("setting", help="rrf_k, bm25_k1, bm25_b, pool, results_per_note, ...")
    parser.add_argument("values", nargs="+", type=json.loads, metavar="VALUE")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS, metavar="SET")
    parser.add_argument("--measure", default="ndcg@10", choices=NAMES)
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the indexes are kept")
    arguments = parser.parse_args()
    try:
        tried = [settings_from({arguments.setting: value}) for value in arguments.values]
        print(_sweep(arguments, tried))
    except SidelightError as error:
        print(f"sweep.py: {error}", file=sys.stderr)
        return 1
    return 0


def _sweep(arguments: argparse.Namespace, tried: list[Settings]) -> str:
    columns = [Settings(), *tried]
    names = [f"{getattr(settings, arguments.setting)}" for settings in columns]
    rows = [[arguments.setting, names[0] + " (default)", *names[1:]]]
    sums = [0.0] * len(columns)
    for name in arguments.sets:
        topics = [topic for topic in topics_of(name) if topic.answerable]
        figures = []
        for settings in columns:
            with closing(open_indexed(name, arguments.cache, settings=settings)) as engine:
                values = evaluate(engine, topics).values("pipeline", arguments.measure)
            figures.append(sum(values) / len(values))
        sums = [total + figure for total, figure in zip(sums, figures, strict=True)]
        rows.append([name, *(share(figure) for figure in figures)])
    rows.append(["mean", *(share(total / len(arguments.sets)) for total in sums)])
    return table(rows)


if __name__ == "__main__":
    sys.exit(main())
