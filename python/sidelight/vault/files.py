"""Which files does the vault hold, and what are their bytes? The only disk access of `vault/`.

Listing follows no symlink unless a setting names it, opens nothing, and tells the reader of
`problems` what it could not list.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from sidelight.config import Settings
from sidelight.errors import AccessError, NotFoundError
from sidelight.types import FileEntry, Problem
from sidelight.vault.exclusions import Exclusions

__all__ = [
    "Exclusions",
    "is_note",
    "read_note_bytes",
    "scan",
    "sync_conflict_original",
]

NOTE_EXTENSIONS = (".md", ".canvas")
_GROWTH = 1 << 20  # bytes read at a time of a file that grew while it was read
_STUB = re.compile(r"\.(?P<name>.+)\.icloud")


def is_note(path: str) -> bool:
    """True for files that are parsed: Markdown notes and canvases."""
    return path.lower().endswith(NOTE_EXTENSIONS)


def scan(
    vault: Path,
    exclusions: Exclusions,
    settings: Settings,
    on_problem: Callable[[str, Problem], None] | None = None,
) -> Iterator[FileEntry]:
    """Every file that can be a link's target, in sorted order; reads no file.

    Hidden files and folders do not exist, as in Obsidian. Excluded files are yielded too,
    since their names stay targets: ask `exclusions.excluded(path)` before reading one.

    Args:
        vault: real path of the vault.
        exclusions: folders it hides altogether (the configuration folder) are not entered.
        settings: `followed_links` names symlinked folders to enter.
        on_problem: told the vault path and what is wrong, for every folder or file that
            cannot be listed.
    """
    report = on_problem or (lambda path, problem: None)
    followed = {link.strip("/") for link in settings.followed_links}
    yield from _scan_folder(vault, "", exclusions, followed, report, {_identity(vault)})


def _scan_folder(
    folder: Path,
    prefix: str,
    exclusions: Exclusions,
    followed: set[str],
    report: Callable[[str, Problem], None],
    above: set[tuple[int, int]],
) -> Iterator[FileEntry]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=_path_order)
    except OSError as error:
        report(prefix.rstrip("/"), Problem("folder-unreadable", f"{error.strerror or error}."))
        return
    for entry in entries:
        path = prefix + entry.name
        if not _representable(entry.name):
            report(path.encode("utf-8", "replace").decode(), _NAME_PROBLEM)
            continue
        stub = _STUB.fullmatch(entry.name)
        if stub:
            yield FileEntry(prefix + stub["name"], 0, 0, placeholder=True)
            continue
        if exclusions.hidden(path) or (_is_junction(entry) and path not in followed):
            continue
        try:
            status = entry.stat(follow_symlinks=path in followed)
        except OSError as error:
            report(path, Problem("file-unreadable", f"{error.strerror or error}."))
            continue
        if stat.S_ISDIR(status.st_mode):
            here = _identity(folder / entry.name)
            if here in above:
                report(path, Problem("folder-loop", "The link leads back into its own folder."))
                continue
            yield from _scan_folder(
                folder / entry.name, path + "/", exclusions, followed, report, above | {here}
            )
        elif stat.S_ISREG(status.st_mode):
            yield _entry(path, status)
        elif is_note(path) or entry.is_dir():
            report(path, not_listed(folder / entry.name, status.st_mode))


def not_listed(place: Path, mode: int) -> Problem:
    """Why something that is neither a folder nor a file by `mode` is left out."""
    if not stat.S_ISLNK(mode):
        return Problem("not-a-file", "It is no file but a pipe, a socket or a device.")
    if not os.path.exists(place):
        return Problem("link-broken", "It is a link to something that is not there.")
    return Problem("link-not-followed", "It is a link, and links are not followed.")


_NAME_PROBLEM = Problem("name-undecodable", "The file's name is not valid Unicode.")


def _path_order(entry: os.DirEntry[str]) -> str:
    """Orders a folder as its files' paths are ordered: `a.md` before `a/b.md`."""
    return entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name


def _is_junction(entry: os.DirEntry[str]) -> bool:
    """True for Windows' other kind of folder link, which is no symlink to `stat`."""
    known = getattr(entry, "is_junction", None)  # Python 3.12
    return bool(known and known())


def _representable(name: str) -> bool:
    """False for a POSIX name that is not UTF-8 (it would carry lone surrogates)."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def _entry(path: str, status: os.stat_result) -> FileEntry:
    return FileEntry(path, status.st_size, status.st_mtime_ns, is_placeholder(status))


def is_placeholder(status: os.stat_result) -> bool:
    """True for a file whose content lies in the cloud only; reading it would fetch it.

    It has a size but no blocks; Windows has no `st_blocks`, but marks such files "recall on
    data access" or "offline".
    """
    attributes = getattr(status, "st_file_attributes", 0)
    no_blocks = status.st_size > 0 and getattr(status, "st_blocks", None) == 0
    return no_blocks or bool(attributes & _CLOUD_ATTRIBUTES)


# FILE_ATTRIBUTE_OFFLINE, _RECALL_ON_OPEN and _RECALL_ON_DATA_ACCESS (Windows SDK, winnt.h).
_CLOUD_ATTRIBUTES = 0x1000 | 0x40000 | 0x400000


def _identity(folder: Path) -> tuple[int, int]:
    try:
        status = os.stat(folder)
    except OSError:
        return (0, 0)
    return (status.st_dev, status.st_ino)


def read_note_bytes(
    vault: Path, path: str, limit: int, followed_links: Collection[str] = ()
) -> bytes:
    """The bytes of one file of the vault, and of nothing else.

    Args:
        vault: real path of the vault.
        path: vault path.
        limit: in bytes; a larger file is not read.
        followed_links: symlinked folders that count as inside (`Settings.followed_links`).

    Raises:
        AccessError: the path leaves the vault (also by a symlink), is no plain file, or is
            larger than `limit`.
        NotFoundError: there is no such file.
        OSError: the system cannot read it now.
    """
    full = inside(vault, path, followed_links)
    try:
        file = os.open(full, _READING)
    except OSError as error:
        if not is_gone(error):
            raise
        raise NotFoundError(
            f"There is no file {path} in the vault.",
            "It may have been moved; give its path inside the vault.",
        ) from error
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise _refusal()
        if status.st_size > limit:
            raise AccessError(
                f"{path} is larger than {limit} bytes.", "Raise max_note_bytes to index it."
            )
        return _read(file, status.st_size, limit)
    finally:
        os.close(file)


def is_gone(error: OSError) -> bool:
    """Whether a failed look at a file means that there is none at its path.

    Every other failure (no permission, a held file, a drive or network that fails) may pass, and
    says nothing about the file. Python gives the error of a missing file also where Windows says
    that a drive, a server or its share is not there (15, 53, 67).
    """
    reason = getattr(error, "winerror", None)
    if reason is not None:
        return reason in _GONE_ON_WINDOWS
    return isinstance(error, FileNotFoundError | NotADirectoryError)


# ERROR_FILE_NOT_FOUND, ERROR_PATH_NOT_FOUND and ERROR_DIRECTORY (Windows SDK, winerror.h).
_GONE_ON_WINDOWS = (2, 3, 267)

# A FIFO is not waited for (it is refused once open); Windows has neither FIFOs nor these flags.
_READING = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def _read(file: int, expected: int, limit: int) -> bytes:
    """All of an open file, also if it grows meanwhile; at most `limit` bytes."""
    data = os.read(file, min(limit, expected + 1))
    if len(data) == expected:  # one byte was left to ask for: this is all
        return data
    parts, total = [data], len(data)
    while data and total < limit:
        data = os.read(file, min(limit - total, _GROWTH))
        parts.append(data)
        total += len(data)
    return b"".join(parts)


def inside(vault: Path, path: str, followed_links: Collection[str] = ()) -> str:
    """The full path of a vault path.

    Raises:
        AccessError: it is absolute, has `..`, or leads outside through a symlink.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    windows = os.name == "nt"
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise _refusal()
    if windows and ("\\" in path or ":" in path):
        raise _refusal()
    if not windows and not _through_link(vault, parts):
        return os.path.join(vault, *parts)
    base = os.path.realpath(vault)
    full = os.path.join(base, *parts)
    real = os.path.realpath(full)
    if os.path.normcase(real) == os.path.normcase(full):
        return full
    for link in followed_links:
        folder = link.strip("/")
        if path.startswith(folder + "/"):
            target = os.path.realpath(os.path.join(base, *folder.split("/")))
            if real.startswith(target.rstrip(os.sep) + os.sep):
                return full
    raise _refusal()


def _through_link(vault: Path, parts: Sequence[str]) -> bool:
    """True if a symlink stands on the way from the vault down; asks once a part, no more."""
    place = str(vault)
    for part in parts:
        place = f"{place}/{part}"
        try:
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return True
        except OSError:
            return False  # opening it says what is wrong
    return False


def _refusal() -> AccessError:
    return AccessError("That path cannot be read.", "Name a note of the vault.")


# ------------------------------------------------------------------ sync conflicts

# A person or a device: may hold a pair of brackets itself ("Anna (work)").
_WHO = r"(?:[^()（）]|\([^()]*\)|（[^（）]*）)*"
_DAY = r"\d{4}-\d{2}-\d{2}"
_STAMP = rf"(?:\d{{12}}|{_DAY}[ -]\d{{6}}|{_DAY} \d{{2}}-\d{{2}}-\d{{2}})"  # day and time
_COPY = r"(?:冲突|衝突)的?(?:副本|複本|文件|檔案)"
_NUMBER = r"(?: ?\(\d+\))?"
# Names that only sync services give, each with the original's stem in `stem`. Words about
# conflicts are ordinary ones too: a day or a time stands where the service writes it.
_CONFLICTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Syncthing: name.sync-conflict-20240131-101500-ABCDEFG
        r"(?P<stem>.+)\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?",
        # Dropbox: name (Anna's conflicted copy 2024-01-31)
        rf"(?P<stem>.+?) \({_WHO}['’]s? conflicted copy (?:{_DAY}|{_STAMP}){_NUMBER}\){_NUMBER}",
        # Obsidian Sync: name (Conflicted copy MacBook 202401311015), Nextcloud: name
        # (conflicted copy 2024-01-31 101500)
        rf"(?P<stem>.+?) \(conflicted copy (?:{_DAY}|(?:{_WHO} )?{_STAMP})\){_NUMBER}",
        # their Chinese forms
        rf"(?P<stem>.+?) ?[(（]{_WHO}的{_COPY} ?(?:{_DAY}|{_STAMP}){_NUMBER}[)）]{_NUMBER}",
        rf"(?P<stem>.+?) ?[(（]{_COPY} ?(?:{_DAY}|(?:{_WHO} )?{_STAMP})[)）]{_NUMBER}",
        # older ownCloud: name_conflict-20240131-101500
        r"(?P<stem>.+?)_conflict-\d{8}-\d{6}",
    )
)
# Ordinary names too, so they count only beside their original: the words above without a day,
# "name-conflict", Dropbox's "name (Case Conflict)" and its kind, and iCloud's "name 2".
_LOOSE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<stem>.+?) \({_WHO}conflicted copy{_WHO}\){_NUMBER}",
        rf"(?P<stem>.+?) ?[(（]{_WHO}{_COPY}{_WHO}[)）]{_NUMBER}",
        # "name-LAPTOP-conflict", "name-MacBook's conflict"; "MacBook's" alone is no name
        r"(?P<stem>.+?)(?<!['’]s)[ .-](?:[A-Z0-9]+-|[^ .-]+['’]s[ -])?"
        r"conflict(?:ed)?(?:[ -]copy)?(?:[ -]\d+)?",
        r"(?P<stem>.+?) ?[(（](?:(?:case|unicode encoding|selective sync) conflict|"
        r"(?:大小写|大小寫|选择性同步|選擇性同步|Unicode ?编码|Unicode ?編碼)(?:冲突|衝突))(?: ?\d+)?[)）]",
        r"(?P<stem>.+?) (?:[2-9]|[1-9]\d)",
    )
)
# None of all these matches a name without it; nearly all names are spared a dozen patterns.
_HINT = re.compile(r"conflict|冲突|衝突| [1-9]\d?\Z", re.IGNORECASE)


def sync_conflict_original(path: str, exists: Callable[[str], bool] | None = None) -> str | None:
    """The path a sync-conflict copy was made from, or None for an ordinary file.

    Args:
        path: vault path.
        exists: tells whether a vault path is a file. Names that are ordinary ones too, as
            iCloud's `Name 2.md` or "conflicted copy" without a day, count only where this
            says that the original is there.
    """
    folder, slash, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    if not dot or _HINT.search(stem) is None:
        return None
    for pattern in _CONFLICTS if exists is None else (*_CONFLICTS, *_LOOSE):
        match = pattern.fullmatch(stem)
        if match:
            original = f"{folder}{slash}{match['stem'].rstrip()}.{extension}"
            if pattern in _CONFLICTS or (exists is not None and exists(original)):
                return original
    return None
