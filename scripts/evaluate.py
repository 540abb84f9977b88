#!/usr/bin/env python3
"""How well does each stage do on every shared test set? One table, with intervals.

    python scripts/evaluate.py [SET ...] [--query-field FIELD] [--recipes] [--json]

Indexes each set's vault (kept under --cache, so that a second run only brings it up to date),
runs all its queries, and prints nDCG@10 of each channel alone, of plain reciprocal rank fusion
and of the pipeline, with a paired bootstrap interval of the pipeline against the set's best
single channel; then the gate, the multi-hop and cross-lingual queries, citations and times.
With --recipes it compares published fusion recipes on the same candidates instead, with --sweep
over the values of their parameters, too.
Needs the shared material (`../shared` or SIDELIGHT_SHARED) and the package's own environment.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from environment import use_environment

use_environment()

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import SidelightError, UsageError
from sidelight.evaluation.laboratory import READING, chosen, compare, render_recipes
from sidelight.evaluation.metrics import paired_bootstrap
from sidelight.evaluation.recollection import recollect
from sidelight.evaluation.report import share, table
from sidelight.evaluation.runs import CHANNELS, SYSTEMS, Evaluation, QueryRun, evaluate
from sidelight.evaluation.topics import Topic, read_topics

ROOT = Path(__file__).resolve().parent.parent
SETS = (
    "oldwinter-garden",
    "obsidian-tasks",
    "xquad-enzh-dev",
    "squad2-dev",
    "fastapi-enzh-dev",
    "drcd-dev",
    "cmrc2018-dev",
)
CACHE = ROOT / "artifacts" / "evaluation"
ADVERSARIAL = "squad2-dev"  # its unanswerable questions are written to look answerable


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"default: {' '.join(SETS)}")
    parser.add_argument("--query-field", default="query", help="for example query_hans")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the indexes are kept")
    parser.add_argument("--rebuild", action="store_true", help="index from nothing")
    parser.add_argument("--rerank", action="store_true", help="with a model reranker")
    parser.add_argument(
        "--reranker-model", default="late-interaction", help="as the setting; for --rerank"
    )
    parser.add_argument("--recipes", action="store_true", help="compare fusion recipes instead")
    parser.add_argument("--sweep", action="store_true", help="with --recipes: their parameters")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    parser.add_argument("--worst", action="store_true", help="list the queries that find nothing")
    arguments = parser.parse_args()
    names = arguments.sets or list(SETS)
    unknown = sorted(set(names) - set(SETS))
    if unknown:
        parser.error(f"there is no set named {', '.join(unknown)}")
    if arguments.sweep and not arguments.recipes:
        parser.error("--sweep belongs to --recipes")
    try:
        if arguments.recipes:
            return _compare_recipes(names, arguments)
        evaluations = {name: _evaluate_set(name, arguments) for name in names}
    except SidelightError as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps(summary(evaluations), ensure_ascii=False, indent=2))
    else:
        print(render(evaluations))
        if arguments.worst:
            print("\n" + worst(evaluations))
    return 0


def shared_folder() -> Path:
    """The folder of shared material.

    Raises:
        UsageError: it is missing.
    """
    folder = Path(os.environ.get("SIDELIGHT_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", "Name it in SIDELIGHT_SHARED.")
    return folder


def vault_of(shared: Path, name: str) -> Path:
    """The notes of a set: beside its queries, or among the shared vaults."""
    beside = shared / "golden" / name / "vault"
    return beside if beside.is_dir() else shared / "vaults" / name


def open_indexed(
    name: str, cache: Path, *, rebuild: bool = False, settings: Settings | None = None
) -> Engine:
    """The engine of a set's vault with its index brought up to date; says how long it took.

    Settings are the defaults, whatever the person who runs this has set for a vault of theirs.
    """
    started = time.monotonic()
    vault = vault_of(shared_folder(), name)
    engine = Engine.open(vault, data_dir=cache / name, settings=settings or Settings())
    try:
        engine.sync(None, rebuild=rebuild)
        state, _ = engine.status()
    except BaseException:
        engine.close()
        raise
    print(
        f"{name}: {state.notes} notes, {state.chunks} chunks, index up to date after "
        f"{time.monotonic() - started:.0f} s",
        file=sys.stderr,
    )
    return engine


def topics_of(name: str, query_field: str = "query") -> tuple[Topic, ...]:
    """The queries of a set."""
    return read_topics(shared_folder() / "golden" / name / "queries.jsonl", query_field)


def _opened(name: str, arguments: argparse.Namespace) -> Engine:
    """With --rerank the model is waited for, however busy the machine is."""
    settings = Settings()
    if arguments.rerank:
        model = arguments.reranker_model
        settings = Settings(reranker_model=model, rerank_timeout_ms=60_000)
    return open_indexed(name, arguments.cache, rebuild=arguments.rebuild, settings=settings)


def _compare_recipes(names: Sequence[str], arguments: argparse.Namespace) -> int:
    recollections = {}
    for name in names:
        topics = topics_of(name, arguments.query_field)
        with closing(_opened(name, arguments)) as engine:
            recollections[name] = recollect(engine, topics, rerank=arguments.rerank)
    wanted = chosen(["all", *(READING if arguments.rerank else [])], sweep=arguments.sweep)
    rows = compare(recollections, wanted)
    print(
        json.dumps(rows, ensure_ascii=False, indent=2) if arguments.json else render_recipes(rows)
    )
    return 0


def _evaluate_set(name: str, arguments: argparse.Namespace) -> Evaluation:
    topics = topics_of(name, arguments.query_field)
    with closing(_opened(name, arguments)) as engine:
        started = time.monotonic()
        evaluation = evaluate(engine, topics, rerank=arguments.rerank)
    spent = time.monotonic() - started
    figures = ", ".join(f"{system} {ndcg(evaluation, system):.3f}" for system in SYSTEMS)
    print(f"{name}: {len(topics)} queries in {spent:.0f} s; {figures}", file=sys.stderr)
    return evaluation


# ------------------------------------------------------------------------------- tables


def summary(evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
    """Every set's evaluation JSON, the means, and the intervals."""
    sets: dict[str, Any] = {}
    for name, evaluation in evaluations.items():
        best = best_channel(evaluation)
        mean, low, high = _difference(evaluation, best)
        against = {"channel": best, "difference": mean, "interval": [low, high]}
        sets[name] = {
            **evaluation.as_json(),
            "against_best_channel": against,
            "multi_hop": _multi_hop(evaluation),
            "only_channel": only_channel(evaluation),
        }
    means = {system: _mean(ndcg(e, system) for e in evaluations.values()) for system in SYSTEMS}
    return {"sets": sets, "mean_ndcg@10": means, "gate_mean": _gate_means(evaluations)}


def render(evaluations: Mapping[str, Evaluation]) -> str:
    """The tables that a person reads."""
    parts = [
        "nDCG@10 (over notes, before the gate)\n" + _ranking_table(evaluations),
        "Gate as shipped\n" + _gate_table(evaluations),
        "Queries by kind (pipeline)\n" + _kind_table(evaluations),
        "Multi-hop: a relevant note among the first five direct or the linked results\n"
        + _multi_hop_lines(evaluations),
        "Answerable queries with a relevant note among the first ten of one channel only\n"
        + _only_table(evaluations),
        "Citations and times\n" + _citation_table(evaluations),
    ]
    return "\n\n".join(parts)


def ndcg(evaluation: Evaluation, system: str) -> float:
    """Mean nDCG@10 of one system."""
    return _mean(evaluation.values(system, "ndcg@10"))


def best_channel(evaluation: Evaluation) -> str:
    """The single channel with the highest nDCG@10."""
    return max(CHANNELS, key=lambda channel: ndcg(evaluation, channel))


def _difference(evaluation: Evaluation, channel: str) -> tuple[float, float, float]:
    ours = evaluation.values("pipeline", "ndcg@10")
    return paired_bootstrap(ours, evaluation.values(channel, "ndcg@10"))


def _ranking_table(evaluations: Mapping[str, Evaluation]) -> str:
    columns = (*CHANNELS, "rrf_plain", "pipeline")
    rows = [["", *columns, "hit@1", "best channel", "gain", "95 % interval"]]
    for name, evaluation in evaluations.items():
        best = best_channel(evaluation)
        mean, low, high = _difference(evaluation, best)
        figures = [share(ndcg(evaluation, column)) for column in columns]
        figures.append(share(_mean(evaluation.values("pipeline", "hit@1"))))
        rows.append([name, *figures, best, f"{mean:+.3f}", f"{low:+.3f} to {high:+.3f}"])
    means = [share(_mean(ndcg(e, c) for e in evaluations.values())) for c in columns]
    hit = share(_mean(_mean(e.values("pipeline", "hit@1")) for e in evaluations.values()))
    rows.append(["mean", *means, hit, "", "", ""])
    return table(rows)


def _gate_means(evaluations: Mapping[str, Evaluation]) -> dict[str, float | None]:
    rows = [e.as_json()["gate"] for n, e in evaluations.items() if n != ADVERSARIAL]
    names = ("auc", "answerable_kept", "unanswerable_refused")
    means: dict[str, float | None] = {}
    for name in names:
        known = [row[name] for row in rows if row[name] is not None]
        means[name] = _mean(known) if known else None
    return means


def _gate_table(evaluations: Mapping[str, Evaluation]) -> str:
    rows = [["", "threshold", "AUC", "kept", "refused", "n", "no answer"]]
    for name, evaluation in evaluations.items():
        gate = evaluation.as_json()["gate"]
        cells = [gate["threshold"], gate["auc"]]
        cells += [gate["answerable_kept"], gate["unanswerable_refused"]]
        answerable = len(evaluation.answerable())
        counts = [str(answerable), str(len(evaluation.runs) - answerable)]
        rows.append([name, *(share(cell) for cell in cells), *counts])
    means = _gate_means(evaluations)
    cells = [share(means[n]) for n in ("auc", "answerable_kept", "unanswerable_refused")]
    rows.append([f"mean without {ADVERSARIAL}", "", *cells, "", ""])
    return table(rows)


def _kind_table(evaluations: Mapping[str, Evaluation]) -> str:
    rows = [["", "n", "nDCG@10", "hit@1", "recall@10", "vector", "bm25"]]
    for name, evaluation in evaluations.items():
        metrics = evaluation.as_json()["metrics"]
        for kind, row in metrics["pipeline"]["by_kind"].items():
            figures = [row["ndcg@10"], row["hit@1"], row["recall@10"]]
            for channel in ("vector", "bm25"):
                alone = metrics[channel]
                figures.append(alone["by_kind"][kind]["ndcg@10"] if alone else None)
            rows.append([f"{name} {kind}", str(row["n"]), *(share(f) for f in figures)])
    return table(rows)


def _multi_hop(evaluation: Evaluation) -> dict[str, Any]:
    runs = [run for run in evaluation.answerable() if run.topic.kind == "multi-hop"]
    missed = [run.topic.id for run in runs if not run.arrived]
    return {"n": len(runs), "arrived": len(runs) - len(missed), "missed": missed}


def _multi_hop_lines(evaluations: Mapping[str, Evaluation]) -> str:
    found = {name: _multi_hop(evaluation) for name, evaluation in evaluations.items()}
    lines = [
        f"{name}: {row['arrived']} of {row['n']}"
        + (f" (missed: {', '.join(row['missed'])})" if row["missed"] else "")
        for name, row in found.items()
        if row["n"]
    ]
    return "\n".join(lines) or "none in these sets"


def only_channel(evaluation: Evaluation) -> dict[str, int]:
    """How many queries a channel answers that no other channel does."""
    counts = dict.fromkeys((*CHANNELS, "none"), 0)
    for run in evaluation.answerable():
        rows = {channel: run.measures(channel) for channel in CHANNELS}
        hits = [channel for channel, row in rows.items() if row and row["mrr@10"] > 0]
        if len(hits) <= 1:
            counts[hits[0] if hits else "none"] += 1
    return counts


def _only_table(evaluations: Mapping[str, Evaluation]) -> str:
    rows = [["", *CHANNELS, "none"]]
    for name, evaluation in evaluations.items():
        counts = only_channel(evaluation)
        rows.append([name, *(str(count) for count in counts.values())])
    return table(rows)


def _citation_table(evaluations: Mapping[str, Evaluation]) -> str:
    rows = [["", "checked", "answers covered", "in relevant notes", "median ms", "p95 ms"]]
    for name, evaluation in evaluations.items():
        figures = evaluation.as_json()
        citations, latency = figures["citations"], figures["latency_ms"]
        covered = [citations["answers_covered"], citations["answers_covered_in_relevant"]]
        times = [f"{latency['p50']:.1f}", f"{latency['p95']:.1f}"]
        rows.append([name, str(citations["checked"]), *(share(c) for c in covered), *times])
    return table(rows)


def worst(evaluations: Mapping[str, Evaluation]) -> str:
    """The answerable queries whose note is not among the first ten, with each channel's rank."""
    lines = []
    for name, evaluation in evaluations.items():
        for run in evaluation.answerable():
            row = run.measures("pipeline")
            if row and row["mrr@10"] == 0:
                ranks = ", ".join(f"{c} {_first_rank(run, c)}" for c in CHANNELS)
                lines.append(
                    f"{name} {run.topic.id} [{run.topic.kind}] {run.topic.query} ({ranks})"
                )
    return "\n".join(lines) or "every answerable query has a relevant note among the first ten"


def _first_rank(run: QueryRun, system: str) -> str:
    ranking = run.rankings.get(system) or ()
    ranks = (rank for rank, note in enumerate(ranking, 1) if note in run.topic.relevant)
    return str(next(ranks, "-"))


def _mean(values: Any) -> float:
    found: Sequence[float] = list(values)
    return sum(found) / len(found) if found else 0.0


if __name__ == "__main__":
    sys.exit(main())
