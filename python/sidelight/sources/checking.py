"""Is every source well? Asked one by one at the same time, each within its own time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sidelight.language.terms import Terms
from sidelight.source_settings import OWN, SourceSettings, name_key
from sidelight.sources.adapters import Adapters
from sidelight.sources.asking import Ask, SourceError
from sidelight.sources.health import Health
from sidelight.sources.records import Records
from sidelight.types import Finding, SearchRequest, SourceReport

MAX_DEAD_CARDS = 20  # listed of one source
CHECK_S = 10.0  # a check is quick; what needs longer is told


def reports(sources: Sequence[SourceSettings], health: Health) -> list[SourceReport]:
    """What is known of each source, without asking any."""
    return [_known(source, health) for source in sources]


def check_all(
    sources: Sequence[SourceSettings],
    adapters: Adapters,
    health: Health,
    terms: Terms,
    vault: Path,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[SourceReport]:
    """Looks whether each source could answer, paused or not, and where its cards lead.

    Programs are only looked for, not run. Takes as long as the slowest, at most `CHECK_S`.
    """
    checks = [_Check(source, sources, adapters, terms, vault, cancelled) for source in sources]
    for check in checks:
        threading.Thread(target=check.run, name="source-check", daemon=True).start()
    until = time.monotonic() + CHECK_S + 1.0
    found = []
    for check in checks:
        check.done.wait(max(0.0, until - time.monotonic()))
        error = check.error if check.done.is_set() else _slow()
        if error is None and health.pause_left(check.source.name) > 0:
            if check.source.kind == "command":
                health.resume(check.source.name)  # it is there, but was not run
            else:
                health.answered(check.source.name, check.spent_ms)  # it is well again
        elif error is not None and error.code != "SOURCE_BUSY":
            health.failed(check.source.name, error.message, error.remedy)
        known = _known(check.source, health)
        reason, remedy = (error.message, error.remedy) if error else ("", "")
        if error is None and check.source.kind == "command":
            reason, remedy = known.reason, known.remedy  # how it ended when it was last run
        found.append(
            replace(
                known, reachable=error is None, reason=reason, remedy=remedy,
                dead_cards=tuple(check.dead_cards),
            )
        )  # fmt: skip
    health.save()
    return found


def findings(checked: Sequence[SourceReport]) -> list[Finding]:
    """The lines of `doctor`."""
    if not checked:
        return []
    bad = []
    for one in checked:
        if one.reason:
            bad.append(Finding("sources", "warning", f"{one.name}: {one.reason}", one.remedy))
        if one.dead_cards:
            cards = "; ".join(one.dead_cards[:5])
            bad.append(
                Finding(
                    "sources",
                    "warning",
                    f"{one.name}: index cards that lead nowhere: {cards}.",
                    "Correct the `deep_search` of these entries.",
                )
            )
    count = len(checked)
    well = f"{count} other {'source' if count == 1 else 'sources'} can be asked."
    return bad or [Finding("sources", "ok", well)]


class _Check:
    """One source being looked at."""

    def __init__(
        self,
        source: SourceSettings,
        sources: Sequence[SourceSettings],
        adapters: Adapters,
        terms: Terms,
        vault: Path,
        cancelled: Callable[[], bool],
    ) -> None:
        self.source = source
        self._by_name = {name_key(one.name): one for one in sources}
        self._adapters = adapters
        self._terms = terms
        self._vault = vault
        self._cancelled = cancelled
        self.done = threading.Event()
        self.error: SourceError | None = None
        self.dead_cards: list[str] = []
        self.spent_ms = 0.0

    def run(self) -> None:
        """Looks, and keeps what it saw."""
        started = time.monotonic()
        limit = min(self.source.timeout_s, CHECK_S)
        ask = Ask("", (), {}, SearchRequest(""), started + limit, self._cancelled)
        try:
            adapter = self._adapters.of(self.source, self._terms)
            adapter.check(ask)
            if isinstance(adapter, Records):
                self._look_for_cards(adapter, ask)
        except SourceError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - told as this source's failure
            self.error = SourceError(f"It failed unexpectedly ({type(error).__name__}).")
        self.spent_ms = (time.monotonic() - started) * 1000
        self.done.set()

    def _look_for_cards(self, adapter: Records, ask: Ask) -> None:
        for record in adapter.entries(ask)[0]:
            if record.card is None or len(self.dead_cards) == MAX_DEAD_CARDS:
                continue
            if not self._leads_somewhere(record.card.source, record.card.arguments, ask):
                self.dead_cards.append(record.title)

    def _leads_somewhere(self, name: str, arguments: Mapping[str, str], ask: Ask) -> bool:
        if name_key(name) == OWN:
            path = arguments.get("path")
            return path is None or (self._vault / path).is_file()
        target = self._by_name.get(name_key(name))
        if target is None:
            return False
        try:
            return self._adapters.of(target, self._terms).has_target(arguments, ask)
        except SourceError:
            return False


def _known(source: SourceSettings, health: Health) -> SourceReport:
    record = health.of(source.name)
    return SourceReport(
        name=source.name,
        kind=source.kind,
        description=source.description,
        place=source.command[0] if source.kind == "command" else source.path,
        reachable=None if not record.outcomes else record.streak == 0,
        last_success=record.last_success,
        typical_ms=record.typical_ms,
        error_rate=record.error_rate,
        paused_s=round(health.pause_left(source.name), 1),
        reason=record.reason if record.streak else "",
        remedy=record.remedy if record.streak else "",
    )


def _slow() -> SourceError:
    return SourceError(
        f"It did not answer within {CHECK_S:g} s.", "Check the drive or program behind it."
    )
