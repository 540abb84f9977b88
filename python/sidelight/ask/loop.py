"""How is a question answered? One retrieval; two more rounds at most; an answer that is checked.

search and pack -> no evidence: say so, ask no model
                -> enough? (gate, parts without evidence, the model's word) -> at most two rounds
                -> answer, streamed, each sentence checked against what it cites

Every limit is hard: rounds, tokens, seconds. The model never sees more than the evidence and the
question, and never chooses anything but the four steps of `steps.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from sidelight.ask import prompts
from sidelight.ask.checking import Sentences
from sidelight.ask.endpoint import Endpoint, EndpointError, Message
from sidelight.ask.evidence import Evidence
from sidelight.ask.state import Limits, State, Step
from sidelight.ask.steps import Plan, Vault, carry_out, read_plan
from sidelight.ask.thoughts import spoken
from sidelight.errors import CancelledError
from sidelight.models.tokens import estimate
from sidelight.query.compound import parts_of
from sidelight.query.subqueries import UNCOVERED

_PLAN_TOKENS = 400  # of a judgement
_LEAST_SECONDS = 1.0  # with less left no further round is begun
_SILENT = "The model gave no answer. Name another one, or turn its thinking off."
_EVERY_S = 0.1  # between two reports of a streamed answer


def _never() -> bool:
    return False


def answer(
    question: str,
    vault: Vault,
    endpoint: Endpoint,
    limits: Limits,
    tell: Callable[[State], None] = lambda state: None,
    cancelled: Callable[[], bool] = _never,
) -> State:
    """Answers a question from the vault.

    Args:
        question: in Obsidian's query syntax or in words.
        vault: asks the bridge's methods.
        endpoint: the model the user named.
        limits: where it ends at the latest.
        tell: told the state whenever it changes, the same object each time.
        cancelled: asked between steps and words.

    Returns:
        The last state: "ok", "no_evidence", or "failed" with the reason.

    Raises:
        UsageError: no endpoint is named, or it is none.
        SidelightError: the vault cannot be asked.
        CancelledError: `cancelled` said so.
    """
    endpoint.check()
    return _Answering(question, vault, endpoint, limits, tell, cancelled).run()


class _Answering:
    """One question on its way."""

    def __init__(
        self,
        question: str,
        vault: Vault,
        endpoint: Endpoint,
        limits: Limits,
        tell: Callable[[State], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self._vault, self._endpoint, self._limits = vault, endpoint, limits
        self._cancelled = cancelled
        self._started = time.monotonic()
        self._deadline = self._started + limits.seconds
        self._evidence = Evidence(limits.evidence_tokens)
        self._tell_now = tell
        self.state = State(question, endpoint.place)

    def run(self) -> State:
        """All of it."""
        if not self._retrieve():
            return self._done("no_evidence")
        try:
            for number in range(1, self._limits.rounds + 1):
                if not self._round(number):
                    break
            self._answer()
        except EndpointError as error:
            self.state.reasons.append({"kind": error.code.lower(), "message": str(error)})
            return self._done("failed")
        return self._done("ok" if self.state.sentences else "failed")

    # ------------------------------------------------------------------ rounds

    def _retrieve(self) -> bool:
        """The first retrieval; False where the gate finds no evidence."""
        question = self.state.question
        params = {
            "text": question,
            "budget": self._limits.evidence_tokens,
            "tokenizer": "estimate",
            "mode": "coverage" if parts_of(question) else "hybrid",
        }
        packed = self._vault("query/pack", params)
        self.state.reasons = [dict(reason) for reason in packed["reasons"]]
        found = self._evidence.add(packed["pieces"], first=True)
        self._stepped(0, "pack", question, found)
        self.state.missing = "; ".join(_uncovered(packed))
        return packed["status"] == "ok" and found > 0

    def _round(self, number: int) -> bool:
        """Judges the evidence and looks for what is missing; False when nothing more is to do."""
        messages = prompts.judge(self.state.question, self._evidence.text(), self.state.missing)
        if not self._affords(messages, _PLAN_TOKENS):
            return False
        self._tell("judging")
        plan = read_plan("".join(spoken(self._stream(messages, _PLAN_TOKENS))))
        if plan is None:  # it ignores the form: what was found must do
            return False
        self.state.known, self.state.missing = plan.known, plan.missing
        if plan.enough or not plan.steps:
            return False
        return self._look(number, plan)

    def _look(self, number: int, plan: Plan) -> bool:
        self.state.spent.rounds = number
        self._tell("searching")
        budget = self._limits.evidence_tokens // 2 // len(plan.steps)
        found = 0
        for tool, value in plan.steps:
            self._go_on()
            pieces = carry_out(tool, value, self._vault, self._evidence, budget)
            new = self._evidence.add(pieces)
            found += new
            self._stepped(number, "pack" if tool == "search" else tool, str(value), new)
        return found > 0

    # ------------------------------------------------------------------ the answer

    def _answer(self) -> None:
        messages = prompts.answer(self.state.question, self._evidence.text(), self.state.missing)
        if not self._affords(messages, self._limits.answer_tokens, last=True):
            return
        self._tell("answering")
        texts = {piece["number"]: piece["text"] for piece in self._evidence.shown()}
        sentences = Sentences(texts, self.state.question)
        told = 0.0
        for words in spoken(self._stream(messages, self._limits.answer_tokens)):
            self.state.sentences += sentences.feed(words)
            if sentences.looping:
                self.state.stopped = "The model began to repeat itself."
                break
            if time.monotonic() - told > _EVERY_S:
                told = time.monotonic()
                self._tell("answering")
        self.state.sentences += sentences.rest()
        if not self.state.sentences:
            self.state.reasons.append({"kind": "empty", "message": _SILENT})

    # ------------------------------------------------------------------ limits

    def _affords(self, messages: list[Message], answer_tokens: int, last: bool = False) -> bool:
        """Whether tokens and seconds are left for a call, and for the answer after it."""
        self._go_on()
        prompt = estimate("".join(m["content"] for m in messages))
        needed = prompt + answer_tokens
        if not last:
            needed += prompt + self._limits.answer_tokens
        if self.state.spent.tokens + needed > self._limits.tokens:
            self.state.stopped = f"The limit of {self._limits.tokens} tokens was reached."
            return False
        if self._deadline - time.monotonic() < _LEAST_SECONDS:
            self.state.stopped = f"The limit of {self._limits.seconds:g} seconds was reached."
            return False
        return True

    def _stream(self, messages: list[Message], max_tokens: int) -> Any:
        """The words of one call; counts what it costs, also of a call that breaks off."""
        spent, counted, said = self.state.spent, 0, 0
        spent.calls += 1
        prompt = estimate("".join(m["content"] for m in messages))

        def usage(total: int) -> None:
            nonlocal counted
            counted = total

        try:
            for words in self._endpoint.stream(
                messages, max_tokens, self._deadline, self._cancelled, usage
            ):
                said += estimate(words)
                yield words
                if said > 2 * max_tokens:  # it does not keep to the limit it was given
                    self.state.stopped = "The model went on past its limit."
                    return
        finally:
            spent.tokens += counted or prompt + said

    def _go_on(self) -> None:
        if self._cancelled():
            raise CancelledError("The question was cancelled.")

    # ------------------------------------------------------------------ telling

    def _stepped(self, number: int, tool: str, asked: str, found: int) -> None:
        self.state.steps.append(Step(number, tool, asked, found))
        self._tell("searching")

    def _tell(self, phase: str) -> None:
        self.state.phase = phase
        self.state.evidence = self._evidence.pieces
        self.state.spent.seconds = round(time.monotonic() - self._started, 3)
        self._tell_now(self.state)

    def _done(self, status: str) -> State:
        self.state.status = status
        self._tell("done")
        return self.state


def _uncovered(packed: Mapping[str, Any]) -> list[str]:
    prefix = "Nothing in the vault answers: "
    return [r["message"].removeprefix(prefix) for r in packed["reasons"] if r["kind"] == UNCOVERED]
