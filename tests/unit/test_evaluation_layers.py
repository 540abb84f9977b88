"""Three layers: pool, context, and answers in words on scripted replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from random_packs import Files, a_result, an_answer

from sidelight.ask.state import Sentence, State
from sidelight.evaluation.layers import (
    contexts_json,
    measure_asks,
    measure_contexts,
    render_layers,
)
from sidelight.evaluation.topics import Topic
from sidelight.models.tokens import TokenCounter, estimate
from sidelight.query.pack import pack
from sidelight.types import Pack, PackRequest, SearchRequest, SearchResult

NOTES = {
    "Kiln.md": "The kiln is lit on Fridays.",
    "窑炉.md": "升温\n三小时。",
    "Ash.md": "Grey ash.",
}


def topic(
    query: str, relevant: Sequence[str], answers: Sequence[str] = (), **more: object
) -> Topic:
    base = Topic(
        id=query, query=query, language="en", kind="paraphrase", answerable=bool(relevant),
        relevant=frozenset(relevant), also=frozenset(), answers=tuple(answers), via=frozenset(),
    )  # fmt: skip
    return replace(base, **more)  # type: ignore[arg-type]


class Packer:
    """Finds the notes of a table; the pool holds them and nothing else."""

    def __init__(self, found: dict[str, Sequence[str]]) -> None:
        self._found = found
        self._files = Files(NOTES)

    def search(self, request: SearchRequest) -> SearchResult:
        paths = self._found[request.text]
        results = [a_result(n, p, NOTES[p], 1, self._files) for n, p in enumerate(paths, start=1)]
        channels = {"bm25": [{"path": path} for path in paths]}
        return replace(an_answer(results), trace={"channels": channels})

    def pack(self, request: PackRequest) -> Pack:
        counter = TokenCounter("estimate", estimate)
        return pack(self.search(SearchRequest(request.text)), request, counter, self._files)  # type: ignore[arg-type]


def test_each_layer_says_what_was_lost_in_it() -> None:
    engine = Packer(
        {"lit?": ["Kiln.md", "Ash.md"], "升温？": ["窑炉.md"], "lost?": ["Ash.md"], "none": []}
    )
    topics = [
        topic("lit?", ["Kiln.md"], ["on Fridays"]),
        topic("升温？", ["窑炉.md"], ["升温三小时"]),  # wrapped in the note
        topic("lost?", ["Kiln.md"], ["on Fridays"]),
        topic("none", []),
    ]
    runs = measure_contexts(engine, topics, 500)
    assert [run.pool for run in runs] == [1, 1, 0]
    assert [run.answered for run in runs] == [True, True, None]
    assert contexts_json(runs, 500) == {
        "budget": 500, "n": 3, "pool_recall": pytest.approx(2 / 3),
        "context_recall": pytest.approx(2 / 3), "context_precision": pytest.approx(0.5),
        "with_answers": 2, "answer_in_context": 1.0, "over_budget": 0,
    }  # fmt: skip
    small = measure_contexts(engine, topics[:1], 3)
    assert (small[0].recall, small[0].answered, small[0].over) == (0, False, 0)


def test_answers_in_words_are_held_against_their_lines() -> None:
    states = {
        "lit?": State("lit?", "e", status="ok", sentences=[
            Sentence("Fridays.", (1,), True), Sentence("At 9:00.", (1,), False), Sentence("So.", (), False),
        ], evidence=[{"number": 1, "text": NOTES["Kiln.md"]}]),
        "升温？": State("升温？", "e", status="failed"),
        "none": State("none", "e", status="no_evidence"),
        "trap": State("trap", "e", status="ok", sentences=[Sentence("Yes.", (1,), True)]),
    }  # fmt: skip
    topics = [
        topic("lit?", ["Kiln.md"], ["on Fridays"]), topic("升温？", ["窑炉.md"], ["三小时"]),
        topic("none", []), topic("trap", []),
    ]  # fmt: skip
    measured = measure_asks(states.__getitem__, topics)
    assert measured == {
        "n": 4, "cited_sentences": 3, "borne_out": pytest.approx(2 / 3), "answer_cited": 0.5,
        "refused": 0.5, "failed": 1,
    }  # fmt: skip
    text = render_layers({"context": contexts_json([], 9), "ask": measured})
    assert "0.667 of 3 cited sentences" in text
