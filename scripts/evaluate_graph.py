#!/usr/bin/env python3
"""Does the graph channel earn its place? Every set without it and with it, on one index.

    python scripts/evaluate_graph.py [SET ...] [--worth 0.5 ...] [--least-passages 1]

Indexes each set's vault (kept under --cache, as `scripts/evaluate.py` does), runs all its queries
with `graph` off and on, and prints nDCG@10 of both, the difference with its paired bootstrap
interval, the kinds of question on which it differs, the gate's figures and the channel's median,
95th percentile and longest time, one JSON object a line. Vaults of fewer than --least-passages
(default: the setting's) have no chains. `sample-hops` are the sample vault's questions that only a
chain of mentions answers.
Needs the shared material (`../shared` or SIDELIGHT_SHARED) for all sets but the sample's.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from environment import use_environment

use_environment()

import numpy as np

from sidelight.config import Settings, settings_from
from sidelight.engine import Engine
from sidelight.evaluation.metrics import paired_bootstrap
from sidelight.evaluation.runs import Evaluation, evaluate
from sidelight.evaluation.topics import Topic, read_topics
from sidelight.sample import sample_multi_hop, sample_queries, sample_vault
from sidelight.types import SearchRequest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "artifacts" / "evaluation"
SETS = (
    "oldwinter-garden",
    "obsidian-tasks",
    "xquad-enzh-dev",
    "squad2-dev",
    "fastapi-enzh-dev",
    "drcd-dev",
    "cmrc2018-dev",
)
SAMPLES = {"sample": sample_queries, "sample-hops": sample_multi_hop}
SAMPLE_PASSAGES = 100  # the sample vault is small: the channel would stay off


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "sets", nargs="*", metavar="SET", help=f"default: {' '.join(SETS)} + sample"
    )
    parser.add_argument("--worth", type=float, nargs="*", default=[Settings().graph_worth])
    least = Settings().graph_least_passages
    parser.add_argument("--least-passages", type=int, default=least, metavar="N")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the indexes are kept")
    arguments = parser.parse_args()
    for name in arguments.sets or [*SETS, *SAMPLES]:
        for row in compare(name, arguments.cache, arguments.worth, arguments.least_passages):
            print(json.dumps(row, ensure_ascii=False), flush=True)
    return 0


def compare(name: str, cache: Path, worths: list[float], least: int) -> list[dict[str, Any]]:
    """One row a worth: the set with the channel against the set without it."""
    vault, queries = places(name)
    topics = read_topics(queries)
    data = cache / ("sample" if name in SAMPLES else name)
    without, _ = run(vault, data, topics, Settings(graph=False))
    rows = []
    for worth in worths:
        fewest = SAMPLE_PASSAGES if name in SAMPLES else least
        settings = settings_from(
            {"graph": True, "graph_worth": worth, "graph_least_passages": fewest}
        )
        with_graph, times = run(vault, data, topics, settings)
        rows.append({"set": name, "worth": worth, **difference(without, with_graph, times)})
    return rows


def places(name: str) -> tuple[Path, Path]:
    """The vault and the questions of a set."""
    if name in SAMPLES:
        return sample_vault(), SAMPLES[name]()
    shared = Path(os.environ.get("SIDELIGHT_SHARED") or ROOT.parent / "shared")
    folder = shared / "golden" / name
    vault = folder / "vault" if (folder / "vault").is_dir() else shared / "vaults" / name
    return vault, folder / "queries.jsonl"


def run(
    vault: Path, data: Path, topics: Sequence[Topic], settings: Settings
) -> tuple[Evaluation, list[float]]:
    """An evaluation, and the channel's milliseconds on each question (in one thread, alone)."""
    with closing(Engine.open(vault, data_dir=data, settings=settings)) as engine:
        engine.sync()
        evaluation = evaluate(engine, topics)
        times = []
        for topic in topics if settings.graph else ():
            spent = engine.search(SearchRequest(text=topic.query)).timing_ms["recall"]
            times.append(float(spent.get("graph", 0.0)))
    return evaluation, times


def difference(without: Evaluation, with_graph: Evaluation, times: list[float]) -> dict[str, Any]:
    """Figures of both runs and what lies between them."""
    before, after = without.as_json(), with_graph.as_json()
    old, new = (e.values("pipeline", "ndcg@10") for e in (without, with_graph))
    kinds = {
        kind: (
            before["metrics"]["pipeline"]["by_kind"][kind]["ndcg@10"],
            figures["ndcg@10"],
        )
        for kind, figures in after["metrics"]["pipeline"]["by_kind"].items()
    }
    return {
        "without": before["metrics"]["pipeline"]["all"]["ndcg@10"],
        "with": after["metrics"]["pipeline"]["all"]["ndcg@10"],
        "gain": paired_bootstrap(new, old),
        "found": [e["metrics"]["pipeline"]["all"]["recall@10"] for e in (before, after)],
        "kinds": {kind: pair for kind, pair in kinds.items() if pair[0] != pair[1]},
        "auc": [e["gate"]["auc"] for e in (before, after)],
        "kept": [e["gate"]["answerable_kept"] for e in (before, after)],
        "refused": [e["gate"]["unanswerable_refused"] for e in (before, after)],
        "channel_ms": [*np.percentile(times, [50, 95]).tolist(), max(times)],
    }


if __name__ == "__main__":
    raise SystemExit(main())
