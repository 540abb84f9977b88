"""Which tables lie in the data folder, and can each be opened?

One folder, `index.lance`, with one folder a table. A table that a crash left unfinished, or that
something damaged, is put away and begun anew by a writer: the files of the vault are the truth.
Reads and writes no row.
"""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from sidelight.config import write_private
from sidelight.errors import IndexUnavailableError
from sidelight.store.statements import ENGINE_ERRORS, is_damage, writing

log = logging.getLogger(__name__)

_TABLES = "index.lance"
_PUT_AWAY = ".put-away-"  # no table has this name; what is left of it is deleted at the next start
_FACTS = "facts.json"
_INDEX_CACHE = 96 << 20  # bytes; the full-text index of 70,000 passages is about half of that
_METADATA_CACHE = 32 << 20  # bytes


class Folder:
    """The data folder of one vault.

    Args:
        path: made if missing, by a writer.
        writes: False only reads.

    Attributes:
        remade: tables that were found damaged or of another form and begun anew.

    Raises:
        IndexUnavailableError: there is no index, and this is no writer.
    """

    def __init__(self, path: Path, *, writes: bool) -> None:
        self.path = path
        self.remade: list[str] = []
        self._writes = writes
        self._tables = path / _TABLES
        if not writes and not holds_index(path):
            raise IndexUnavailableError(
                "This vault has no index yet.", "Run `sidelight index VAULT` first."
            )
        if writes:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            sweep(path)

    @cached_property
    def _db(self) -> Any:
        from sidelight.store.lance import lancedb  # half a second, and not every start needs it

        # Its defaults are 6 GiB and 1 GiB: a daemon that saves all day would grow towards them.
        caches = lancedb.Session(
            index_cache_size_bytes=_INDEX_CACHE, metadata_cache_size_bytes=_METADATA_CACHE
        )
        return lancedb.connect(str(self._tables), session=caches)

    def names(self) -> list[str]:
        """Of the tables there are."""
        return sorted(folder.stem for folder in self._tables.glob("*.lance"))

    def table(self, name: str, schema: pa.Schema) -> Any:
        """Opens a table; a writer makes it if it is missing, damaged or of another form.

        Args:
            name: of the table.
            schema: its columns.
        """
        if name in self.names():
            try:
                table = self._db.open_table(name)
                if not self._writes or table.schema.equals(schema):
                    return table
            except ENGINE_ERRORS as error:
                if not self._writes or not is_damage(error):
                    raise
            log.warning("the table %s is damaged or of another form and is made anew", name)
            self.remade.append(name)
            self.drop(name)
        return self._db.create_table(name, schema=schema)

    def drop(self, name: str) -> None:
        """Removes a table in one step: a crash never leaves half of it under its name."""
        table = self._tables / f"{name}.lance"
        away = self._tables / f"{_PUT_AWAY}{time.time_ns()}"
        try:
            table.rename(away)
        except FileNotFoundError:
            return
        except OSError:  # Windows, while a file in it is open
            self._db.drop_table(name)
            return
        shutil.rmtree(away, ignore_errors=True)  # what stays goes at the next start

    def place(self, name: str) -> Path:
        """The folder of a table, there or not."""
        return self._tables / f"{name}.lance"

    def has(self, name: str) -> bool:
        """Whether the table's folder is there; it may have been deleted under us."""
        return self.place(name).is_dir()

    def last_commit_ns(self) -> int:
        """When the last commit of any table was; looks at one folder a table."""
        versions = self._tables.glob("*.lance/_versions")  # each commit leaves a file there
        return max((folder.stat().st_mtime_ns for folder in versions), default=0)

    def facts(self) -> dict[str, str]:
        """What the index was made with (schema, tokenizer, chunker, model); {} if unknown."""
        return facts_of(self.path)

    def write_facts(self, facts: dict[str, str]) -> None:
        """Replaces the facts in one step.

        Raises:
            IndexUnavailableError: the disk is full or the folder cannot be written.
        """
        with writing(self.path):
            write_private(self.path / _FACTS, json.dumps(facts, indent=2) + "\n")


def facts_of(path: Path) -> dict[str, str]:
    """The facts of the index in a data folder, as `Folder.facts`."""
    try:
        facts = json.loads((path / _FACTS).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def holds_index(path: Path) -> bool:
    """Whether a data folder has tables, readable or not."""
    return (path / _TABLES).is_dir()


def sweep(path: Path) -> None:
    """Deletes what a crash left half written beside and between the tables."""
    for leftover in (path / _TABLES).glob(f"{_PUT_AWAY}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    # Of `config.write_private`, and of Lance's own writing (Rust's tempfile: `.tmpXXXXXX`).
    for leftover in (*path.glob(".*.tmp"), *(path / _TABLES).rglob(".tmp*")):
        with contextlib.suppress(OSError):
            leftover.unlink()


def throw_away(path: Path) -> None:
    """Deletes an index's tables, readable or not; calibration and settings lie elsewhere."""
    sweep(path)
    shutil.rmtree(path / _TABLES, ignore_errors=True)
    (path / _FACTS).unlink(missing_ok=True)
