"""Which rows does a table or view of an SQLite file hold? Opened read-only, within bounds.

`mode=ro` and `query_only`: nothing is written, no journal is made. A file that is locked,
damaged or no database is told in one line; a query that runs on is interrupted.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sidelight.sources.asking import SourceError

LOCK_WAIT_S = 1.0  # a writer commits in less; a lock that stays is told
MAX_CELL_BYTES = 10_000_000
STEPS = 10_000  # of SQLite's machine between two looks at the clock: about 1 ms
_FETCHED = 500  # rows at a time
_HIDDEN = 1  # of `table_xinfo`: a virtual table's argument, no column
_WAL = b"\x02\x02"  # bytes 18 and 19 of a file with a write-ahead log (sqlite.org/fileformat2)


def columns_of(path: Path, table: str, stopped: Callable[[], bool]) -> list[str]:
    """Names of a table's columns.

    Raises:
        SourceError: as `table_rows`.
    """
    with _open(path, stopped) as connection:
        return _columns(connection, table)


def table_rows(
    path: Path, table: str, wanted: Sequence[str], stopped: Callable[[], bool]
) -> Iterator[Mapping[str, Any]]:
    """Rows in the table's own order, of the columns in `wanted` that it has.

    Raises:
        SourceError: locked, damaged, no database, no such table, or `stopped` said so.
    """
    with _open(path, stopped) as connection:
        there = [name for name in _columns(connection, table) if name in set(wanted)]
        chosen = ", ".join(_quoted(name) for name in there) or "1"
        cursor = connection.execute(f"SELECT {chosen} FROM {_quoted(table)}")
        while rows := cursor.fetchmany(_FETCHED):
            for row in rows:
                yield dict(zip(there, row, strict=False))


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    about = connection.execute(f"PRAGMA table_xinfo({_quoted(table)})")  # generated ones too
    names = [row[1] for row in about if row[6] != _HIDDEN]
    if names:
        return names
    kinds = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name LIMIT 20"
    known = ", ".join(row[0] for row in connection.execute(kinds)) or "none"
    raise SourceError(
        f"The file has no table or view '{table}'.", f"Name one of those it has: {known}."
    )


@contextlib.contextmanager
def _open(path: Path, stopped: Callable[[], bool]) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if _is_idle(path) else ''}",
            uri=True,
            timeout=LOCK_WAIT_S,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise _failure(error) from error
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
        connection.set_progress_handler(lambda: int(stopped()), STEPS)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")  # a view runs no function with effects
        yield connection
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise _failure(error) from error
    finally:
        connection.close()


def _is_idle(path: Path) -> bool:
    """Whether a database with a write-ahead log is in no program's hands: it has no log now.

    Opened as usual, such a one gets log and index files beside it, even with `mode=ro`.
    """
    try:
        with path.open("rb") as file:
            has_log = file.read(20)[18:20] == _WAL
    except OSError:
        return False  # opening it says what is wrong
    return has_log and not path.with_name(f"{path.name}-wal").exists()


def _failure(error: Exception) -> SourceError:
    said = str(error)
    if "locked" in said or "busy" in said:
        return SourceError(
            "The database is locked by another program.", "It is asked again once that is done."
        )
    if "malformed" in said or "not a database" in said or "corrupt" in said:
        return SourceError(
            f"The database is damaged ({said}).",
            "Restore it, or repair it with sqlite3's .recover.",
        )
    if "interrupted" in said:
        return SourceError(
            "Reading the database took too long.", "Raise its 'timeout_s', or name a smaller view."
        )
    if "unable to open" in said:
        return SourceError(
            "The database cannot be opened.", "Check that it is there and that you may read it."
        )
    return SourceError(f"The database cannot be read ({said}).", "Check the file and the table.")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
