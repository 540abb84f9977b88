"""Which recipe puts the right notes first? The same candidates, scored by every published recipe.

Of each question the channels are recalled once (`recollection.py`); every recipe then scores the
same passages. Recipes that add raw or normalised scores are here to be compared and are no part
of the search; those of `config.FUSIONS` can be chosen in the settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sidelight.config import FUSIONS, Settings
from sidelight.errors import UsageError
from sidelight.evaluation.metrics import stratified_bootstrap
from sidelight.evaluation.recollection import Numbers, Recollection
from sidelight.evaluation.report import share, table
from sidelight.evaluation.runs import CHANNELS
from sidelight.query.recipes import EVIDENCE, FIXED_WEIGHTS
from sidelight.query.rerank import CREDIBILITY_SHARE, EVIDENCE_SHARE, MODEL_SHARE

DEFAULT = EVIDENCE
ALPHA = 0.7  # of meaning; words have the rest
_WORDS, _MEANING = CHANNELS.index("bm25"), CHANNELS.index("vector")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way from lists to one order.

    Attributes:
        score: of each passage of a recollection, shape (n,), higher is better.
        parameter: what `NAME=VALUE` sets; "" for nothing.
        sweep: values that are tried beside the default.
        says: the formula, in a line.
    """

    score: Callable[[Recollection, float], Numbers]
    default: float
    parameter: str
    sweep: tuple[float, ...]
    says: str


def _rrf(found: Recollection, weights: Mapping[str, float] | None, k: float) -> Numbers:
    """Reciprocal rank fusion; weights by channel, None: each candidate's own confidence."""
    total = np.zeros(len(found.paths))
    for row, channel in enumerate(CHANNELS):
        own = found.weights[row]
        weight = own if weights is None else weights.get(channel, own)
        total += np.where(np.isinf(found.ranks[row]), 0.0, weight / (k + found.ranks[row]))
    return total


def _evidence(found: Recollection, _: float) -> Numbers:
    return -np.arange(len(found.paths), dtype=np.float64)  # the order in which they stand


def _split(found: Recollection, alpha: float) -> Numbers:
    rest = dict.fromkeys(FIXED_WEIGHTS, 1 - alpha)
    return _rrf(found, {**rest, "vector": alpha}, Settings().rrf_k)


def _two(found: Recollection, k: float) -> Numbers:
    weights = dict.fromkeys(CHANNELS, 0.0) | {"bm25": 1.0, "vector": 1.0}
    return _rrf(found, weights, k)


def _sum(found: Recollection, alpha: float, scaled: Callable[[Numbers], Numbers]) -> Numbers:
    meaning, words = scaled(found.scores[_MEANING]), scaled(found.scores[_WORDS])
    return alpha * meaning + (1 - alpha) * words


def _min_max(scores: Numbers) -> Numbers:
    """The list's own lowest and highest become 0 and 1; what is not in it is 0."""
    known = scores[~np.isnan(scores)]
    if not len(known):
        return np.zeros(len(scores))
    span = float(known.max() - known.min()) or 1.0
    scaled: Numbers = np.nan_to_num((scores - known.min()) / span, nan=0.0)
    return scaled


def _z_score(scores: Numbers) -> Numbers:
    """Standard deviations from the list's mean; what is not in it stands with its lowest."""
    known = scores[~np.isnan(scores)]
    if not len(known):
        return np.zeros(len(scores))
    spread = float(known.std()) or 1.0
    lowest = float((known.min() - known.mean()) / spread)
    scaled: Numbers = np.nan_to_num((scores - known.mean()) / spread, nan=lowest)
    return scaled


def _as_they_are(scores: Numbers) -> Numbers:
    return np.nan_to_num(scores, nan=0.0)


def _similarities(found: Recollection, alpha: float) -> Numbers:
    """Cosine and the weighted share of the query's words, both known of every passage."""
    return alpha * np.nan_to_num(found.cosines, nan=0.0) + (1 - alpha) * found.coverages


def _interpolated(found: Recollection, weight: float) -> Numbers:
    """Ranks of the list by evidence and of the reranker's order of its head, fused."""
    k = Settings().rrf_k
    places = np.arange(1, len(found.paths) + 1)
    read = np.flatnonzero(~np.isnan(found.reranked))
    model = np.zeros(len(places))
    by_model = read[np.argsort(-found.reranked[read], kind="stable")]
    model[by_model] = weight / (k + np.arange(1, len(read) + 1))
    fused: Numbers = (1 - weight) / (k + places) + model
    return fused


def _composite(found: Recollection, share: float) -> Numbers:
    """The product's composite; notes of a judged set are all believed alike."""
    rest = EVIDENCE_SHARE / (EVIDENCE_SHARE + CREDIBILITY_SHARE)
    sure = found.evidence(Settings())
    scores = share * found.reranked + (1 - share) * rest * sure
    unread = -1.0 - np.arange(len(sure))  # behind, in the order in which they stand
    return np.where(np.isnan(found.reranked), unread, scores)


_K = (10.0, 30.0, 60.0, 120.0)
_ALPHA = (0.1, 0.3, 0.5, 0.7, 0.9)
RECIPES: Mapping[str, Recipe] = {
    DEFAULT: Recipe(_evidence, 0.0, "", (), "absolute evidence, the default"),
    "rrf_confident": Recipe(
        lambda r, k: _rrf(r, None, k), 60, "k", _K, "sum of confidence / (k + rank)"
    ),
    "rrf_fixed": Recipe(
        _split, ALPHA, "alpha", _ALPHA, "alpha / (60 + rank) of meaning + (1 - alpha) of words"
    ),
    "rrf_plain": Recipe(
        lambda r, k: _rrf(r, dict.fromkeys(CHANNELS, 1.0), k), 60, "k", _K, "sum of 1 / (k + rank)"
    ),
    "rrf_two": Recipe(_two, 60, "k", _K, "the same of words and meaning alone"),
    "min_max": Recipe(
        lambda r, a: _sum(r, a, _min_max), ALPHA, "alpha", _ALPHA,
        "alpha x meaning + (1 - alpha) x BM25, each list scaled to 0..1",
    ),
    "z_score": Recipe(
        lambda r, a: _sum(r, a, _z_score), ALPHA, "alpha", _ALPHA,
        "the same, each list in standard deviations",
    ),
    "raw": Recipe(
        _similarities, ALPHA, "alpha", _ALPHA, "alpha x cosine + (1 - alpha) x share of the words"
    ),
    "raw_bm25": Recipe(
        lambda r, a: _sum(r, a, _as_they_are), ALPHA, "alpha", _ALPHA,
        "alpha x cosine + (1 - alpha) x BM25, as they are",
    ),
    "rerank": Recipe(
        _interpolated, 0.5, "weight", (0.1, 0.3, 0.5, 0.7, 0.9),
        "(1 - weight) / (60 + rank) by evidence + weight / (60 + rank) by the reranker",
    ),
    "composite": Recipe(
        _composite, MODEL_SHARE, "share", (0.1, 0.3, 0.5, 0.7, 0.9),
        "share x reranker + the rest in 3 parts evidence, 1 credibility: the order with `rerank`",
    ),
    "vector": Recipe(lambda r, _: _as_they_are(r.scores[_MEANING]), 0.0, "", (), "meaning alone"),
    "bm25": Recipe(lambda r, _: _as_they_are(r.scores[_WORDS]), 0.0, "", (), "words alone"),
}  # fmt: skip
READING = ("rerank", "composite")  # need a reranker
assert set(FUSIONS) <= set(RECIPES)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A recipe with the value of its parameter."""

    name: str
    value: float

    @property
    def label(self) -> str:
        """As it is written: `min_max=0.7`, or the bare name where there is nothing to set."""
        return f"{self.name}={self.value:g}" if RECIPES[self.name].parameter else self.name

    def values(self, recollections: Sequence[Recollection]) -> list[float]:
        """nDCG@10 of each question."""
        return [r.graded(self.notes(r)) for r in recollections]

    def notes(self, recollection: Recollection) -> list[str]:
        """The notes in this recipe's order. A channel alone gives only what it found."""
        scores = RECIPES[self.name].score(recollection, self.value)
        if self.name in CHANNELS:
            found = ~np.isinf(recollection.ranks[CHANNELS.index(self.name)])
            kept = replace(
                recollection,
                paths=tuple(p for p, f in zip(recollection.paths, found, strict=True) if f),
            )
            return kept.notes_by(scores[found])
        return recollection.notes_by(scores)


def chosen(names: Sequence[str], *, sweep: bool = False) -> list[Chosen]:
    """Recipes by name, `NAME` or `NAME=VALUE`; `all` for every one that needs no reranker.

    Args:
        names: see above.
        sweep: every value of each, too.

    Raises:
        UsageError: there is no such recipe, or it takes no such value.
    """
    found: list[Chosen] = []
    for name in names:
        for one in [n for n in RECIPES if n not in READING] if name == "all" else [name]:
            made = _parsed(one)
            swept = RECIPES[made.name].sweep if sweep else ()
            found += [made, *(Chosen(made.name, value) for value in swept)]
    return list(dict.fromkeys(found))


def _parsed(text: str) -> Chosen:
    name, _, value = text.partition("=")
    recipe = RECIPES.get(name)
    if recipe is None:
        raise UsageError(
            f"There is no recipe named '{name}'.", f"Recipes: {', '.join(RECIPES)}, all."
        )
    if not value:
        return Chosen(name, recipe.default)
    least = 1.0 if recipe.parameter == "k" else 0.0
    most = 1_000.0 if recipe.parameter == "k" else 1.0
    plain = re.fullmatch(r"\d+(\.\d+)?", value)
    if not recipe.parameter or not plain or not least <= float(value) <= most:
        allowed = f"{recipe.parameter} from {least:g} to {most:g}" if recipe.parameter else "none"
        raise UsageError(f"Recipe '{name}' takes no value '{value}'.", f"It takes {allowed}.")
    return Chosen(name, float(value))


def compare(
    sets: Mapping[str, Sequence[Recollection]], recipes: Sequence[Chosen]
) -> dict[str, dict[str, Any]]:
    """nDCG@10 of each recipe on each set, and its mean difference from the default.

    Returns:
        By label: `says`, `sets` (set to mean), `mean` over sets, `difference` from the default
        over sets and its 95 % `interval` (questions drawn again within each set).
    """
    ours = {name: Chosen(DEFAULT, 0.0).values(found) for name, found in sets.items()}
    rows = {}
    for recipe in recipes:
        theirs = {name: recipe.values(found) for name, found in sets.items()}
        pairs = [(theirs[name], ours[name]) for name in sets]
        difference, low, high = stratified_bootstrap(pairs)
        means = {name: float(np.mean(values)) for name, values in theirs.items()}
        rows[recipe.label] = {
            "says": RECIPES[recipe.name].says,
            "sets": means,
            "mean": float(np.mean(list(means.values()))),
            "difference": difference,
            "interval": [low, high],
        }
    return rows


def render_recipes(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """One table, best mean first, and the formulas below it."""
    ordered = sorted(rows.items(), key=lambda row: -row[1]["mean"])
    sets = list(ordered[0][1]["sets"]) if ordered else []
    lines = [["nDCG@10", "mean", *sets, f"against {DEFAULT}", "95 % interval"]]
    for label, row in ordered:
        low, high = row["interval"]
        cells = [share(row["mean"]), *(share(row["sets"][name]) for name in sets)]
        lines.append([label, *cells, f"{row['difference']:+.3f}", f"{low:+.3f} to {high:+.3f}"])
    said = {label.partition("=")[0]: row["says"] for label, row in ordered}
    return "\n".join([table(lines), "", *(f"{name}: {says}" for name, says in said.items())])
