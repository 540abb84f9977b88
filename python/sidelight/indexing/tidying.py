"""When is the index tidied? After many commits, and once after each spell of them.

Compaction joins what commits left in pieces; cleaning up deletes the versions that nobody reads
any more, a minute later, and what a crash left unfinished, twice after a start. Both go in small
steps, one at a time, so that a note saved meanwhile comes first. When all is done nothing wakes
up until the next commit.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

from sidelight.errors import IndexUnavailableError
from sidelight.store.catalog import Catalog
from sidelight.store.tables import Step, Tables
from sidelight.store.upkeep import KEEP_VERSIONS_S
from sidelight.types import Progress

log = logging.getLogger(__name__)

COMPACT_AFTER = 200  # commits: 50 unindexed updates cost a query 5 ms, an optimize 0.6 s
QUIET_S = 30.0  # without a commit: the person has stopped writing for now
_TOLD_AFTER_S = 2.0  # a round that is done sooner would only flicker before a person's eyes
_CLEAN_AFTER_S = KEEP_VERSIONS_S + 5.0  # so that all but the last versions are old enough

Report = Callable[[Progress], None]


class Tidying:
    """Decides when, and does it. Not thread-safe: the indexer's thread calls it.

    Args:
        tables: to be tidied.
        catalog: says what is still used.
        clock: seconds that never go back.

    Attributes:
        commits: since the last compaction began.
        interrupted: whether a step that can be left for later should be: someone waits.
    """

    def __init__(
        self, tables: Tables, catalog: Catalog, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tables = tables
        self._catalog = catalog
        self._clock = clock
        self.commits = 0
        self.interrupted: Callable[[], bool] = lambda: False
        self._written = clock()  # when the last commit or compaction was
        self._old_versions = False  # whether there are some to delete
        self._steps: deque[tuple[str, Step]] = deque()  # of the round under way, with their phase
        self._planned = 0  # steps of that round
        self._began = 0.0  # when it did
        self._started = True  # what a crash left has not been looked for yet

    def committed(self) -> None:
        """Something was written."""
        self.commits += 1
        self._old_versions = True
        self._written = self._clock()

    def wait_s(self) -> float | None:
        """Seconds until there is something to do; 0 now, None never."""
        if self._steps:
            return 0.0
        quiet = self._clock() - self._written
        if self.commits:
            return max(0.0, QUIET_S - quiet)
        return max(0.0, _CLEAN_AFTER_S - quiet) if self._old_versions else None

    def run(self, report: Report) -> None:
        """One step of what is due, if anything, when there is nothing else to do."""
        if self.wait_s() != 0.0:
            return
        if not self._steps:
            self._plan(compaction=bool(self.commits), cleaning=not self.commits)
        self._next(report)

    def keep_up(self, report: Report) -> None:
        """One step between two of other work: of what is under way, or where the disk would fill."""
        if not self._steps and self.commits >= COMPACT_AFTER:
            self._plan(compaction=True, cleaning=True)
        if self._steps:
            self._next(report)

    def after_scan(self) -> None:
        """After a first index or a checkout new rows are indexed soon; leftovers go."""
        self._plan(compaction=self.commits > 1, cleaning=self._started)

    def finish(self, report: Report) -> None:
        """Leaves the index tidy where nothing will run afterwards."""
        self._plan(compaction=bool(self.commits), cleaning=True)
        while self._steps:
            self._next(report)

    def _plan(self, *, compaction: bool, cleaning: bool) -> None:
        """Puts a round in place of the one before, and does whole what that had not finished."""
        unfinished = {phase for phase, _ in self._steps}
        compaction |= "compact" in unfinished
        cleaning |= "cleanup" in unfinished
        self._steps.clear()
        if compaction:
            self.commits = 0
            steps = self._tables.compaction(self._catalog, self.interrupted)
            self._steps += [("compact", step) for step in steps]
        if cleaning:
            self._old_versions = False
            if self._started:
                self._replaced_some()  # some of what a crash left goes only a minute from now
            self._started = False
            steps = self._tables.cleaning(self._catalog, self.interrupted)
            self._steps += [("cleanup", step) for step in steps]
        self._planned = len(self._steps)
        self._began = self._clock()

    def _next(self, report: Report) -> None:
        phase, step = self._steps[0]
        if self._clock() - self._began >= _TOLD_AFTER_S:
            report(Progress(phase, self._planned - len(self._steps), self._planned))
        try:
            step()
        except IndexUnavailableError as error:  # nothing is lost; the next spell tries again
            log.error("%s failed and will be tried again: %s", phase, error.code)
            self._replaced_some()
        else:
            if phase == "compact":  # what it replaced is old enough only a minute from now
                self._replaced_some()
        finally:
            self._steps.popleft()

    def _replaced_some(self) -> None:
        self._old_versions = True
        self._written = self._clock()
