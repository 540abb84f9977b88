"""May this path be read? Only regular files inside the vault that are not excluded.

Every refusal is the same `AccessError`, whatever the reason and whether or not something is
there, so that nothing outside can be felt out. Reads nothing but directory entries, except
`read_inside`, which opens what it has checked without following a link put there meanwhile.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from sidelight.errors import AccessError, NotFoundError

# Names that Windows gives to devices, in every folder and with any extension.
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)", re.I)
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f]")


class Excluding(Protocol):
    """Tells which vault paths are not to be read."""

    def excluded(self, path: str) -> bool:
        """Whether the path is left out."""


def safe_path(vault: Path, path: str, exclusions: Excluding, followed: Iterable[str] = ()) -> Path:
    """The file that a vault path names.

    Args:
        vault: real path of the vault.
        path: vault path with `/`, spelled exactly as on disk.
        exclusions: what may not be read.
        followed: symlinked folders that the user allows to lead out of the vault.

    Raises:
        AccessError: anything but a readable regular file inside: `..`, absolute paths, drive
            letters, device names, control characters, links out of the vault, excluded folders,
            another spelling of a name, folders, FIFOs, devices.
        NotFoundError: a possible place inside the vault where there is no file.
    """
    parts = _parts(path)
    if exclusions.excluded(path):
        raise refused()
    place = vault.joinpath(*parts)
    try:
        if _through_link(vault, parts):
            place = _led_to(vault, place, exclusions, followed, parts)
        if not stat.S_ISREG(os.lstat(place).st_mode):
            raise refused()
        _check_spelling(vault, parts)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(
            "There is no such note.", "It may have been moved or removed; search again."
        ) from error
    except (OSError, ValueError) as error:  # names too long, loops, no permission
        raise refused() from error
    return place


def read_inside(
    vault: Path, path: str, exclusions: Excluding, limit: int, followed: Iterable[str] = ()
) -> bytes:
    """The bytes of a file that `safe_path` allows, at most `limit`.

    What is opened is compared with what was checked, so a link or FIFO that takes its place in
    between is refused and never waited for.

    Raises:
        AccessError, NotFoundError: as `safe_path`; also a file larger than `limit`.
    """
    place = safe_path(vault, path, exclusions, followed)
    try:
        checked = os.lstat(place)
        data, about = read_regular(place, limit)
    except FileNotFoundError as error:
        raise NotFoundError(
            "There is no such note.", "It may have been moved or removed; search again."
        ) from error
    except OSError as error:
        raise refused() from error
    if (about.st_dev, about.st_ino) != (checked.st_dev, checked.st_ino):
        raise refused()
    return data


def read_regular(place: Path, limit: int) -> tuple[bytes, os.stat_result]:
    """A regular file's bytes and what it is; follows no link at the end and waits for no FIFO.

    Raises:
        OSError: it cannot be opened, is something else, or is larger than `limit` bytes.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(place, flags), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if about.st_size > limit:
            raise OSError(errno.EFBIG, "too large")
        return file.read(limit), about


def refused() -> AccessError:
    """The one refusal of every path, whatever the reason."""
    return AccessError(
        "This path cannot be read.",
        "Give the path of a note inside the vault, spelled as on disk.",
    )


def _parts(path: str) -> list[str]:
    """The names of a vault path, each of which can only lead downwards."""
    parts = path.split("/")
    if _CONTROL.search(path) or "\\" in path or _DRIVE.match(path):
        raise refused()
    if any(part in ("", ".", "..") for part in parts):
        raise refused()
    if os.name == "nt" and any(not _plain_on_windows(part) for part in parts):
        raise refused()
    return parts


def _plain_on_windows(name: str) -> bool:
    """Whether Windows takes a name as it stands: no device, no stream, nothing cut off its end."""
    stem = name.split(".", 1)[0].rstrip()
    return not (_DEVICE.fullmatch(stem) or ":" in name or name.endswith((".", " ")))


def _through_link(vault: Path, parts: list[str]) -> bool:
    place = vault
    for part in parts:
        place = place / part
        if os.path.islink(place) or _is_junction(place):
            return True
    return False


def _is_junction(place: Path) -> bool:
    tag = getattr(os.lstat(place), "st_reparse_tag", 0)
    return bool(tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1))


def _led_to(
    vault: Path,
    place: Path,
    exclusions: Excluding,
    followed: Iterable[str],
    parts: list[str],
) -> Path:
    """Where a path with links in it ends; inside the vault, or below a folder that is followed."""
    real = Path(os.path.realpath(place))
    if real.is_relative_to(vault):
        if exclusions.excluded(real.relative_to(vault).as_posix()):
            raise refused()
        return real
    path = "/".join(parts)
    for folder in followed:
        folder = folder.strip("/")
        if path.startswith(folder + "/"):
            root = Path(os.path.realpath(vault / folder))
            if real.is_relative_to(root):
                return real
    raise refused()


def _check_spelling(vault: Path, parts: list[str]) -> None:
    """Refuses other spellings of a name where the file system would take them.

    Where case or Unicode form do not count, an exclusion could be walked around with them. Only
    then is the folder listed (cost linear in its entries).
    """
    folder = vault
    for part in parts:
        if _has_twin(folder, part) and part not in os.listdir(folder):
            raise refused()
        folder = folder / part


def _has_twin(folder: Path, name: str) -> bool:
    """Whether the file system finds the same entry under another spelling."""
    if os.name == "nt":  # also short names (`NOTES~1`), which no rule foretells
        return True
    forms = {
        name.swapcase(),
        unicodedata.normalize("NFC", name),
        unicodedata.normalize("NFD", name),
    }
    own = os.lstat(folder / name)
    for form in forms - {name}:
        try:
            other = os.lstat(folder / form)
        except OSError:
            continue
        if (own.st_dev, own.st_ino) == (other.st_dev, other.st_ino):
            return True
    return False
