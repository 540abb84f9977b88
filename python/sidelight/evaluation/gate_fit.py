"""Which weights and thresholds tell evidence from none? Logistic regression, small samples in mind.

Pure functions of numbers: nothing here searches, reads or writes. `calibration.py` says what the
result means and where it is kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.errors import UsageError

SHIPPED = "shipped"
# The share of a person's answerable questions that may be refused. 0.05 is the issue's own
# bar ("kept 0.95"); its neighbours halve and double it.
MAY_REFUSE = {"lenient": 0.025, "balanced": 0.05, "strict": 0.10}
FEWEST_TO_FIT = 30  # below, only the thresholds move: a dozen weights need more questions
FEWEST_OF_A_KIND = 5  # answerable and unanswerable ones each, for the same reason
FOLDS = 5
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # tried in cross-validation, strongest wins ties
MARGIN = 0.5  # in logits: how far below the last question to keep a threshold may lie
PRIOR = {SHIPPED: 1.0}

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Observation:
    """What the gate saw of one question, and whether the vault answers it."""

    features: Mapping[str, float]
    answerable: bool
    weight: float = 1.0
    group: str = ""  # questions of several vaults: where this one comes from


@dataclass(frozen=True, slots=True)
class FittedGate:
    """A logistic gate with its thresholds, all confidences in 0..1."""

    bias: float
    weights: Mapping[str, float]
    thresholds: Mapping[str, float]

    def confidence(self, features: Mapping[str, float]) -> float:
        """Confidence that there is evidence, in 0..1."""
        return _sigmoid(
            self.bias + sum(w * features.get(name, 0.0) for name, w in self.weights.items())
        )

    def as_json(self) -> dict[str, Any]:
        """The form in the file."""
        return {
            "bias": self.bias,
            "weights": dict(self.weights),
            "thresholds": dict(self.thresholds),
        }


def fit_gate(observations: Sequence[Observation], *, seed: int = 0) -> FittedGate:
    """A logistic gate, shrunk towards the shipped one as strongly as cross-validation says.

    Thresholds come from out-of-fold confidences, so that they hold for questions that were not
    fitted on. Where the questions come from several groups, each fold is one of them, so that
    the gate is judged on vaults it has not seen.

    Raises:
        UsageError: none of the questions is answerable.
    """
    if not any(o.answerable for o in observations):
        raise UsageError(
            "None of the questions is answerable, so there is nothing to keep.",
            "Add questions whose 'relevant' names the notes that answer them.",
        )
    labels = np.array([o.answerable for o in observations], dtype=np.float64)
    if not can_fit(observations):
        shipped = [o.features.get(SHIPPED, 0.0) for o in observations]
        weight = np.array([o.weight for o in observations])
        return FittedGate(0.0, dict(PRIOR), _thresholds(np.array(shipped), labels, weight))
    names = sorted({name for o in observations for name in o.features})
    design = _Design.of(observations, names)
    folds = _folds(labels, [o.group for o in observations], seed)
    penalty = _best_penalty(design, labels, folds)
    out_of_fold = _out_of_fold(design, labels, folds, penalty)
    bias, weights = design.fit(np.arange(len(labels)), labels, penalty)
    return FittedGate(
        bias=float(bias),
        weights={name: float(w) for name, w in zip(names, weights, strict=True)},
        thresholds=_thresholds(out_of_fold, labels, design.importance),
    )


def can_fit(observations: Sequence[Observation]) -> bool:
    """Whether there are enough questions of both kinds to fit weights and not only thresholds."""
    answerable = sum(o.answerable for o in observations)
    rarer = min(answerable, len(observations) - answerable)
    return len(observations) >= FEWEST_TO_FIT and rarer >= FEWEST_OF_A_KIND


@dataclass(frozen=True, slots=True)
class _Design:
    """Features as columns on a common scale, with what the shipped gate makes of them."""

    values: Vector  # shape (n, features), standardised
    centre: Vector
    scale: Vector
    prior: Vector  # the shipped gate's weights on that scale
    importance: Vector  # shape (n,)

    @classmethod
    def of(cls, observations: Sequence[Observation], names: Sequence[str]) -> _Design:
        raw = np.array([[o.features.get(name, 0.0) for name in names] for o in observations])
        centre, spread = raw.mean(axis=0), raw.std(axis=0)
        scale = np.where(spread > 1e-9, spread, 1.0)  # a constant feature carries nothing
        prior = np.array([PRIOR.get(name, 0.0) for name in names]) * scale
        importance = np.array([o.weight for o in observations])
        return cls((raw - centre) / scale, centre, scale, prior, importance)

    def fit(
        self, rows: npt.NDArray[np.intp], labels: Vector, penalty: float
    ) -> tuple[float, Vector]:
        """Bias and weights on the raw features, fitted on `rows`."""
        weight = _balanced(labels[rows]) * self.importance[rows]
        solved = _logistic(self.values[rows], labels[rows], weight, self.prior, penalty)
        weights = solved[1:] / self.scale
        return float(solved[0] - weights @ self.centre), weights

    def logits(self, rows: npt.NDArray[np.intp], bias: float, weights: Vector) -> Vector:
        """The fitted line's values on `rows`."""
        raw = self.values[rows] * self.scale + self.centre
        logits: Vector = bias + raw @ weights
        return logits


def _balanced(labels: Vector) -> Vector:
    """Weights that give both kinds of question the same say; they add up to their number."""
    positive = max(labels.sum(), 1.0)
    negative = max(len(labels) - labels.sum(), 1.0)
    weights: Vector = np.where(
        labels > 0, len(labels) / (2 * positive), len(labels) / (2 * negative)
    )
    return weights


def _logistic(
    values: Vector, labels: Vector, weight: Vector, prior: Vector, penalty: float
) -> Vector:
    """Newton's method for logistic regression with a Gaussian prior; bias first, unpenalised."""
    design = np.column_stack([np.ones(len(values)), values])
    ridge = np.full(design.shape[1], penalty)
    ridge[0] = 1e-6  # only keeps the system solvable
    centre = np.concatenate([[0.0], prior])
    solved = centre.copy()
    for _ in range(100):
        chance = _sigmoids(design @ solved)
        slope = design.T @ (weight * (chance - labels)) + ridge * (solved - centre)
        curve = (design * (weight * chance * (1 - chance))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        # Newton can overshoot on separable questions: no step longer than 5 in logits.
        solved = solved - step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-8:
            break
    return solved


def _folds(labels: Vector, groups: Sequence[str], seed: int) -> Vector:
    """The fold of each question: its group, or both kinds spread evenly over `FOLDS`."""
    names = sorted(set(groups))
    if len(names) > 1:
        return np.array([names.index(group) for group in groups], dtype=np.float64)
    generator = np.random.default_rng(seed)
    folds = np.zeros(len(labels))
    for kind in (0.0, 1.0):
        rows = np.flatnonzero(labels == kind)
        folds[generator.permutation(rows)] = np.arange(len(rows)) % FOLDS
    return folds


def _out_of_fold(design: _Design, labels: Vector, folds: Vector, penalty: float) -> Vector:
    logits = np.zeros(len(labels))
    for fold in np.unique(folds):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        bias, weights = design.fit(inside, labels, penalty)
        logits[outside] = design.logits(outside, bias, weights)
    return logits


def _best_penalty(design: _Design, labels: Vector, folds: Vector) -> float:
    weight = _balanced(labels) * design.importance

    def loss(penalty: float) -> float:
        logits = _out_of_fold(design, labels, folds, penalty)
        signed = np.where(labels > 0, logits, -logits)
        return float((weight * np.logaddexp(0, -signed)).sum())

    return min(sorted(PENALTIES, reverse=True), key=loss)


def _thresholds(logits: Vector, labels: Vector, weight: Vector) -> dict[str, float]:
    """A confidence for each strictness that keeps its share of new answerable questions.

    Of n exchangeable scores, a new one lies below the j-th lowest with chance j / (n + 1): the
    threshold is the highest one for which that stays within the share (conformal prediction;
    Vovk, Gammerman and Shafer 2005), moved to the middle of the gap below it. Weights stand for
    repeated questions.
    """
    order = np.argsort(logits[labels > 0])
    kept, heaped = logits[labels > 0][order], np.cumsum(weight[labels > 0][order])
    thresholds = {}
    for strictness, share in MAY_REFUSE.items():
        within = share * (heaped[-1] + heaped[-1] / len(heaped))
        edge = kept[max(int(np.searchsorted(heaped, within, side="right")) - 1, 0)]
        below = logits[logits < edge]
        gap = float(edge - below.max()) / 2 if len(below) else MARGIN
        thresholds[strictness] = _sigmoid(float(edge) - min(gap, MARGIN))
    return thresholds


def logit(confidence: float) -> float:
    """Log odds of a confidence (kept a billionth away from 0 and 1)."""
    inside = min(max(confidence, 1e-9), 1 - 1e-9)
    return math.log(inside / (1 - inside))


def _sigmoid(value: float) -> float:
    return float(_sigmoids(np.array([value]))[0])


def _sigmoids(values: Vector) -> Vector:
    chances: Vector = 0.5 * (1 + np.tanh(0.5 * values))  # no overflow at either end
    return chances
