"""By which recipe do the channels' lists become one? All of them read ranks, none a raw score.

`evidence` is what ships: fusion says what is looked at, evidence orders it. With the others the
fused rank itself orders, for who prefers a recipe known from elsewhere; the gate reads evidence
whichever is chosen. `docs/ranking.md` compares them, and recipes that add scores, on judged
questions (`evaluation/laboratory.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sidelight.query.candidates import Hit
from sidelight.query.fuse import Weights
from sidelight.query.pool import Pool

EVIDENCE = "evidence"
CONFIDENT = "rrf_confident"
FIXED = "rrf_fixed"
PLAIN = "rrf_plain"
# Seven parts meaning, three parts words: the split that WeKnora and others start with. A channel
# that is not named here (one that is sometimes noise) keeps its own confidence.
FIXED_WEIGHTS: Mapping[str, float] = {"vector": 0.7, "bm25": 0.3, "metadata": 0.3}


def weights_by(recipe: str, hits: Mapping[str, Sequence[Hit]], confident: Weights) -> Weights:
    """The fusion's weights, as `fuse` takes them.

    Args:
        recipe: one of `config.FUSIONS`.
        hits: of each channel.
        confident: how far each hit is trusted, as `Asked.weights` says.
    """
    if recipe == PLAIN:
        return {}
    if recipe == FIXED:
        fixed = {name: [weight] * len(hits.get(name, ())) for name, weight in FIXED_WEIGHTS.items()}
        return {**confident, **fixed}
    return confident


def order_by(recipe: str, candidates: Pool) -> Pool:
    """Candidates, given by evidence, in the recipe's order; equals stay as they are given."""
    if recipe == EVIDENCE:
        return candidates
    # Two lists often give equal sums: rounded, so that the order of adding decides nothing.
    fused = candidates.fused.tolist()
    return candidates.take(sorted(range(len(fused)), key=lambda place: -round(fused[place], 12)))
