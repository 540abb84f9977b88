"""Which folders of the vault are drives of their own, and is one of them away?

A folder that lies on another device than the one around it is where a drive (or an encrypted
folder) is mounted. Once seen as that, it is away while it is empty and on the vault's own device:
its notes are not gone then. Windows shows such folders as links, which are entered only if a
setting names them.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from sidelight.config import write_private

log = logging.getLogger(__name__)

NOT_MOUNTED = "its drive is not mounted; if it never will be again, delete the empty folder"


class Mounts:
    """The mounted folders of one vault that hold notes. One thread changes it.

    Args:
        vault: its folder.
        file: remembers them from start to start; losing it only takes the next drive that is
            away for deleted notes.
    """

    def __init__(self, vault: Path, file: Path) -> None:
        self._vault = vault
        self._file = file
        try:
            self._known = frozenset(map(str, json.loads(file.read_text("utf-8"))))
        except (OSError, ValueError, TypeError):  # none yet, or not readable
            self._known = frozenset()
        self._mounted: frozenset[str] | None = None  # when last looked

    def see(self, files: Iterable[str]) -> bool:
        """Remembers which folders of these files are mounted, and which were and are away.

        Looks once at each folder.

        Args:
            files: all vault paths that a scan found.

        Returns:
            Whether a drive was mounted since the last call: nobody watches it.
        """
        devices = {"": _device(self._vault)}
        for folder in sorted({above for path in files for above in _folders(path)}):
            devices[folder] = _device(self._vault / folder)  # after the one around it
        mounted = frozenset(f for f in devices if f and _differs(f, devices))
        came = self._mounted is not None and bool(mounted - self._mounted)
        self._mounted = mounted
        known = mounted | set(self.away())
        if known != self._known:
            self._known = known
            try:
                write_private(self._file, json.dumps(sorted(known), ensure_ascii=False))
            except OSError as error:
                log.warning("mounted folders are not remembered: %s", error.strerror)
        return came

    def away(self) -> list[str]:
        """Folders whose drive is not mounted now."""
        return sorted(folder for folder in self._known if self._is_away(folder))

    def require(self, path: str) -> None:
        """Makes sure that what is missing at a vault path is not on a drive that is away.

        Raises:
            OSError: it is.
        """
        for folder in self._known:
            if (path == folder or path.startswith(folder + "/")) and self._is_away(folder):
                raise OSError(errno.ENODEV, NOT_MOUNTED, path)

    def _is_away(self, folder: str) -> bool:
        """Whether a folder that had a drive is there, empty, and part of the vault's own."""
        place = self._vault / folder
        around = _device(place.parent)
        if around is None or _device(place) != around:
            return False
        try:
            return all(name.startswith(".") for name in os.listdir(place))
        except OSError:
            return False  # the scan says that it cannot be listed


def _folders(path: str) -> list[str]:
    """The folders above a vault path, without the vault itself."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: at + 1]) for at in range(len(parts))]


def _differs(folder: str, devices: Mapping[str, int | None]) -> bool:
    here, around = devices[folder], devices[folder.rpartition("/")[0]]
    return None not in (here, around) and here != around


def _device(place: Path) -> int | None:
    """The device a folder lies on; None if it is not there, or is a link."""
    try:
        status = os.lstat(place)
    except OSError:
        return None
    return None if stat.S_ISLNK(status.st_mode) else status.st_dev
