"""Keeps the index up to date while a daemon runs: one thread, words before vectors.

The state it is in is always one of the phases of `types.Progress`. Changed notes come before
waiting vectors; a vault that vanished is waited for; a failed write is tried again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from sidelight.errors import IndexUnavailableError, VaultError
from sidelight.indexing.pipeline import Changes, Indexer
from sidelight.store.upkeep import give_back_memory
from sidelight.types import Progress
from sidelight.vault.files import is_note

log = logging.getLogger(__name__)

_RESCAN_ABOVE = 300  # changed paths (a checkout): one scan is cheaper than as many looks
_HELD_S = 10.0  # the models are there by then, or will not come
_RETRY_S = 5.0  # until a vanished vault or a full disk is looked at again
_REPORT_EVERY_S = 0.2


class Worker:
    """Runs an indexer in the background.

    Args:
        indexer: it alone writes while the worker runs.
        report: told how far it is, at most five times a second and at each change of phase.
        on_back: called when the system may watch too little: links to folders came or went, or a
            vault or folder that was out of reach is there again; it may be
            another one to the system, which has to be watched anew.
        paused: begins as after `pause`, and only looks how many notes changed.
        held: waits before its first scan until there is something to do (`wake`, a saved note).
    """

    def __init__(
        self,
        indexer: Indexer,
        report: Callable[[Progress], None],
        on_back: Callable[[], None] = lambda: None,
        *,
        paused: bool = False,
        held: bool = False,
    ) -> None:
        self._indexer = indexer
        self._on_back = on_back
        self._failing = False  # the last step failed
        self._suspect = False  # and whether the index is damaged is still to be looked at
        self._away = False  # the vault was not there when it was last looked at
        self._report = report
        self._wake = threading.Condition()
        self._paths: set[str] = set()
        self._rescan = not paused  # `resume` asks for it
        self._forced = False
        self._paused = paused
        self._held = held
        self._stopping = False
        self._polling = False
        self._problem = ""
        self._tasks: list[Callable[[], None]] = [indexer.know_names] if paused else []
        self._reported = (0.0, "")
        self._tidied = False  # since it last gave memory back
        self._busy = True
        self._noticed: float | None = time.monotonic()  # when the first of `_paths` was
        self._busy_since: float | None = None  # when the first of what is being done was
        indexer.tidying.interrupted = self._has_news
        self._thread = threading.Thread(target=self._run, name="indexer", daemon=True)

    # ------------------------------------------------------------------ from other threads

    def start(self) -> None:
        """Begins with a scan, unless it is paused."""
        self._thread.start()

    def stop(self) -> None:
        """Stops after the commit or window under way."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def notice(self, paths: set[str]) -> None:
        """These vault paths changed."""
        with self._wake:
            self._paths |= paths
            self._note_time()
            self._wake.notify_all()

    def rescan(self, *, forced: bool = False) -> None:
        """Compares the whole vault again; `forced` reads every note anew."""
        with self._wake:
            self._rescan = True
            self._note_time()
            self._forced = self._forced or forced
            self._wake.notify_all()

    def wake(self) -> None:
        """There is something to embed."""
        self.run_soon(lambda: None)

    def run_soon(self, task: Callable[[], None]) -> None:
        """Runs a task in the worker's thread, between two steps."""
        with self._wake:
            self._tasks.append(task)
            self._wake.notify_all()

    def poll(self, reason: str) -> None:
        """The system cannot watch: scan from time to time instead."""
        with self._wake:
            self._polling = True
            self._problem = reason
            self._wake.notify_all()

    def watched(self) -> None:
        """The system watches again; what changed meanwhile went unseen."""
        with self._wake:
            self._polling = False
            self._problem = ""
            paused = self._paused
        if paused:  # only names and numbers are looked at then
            self.run_soon(self._indexer.know_names)
        else:
            self.rescan()

    def pause(self) -> None:
        """Holds everything back after the step under way."""
        with self._wake:
            self._paused = True
            self._wake.notify_all()
        self._tell(Progress("paused", 0, 0))

    def resume(self) -> None:
        """Goes on, with a scan for what was missed."""
        with self._wake:
            self._paused = False
            self._rescan = True
            self._wake.notify_all()

    @property
    def busy(self) -> bool:
        """Whether words of some changed note are still to be committed."""
        with self._wake:
            return self._busy or bool(self._paths) or self._rescan

    @property
    def noticed(self) -> frozenset[str]:
        """Vault paths that changed and were not looked at yet; may be folders."""
        with self._wake:
            return frozenset(self._paths)

    @property
    def waiting_since(self) -> float | None:
        """When (`time.monotonic`) the change was noticed that waits longest for its words."""
        with self._wake:
            known = [at for at in (self._noticed, self._busy_since) if at is not None]
            return min(known, default=None)

    def _note_time(self) -> None:
        if self._noticed is None:
            self._noticed = time.monotonic()

    @property
    def problem(self) -> str:
        """Why the vault is scanned instead of watched, or waited for; "" if all is well."""
        return self._problem

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        if self._held:  # a scan would take the processor from the models, for seconds
            with self._wake:
                self._wake.wait_for(
                    lambda: self._stopping or self._paths or self._tasks or self._forced,
                    _HELD_S,
                )
        while not self._stopping:
            try:
                self._step()
                self._failing = False
            except (VaultError, IndexUnavailableError) as error:
                log.warning("waiting: %s", error.code)
                self._problem = str(error)
                self._away = self._away or isinstance(error, VaultError)
                self._failed()
                self._tell(Progress("waiting", 0, 0))
                self._rescan = True
                self._sleep(_RETRY_S, retrying=True)
            except Exception as error:
                log.error("a step failed, the vault is scanned again: %s", type(error).__name__)
                log.debug("in detail", exc_info=True)
                self._failed()
                self._rescan = True
                self._sleep(_RETRY_S, retrying=True)

    def _failed(self) -> None:
        """Lets the first failure of a row be looked into: that reads the whole index."""
        self._suspect, self._failing = not self._failing, True

    def _step(self) -> None:
        suspect, self._suspect = self._suspect, False
        if self._indexer.recover(suspect=suspect):
            self.rescan(forced=True)
        while self._tasks:  # before the rest is taken: one that fails must not lose it
            with self._wake:
                task = self._tasks.pop(0)
            task()
        with self._wake:
            paused = self._paused
            rescan, forced = self._rescan and not paused, self._forced
            paths = set() if paused else self._paths | self._indexer.out_of_reach.due()
            if not paused:
                self._paths, self._rescan, self._forced = set(), False, False
            self._busy = bool(paths) or rescan
            if not paused:
                if self._busy and self._busy_since is None:  # else a step failed: it waits on
                    self._busy_since = self._noticed or time.monotonic()
                self._noticed = None
        if paused:
            self._tell(Progress("paused", 0, 0))
            self._sleep(None)
        elif not self._work(paths, rescan, forced):
            self._rest()
        else:  # one small step of tidying at most keeps the next note that is saved waiting
            self._indexer.tidying.keep_up(self._tell)

    def _work(self, paths: set[str], rescan: bool, forced: bool) -> bool:
        """What was saved before what waits for its vector; whether there was anything."""
        if rescan or len(paths) > _RESCAN_ABOVE or self._indexer.rules_changed(paths):
            self._scan(forced)
        elif paths:
            self._apply(self._changes_of(paths))
        elif self._indexer.queue.pending():
            self._embed()
        else:
            return False
        return True

    def _scan(self, forced: bool) -> None:
        self._tell(Progress("scan", 0, 0))
        try:
            changes = self._indexer.scan(forced=forced)
            if not self._polling:
                self._problem = ""
            if self._away or self._indexer.drive_came:
                self._away = False
                self._on_back()
            self._apply(changes)
            if not self._stopping:
                self._indexer.finished(forced=forced)
        except BaseException:
            self._forced = self._forced or forced  # it is done only once all of it is
            raise

    def _apply(self, changes: Changes) -> None:
        self._indexer.apply(changes, self._tell, lambda: self._stopping)
        with self._wake:
            self._busy, self._busy_since = False, None

    def _changes_of(self, paths: set[str]) -> Changes:
        """What became of each path: a changed note, a new folder, something gone."""
        changes = Changes()
        gone: set[str] = set()
        for path in sorted(paths):
            try:
                self._look_at(path, changes, gone)
            except OSError as error:  # what the system cannot tell now is not known to be gone
                self._indexer.cannot_read(path, error)
        self._indexer.require_vault()
        changes.gone = self._indexer.indexed_under(gone)
        return changes

    def _look_at(self, path: str, changes: Changes, gone: set[str]) -> None:
        kind = self._indexer.kind(path)
        if kind != "file" and self._indexer.has_links and not is_note(path):
            self._on_back()  # what a link led to may not be watched any more, or by another path
        if kind == "folder":
            if path in self._indexer.out_of_reach.reasons():  # a drive that is back, perhaps
                self._on_back()
            self.rescan()  # notes in a moved-in folder raise no events of their own
        elif kind == "file":
            entry = self._indexer.entry(path)
            self._indexer.note_name(path, exists=True)
            if entry is None:
                gone.add(path)
            elif entry.placeholder:
                self._indexer.in_the_cloud(path)
            else:
                changes.changed.append(entry)
        else:
            for name in self._indexer.names_under(path):
                self._indexer.note_name(name, exists=False)
            gone.add(path)

    def _embed(self) -> None:
        self._tell(self._indexer.queue.progress())  # a window takes a while, and tidying was told
        self._indexer.queue.embed_window(self._has_news)
        self._tell(self._indexer.queue.progress())

    def _has_news(self) -> bool:
        return bool(self._stopping or self._paused or self._paths or self._rescan or self._tasks)

    def _rest(self) -> None:
        self._indexer.queue.settle()
        tidying = self._indexer.tidying
        if tidying.wait_s() == 0.0:
            tidying.run(self._tell)
            self._tidied = True
            return
        if self._tidied or self._reported[1] != "idle":
            give_back_memory()
        self._tidied = False
        self._tell(Progress("idle", 1, 1))
        waits = [tidying.wait_s(), self._indexer.out_of_reach.wait_s()]
        if self._polling:
            waits.append(float(self._indexer.settings.poll_seconds))
        self._sleep(min((wait for wait in waits if wait is not None), default=None))
        if self._polling:
            self._rescan = True

    def _sleep(self, seconds: float | None, *, retrying: bool = False) -> None:
        """Until something is asked for; a retry asks for its own scan and waits all the same."""
        with self._wake:
            idle = not (self._paths or self._rescan or self._tasks or self._stopping)
            if retrying:
                idle = not self._stopping
            if self._paused:
                idle = not (self._tasks or self._stopping)
            if idle:
                self._wake.wait(seconds)

    def _tell(self, progress: Progress) -> None:
        at, phase = self._reported
        now = time.monotonic()
        if progress.phase != phase or now - at >= _REPORT_EVERY_S:
            self._reported = (now, progress.phase)
            self._report(progress)
