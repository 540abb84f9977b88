"""Is there evidence at all? A logistic gate over absolute numbers, calibrated on questions.

Never reads fused scores or scores normalised within one list: they say nothing about whether
the vault answers. As shipped, the best evidence is compared with a threshold;
a gate fitted by `scripts/fit_gate.py` (`gate.json` beside this file) would take its place for
its model, but did not carry over to small vaults (docs/ranking.md). `sidelight calibrate` fits
one to a person's own questions. There is a gate
for each set of channels that took part, as the numbers mean something else without one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from sidelight.query.candidates import Candidate
from sidelight.query.lexical import LexicalQuery
from sidelight.query.metadata import EQUAL

SHIPPED = "shipped"  # the feature by which a calibrated gate starts from the shipped one
_TOP = 10
# Where no gate was fitted for a set of channels or a model, the evidence itself is the
# confidence. What balanced keeps and refuses stands in docs/ranking.md. Words alone need far less
# to pass: few questions repeat the words of their answer.
PLAIN_THRESHOLDS = {"lenient": 0.38, "balanced": 0.46, "strict": 0.52}
_WORDS_THRESHOLDS = {"lenient": 0.05, "balanced": 0.09, "strict": 0.24}


@dataclass(frozen=True, slots=True)
class Decision:
    """What the gate says.

    Attributes:
        confidence: that the vault answers, 0..1.
        threshold: it must reach.
        passed: whether it does.
        features: what it was computed from.
    """

    confidence: float
    threshold: float
    passed: bool
    features: Mapping[str, float]


def features(ordered: Sequence[Candidate], query: LexicalQuery | None) -> dict[str, float]:
    """Absolute numbers about the best candidates, each on a scale that any query shares.

    Args:
        ordered: all candidates; a chain of mentions counts for nothing here, nor what it alone
            found: the gate says the same with and without chains.
        query: its terms; None where words were not asked.
    """
    ordered = [c for c in ordered if "graph" not in c.hits or len(c.hits) > 1]
    surest = sorted((c.grounded for c in ordered), reverse=True)[:_TOP]
    top = [c for c in ordered if c.grounded >= surest[-1]]  # and those that tie with the last
    top.sort(key=lambda c: (-c.grounded, c.chunk.order))
    cosines = sorted([c.cosine for c in ordered if c.cosine == c.cosine], reverse=True)  # no NaN
    lexical = _leading(ordered, "bm25")
    semantic = _leading(ordered, "vector")
    best = top[0] if top else None
    total = query.total_mass if query is not None else 0.0
    unknown = sum(term.mass for term in query.unknown()) if query is not None else 0.0
    return {
        "evidence": best.grounded if best else 0.0,
        "evidence_5": _mean([c.grounded for c in top[:5]]),
        "cosine": cosines[0] if cosines else 0.0,
        "cosine_10": _mean(cosines[:10]),
        "cosine_spread": cosines[0] - _mean(cosines[10:50]) if len(cosines) > 10 else 0.0,
        "coverage": max((c.coverage for c in ordered), default=0.0),
        "coverage_at_best": best.coverage if best else 0.0,
        "cosine_at_best": best.cosine if best and not math.isnan(best.cosine) else 0.0,
        "name": max((h.score for c in ordered if (h := c.hits.get("metadata"))), default=0.0),
        "agreement": len(lexical & semantic) / max(1, min(len(lexical), len(semantic))),
        "unknown": unknown / total if total else 0.0,
        "length": math.log1p(len(query.terms)) if query is not None else 0.0,
    }


def gate_name(channels: Iterable[str]) -> str:
    """Which gate decides where these channels took part; chains of mentions are no part of it."""
    return "+".join(sorted(set(channels) - {"graph"}))


def parse_gates(text: str) -> Mapping[str, Any]:
    """The content of a calibration.

    Raises:
        ValueError: it is none, or a gate in it lacks a number.
    """
    content = json.loads(text)
    if not isinstance(content, dict) or content.get("format") != 1:
        raise ValueError("not a calibration of this version")
    gates = content.get("gates")
    if not isinstance(gates, dict) or not all(map(_is_gate, gates.values())):
        raise ValueError("a gate in it is not whole")
    return content


def _is_gate(gate: Any) -> bool:
    """Whether it has a bias, weights and a threshold for each strictness, all of them numbers."""
    if not isinstance(gate, dict):
        return False
    weights, thresholds = gate.get("weights"), gate.get("thresholds")
    if not isinstance(weights, dict) or not isinstance(thresholds, dict):
        return False
    numbers = [gate.get("bias"), *weights.values(), *thresholds.values()]
    return PLAIN_THRESHOLDS.keys() <= thresholds.keys() and all(map(_is_number, numbers))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class Gate:
    """The gate in force for one vault.

    Args:
        model: id of the embedding model in use, "" for words only.
        strictness: "lenient", "balanced", "strict" or "off".
        calibration: file that `sidelight calibrate` wrote; need not exist.

    Attributes:
        digest: changes when the gate does.
    """

    def __init__(self, model: str, strictness: str, calibration: Path) -> None:
        self._strictness = strictness
        self.digest = hashlib.sha256(f"{_shipped()}{_read(calibration)}".encode()).hexdigest()[:16]
        self._shipped = _for_model(_shipped(), model)
        self._calibrated = _for_model(_read(calibration), model)

    def decide(self, found: Mapping[str, float], channels: Iterable[str]) -> Decision:
        """Whether what was found is evidence.

        Args:
            found: from `features`.
            channels: that took part.
        """
        name = gate_name(channels)
        plain = PLAIN_THRESHOLDS if "vector" in name.split("+") else _WORDS_THRESHOLDS
        confidence, thresholds = _apply(self._shipped.get(name), found, plain)
        if name in self._calibrated:
            found = {**found, SHIPPED: _logit(confidence)}
            confidence, thresholds = _apply(self._calibrated[name], found, plain)
        else:
            found = {**found, SHIPPED: _logit(confidence)}
        threshold = 0.0 if self._strictness == "off" else thresholds[self._strictness]
        return Decision(round(confidence, 9), threshold, confidence >= threshold, found)

    def without_content(self, decision: Decision) -> Decision:
        """The decision on function words alone: only a note of that very name answers them."""
        named = decision.features.get("name", 0.0) >= EQUAL
        return decision if named or self._strictness == "off" else replace(decision, passed=False)


def _apply(
    gate: Mapping[str, Any] | None, found: Mapping[str, float], plain: Mapping[str, float]
) -> tuple[float, Mapping[str, float]]:
    if gate is None:
        return found.get("evidence", 0.0), plain
    total = gate["bias"] + sum(w * found.get(name, 0.0) for name, w in gate["weights"].items())
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, total)))), gate["thresholds"]


def _for_model(content: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The gates that count with this model: those with vectors only if fitted on it."""
    same = content.get("model") == model
    gates = content.get("gates", {})
    return {n: g for n, g in gates.items() if same or "vector" not in n.split("+")}


@cache
def _shipped() -> Mapping[str, Any]:
    file = files("sidelight.query").joinpath("gate.json")
    return parse_gates(file.read_text("utf-8")) if file.is_file() else {}


def _read(calibration: Path) -> Mapping[str, Any]:
    try:
        return parse_gates(calibration.read_text("utf-8"))
    except (OSError, ValueError):
        return {}  # doctor names a calibration that cannot be read


def _leading(ordered: Sequence[Candidate], channel: str) -> set[str]:
    """The notes that a channel has among its first."""
    return {c.chunk.path for c in ordered if (hit := c.hits.get(channel)) and hit.rank <= _TOP}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _logit(p: float) -> float:
    p = min(max(p, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))
