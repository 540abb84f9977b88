"""The vault and every other source, asked as one: who is asked, when, and what is answered.

All are asked at the same time. A caller that takes results as they come has the vault's own as
soon as they are there and the rest after 0.3 s and later; any other waits for every source, up
to its time limit. Decides nothing about ranking (`fusion.py`) or evidence (`judging.py`).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sidelight.engine import Engine
from sidelight.errors import CancelledError, NotFoundError, SidelightError, UsageError
from sidelight.query.asked import as_syntax
from sidelight.query.credibility import rules_of
from sidelight.query.parse import parse_query
from sidelight.source_settings import OWN, SourceSettings, missing, name_key, sources_from
from sidelight.sources import checking, deep
from sidelight.sources.adapters import Adapters
from sidelight.sources.answering import Facts, compose
from sidelight.sources.asking import SourceError
from sidelight.sources.feedback import FeedbackLog, Verdict
from sidelight.sources.finding import find_again, find_place
from sidelight.sources.health import Health
from sidelight.sources.refs import is_outside, parse
from sidelight.sources.round import Outcome, Question, Round
from sidelight.sources.routing import likely
from sidelight.sources.scoring import FLOORS, shares
from sidelight.types import (
    Citation,
    Origin,
    Result,
    SearchRequest,
    SearchResult,
    SourceReport,
    SourceState,
)

log = logging.getLogger(__name__)

FIRST_S = 0.3  # what is there by then is shown; the rest follows as it comes
HEAD_START_S = 0.1  # a vault of 20,000 passages has answered by then
GATHER_S = 0.15  # answers that come within it are sent on together
_MOST_TEXT = 2_000  # characters that are ranked by, as in the vault

More = Callable[[SearchResult, bool], None]
"""Takes a fuller answer, and whether it is the last."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Who is asked, and why others are not."""

    asked: Sequence[SourceSettings]
    others: Sequence[SourceState]
    own: bool  # whether the vault's own results are wanted


class Federation:
    """A vault with its other sources. Thread-safe; `close` it before the engine."""

    def __init__(self, engine: Engine, now: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self.health = Health(engine.places.source_health, now)
        self.feedback = FeedbackLog(engine.places.feedback, now)
        self.adapters = Adapters(engine.vault, engine.places.key)
        self._busy: set[str] = set()
        self._settings_seen: Sequence[SourceSettings] = engine.settings.sources

    @property
    def sources(self) -> Sequence[SourceSettings]:
        """Those of the settings as they are now."""
        sources = self._engine.settings.sources
        if sources is not self._settings_seen:
            self._settings_seen = sources
            self.adapters.keep_only(sources)
            self.health.forget(source.name for source in sources)
        return sources

    def close(self) -> None:
        """Keeps what is known of the sources and lets go of them."""
        self.health.save()
        self.adapters.close()

    # ------------------------------------------------------------------ searching

    def search(
        self,
        request: SearchRequest,
        cancelled: Callable[[], bool] = lambda: False,
        more: More | None = None,
    ) -> SearchResult:
        """Answers one search from the vault and its other sources.

        Args:
            request: what is asked, and which sources.
            cancelled: looked at between stages and while waiting.
            more: takes fuller answers after the first, from another thread, the last one
                with True; without it the answer waits for every source.

        Raises:
            CancelledError: `cancelled` said so.
            UsageError: the request names a source that is not there.
        """
        question = self._question(request)
        chosen = self._choose(request, question)
        if question is None or not chosen.asked:
            return self.kept(request, self._alone(request, chosen, cancelled))
        asking = Round(question, chosen.asked, self.adapters, self.health, cancelled, self._busy)
        search = _Search(self, request, question, chosen, asking, cancelled)
        head_start = threading.Timer(HEAD_START_S, asking.begin)
        head_start.daemon = True
        if more is None:
            asking.begin()
        else:  # the vault's answer is shown first: for a moment it has the processor to itself
            head_start.start()
        try:
            search.own = self._engine.search(replace(request, sources=(), dig=False), cancelled)
        finally:
            head_start.cancel()
        if more is None:
            search.wait_for_all()
            search.dig()
            return self.kept(request, search.answer())
        if asking.wait(0.0, len(chosen.asked) - 1) and not search.cards():
            return self.kept(request, search.answer())
        first = search.answer()
        threading.Thread(
            target=search.go_on, args=(more,), name="late-sources", daemon=True
        ).start()
        return first

    def _question(self, request: SearchRequest) -> Question | None:
        """The query as every other source is asked it; None where there is nothing to ask."""
        if not self.sources or request.sources == ():
            return None
        parsed = parse_query(" ".join([request.text, *as_syntax(request.filters)]).strip())
        text = parsed.text_for_ranking[:_MOST_TEXT]
        query = self._engine.weigh(text, request.typing) if text else None
        if query is None or not query.terms:
            return None
        return Question(
            request=request,
            text=text,
            query=query,
            terms=self._engine.terms,
            mass=shares(query),
            phrases=parsed.phrases,
            filter=parsed.filter,
            floor=FLOORS[self._engine.settings.gate_strictness] if request.gate else 0.0,
            words_worth=self._engine.settings.words_worth,
        )

    def _choose(self, request: SearchRequest, question: Question | None) -> _Chosen:
        wanted = request.sources
        by_key = {name_key(source.name): source for source in self.sources}
        if wanted is not None:
            for name in wanted:
                if name_key(name) != OWN and name_key(name) not in by_key:
                    known = ", ".join([OWN, *(s.name for s in self.sources)])
                    raise UsageError(f"There is no source named '{name}'.", f"Sources: {known}.")
        keys = None if wanted is None else {name_key(name) for name in wanted}
        own = not keys or OWN in keys
        if question is None:
            return _Chosen((), (), own)
        named = [s for k, s in by_key.items() if keys is None or k in keys]
        awake = [s for s in named if self.health.pause_left(s.name) <= 0]
        asked = awake
        if keys is None:
            records = {s.name: self.health.of(s.name) for s in awake}
            terms = [t.query for t in question.query.terms]
            asked = likely(awake, records, question.terms, terms, question.mass)
        others = [
            self._not_asked(s, s in named, s in awake) for s in self.sources if s not in asked
        ]
        return _Chosen(asked, others, own)

    def _not_asked(self, source: SourceSettings, named: bool, awake: bool) -> SourceState:
        if named and not awake:
            left = self.health.pause_left(source.name)
            reason = (
                f"paused for {left:.0f} s more after repeated failures: "
                f"{self.health.of(source.name).reason}"
            )
            return SourceState(source.name, source.kind, "paused", 0, reason)
        return SourceState(source.name, source.kind, "not_asked", 0)

    def _alone(
        self, request: SearchRequest, chosen: _Chosen, cancelled: Callable[[], bool]
    ) -> SearchResult:
        """The vault's own answer, where no other source is asked."""
        own = self._engine.search(replace(request, sources=(), dig=False), cancelled)
        if not self.sources or request.sources == ():
            return own
        return compose(own, chosen.own, {}, (), chosen.others, (), self.facts(request, None))

    def facts(self, request: SearchRequest, question: Question | None) -> Facts:
        """What of a question and the settings an answer needs."""
        terms = [t.query for t in question.query.terms] if question else []
        phrases = question.phrases if question else ()
        settings = self._engine.settings
        believed = self._believed if request.rerank or settings.rerank else None
        return Facts(settings.rrf_k, request.limit, terms, phrases, request.gate, believed)

    def _believed(self, result: Result) -> float:
        """How far a result is to be believed, 0..1: of the vault by its note, else by its source."""
        if result.source == OWN:
            return self._engine.believed(result.path)
        return rules_of(self._engine.settings.credibility).source(result.source)

    def kept(self, request: SearchRequest, answer: SearchResult) -> SearchResult:
        """Keeps that a finished query found nothing, if the person wants that."""
        # With no other source asked it may be another vault's question, and no person's.
        asked = request.gate and not request.typing and request.sources != ()
        if asked and request.text.strip() and not answer.ok and self._engine.settings.keep_feedback:
            with contextlib.suppress(SidelightError):
                self.feedback.found_nothing(request.text, answer.index.snapshot)
        return answer

    # ------------------------------------------------------------------ asking again

    def resolve(self, ref: str, buffer: str | None = None) -> tuple[str, Citation]:
        """Where a passage of any source stands now: its path there, and citation.

        Raises:
            NotFoundError: nobody knows it any more.
        """
        if not is_outside(ref):
            return self._engine.resolve(ref, buffer)
        outside = parse(ref)
        return find_again(self._adapter(outside.source), outside, self._source(outside.source))

    def location(self, ref: str) -> str | None:
        """The full path of the file a result of another source stands in; None if it has none."""
        if not is_outside(ref):
            return None
        outside = parse(ref)
        return find_place(self._adapter(outside.source), outside)

    def _source(self, name: str) -> SourceSettings:
        for source in self.sources:
            if source.name == name:
                return source
        raise NotFoundError(f"There is no source named '{name}' any more.", "Search again.")

    def _adapter(self, name: str) -> Any:
        try:
            return self.adapters.of(self._source(name), self._engine.terms)
        except SourceError as error:
            raise NotFoundError(error.message, error.remedy) from error

    # ------------------------------------------------------------------ health and feedback

    def reports(self) -> list[SourceReport]:
        """What is known of each source, without asking any."""
        return checking.reports(self.sources, self.health)

    def check(self, cancelled: Callable[[], bool] = lambda: False) -> list[SourceReport]:
        """Looks whether each source could answer; see `checking.check_all`."""
        return checking.check_all(
            self.sources, self.adapters, self.health, self._engine.terms, self._engine.vault,
            cancelled,
        )  # fmt: skip

    def refuse_missing(self, values: Mapping[str, Any]) -> None:
        """Refuses a new or changed source whose folder or file is not there.

        Raises:
            UsageError: by the source's name; also where the description itself is wrong.
        """
        for source in sources_from(values["sources"]) if "sources" in values else ():
            what = missing(source) if source not in self.sources else ""
            if what:
                raise UsageError(f"Source '{source.name}': {what}.", "Correct its 'path'.")

    def record_feedback(self, values: Mapping[str, Any]) -> bool:
        """Keeps what a person said of a result; False where the settings forbid it.

        Raises:
            UsageError: it is no verdict.
        """
        if not self._engine.settings.keep_feedback:
            return False
        self.feedback.record(Verdict(**values))
        return True

    # ------------------------------------------------------------------ for one search

    def ask_vault(
        self, question: Question, arguments: Mapping[str, str], cancelled: Callable[[], bool]
    ) -> Sequence[Result]:
        """What the vault itself holds of what a card names."""
        path = arguments.get("path")
        request = replace(
            question.request,
            text=arguments.get("query") or question.text,
            filters={"path": path} if path else {},
            sources=(),
            dig=False,
            typing=False,
        )
        found = self._engine.search(request, cancelled)
        return [r for r in found.results if r.origin is Origin.DIRECT] if found.ok else []


class _Search:
    """One search on its way."""

    own: SearchResult

    def __init__(
        self,
        federation: Federation,
        request: SearchRequest,
        question: Question,
        chosen: _Chosen,
        asking: Round,
        cancelled: Callable[[], bool],
    ) -> None:
        self._federation = federation
        self._request = request
        self._question = question
        self._chosen = chosen
        self._asking = asking
        self._cancelled = cancelled
        self._started = time.perf_counter()
        self._followed: list[deep.Followed] = []

    def wait_for_all(self) -> None:
        """Until every source has answered, failed or run out of time."""
        while not self._asking.wait(1.0, len(self._asking.outcomes())):
            pass

    def first_s(self) -> float:
        """Seconds until what is there is sent."""
        return max(0.0, FIRST_S - (time.perf_counter() - self._started))

    def cards(self) -> Sequence[deep.Seen]:
        """The cards to follow: where the first layer is thin or it was asked for."""
        cards = deep.cards_among(self._asking.outcomes())
        wanted = cards and deep.wants_digging(self.answer().results, self._request.dig)
        return cards if wanted else ()

    def dig(self) -> None:
        """Follows them."""
        cards = self.cards()
        if not cards:
            return
        federation = self._federation
        self._followed = deep.follow(
            cards,
            federation.sources,
            self._asking.ask_one,
            lambda arguments: federation.ask_vault(self._question, arguments, self._cancelled),
            lambda name: federation.health.pause_left(name) > 0,
        )

    def answer(self) -> SearchResult:
        """What is known so far."""
        outcomes: dict[str, Outcome] = self._asking.outcomes()
        late = [
            SourceState(s.name, s.kind, "late", 0, "has not answered yet")
            for s in self._asking.late()
        ]
        composed = compose(
            self.own, self._chosen.own, outcomes, late, self._chosen.others, self._followed,
            self._federation.facts(self._request, self._question),
        )  # fmt: skip
        spent = round((time.perf_counter() - self._started) * 1000, 3)
        timing = {**composed.timing_ms, "total": max(spent, float(self.own.timing_ms["total"]))}
        return replace(composed, timing_ms=timing)

    def go_on(self, more: More) -> None:
        """Sends fuller answers until all have answered; ends quietly when nobody waits."""
        try:
            self._asking.begin()
            done = self._asking.wait(self.first_s(), len(self._chosen.asked) - 1)
            sent = -1  # what is there after the first moment is sent, if it is nothing
            while not done:
                outcomes = len(self._asking.outcomes())
                if outcomes > sent:
                    sent = outcomes
                    more(self.answer(), False)
                done = self._asking.wait(1.0, sent)
                if not done and len(self._asking.outcomes()) > sent:
                    done = self._asking.wait(GATHER_S, len(self._chosen.asked) - 1)
            self.dig()
            if not self._cancelled():
                more(self._federation.kept(self._request, self.answer()), True)
        except CancelledError:
            return
        except Exception as error:
            log.error("late sources lost error=%s", type(error).__name__)
            log.debug("late sources lost", exc_info=True)
