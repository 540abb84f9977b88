"""How is a statement put to LanceDB, and what does its failure mean?

Quotes values, cuts long lists, repeats what lost a race, and turns the engine's failures into
one error with a remedy. Knows no table.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from sidelight.errors import IndexUnavailableError

log = logging.getLogger(__name__)

STATEMENT_VALUES = 400  # values in one predicate; keeps the statement well under its limit
_ATTEMPTS = 5
# What the system says when the place is at fault, not the file: such an index is kept.
_PLACE = re.compile(
    r"permission|denied|no space|disk full|quota|read-only|too many open|convert url|"
    r"os error (13|24|28|30)\b",
    re.IGNORECASE,
)
_OF_THE_SYSTEM = re.compile(r"([^:()]+) \(os error \d+\)")
_WRAPPING = re.compile(r"lance error: |LanceError\([^)]*\): ")

T = TypeVar("T")
# LanceDB reports its own failures as these two, those of the system as `OSError`.
ENGINE_ERRORS = (OSError, RuntimeError, ValueError)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turns the engine's write failures into one error with a remedy.

    Raises:
        IndexUnavailableError: the statement inside failed.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise IndexUnavailableError(
            f"The index in {folder} cannot be written ({short(error)}).",
            "Free some disk space or check the folder's permissions; nothing is lost.",
        ) from error


def retry(write: Callable[[], T]) -> T:
    """Repeats a write that lost a race with compaction (LanceDB's commit conflict)."""
    for attempt in range(_ATTEMPTS - 1):
        try:
            return write()
        except (OSError, RuntimeError) as error:
            if "conflict" not in str(error).lower():
                raise
            log.debug("commit conflict, attempt %d", attempt + 1)
            time.sleep(0.05 * 2**attempt)
    return write()


def parts(values: Iterable[str]) -> Iterator[str]:
    """Quoted values for `IN (...)`, as many at a time as one statement may hold."""
    quoted = [quote(v) for v in values]
    for start in range(0, len(quoted), STATEMENT_VALUES):
        yield ",".join(quoted[start : start + STATEMENT_VALUES])


def quote(value: str) -> str:
    """A SQL string literal: single quotes, doubled inside."""
    return "'" + value.replace("'", "''") + "'"


def short(error: BaseException) -> str:
    """What went wrong: the system's own words where it was the system, else the engine's.

    The engine's are the first line of its message, without its types and places in its source.
    """
    lines = str(error).strip().splitlines()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if not lines:
        return type(error).__name__
    if system := _OF_THE_SYSTEM.search(lines[0]):
        return system[1].strip()
    return re.sub(r",? ?/[^ ]*\.rs:\d+(:\d+)?", "", _WRAPPING.sub("", lines[0]))[:200]


def is_damage(error: BaseException) -> bool:
    """Whether a failed read means that a table's files are broken, cut or gone.

    False where the folder cannot be reached, read or written: then nothing may be thrown away.
    """
    if isinstance(error, PermissionError) or not isinstance(error, ENGINE_ERRORS):
        return False
    return not _PLACE.search(str(error))
