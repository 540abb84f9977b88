"""How good is a ranking of notes? The field's own measures, over plain lists.

Pure functions: nothing here searches or reads a file. A ranking is a list of note paths, best
first; gain is binary. The measures agree with `ir-measures` (a test compares them).
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

NAMES = ("ndcg@10", "mrr@10", "hit@1", "hit@5", "recall@10")


def note_ranking(paths: Iterable[str], also: Collection[str] = ()) -> list[str]:
    """Passages' notes in order, each at its first appearance, without those in `also`.

    Paths are compared in Unicode NFC, as a file system may spell a name in another form than the
    judgements do; the result is in NFC.
    """
    left_out = {unicodedata.normalize("NFC", path) for path in also}
    spelled = (unicodedata.normalize("NFC", path) for path in paths)
    return [path for path in dict.fromkeys(spelled) if path not in left_out]


def ndcg(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain at `k`, in 0..1 (Jarvelin and Kekalainen 2002)."""
    gained = sum(
        1 / math.log2(rank + 1) for rank, note in enumerate(ranking[:k], 1) if note in relevant
    )
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(relevant)) + 1))
    return gained / ideal if ideal else 0.0


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """One over the rank of the first relevant note among the first `k`; 0 if there is none."""
    ranks = (rank for rank, note in enumerate(ranking[:k], 1) if note in relevant)
    first = next(ranks, None)
    return 1 / first if first else 0.0


def hit(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 if a relevant note is among the first `k`, else 0."""
    return float(any(note in relevant for note in ranking[:k]))


def recall(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """Share of the relevant notes among the first `k`, in 0..1."""
    found = sum(note in relevant for note in ranking[:k])
    return found / len(relevant) if relevant else 0.0


def measure(ranking: Sequence[str], relevant: Collection[str]) -> dict[str, float]:
    """Every measure of one ranking, by name (`NAMES`)."""
    notes = {unicodedata.normalize("NFC", path) for path in relevant}
    return {
        "ndcg@10": ndcg(ranking, notes, 10),
        "mrr@10": reciprocal_rank(ranking, notes, 10),
        "hit@1": hit(ranking, notes, 1),
        "hit@5": hit(ranking, notes, 5),
        "recall@10": recall(ranking, notes, 10),
    }


def mean_measures(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Number of rows as `n` and the mean of every measure; zeros for no rows."""
    means = {name: sum(row[name] for row in rows) / len(rows) if rows else 0.0 for name in NAMES}
    return {"n": len(rows), **means}


def auc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Chance that a positive score lies above a negative one, ties counting half.

    The area under the ROC curve by the Mann-Whitney statistic; None where either side is empty.
    """
    if not positive or not negative:
        return None
    ordered = np.sort(np.asarray(negative, dtype=np.float64))
    values = np.asarray(positive, dtype=np.float64)
    below = np.searchsorted(ordered, values, side="left")
    up_to = np.searchsorted(ordered, values, side="right")
    return float((below + up_to).sum() / (2 * len(values) * len(ordered)))


def paired_bootstrap(
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Mean difference of two systems on the same queries with its percentile interval.

    Args:
        ours: one value a query.
        theirs: the other system's values, in the same order.
        resamples: how many times the queries are drawn again, with replacement.
        confidence: width of the interval, in 0..1.
        seed: makes the answer repeatable.

    Returns:
        Mean difference (ours minus theirs), lower and upper end.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    return stratified_bootstrap(
        [(ours, theirs)], resamples=resamples, confidence=confidence, seed=seed
    )


def stratified_bootstrap(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
    *,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> tuple[float, float, float]:
    """The same over several sets that count alike: queries are drawn again within each.

    Args:
        pairs: our values and theirs, one pair a set.
        resamples: as above.
        confidence: as above.
        seed: as above.
    """
    if not pairs or any(len(ours) != len(theirs) or not ours for ours, theirs in pairs):
        raise ValueError("both systems need a value for each of the same queries")
    random = np.random.default_rng(seed)
    mean, drawn = 0.0, np.zeros(resamples)
    for ours, theirs in pairs:
        differences = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
        mean += float(differences.mean()) / len(pairs)
        # In blocks, so that 10,000 draws of 500 queries need megabytes and not gigabytes.
        means = [
            differences[random.integers(0, len(differences), (block, len(differences)))].mean(
                axis=1
            )
            for block in _blocks(resamples, 1_000)
        ]
        drawn += np.concatenate(means) / len(pairs)
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return mean, float(low), float(high)


def _blocks(total: int, size: int) -> list[int]:
    return [min(size, total - start) for start in range(0, total, size)]
