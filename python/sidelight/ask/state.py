"""What is known of one question while it is being answered: steps, evidence, text, what was spent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """Where an answer ends at the latest."""

    rounds: int = 2  # after the first retrieval
    tokens: int = 30_000  # of all prompts and answers together
    seconds: float = 120.0
    evidence_tokens: int = 4_000  # of one prompt
    answer_tokens: int = 1_000


@dataclass(slots=True)
class Spent:
    """What an answer has cost so far."""

    rounds: int = 0
    calls: int = 0  # of the model
    tokens: int = 0  # as the endpoint counts them, else estimated
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was done to find evidence.

    Attributes:
        round: 0 for the first retrieval.
        tool: "pack", "grep", "read" or "links".
        asked: with what.
        found: how many new pieces came of it.
    """

    round: int
    tool: str
    asked: str
    found: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the answer with the evidence it names.

    Attributes:
        text: without the citations that were taken out.
        citations: numbers of pieces that exist.
        supported: it cites, and its numbers and names stand in what it cites.
        removed: citations of pieces that do not exist.
    """

    text: str
    citations: tuple[int, ...]
    supported: bool
    removed: tuple[int, ...] = ()


@dataclass(slots=True)
class State:
    """One question on its way to an answer.

    Attributes:
        phase: "searching", "judging", "answering" or "done".
        status: "ok", "no_evidence" or "failed" once it is done.
        endpoint: where text goes.
        known, missing: in the model's words, of the last round.
        evidence: numbered pieces, in the JSON of `query/pack`.
        stopped: why it ended before its time; "" if it did not.
    """

    question: str
    endpoint: str
    phase: str = "searching"
    status: str = ""
    reasons: list[dict[str, str]] = field(default_factory=list)
    known: str = ""
    missing: str = ""
    steps: list[Step] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    stopped: str = ""
