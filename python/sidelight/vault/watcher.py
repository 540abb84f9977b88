"""Which files of the vault just changed? Events from the system, or a scan where it has none.

Groups events: an editor's temporary file and rename are one change, a save every 250 ms is
published within the ceiling. Reads no file. The only place that knows watchfiles.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from watchfiles import Change, watch

from sidelight.config import Settings

log = logging.getLogger(__name__)

_POLLED_FILE_SYSTEMS = 1_000  # ms between two looks of the fallback inside watchfiles
_LOOK_AT_FOLDER_S = 2.0  # at the vault's own folder, of which the system tells nothing


class Watcher:
    """Watches one vault in a thread of its own.

    Args:
        vault: real path.
        settings: `debounce_ms`, `debounce_ceiling_ms`.
        on_changes: called with vault paths that came, changed or went; may be folders.
        on_lost: called with the reason when the system cannot watch (its limit is reached, a
            network drive); the caller scans from time to time instead.
        on_gap: called once the vault's folder went, and once it watches anew; what changed in
            between went unseen.
    """

    def __init__(
        self,
        vault: Path,
        settings: Settings,
        on_changes: Callable[[set[str]], None],
        on_lost: Callable[[str], None],
        on_gap: Callable[[], None] = lambda: None,
    ) -> None:
        self._vault = vault
        self._settings = settings
        self._on_changes = on_changes
        self._on_lost = on_lost
        self._on_gap = on_gap
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
        while self._watch():
            self._turn = threading.Event()
            self._on_gap()

    def _watch(self) -> bool:
        """One turn; whether another one is to follow."""
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
                if changes:
                    self._on_changes({self._vault_path(path) for _, path in changes})
                if time.monotonic() - looked < _LOOK_AT_FOLDER_S:
                    continue
                now, looked = self._folder(), time.monotonic()
                if now is not None and (gone or now != folder):
                    return not self._stop.is_set()
                if now is None and not gone:
                    gone = True
                    self._on_gap()
        except (OSError, RuntimeError) as error:
            log.warning("watching stopped: %s", type(error).__name__)
            self._on_lost(str(error).splitlines()[0][:200])
            return False
        if not self._turn.is_set():
            self._on_lost("the system stopped reporting changes")
        return self._turn.is_set() and not self._stop.is_set()

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
        hidden = [part for part in parts if part.startswith(".")]
        if not hidden:
            return True
        return parts[-1] == ".sidelightignore" or parts == [
            self._settings.config_folder,
            "app.json",
        ]

    def _vault_path(self, path: str) -> str:
        try:
            return Path(path).relative_to(self._vault).as_posix()
        except ValueError:
            return path
