"""When is the index tidied? After many commits, and once after each spell of them.

Compaction joins what commits left in pieces; cleaning up deletes the versions that nobody reads
any more, a minute later, and what a crash left unfinished, once after a start. When both are
done nothing wakes up until the next commit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from sidelight.errors import IndexUnavailableError
from sidelight.store.catalog import Catalog
from sidelight.store.tables import Tables
from sidelight.store.upkeep import KEEP_VERSIONS_S
from sidelight.types import Progress

log = logging.getLogger(__name__)

COMPACT_AFTER = 200  # commits: 50 unindexed updates cost a query 5 ms, an optimize 0.6 s
QUIET_S = 30.0  # without a commit: the person has stopped writing for now
_CLEAN_AFTER_S = KEEP_VERSIONS_S + 5.0  # so that all but the last versions are old enough

Report = Callable[[Progress], None]


class Tidying:
    """Decides when, and does it. Not thread-safe: the indexer's thread calls it.

    Args:
        tables: to be tidied.
        catalog: says what is still used.
        clock: seconds that never go back.

    Attributes:
        commits: since the last compaction.
    """

    def __init__(
        self, tables: Tables, catalog: Catalog, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tables = tables
        self._catalog = catalog
        self._clock = clock
        self.commits = 0
        self._written = clock()  # when the last commit was
        self._old_versions = False  # whether there are some to delete
        self._started = True  # what a crash left has not been looked for yet

    def committed(self) -> None:
        """Something was written."""
        self.commits += 1
        self._old_versions = True
        self._written = self._clock()

    def wait_s(self) -> float | None:
        """Seconds until there is something to do; 0 now, None never."""
        quiet = self._clock() - self._written
        if self.commits:
            return max(0.0, QUIET_S - quiet)
        return max(0.0, _CLEAN_AFTER_S - quiet) if self._old_versions else None

    def run(self, report: Report) -> None:
        """Does what is due, if anything, when there is nothing else to do."""
        if self.wait_s() != 0.0:
            return
        if self.commits:
            self.compact(report)
        else:
            self._old_versions = False
            self._clean_up(report)

    def keep_up(self, report: Report) -> None:
        """Between two steps of long work: both, where the disk would fill meanwhile."""
        if self.commits >= COMPACT_AFTER:
            self.compact(report)
            self._clean_up(report)

    def after_scan(self, report: Report) -> None:
        """After a first index or a checkout new rows are indexed at once; leftovers go."""
        if self.commits > 1:
            self.compact(report)
        if self._started:
            self._clean_up(report)

    def compact(self, report: Report) -> None:
        """Compacts now."""
        report(Progress("compact", 0, 1))
        self._attempt("compaction", lambda: self._tables.compact(self._catalog))
        self.commits = 0
        report(Progress("compact", 1, 1))

    def finish(self, report: Report) -> None:
        """Leaves the index tidy where nothing will run afterwards."""
        if self.commits:
            self.compact(report)
        self._clean_up(report)

    def _clean_up(self, report: Report) -> None:
        self._started = False
        report(Progress("cleanup", 0, 1))
        self._attempt("cleaning up", self._tables.clean_up)
        report(Progress("cleanup", 1, 1))

    def _attempt(self, name: str, step: Callable[[], None]) -> None:
        try:
            step()
        except IndexUnavailableError as error:  # nothing is lost; the next spell tries again
            log.error("%s failed and will be tried again: %s", name, error.code)
            self._old_versions = True
            self._written = self._clock()
