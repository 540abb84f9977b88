"""One question to many sources at the same time: who has answered, and who is late?

Each source runs in a thread of its own with its own time limit; what one does or fails to do
never holds another up. A thread that cannot be stopped (a dead network drive) is left alone,
and its source is not asked again until it has come back.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sidelight.errors import CancelledError
from sidelight.language.matching import spelling_pattern
from sidelight.language.terms import Terms
from sidelight.query.conditions import Filter
from sidelight.query.lexical import LexicalQuery
from sidelight.source_settings import SourceSettings
from sidelight.sources.adapters import Adapters
from sidelight.sources.asking import PER_SOURCE, Answer, Ask, Found, SourceError
from sidelight.sources.health import Health
from sidelight.sources.judging import passes
from sidelight.sources.scoring import Measured, measure
from sidelight.types import SearchRequest

log = logging.getLogger(__name__)

LATE_S = 1.0  # a program that is being killed at its limit still says that it was


@dataclass(frozen=True, slots=True)
class Question:
    """What every source is asked, understood once."""

    request: SearchRequest
    text: str
    query: LexicalQuery
    terms: Terms
    phrases: Sequence[str]
    filter: Filter | None
    mass: Mapping[str, float]  # what holding each term is worth, as a share of the query
    floor: float
    words_worth: float  # the setting


@dataclass(slots=True)
class Outcome:
    """How one source took part.

    Attributes:
        passed: what is evidence, best first, with its measure; at most `PER_SOURCE`.
        held_back: passages that did not hold enough of the query.
        error: why it failed; None if it did not.
    """

    source: SourceSettings
    passed: list[tuple[Found, Measured]] = field(default_factory=list)
    held_back: int = 0
    problems: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    spent_ms: float = 0.0
    error: SourceError | None = None


class Round:
    """The asks of one search.

    Args:
        question: what is asked.
        sources: who is asked, once the round is begun.
        health: told how each one went.
        cancelled: whether nobody waits any more.
        busy: names of sources that have not come back from an earlier round; shared.
    """

    def __init__(
        self,
        question: Question,
        sources: Sequence[SourceSettings],
        adapters: Adapters,
        health: Health,
        cancelled: Callable[[], bool],
        busy: set[str],
    ) -> None:
        self._question = question
        self._adapters = adapters
        self._health = health
        self._cancelled = cancelled
        self._busy = busy
        self._news = threading.Condition()
        self._outcomes: dict[str, Outcome] = {}
        self._until: dict[str, float] = {}
        self._sources = {source.name: source for source in sources}
        self._begun = False

    def begin(self) -> None:
        """Asks them all; returns at once. A second time it does nothing."""
        with self._news:
            if self._begun or self._cancelled():
                return
            self._begun = True
            self._ask_all()

    def _ask_all(self) -> None:
        for source in self._sources.values():
            if source.name in self._busy:
                error = SourceError(
                    "It has not come back from an earlier question.",
                    "Check the drive or program behind it.",
                    code="SOURCE_BUSY",
                )
                self._take(Outcome(source, error=error))
                continue
            self._until[source.name] = time.monotonic() + source.timeout_s
            threading.Thread(
                target=self._run, args=(source,), name=f"source-{source.kind}", daemon=True
            ).start()

    def outcomes(self) -> dict[str, Outcome]:
        """Who has answered or failed so far, by name in the order they were asked."""
        with self._news:
            self._give_up_late()
            return {n: self._outcomes[n] for n in self._sources if n in self._outcomes}

    def late(self) -> list[SourceSettings]:
        """Who has not."""
        done = self.outcomes()
        return [source for name, source in self._sources.items() if name not in done]

    def wait(self, seconds: float, known: int) -> bool:
        """Waits until more than `known` have answered, or time is up; whether all have.

        Raises:
            CancelledError: nobody waits any more.
        """
        until = time.monotonic() + seconds
        with self._news:
            while True:
                if self._cancelled():  # first: the sources end then, which is no answer
                    raise CancelledError("The search was cancelled.")
                self._give_up_late()
                if len(self._outcomes) == len(self._sources):
                    return True
                left = until - time.monotonic()
                if len(self._outcomes) > known or left <= 0:
                    return False
                self._news.wait(min(left, 0.05))

    def ask_one(self, source: SourceSettings, arguments: Mapping[str, str]) -> Outcome:
        """Asks one source with the arguments of a card, in this thread."""
        return self._outcome(source, arguments)

    # ------------------------------------------------------------------ inside

    def _run(self, source: SourceSettings) -> None:
        outcome = self._outcome(source, {})
        with self._news:
            self._busy.discard(source.name)
            if source.name not in self._outcomes:
                self._take(outcome)

    def _outcome(self, source: SourceSettings, arguments: Mapping[str, str]) -> Outcome:
        question = self._question
        started = time.monotonic()
        ask = Ask(
            text=question.text,
            terms=tuple(term.query for term in question.query.terms),
            mass=question.mass,
            request=question.request,
            deadline=started + source.timeout_s,
            cancelled=self._cancelled,
            arguments=arguments,
            filter=question.filter,
        )
        try:
            answer = self._adapters.of(source, question.terms).ask(ask)
            outcome = self._judged(source, ask, answer)
        except SourceError as error:
            outcome = Outcome(source, error=error)
        except Exception as error:
            log.error("source failed kind=%s error=%s", source.kind, type(error).__name__)
            log.debug("source failed", exc_info=True)
            outcome = Outcome(
                source,
                error=SourceError(
                    f"It failed unexpectedly ({type(error).__name__}).", "Look into the log."
                ),
            )
        outcome.spent_ms = round((time.monotonic() - started) * 1000, 3)
        self._remember(outcome)
        return outcome

    def _judged(self, source: SourceSettings, ask: Ask, answer: Answer) -> Outcome:
        outcome = Outcome(source, problems=tuple(answer.problems), ran=tuple(answer.ran))
        for found in answer.found:
            if ask.cancelled():
                break
            text, title = (_without(answer.echo, one) for one in (found.text, found.title))
            question = self._question
            measured = measure(
                question.terms, ask.terms, ask.mass, text, title, question.words_worth
            )
            if not passes(found, measured, question.filter, question.floor):
                outcome.held_back += 1
            elif len(outcome.passed) < PER_SOURCE:
                outcome.passed.append((found, measured))
        return outcome

    def _remember(self, outcome: Outcome) -> None:
        """Tells the health record; a search that was given up says nothing about its sources."""
        error, name = outcome.error, outcome.source.name
        if self._cancelled():
            return
        if error is None:
            known = [t.query for t in self._question.query.terms if t.query.weight >= 0.5]
            words = [t.term for t in known] if outcome.passed else []
            self._health.answered(name, outcome.spent_ms, words)
        elif error.code != "SOURCE_BUSY":
            self._health.failed(name, error.message, error.remedy)

    def _take(self, outcome: Outcome) -> None:
        with self._news:
            self._outcomes[outcome.source.name] = outcome
            self._news.notify_all()

    def _give_up_late(self) -> None:
        """Ends the wait for sources whose time is over; called with the lock held."""
        now = time.monotonic()
        for name, source in self._sources.items():
            if name in self._outcomes or now < self._until.get(name, math.inf) + LATE_S:
                continue
            error = SourceError(
                f"It did not answer within {source.timeout_s:g} s.",
                "Try it again later, or raise its 'timeout_s'.",
                code="SOURCE_TIMEOUT",
            )
            self._busy.add(name)
            outcome = Outcome(source, error=error, spent_ms=source.timeout_s * 1000)
            self._outcomes[name] = outcome
            if not self._cancelled():
                self._health.failed(name, error.message, error.remedy)


def _without(echo: str, text: str) -> str:
    """A text without what its source repeats, in any spelling."""
    pattern = spelling_pattern(echo) if echo else None
    return text if pattern is None else pattern.sub(" ", text)
