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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.query.lexical import LexicalQuery
from sidelight.query.metadata import EQUAL
from sidelight.query.pool import Pool

SHIPPED = "shipped"  # the feature by which a calibrated gate starts from the shipped one
_TOP = 10
_SPREAD = 50  # cosines whose spread is looked at
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


def features(ordered: Pool, query: LexicalQuery | None) -> dict[str, float]:
    """Absolute numbers about the best candidates, each on a scale that any query shares.

    Args:
        ordered: all candidates; a chain of mentions counts for nothing here, nor what it alone
            found: the gate says the same with and without chains.
        query: its terms; None where words were not asked.
    """
    ordered = _without_chains(ordered)
    best = _surest(ordered)
    grounded = ordered.grounded[best]
    first = best[0] if best else None
    cosines = np.sort(-ordered.cosines[~np.isnan(ordered.cosines)])[:_SPREAD] * -1
    lexical = _leading(ordered, "bm25")
    semantic = _leading(ordered, "vector")
    total = query.total_mass if query is not None else 0.0
    unknown = sum(term.mass for term in query.unknown()) if query is not None else 0.0
    return {
        "evidence": 0.0 if first is None else ordered.grounded.item(first),
        "evidence_5": _mean(grounded[:5]),
        "cosine": cosines.item(0) if len(cosines) else 0.0,
        "cosine_10": _mean(cosines[:_TOP]),
        "cosine_spread": _over_the_rest(cosines),
        "coverage": float(ordered.coverages.max(initial=0.0)),
        "coverage_at_best": 0.0 if first is None else ordered.coverages.item(first),
        "cosine_at_best": 0.0 if first is None else _known(ordered.cosines.item(first)),
        "name": float(ordered.scores("metadata").max(initial=0.0)),
        "agreement": len(lexical & semantic) / max(1, min(len(lexical), len(semantic))),
        "unknown": unknown / total if total else 0.0,
        "length": math.log1p(len(query.terms)) if query is not None else 0.0,
    }


def _without_chains(ordered: Pool) -> Pool:
    """Without what nothing but a chain of mentions found."""
    if "graph" not in ordered.channels:
        return ordered
    others = [found.ranks > 0 for name, found in ordered.channels.items() if name != "graph"]
    elsewhere = np.any([*others, np.zeros(len(ordered), bool)], axis=0)
    alone = (ordered.channels["graph"].ranks > 0) & ~elsewhere
    return ordered.take(np.flatnonzero(~alone).tolist())


def _surest(ordered: Pool) -> list[int]:
    """Where the ten of most evidence stand, and those that tie with the last; ties by place."""
    last = np.sort(-ordered.grounded)[:_TOP]
    top = np.flatnonzero(ordered.grounded >= -last[-1]).tolist() if len(last) else []
    return sorted(top, key=lambda p: (-ordered.grounded.item(p), ordered.chunks[p].order))


def _over_the_rest(cosines: NDArray[np.float64]) -> float:
    """How far the best cosine lies above those behind the first ten."""
    return cosines.item(0) - _mean(cosines[_TOP:]) if len(cosines) > _TOP else 0.0


def _known(cosine: float) -> float:
    return 0.0 if math.isnan(cosine) else cosine


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


def _leading(ordered: Pool, channel: str) -> set[str]:
    """The notes that a channel has among its first."""
    found = ordered.channels.get(channel)
    if found is None:
        return set()
    leading = np.flatnonzero((found.ranks > 0) & (found.ranks <= _TOP)).tolist()
    return {ordered.chunks[place].path for place in leading}


def _mean(values: NDArray[np.float64]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _logit(p: float) -> float:
    p = min(max(p, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))
