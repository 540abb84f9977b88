"""Would other settings put this vault's answers higher? Orders again offline what was recalled.

Of every question the deepest lists are recalled once (`recollection.py`); every combination of
`GRID` is worked out from them. Two rules keep a person's few questions from being fitted to:

- among combinations within one standard error of the best, the one nearest to the defaults is
  taken (the one-standard-error rule of Breiman, Friedman, Olshen and Stone 1984);
- the defaults stay unless the 95 % interval of the cross-validated gain over them, question by
  question, lies above zero and its mean is at least `LEAST_GAIN`.

Computes; searches and writes nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidelight.config import Settings, settings_from
from sidelight.evaluation.metrics import paired_bootstrap
from sidelight.evaluation.recollection import Numbers, Recollection
from sidelight.evaluation.report import share, table

# Coarse on purpose: neighbours of the defaults do as well as they on every judged set.
GRID: Mapping[str, tuple[float, ...]] = {
    "rrf_k": (10, 30, 60, 120),
    "pool": (50, 150, 300),
    "words_worth": (0.5, 0.65, 0.8, 0.9),
    "titles_worth": (0.5, 0.7, 0.9),
}
DEEPEST = int(max(GRID["pool"]))
FEWEST = 20  # below, an interval over questions is too wide to show any gain
FOLDS = 5
LEAST_GAIN = 0.01  # of nDCG@10; less is not worth settings of one's own
REPEATS = 10  # of the folds, so that no single split decides


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was chosen, and what it rests on; measures are means of nDCG@10 over notes."""

    questions: int
    defaults: Mapping[str, float]
    now: Mapping[str, float]  # as set before
    best: Mapping[str, float]  # by all questions
    at_defaults: float
    at_now: float
    at_best: float  # on the questions it was chosen by: too rosy
    cross_validated: float  # on questions it was not chosen by
    gain: tuple[float, float, float]  # of the last over the defaults, with its 95 % interval

    @property
    def keeps_defaults(self) -> bool:
        """Whether nothing was shown to be better."""
        return self.best == self.defaults or self.gain[1] <= 0 or self.gain[0] < LEAST_GAIN

    @property
    def chosen(self) -> Mapping[str, float]:
        """The settings to use."""
        return self.defaults if self.keeps_defaults else self.best

    def as_json(self) -> dict[str, Any]:
        """What `sidelight tune --json` prints."""
        return {
            "questions": self.questions,
            "keeps_defaults": self.keeps_defaults,
            "chosen": dict(self.chosen),
            "defaults": {**self.defaults, "ndcg@10": self.at_defaults},
            "now": {**self.now, "ndcg@10": self.at_now},
            "best": {**self.best, "ndcg@10": self.at_best},
            "cross_validated": {"ndcg@10": self.cross_validated},
            "gain": {"mean": self.gain[0], "interval": list(self.gain[1:])},
        }


def tune(recollections: Sequence[Recollection], settings: Settings, *, seed: int = 0) -> Tuning:
    """Chooses among the combinations of `GRID` by cross-validation.

    Args:
        recollections: of the questions; at least `FOLDS`.
        settings: as they are now.
        seed: makes the folds repeatable.
    """
    tried = _combinations()
    as_tried = [settings_from(values, settings) for values in tried]
    scores = np.array([[round(r.score(one), 9) for r in recollections] for one in as_tried])
    at_now = [r.score(settings) for r in recollections]
    best = choose(scores)
    validated = _cross_validated(scores, seed)
    return Tuning(
        questions=len(recollections),
        defaults=tried[0],
        now={name: getattr(settings, name) for name in GRID},
        best=tried[best],
        at_defaults=float(scores[0].mean()),
        at_now=float(np.mean(at_now)),
        at_best=float(scores[best].mean()),
        cross_validated=float(validated.mean()),
        gain=paired_bootstrap(validated.tolist(), scores[0].tolist()),
    )


def choose(scores: Numbers) -> int:
    """The first combination within one standard error of the best.

    Args:
        scores: shape (combinations, questions), combinations nearest to the defaults first.
    """
    short = scores[scores.mean(axis=1).argmax()] - scores
    error = short.std(axis=1, ddof=1) / math.sqrt(scores.shape[1])
    return int(np.flatnonzero(short.mean(axis=1) <= error)[0])


def render_tuning(tuning: Tuning) -> str:
    """One table, and what follows from it in words."""
    rows = [["", *GRID, "nDCG@10"]]
    for name, values, score in (
        ("defaults", tuning.defaults, tuning.at_defaults),
        ("as set now", tuning.now, tuning.at_now),
        ("best by all questions", tuning.best, tuning.at_best),
    ):
        rows.append([name, *(f"{values[setting]:g}" for setting in GRID), share(score)])
    rows.append(["cross-validated", *("" for _ in GRID), share(tuning.cross_validated)])
    mean, low, high = tuning.gain
    said = (
        f"On questions it was not chosen by, the best gains {mean:+.3f} over the defaults "
        f"(95 % interval {low:+.3f} to {high:+.3f})."
    )
    if tuning.best == tuning.defaults:
        verdict = "The defaults stay: nothing is better by more than one standard error."
    elif tuning.keeps_defaults:
        verdict = f"The defaults stay: a gain of {LEAST_GAIN} is not certain."
    else:
        verdict = "The best is chosen: the gain is certain enough."
    return f"{tuning.questions} answerable questions\n\n{table(rows)}\n\n{said}\n{verdict}"


def _combinations() -> list[dict[str, float]]:
    """Every combination, the defaults first, then by how many steps away from them."""
    default = {name: getattr(Settings(), name) for name in GRID}
    found = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]

    def distance(values: Mapping[str, float]) -> tuple[int, int]:
        steps = [abs(g.index(values[n]) - g.index(default[n])) for n, g in GRID.items()]
        return sum(step > 0 for step in steps), sum(steps)

    return sorted(found, key=distance)


def _cross_validated(scores: Numbers, seed: int) -> Numbers:
    """Each question's score by the combinations chosen without it, over all repeats."""
    questions = scores.shape[1]
    generator = np.random.default_rng(seed)
    total = np.zeros(questions)
    for _ in range(REPEATS):
        folds = generator.permutation(questions) % FOLDS
        for fold in range(FOLDS):
            outside = folds == fold
            total[outside] += scores[choose(scores[:, ~outside])][outside]
    return np.round(total / REPEATS, 9)  # sums of equal scores must not seem a gain
