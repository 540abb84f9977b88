"""What does a person read of an evaluation or a calibration? Plain tables of figures.

Turns values into text; measures nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sidelight.evaluation.calibration import Calibration, GateReport
from sidelight.evaluation.metrics import NAMES
from sidelight.evaluation.runs import SYSTEMS, Evaluation


def render_evaluation(evaluation: Evaluation) -> str:
    """Ranking by system and by kind, the gate, citations and times."""
    figures = evaluation.as_json()
    parts = [f"{figures['queries']} queries, {figures['answerable']} of them answerable"]
    parts.append(_ranking_table(figures["metrics"]))
    parts.append(_kind_table(figures["metrics"]))
    parts.append(_gate_lines(figures["gate"]))
    citations, latency = figures["citations"], figures["latency_ms"]
    parts.append(
        f"Cited lines that hold the answer: {share(citations['answers_covered'])} "
        f"of {citations['checked']} checked\n"
        f"Time a query: median {latency['p50']:.1f} ms, 95 of 100 within {latency['p95']:.1f} ms"
    )
    return "\n\n".join(parts)


def render_calibration(calibration: Calibration, *, dry_run: bool = False) -> str:
    """The thresholds that were chosen and how they do."""
    gate = calibration.gates[calibration.channels]
    rows = [("as it was", calibration.before), ("fitted on", calibration.fitted_on)]
    if calibration.held_out is not None:
        rows.append(("held out", calibration.held_out))
    head = ["", "answerable", "others", "threshold", "precision", "recall", "refused", "AUC"]
    thresholds = ", ".join(f"{name} {value:.3f}" for name, value in gate.thresholds.items())
    parts = [
        table([head, *([name, *_report_cells(row)] for name, row in rows)]),
        f"Thresholds: {thresholds}",
        *calibration.notes,
        "Nothing was written (dry run)." if dry_run else "This calibration is now in use.",
    ]
    return "\n\n".join(parts)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns lined up: the first to the left, figures to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def share(value: float | None) -> str:
    """A share or measure with three decimals; a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"


def _ranking_table(metrics: dict[str, Any]) -> str:
    rows = [["", "n", *NAMES]]
    for system in SYSTEMS:
        row = metrics[system]
        cells = [str(row["all"]["n"]), *(share(row["all"][m]) for m in NAMES)] if row else []
        rows.append([system, *(cells or ["-"] * (len(NAMES) + 1))])
    return table(rows)


def _kind_table(metrics: dict[str, Any]) -> str:
    rows = [["nDCG@10 by kind", "n", *SYSTEMS, "hit@1", "recall@10"]]
    for kind, pipeline in metrics["pipeline"]["by_kind"].items():
        cells = []
        for system in SYSTEMS:
            row = metrics[system]
            cells.append(share(row["by_kind"][kind]["ndcg@10"] if row else None))
        last = [share(pipeline["hit@1"]), share(pipeline["recall@10"])]
        rows.append([kind, str(pipeline["n"]), *cells, *last])
    return table(rows)


def _gate_lines(gate: dict[str, Any]) -> str:
    lines = [
        f"Gate: threshold {share(gate['threshold'])}, AUC {share(gate['auc'])}, "
        f"answerable kept {share(gate['answerable_kept'])}, "
        f"unanswerable refused {share(gate['unanswerable_refused'])}"
    ]
    for kind, row in gate["by_kind"].items():
        shares = [f"{name} {share(row[name])}" for name in ("kept", "refused") if name in row]
        lines.append(f"  {kind}: {', '.join(shares)} of {row['n']}")
    return "\n".join(lines)


def _report_cells(row: GateReport) -> list[str]:
    return [
        str(row.answerable),
        str(row.unanswerable),
        *(share(v) for v in (row.threshold, row.precision, row.recall, row.refused, row.auc)),
    ]
