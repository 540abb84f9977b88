"""What did the channels find for a question? Recalled once, ordered again offline as often as wanted.

Taken from the explanation of one search, so that hundreds of settings or recipes cost one recall.
Copies that a sync conflict left are not moved behind their originals here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sidelight.config import Settings
from sidelight.errors import QueriesError, UsageError
from sidelight.evaluation.metrics import ndcg, note_ranking
from sidelight.evaluation.runs import CHANNELS, DEPTH, Searcher
from sidelight.evaluation.topics import Topic
from sidelight.query.evidence import evidence, with_chains
from sidelight.types import SearchRequest

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Recollection:
    """What the channels found for one question; n passages, channels as in `CHANNELS`.

    Passages stand in the order that the search gave them.
    """

    topic: Topic
    paths: tuple[str, ...]
    ranks: Numbers  # shape (channels, n); infinite where a channel did not find it
    scores: Numbers  # the same shape, raw; NaN where a channel did not find it
    weights: Numbers  # the same shape, 0..1
    cosines: Numbers  # this and the next four of shape (n,), as `evidence` takes them
    titles: Numbers
    coverages: Numbers
    names: Numbers
    reranked: Numbers  # the model's score; NaN where it did not read the passage
    chance: float

    @classmethod
    def of(cls, topic: Topic, trace: Mapping[str, Any]) -> Recollection:
        """Taken from the explanation of a search."""
        found = trace.get("candidates", [])
        lists = trace.get("channels", {})
        ranks = np.full((len(CHANNELS), len(found)), np.inf)
        scores = np.full(ranks.shape, np.nan)
        weights = np.zeros(ranks.shape)
        for row, channel in enumerate(CHANNELS):
            hits = {hit["chunk_id"]: hit for hit in lists.get(channel, ())}
            for column, candidate in enumerate(found):
                hit = hits.get(candidate["chunk_id"])
                if hit is None:
                    continue
                ranks[row, column], scores[row, column] = hit["rank"], hit["score"]
                part = candidate["contributions"].get(channel, 0.0)
                weights[row, column] = part * (trace["k"] + hit["rank"])
        return cls(
            topic=topic,
            paths=tuple(candidate["path"] for candidate in found),
            ranks=ranks,
            scores=scores,
            weights=weights,
            cosines=_column(found, "cosine"),
            titles=_column(found, "title"),
            coverages=_column(found, "coverage"),
            names=np.nan_to_num(scores[CHANNELS.index("metadata")]),
            reranked=_column(found, "rerank_score"),
            chance=float(trace.get("chance", 0.0)),
        )

    def score(self, settings: Settings) -> float:
        """nDCG@10 over notes as these settings would order them."""
        return self.graded(self.notes(settings))

    def graded(self, notes: Sequence[str]) -> float:
        """nDCG@10 of an order of notes."""
        return ndcg(notes, note_ranking(self.topic.relevant), DEPTH)

    def notes(self, settings: Settings) -> list[str]:
        """The notes as these settings would order them by evidence."""
        inside = self.ranks <= settings.pool
        sure = self.evidence(settings)
        parts = np.where(inside, self.weights / (settings.rrf_k + self.ranks), 0.0)
        order = np.lexsort((np.arange(len(sure)), -parts.sum(axis=0), -sure))
        kept = set(np.flatnonzero(inside.any(axis=0)).tolist())
        return note_ranking((self.paths[i] for i in order.tolist() if i in kept), self.topic.also)

    def evidence(self, settings: Settings) -> Numbers:
        """Evidence of each passage under these settings, shape (n,), 0..1."""
        inside = self.ranks[CHANNELS.index("metadata")] <= settings.pool
        names = np.where(inside, self.names, 0.0)
        sure = evidence(self.cosines, self.titles, self.coverages, names, self.chance, settings)
        graph = CHANNELS.index("graph")
        followed = np.where(self.ranks[graph] <= settings.pool, self.scores[graph], 0.0)
        return with_chains(sure, np.nan_to_num(followed), settings)

    def notes_by(self, scores: Numbers) -> list[str]:
        """The notes by scores of the passages, shape (n,); equals as the search ordered them."""
        order = np.argsort(-np.round(scores, 12), kind="stable")
        return note_ranking((self.paths[i] for i in order.tolist()), self.topic.also)


def recollect(
    engine: Searcher,
    topics: Sequence[Topic],
    progress: Callable[[int, int], None] | None = None,
    *,
    fewest: int = 0,
    rerank: bool = False,
) -> list[Recollection]:
    """Asks every answerable question once.

    Args:
        engine: an open engine with its index up to date.
        topics: the questions.
        progress: called with (questions done, questions in all).
        fewest: answerable questions that there must be.
        rerank: with the model reranker.

    Raises:
        QueriesError: there are fewer answerable questions.
        UsageError: `rerank`, and the model did not read what was found.
    """
    answerable = [topic for topic in topics if topic.answerable]
    if len(answerable) < fewest:
        raise QueriesError(
            f"{len(answerable)} answerable questions are too few.",
            f"Write at least {fewest}; 30 to 50 are better.",
        )
    found = []
    for done, topic in enumerate(answerable, start=1):
        asked = SearchRequest(text=topic.query, explain=True, gate=False, rerank=rerank)
        answer = engine.search(asked)
        missing = [one.reason for one in answer.degraded if rerank and one.channel == "rerank"]
        if missing:
            raise UsageError(
                f"The reranker took no part ({missing[0]}), so there is nothing to compare.",
                "Name a model in the setting reranker_model, or raise rerank_timeout_ms.",
            )
        found.append(Recollection.of(topic, answer.trace or {}))
        if progress is not None:
            progress(done, len(answerable))
    return found


def _column(found: Sequence[Mapping[str, Any]], name: str) -> Numbers:
    return np.array([np.nan if c.get(name) is None else c[name] for c in found], dtype=np.float64)
