"""Where does the kept index lie (`store/kept.py`), and does it still count?

A file of arrays beside the tables, and one that names it and says of which notes it no longer
tells. It counts as a whole only while notes are read the same way (`made_with`); without looking
into the tables it counts while their files are those that it was last compared with (`stamp`).
Losing it costs one slow start.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import BinaryIO

from sidelight.config import write_private
from sidelight.store.catalog import Catalog
from sidelight.store.columns import columns_of
from sidelight.store.kept import KeptIndex
from sidelight.store.mapped import map_arrays, write_arrays

log = logging.getLogger(__name__)

_FORM = 6  # of the file
_NAMED = "kept.json"  # names the file in use; removing it is what makes the file count no more
_SAID = "label"  # in it
_FILES = "kept-*.bin"
_EARLIER = ("words.json", "words-*.arrow")  # of form 1
_BINARY = getattr(os, "O_BINARY", 0)  # Windows asks for it
_READ_AT_ONCE = 1 << 20  # bytes
_OF_A_TABLE = ("data", "_deletions")  # folders of its rows


@dataclass(frozen=True, slots=True)
class Label:
    """What stands in the naming file.

    Attributes:
        made_with: how notes were read.
        file, checksum: its name and CRC-32.
        stamp: of the tables when the file was last true but for `changed`.
        changed: paths of notes whose rows count instead.
    """

    made_with: str
    file: str
    checksum: int
    stamp: str
    changed: Sequence[str]


@dataclass(frozen=True, slots=True)
class Found:
    """A kept index that may be used, and what is said of it.

    Attributes:
        index: mapped.
        label: of it.
        checked: whether its bytes are those that were written; it takes a second for every 1.5 GB,
            beside what is done meanwhile.
    """

    index: KeptIndex
    label: Label
    checked: Future[bool]

    @property
    def is_sound(self) -> bool:
        """Waits for the check."""
        if not (sound := self.checked.result()):
            log.warning("the kept index is damaged; it is made anew")
        return sound


def read(folder: Path, made_with: str) -> Found | None:
    """The kept index, mapped; None if there is none that counts."""
    try:
        label = _label(folder)
        if label.made_with != made_with:
            return None
        file = folder / label.file
        checked = _beside(file.open("rb"), label.checksum)
        return Found(KeptIndex(map_arrays(file)), label, checked)
    except FileNotFoundError:
        return None
    except (OSError, LookupError, OverflowError, TypeError, ValueError) as error:
        log.warning("the kept index cannot be read (%s); it is made anew", type(error).__name__)
        return None


def write(
    folder: Path, catalog: Catalog, made_with: str, stamp: str, interrupted: Callable[[], bool]
) -> bool:
    """Keeps all of a catalog; a full disk only costs the next start. Whether it is kept."""
    columns = columns_of(catalog, interrupted)
    if columns is None:
        return False
    temporary = folder / f".kept-{os.getpid()}.tmp"  # `sweep` knows the ending
    try:
        private = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
        with os.fdopen(private, "wb") as handle:
            write_arrays(handle, columns)
            handle.flush()
            os.fsync(handle.fileno())
        with temporary.open("rb") as handle:
            checksum = _checksum(handle)
        file = folder / f"kept-{checksum:08x}.bin"
        _replace(temporary, file)
        _name(folder, Label(made_with, file.name, checksum, stamp, ()))
    except OSError as error:
        log.warning("the kept index cannot be written (%s)", error.strerror)
        temporary.unlink(missing_ok=True)
        _delete_but(folder, "")
        return False
    _delete_but(folder, file.name)
    return True


def renew(folder: Path, stamp: str, changed: Sequence[str]) -> bool:
    """Says that the file is true of the tables as they are now, but for these notes.

    A full disk only costs the next start. False if the file is gone or damaged.
    """
    try:
        label = _label(folder)
        (folder / label.file).stat()
    except (OSError, LookupError, ValueError, TypeError) as error:
        log.warning("the kept index cannot be renewed (%s)", type(error).__name__)
        return False
    now = replace(label, stamp=stamp, changed=list(changed))
    if now != label:
        try:
            _name(folder, now)
        except OSError as error:
            log.warning("the kept index cannot be renewed (%s)", error.strerror)
    _delete_but(folder, label.file)  # one that was mapped when this took its place
    return True


def forget(folder: Path) -> None:
    """What is kept counts no more: notes are read anew.

    Raises:
        OSError: the folder cannot be written.
    """
    (folder / _NAMED).unlink(missing_ok=True)
    _delete_but(folder, "")


def stamp(tables: Sequence[Path]) -> str:
    """What the files of these tables are, without opening them; "" where one has no version.

    The newest version names its files and has bytes of its own; the sizes of the files tell what
    was cut off or taken away. Lance names versions so that the newest comes first.
    """
    seen = hashlib.sha256()
    for table in tables:
        try:
            newest = min((table / "_versions").glob("*.manifest"))
            seen.update(newest.name.encode() + newest.read_bytes())
            for rows in _OF_A_TABLE:
                if (table / rows).is_dir():
                    sizes = sorted((e.name, e.stat().st_size) for e in os.scandir(table / rows))
                    seen.update(repr(sizes).encode())
        except (OSError, ValueError):
            return ""
    return seen.hexdigest()


def _label(folder: Path) -> Label:
    told = json.loads((folder / _NAMED).read_text("utf-8"))
    if told["form"] != _FORM:
        raise FileNotFoundError  # as none of this form is there
    label = Label(**told[_SAID])
    if told["checksum"] != zlib.crc32(_text_of(label).encode()):
        raise ValueError("what is said of the file is damaged")
    return label


def _name(folder: Path, label: Label) -> None:
    checksum = zlib.crc32(_text_of(label).encode())
    told = {"form": _FORM, "checksum": checksum, _SAID: asdict(label)}
    write_private(folder / _NAMED, json.dumps(told) + "\n")


def _text_of(label: Label) -> str:
    return json.dumps(asdict(label))


def _replace(temporary: Path, file: Path) -> None:
    """Puts the file in its place; the same content may be mapped there already (Windows)."""
    try:
        os.replace(temporary, file)
    except PermissionError:
        if not file.exists():
            raise
        temporary.unlink()


def _beside(handle: BinaryIO, checksum: int) -> Future[bool]:
    """Compares a file in a thread of its own; it is open, as a writer may replace it meanwhile."""

    def check() -> bool:
        try:
            with handle:
                return _checksum(handle) == checksum
        except OSError:  # the disk fails
            return False

    thread = ThreadPoolExecutor(1, thread_name_prefix="kept index")
    try:
        return thread.submit(check)
    finally:
        thread.shutdown(wait=False)


def _checksum(handle: BinaryIO) -> int:
    found = 0
    while part := handle.read(_READ_AT_ONCE):
        found = zlib.crc32(part, found)
    return found


def _delete_but(folder: Path, name: str) -> None:
    for pattern in (_FILES, *_EARLIER):
        for file in folder.glob(pattern):
            if file.name != name:
                try:
                    file.unlink(missing_ok=True)
                except OSError:  # Windows, while it is mapped: it goes the next time
                    log.debug("a kept index stays for now")
