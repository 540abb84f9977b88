"""By which recipe do the channels' lists become one? All of them read ranks, none a raw score.

`evidence` is what ships: fusion says what is looked at, evidence orders it. With the others the
fused rank itself orders, for who prefers a recipe known from elsewhere; the gate reads evidence
whichever is chosen. `docs/ranking.md` compares them, and recipes that add scores, on judged
questions (`evaluation/laboratory.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sidelight.query.candidates import Candidate, Hit

EVIDENCE = "evidence"
CONFIDENT = "rrf_confident"
FIXED = "rrf_fixed"
PLAIN = "rrf_plain"
# Seven parts meaning, three parts words: the split that WeKnora and others start with. A channel
# that is not named here (one that is sometimes noise) keeps its own confidence.
FIXED_WEIGHTS: Mapping[str, float] = {"vector": 0.7, "bm25": 0.3, "metadata": 0.3}

Weights = Mapping[str, Mapping[str, float]]


def weights_by(
    recipe: str, hits: Mapping[str, Sequence[Hit]], confident: Weights
) -> dict[str, Mapping[str, float]]:
    """The fusion's weights: channel to chunk id to weight in 0..1; missing ones count 1.

    Args:
        recipe: one of `config.FUSIONS`.
        hits: of each channel.
        confident: how far each candidate is trusted, as `Asked.weights` says.
    """
    if recipe == PLAIN:
        return {}
    if recipe == FIXED:
        fixed = {
            channel: dict.fromkeys((hit.chunk.chunk_id for hit in hits.get(channel, ())), weight)
            for channel, weight in FIXED_WEIGHTS.items()
        }
        return {**confident, **fixed}
    return dict(confident)


def order_by(recipe: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates, given by evidence, in the recipe's order; equals stay as they are given."""
    if recipe == EVIDENCE:
        return list(candidates)
    # Two lists often give equal sums: rounded, so that the order of adding decides nothing.
    return sorted(candidates, key=lambda c: -round(c.rrf_score, 12))
