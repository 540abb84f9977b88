"""Which files of the vault just changed? Events from the system, or a scan where it has none.

Groups events: an editor's temporary file and rename are one change, a save every 250 ms is
published within the ceiling. Reads no file. The only place that knows watchfiles.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from watchfiles import Change, watch

from sidelight.config import Settings

log = logging.getLogger(__name__)

_POLLED_FILE_SYSTEMS = 1_000  # ms between two looks of the fallback inside watchfiles
# A name that the system cannot tell ends watching for that one event, and a file server may come
# back: doubled at each failure, as beginning to watch a large vault costs a walk through it.
_AGAIN_FIRST_S = 1.0
_AGAIN_CEILING_S = 600.0
_LOOK_AT_FOLDER_S = 2.0  # at the vault's own folder, of which the system tells nothing


class Watcher:
    """Watches one vault in a thread of its own.

    Args:
        vault: real path.
        settings: `debounce_ms`, `debounce_ceiling_ms`.
        on_changes: called with vault paths that came, changed or went; may be folders.
        on_lost: called with the reason when the system cannot watch (its limit is reached, a
            network drive, a name it cannot tell); the caller scans from time to time instead.
        on_gap: called once the vault's folder went.
        on_found: called once it watches, at first and anew: after `on_gap`, `restart` or `on_lost`;
            what changed before went unseen. After a failure that is tried less and less often.
    """

    def __init__(
        self,
        vault: Path,
        settings: Settings,
        on_changes: Callable[[set[str]], None],
        on_lost: Callable[[str], None],
        on_gap: Callable[[], None] = lambda: None,
        on_found: Callable[[], None] = lambda: None,
    ) -> None:
        self._vault = vault
        self._settings = settings
        self._on_changes = on_changes
        self._on_lost = on_lost
        self._on_gap = on_gap
        self._on_found = on_found
        self._lost = True  # nothing is watched yet
        self._stop = threading.Event()
        self._turn = threading.Event()  # ends one turn of watching
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)

    def start(self) -> None:
        """Begins to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stops within a second."""
        self._stop.set()
        self._turn.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2)

    def restart(self, settings: Settings) -> None:
        """Watches anew: with other settings, or because the vault's folder is another one."""
        self._settings = settings
        self._turn.set()

    def _run(self) -> None:
        wait_s = _AGAIN_FIRST_S
        while not self._stop.is_set():
            began = time.monotonic()
            reason = self._watch()
            if self._stop.is_set():
                return
            if time.monotonic() - began > wait_s:  # it held: whatever ended it was passing
                wait_s = _AGAIN_FIRST_S
            if reason:
                log.warning("watching stopped, next try in %.0f s", wait_s)
                self._lost = True
                self._on_lost(reason)
                self._turn.wait(wait_s)
                wait_s = min(2 * wait_s, _AGAIN_CEILING_S)
            self._turn.clear()
            if self._stop.is_set():  # it was set between the two
                return
            if not reason:
                self._lost = True  # until it watches anew: what changes before is told by nobody

    def _watch(self) -> str:
        """One turn; why the system does not watch any more, "" where it is to watch anew."""
        folder, looked, gone = self._folder(), time.monotonic(), False
        try:
            for changes in watch(
                self._vault,
                watch_filter=self._wanted,
                debounce=self._settings.debounce_ceiling_ms,
                step=self._settings.debounce_ms,
                stop_event=self._turn,
                rust_timeout=500,
                yield_on_timeout=True,
                raise_interrupt=False,
                poll_delay_ms=_POLLED_FILE_SYSTEMS,
            ):
                if self._lost:
                    self._on_found()
                    self._lost = False
                if changes:
                    self._on_changes(self._vault_paths({path for _, path in changes}))
                if time.monotonic() - looked < _LOOK_AT_FOLDER_S:
                    continue
                now, looked = self._folder(), time.monotonic()
                if now is not None and (gone or now != folder):
                    return ""
                if now is None and not gone:
                    gone = True
                    self._on_gap()
        except (OSError, RuntimeError) as error:
            return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        return "" if self._turn.is_set() else "the system stopped reporting changes"

    def _folder(self) -> tuple[int, int] | None:
        """Which folder stands at the vault's path; None if there is none.

        A drive that is unmounted, or a folder that is moved away, raises no event: the system
        goes on watching the folder that was there.
        """
        try:
            status = self._vault.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _wanted(self, change: Change, path: str) -> bool:
        """Leaves out hidden files, except those that say what is excluded."""
        del change
        parts = self._vault_path(path).split("/")
        if not _hidden(parts) or not _hidden(self._vault_path(os.path.realpath(path)).split("/")):
            return True
        return parts[-1] == ".sidelightignore" or parts == [
            self._settings.config_folder,
            "app.json",
        ]

    def _vault_paths(self, told: set[str]) -> set[str]:
        """Where files stand that the system told of.

        Linux tells of a folder by one path, which may be that of a link to it.
        """
        paths = {self._vault_path(path) for path in told}
        folders = {path.rpartition("/")[0] for path in paths}
        real = {folder: os.path.realpath(self._vault / folder) for folder in folders}
        also = {
            link: os.path.realpath(self._vault / link) for link in self._settings.followed_links
        }
        for path in tuple(paths):
            folder, _, name = path.rpartition("/")
            place = os.path.join(real[folder], name)
            paths.add(self._vault_path(place))
            paths.update(
                (Path(link) / os.path.relpath(place, target)).as_posix()
                for link, target in also.items()
                if place.startswith(target + os.sep)
            )
        return {path for path in paths if not os.path.isabs(path)}

    def _vault_path(self, path: str) -> str:
        try:
            return Path(path).relative_to(self._vault).as_posix()
        except ValueError:
            return path


def _hidden(parts: list[str]) -> bool:
    return any(part.startswith(".") for part in parts)
