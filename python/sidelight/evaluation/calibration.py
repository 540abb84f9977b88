"""What confidence is evidence in *this* vault? Fits the gate to a person's own questions.

The result is one small JSON file at `Places.calibration`, apart from the index:

    {"format": 1,
     "model": "<id of the embedding model, '' for words only>",
     "fitted_at": 1700000000.0,
     "questions": {"answerable": 40, "unanswerable": 12},
     "gates": {"bm25+metadata+vector": {
         "bias": -1.2, "weights": {"<feature>": 0.7, ...},
         "thresholds": {"lenient": 0.31, "balanced": 0.44, "strict": 0.60}}}}

A gate belongs to the set of channels that took part (names sorted, joined by `+`), as their
numbers mean something else when a channel is missing; chains of mentions are no part of it. How
the reader (`query/gate.py`) applies it:

    confidence = sigmoid(bias + sum of weight * feature); a missing feature counts 0
    let through if confidence >= thresholds[strictness]

One feature is special: `shipped`, the logit of the confidence that the gate has as shipped. A
calibration starts from it (weight 1, everything else 0) and moves away only as far as the
questions prove; too few of them move the thresholds alone. A gate whose channels include
`vector` counts only while `model` names the model in use.

Fits and writes; does not decide on any query.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sidelight.config import write_private
from sidelight.errors import QueriesError, UsageError
from sidelight.evaluation.gate_fit import (
    FEWEST_OF_A_KIND,
    FEWEST_TO_FIT,
    SHIPPED,
    FittedGate,
    Observation,
    can_fit,
    fit_gate,
    logit,
)
from sidelight.evaluation.metrics import auc
from sidelight.evaluation.runs import Searcher
from sidelight.evaluation.topics import Topic
from sidelight.query.gate import gate_name
from sidelight.types import Mode, SearchRequest

FORMAT = 1


@dataclass(frozen=True, slots=True)
class GateReport:
    """How a gate does on questions; shares are None where there are no such questions."""

    answerable: int
    unanswerable: int
    threshold: float
    precision: float | None  # of the questions let through, the share that is answerable
    recall: float | None  # of the answerable questions, the share let through
    refused: float | None  # of the unanswerable ones, the share refused
    auc: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain values by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Calibration:
    """Gates for each set of channels, with how the main one does."""

    model: str
    fitted_at: float
    questions: Mapping[str, int]
    gates: Mapping[str, FittedGate]
    channels: str  # the set of channels that the reports are about
    fitted_on: GateReport
    held_out: GateReport | None
    before: GateReport  # the gate as it was, on the held-out questions if there are any
    notes: Sequence[str] = field(default=())  # remarks for the person

    def as_json(self) -> dict[str, Any]:
        """The form in the file (without the reports)."""
        return {
            "format": FORMAT,
            "model": self.model,
            "fitted_at": self.fitted_at,
            "questions": dict(self.questions),
            "gates": {channels: gate.as_json() for channels, gate in self.gates.items()},
        }

    def report_json(self) -> dict[str, Any]:
        """What `sidelight calibrate --json` prints."""
        return {
            "channels": self.channels,
            "questions": dict(self.questions),
            "thresholds": dict(self.gates[self.channels].thresholds),
            "before": self.before.as_json(),
            "fitted_on": self.fitted_on.as_json(),
            "held_out": self.held_out.as_json() if self.held_out else None,
            "notes": list(self.notes),
        }


def calibrate(
    engine: Searcher,
    topics: Sequence[Topic],
    *,
    model: str,
    holdout: float = 0.0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Calibration:
    """Fits a gate for every set of channels that can be live; writes nothing (`save` does).

    Args:
        engine: an open engine with its index up to date.
        topics: the person's questions; 30 to 50 suffice, a third of them unanswerable.
        model: id of the embedding model in use, "" for words only.
        holdout: share of the questions kept for the report and not fitted on, in 0..1.
        seed: makes the split repeatable.
        progress: called with (searches done, searches in all).

    Raises:
        UsageError: `holdout` is no share, or the channels did not answer steadily.
        QueriesError: too few answerable questions are left to fit on.
    """
    if not 0 <= holdout < 1:
        raise UsageError("The share to hold out must lie between 0 and 1.", "Try --holdout 0.5.")
    held = _held_out(topics, holdout, seed)
    left = sum(topic.answerable for i, topic in enumerate(topics) if i not in held)
    if left < FEWEST_OF_A_KIND:
        raise QueriesError(
            f"Too few answerable questions to fit on: {left}.",
            f"Write at least {FEWEST_OF_A_KIND}, or hold out fewer; 30 to 50 are better.",
        )
    seen = observe_all(engine, topics, progress)
    channels = next(iter(seen))  # hybrid is asked first: the set that a plain search uses
    gates: dict[str, FittedGate] = {}
    for name, observations in seen.items():
        fitted = [o for i, o in enumerate(observations) if i not in held]
        gates[name] = fit_gate(fitted, seed=seed)
    kept_back = [o for i, o in enumerate(seen[channels]) if i in held]
    fitted = [o for i, o in enumerate(seen[channels]) if i not in held]
    return Calibration(
        model=model,
        fitted_at=time.time(),
        questions={
            "answerable": sum(o.answerable for o in fitted),
            "unanswerable": sum(not o.answerable for o in fitted),
        },
        gates=gates,
        channels=channels,
        fitted_on=report(gates[channels], fitted),
        held_out=report(gates[channels], kept_back) if kept_back else None,
        before=_as_it_was(engine, topics, held),
        notes=_remarks(fitted),
    )


def save(path: Path, calibration: Calibration) -> None:
    """Replaces the calibration file in one step, readable by the user alone."""
    write_private(path, json.dumps(calibration.as_json(), ensure_ascii=False, indent=2) + "\n")


def report(
    gate: FittedGate, observations: Sequence[Observation], strictness: str = "balanced"
) -> GateReport:
    """How `gate` decides on questions whose answerability is known."""
    threshold = gate.thresholds[strictness]
    decided = [(gate.confidence(o.features), o.answerable) for o in observations]
    return _report(decided, [c >= threshold for c, _ in decided], threshold)


def _report(
    decided: Sequence[tuple[float, bool]], through: Sequence[bool], threshold: float
) -> GateReport:
    kept = sum(t and a for t, (_, a) in zip(through, decided, strict=True))
    answerable = [c for c, a in decided if a]
    others = [c for c, a in decided if not a]
    refused = sum(not t and not a for t, (_, a) in zip(through, decided, strict=True))
    return GateReport(
        answerable=len(answerable),
        unanswerable=len(others),
        threshold=threshold,
        precision=kept / sum(through) if any(through) else None,
        recall=kept / len(answerable) if answerable else None,
        refused=refused / len(others) if others else None,
        auc=auc(answerable, others),
    )


# ------------------------------------------------------------------------------- observing


def observe_all(
    engine: Searcher,
    topics: Sequence[Topic],
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, list[Observation]]:
    """What the gate sees of every question, in order, by set of live channels.

    The set that a plain (hybrid) search uses comes first.

    Raises:
        UsageError: no set of channels answered all questions.
    """
    seen: dict[str, list[Observation]] = {}
    modes = (Mode.HYBRID, Mode.LEXICAL, Mode.SEMANTIC)
    done = 0
    for mode in modes:
        collected: dict[str, list[Observation]] = {}
        for topic in topics:
            channels, observation = _observe(engine, topic, mode)
            collected.setdefault(channels, []).append(observation)
            done += 1
            if progress is not None:
                progress(done, len(topics) * len(modes))
        for channels, observations in collected.items():
            # A set that came up for some questions only (a channel timed out) is no sample.
            if channels and len(observations) == len(topics):
                seen.setdefault(channels, observations)
    if not seen:
        raise UsageError(
            "The channels did not answer steadily, so there is nothing to fit.",
            "Wait until indexing is done (sidelight index) and calibrate again.",
        )
    return seen


def _observe(engine: Searcher, topic: Topic, mode: Mode) -> tuple[str, Observation]:
    asked = SearchRequest(text=topic.query, mode=mode, explain=True, gate=False)
    result = engine.search(asked)
    trace = result.trace or {}
    features = {name: float(v) for name, v in trace.get("gate", {}).get("features", {}).items()}
    features.setdefault(SHIPPED, logit(result.confidence))
    return gate_name(trace.get("channels", ())), Observation(features, topic.answerable)


def _as_it_was(engine: Searcher, topics: Sequence[Topic], held: set[int]) -> GateReport:
    asked = [t for i, t in enumerate(topics) if not held or i in held]
    results = [engine.search(SearchRequest(text=t.query, explain=True)) for t in asked]
    decided = [(r.confidence, t.answerable) for r, t in zip(results, asked, strict=True)]
    gate = (results[-1].trace or {}).get("gate", {}) if results else {}
    return _report(decided, [r.ok for r in results], float(gate.get("threshold") or 0.0))


def _held_out(topics: Sequence[Topic], share: float, seed: int) -> set[int]:
    """Positions of the held-out questions: the same share of answerable and other ones."""
    held: set[int] = set()
    for answerable in (True, False):
        group = [i for i, topic in enumerate(topics) if topic.answerable == answerable]
        random.Random(seed).shuffle(group)
        held.update(group[: round(len(group) * share)])
    return held


def _remarks(fitted: Sequence[Observation]) -> list[str]:
    if can_fit(fitted):
        return []
    return [
        f"With fewer than {FEWEST_TO_FIT} questions, or fewer than {FEWEST_OF_A_KIND} of either "
        "kind, only the thresholds were set; 30 to 50 questions, a third of them ones that the "
        "vault does not answer, fit the gate itself."
    ]
