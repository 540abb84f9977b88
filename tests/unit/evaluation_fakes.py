"""A search engine of plain tables, to test evaluation without an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sidelight.config import Settings
from sidelight.types import (
    Citation,
    CitationStatus,
    IndexState,
    Origin,
    PassageKind,
    QueryView,
    Result,
    SearchRequest,
    SearchResult,
    Snippet,
)


@dataclass
class Answer:
    """What the fake answers to one query."""

    direct: Sequence[str] = ()  # "path" or "path:start-end"
    linked: Sequence[str] = ()
    channels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fused_plain: Sequence[str] = ()
    ok: bool = True
    confidence: float = 0.5
    features: Mapping[str, float] = field(default_factory=dict)


class FakeEngine:
    """Answers from a table; records what it was asked."""

    def __init__(self, vault: Path, answers: Mapping[str, Answer]) -> None:
        self.vault = vault
        self.settings = Settings()
        self.answers = answers
        self.asked: list[SearchRequest] = []

    def search(self, request: SearchRequest) -> SearchResult:
        self.asked.append(request)
        answer = self.answers[request.text]
        results = [_result(place, Origin.DIRECT) for place in answer.direct]
        results += [_result(place, Origin.LINKED) for place in answer.linked]
        trace = {
            "channels": {name: _candidates(paths) for name, paths in answer.channels.items()},
            "fused_plain": _candidates(answer.fused_plain),
            "gate": {"threshold": 0.4, "features": dict(answer.features)},
        }
        return SearchResult(
            ok=answer.ok,
            reasons=(),
            query=QueryView(request.text, (), (), {}, "und"),
            results=tuple(results) if answer.ok or not request.gate else (),
            near_misses=(),
            degraded=(),
            index=IndexState("s", 0, 0, 0, 0),
            timing_ms={"total": 1.0},
            trace=trace if request.explain else None,
            confidence=answer.confidence,
        )

    def read_note(
        self, path: str, start_line: int | None = None, end_line: int | None = None
    ) -> tuple[str, str, int]:
        lines = (self.vault / path).read_text("utf-8").split("\n")
        return "\n".join(lines[(start_line or 1) - 1 : end_line]), "hash", len(lines)


def _candidates(paths: Sequence[str]) -> list[dict[str, object]]:
    return [
        {"path": path, "chunk_id": str(rank), "rank": rank, "score": 1 / rank}
        for rank, path in enumerate(paths, start=1)
    ]


def _result(place: str, origin: Origin) -> Result:
    path, _, lines = place.partition(":")
    start, _, end = lines.partition("-")
    citation = Citation(
        kind=PassageKind.LINES if lines else PassageKind.NOTE,
        status=CitationStatus.FRESH,
        match=None,
        start_line=int(start) if start else None,
        end_line=int(end) if end else None,
    )
    return Result(
        rank=1,
        ref="r",
        source="vault",
        also_in=(),
        path=path,
        title=path,
        heading_path=(),
        text="",
        snippet=Snippet("", ()),
        origin=origin,
        graph_provenance=None,
        channels={},
        rrf_score=0.0,
        rerank_score=None,
        evidence=0.0,
        citation=citation,
    )
