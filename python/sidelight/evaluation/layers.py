"""Where does an answer get lost: in the pool, in the packed context, or in the words of a model?

Three layers over the same questions: recall of the candidate pool; precision and recall of the
context that would be handed to a model, and whether it holds an answer; of answers in words, how
many cited sentences their lines bear out, and whether a question without an answer is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sidelight.ask.state import State
from sidelight.evaluation.citations import squeeze
from sidelight.evaluation.metrics import note_ranking
from sidelight.evaluation.runs import CHANNELS
from sidelight.evaluation.topics import Topic
from sidelight.types import Pack, PackRequest, SearchRequest, SearchResult

BUDGET = 2_000  # tokens of the context, unless another is asked for


class Packer(Protocol):
    """What of the engine the layers need."""

    def search(self, request: SearchRequest) -> SearchResult:
        """One search."""

    def pack(self, request: PackRequest) -> Pack:
        """One context."""


@dataclass(frozen=True, slots=True)
class ContextRun:
    """What one answerable question got.

    Attributes:
        pool: share of the relevant notes among all candidates.
        recall: share of the relevant notes in the context.
        precision: share of the context's notes that are relevant; notes in `also` aside.
        answered: the context holds an answer; None if none is known or the pool has no
            relevant note.
        over: tokens over the budget; 0 unless something is broken.
    """

    topic: Topic
    pool: float
    recall: float
    precision: float
    answered: bool | None
    over: int


def measure_contexts(
    engine: Packer,
    topics: Sequence[Topic],
    budget: int = BUDGET,
    progress: Callable[[int, int], None] | None = None,
) -> list[ContextRun]:
    """Packs every answerable question, also where the gate refuses.

    Args:
        engine: an open engine with its index up to date.
        topics: the questions.
        budget: tokens, by the embedding model's tokenizer.
        progress: called with (questions done, questions in all).
    """
    answerable = [topic for topic in topics if topic.answerable]
    runs = []
    for done, topic in enumerate(answerable, start=1):
        runs.append(_context(engine, topic, budget))
        if progress is not None:
            progress(done, len(answerable))
    return runs


def contexts_json(runs: Sequence[ContextRun], budget: int) -> dict[str, Any]:
    """Means over the questions; null where there are none."""
    answered = [run.answered for run in runs if run.answered is not None]
    return {
        "budget": budget,
        "n": len(runs),
        "pool_recall": _mean([run.pool for run in runs]),
        "context_recall": _mean([run.recall for run in runs]),
        "context_precision": _mean([run.precision for run in runs]),
        "with_answers": len(answered),
        "answer_in_context": _mean([float(one) for one in answered]),
        "over_budget": sum(run.over > 0 for run in runs),
    }


def measure_asks(
    ask: Callable[[str], State],
    topics: Sequence[Topic],
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Asks every question in words.

    Args:
        ask: answers one question, for example by a model of the settings.
        topics: the questions.
        progress: called with (questions done, questions in all).

    Returns:
        `borne_out`: share of cited sentences whose figures and names their lines hold;
        `answer_cited`: share of the answerable questions with known answers for which a cited
        piece holds one; `refused`: share of the others that got no answer, or none with a
        citation; `failed`: questions that the model or endpoint did not answer.
    """
    cited: list[float] = []
    answers: list[float] = []
    refusals: list[float] = []
    failed = 0
    for done, topic in enumerate(topics, start=1):
        state = ask(topic.query)
        failed += state.status == "failed"
        cited += [float(s.supported) for s in state.sentences if s.citations]
        if not topic.answerable:
            refusals.append(float(not any(s.citations for s in state.sentences)))
        elif topic.answers:
            numbers = {n for s in state.sentences for n in s.citations}
            texts = [p["text"] for p in state.evidence if p["number"] in numbers]
            answers.append(float(_holds(texts, topic.answers)))
        if progress is not None:
            progress(done, len(topics))
    return {
        "n": len(topics),
        "cited_sentences": len(cited),
        "borne_out": _mean(cited),
        "answer_cited": _mean(answers),
        "refused": _mean(refusals),
        "failed": failed,
    }


def render_layers(layers: Mapping[str, Any]) -> str:
    """What a person reads of the layers."""

    def shown(value: float | None) -> str:
        return "-" if value is None else f"{value:.3f}"

    context = layers["context"]
    lines = [
        f"Pool: {shown(context['pool_recall'])} of the relevant notes are among the candidates",
        f"Context of {context['budget']} tokens: recall {shown(context['context_recall'])}, precision "
        f"{shown(context['context_precision'])}, holds an answer {shown(context['answer_in_context'])} "
        f"of {context['with_answers']}; {context['over_budget']} over budget",
    ]
    ask = layers.get("ask")
    if ask:
        lines.append(
            f"In words: {shown(ask['borne_out'])} of {ask['cited_sentences']} cited sentences are "
            f"borne out, an answer is cited {shown(ask['answer_cited'])}, refused "
            f"{shown(ask['refused'])}, {ask['failed']} failed"
        )
    return "\n".join(lines)


def _context(engine: Packer, topic: Topic, budget: int) -> ContextRun:
    relevant = set(note_ranking(topic.relevant))
    found = engine.search(SearchRequest(text=topic.query, explain=True, gate=False))
    trace = found.trace or {}
    lists = [trace.get("channels", {}).get(name) or () for name in CHANNELS]
    pool = set(note_ranking(str(hit["path"]) for hits in lists for hit in hits))
    pack = engine.pack(PackRequest(topic.query, budget=budget, gate=False))
    notes = note_ranking((piece.path for piece in pack.pieces), topic.also)
    held = relevant & set(notes)
    answered = None
    if topic.answers and relevant & pool:
        answered = _holds([piece.text for piece in pack.pieces], topic.answers)
    return ContextRun(
        topic,
        pool=len(relevant & pool) / len(relevant),
        recall=len(held) / len(relevant),
        precision=len(held) / len(notes) if notes else 0.0,
        answered=answered,
        over=max(0, pack.tokens - budget),
    )


def _holds(texts: Sequence[str], answers: Sequence[str]) -> bool:
    wanted = [squeeze(answer) for answer in answers]
    return any(answer in squeeze(text) for text in texts for answer in wanted if answer)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
