"""A source of records: which entries of a table or file answer, by our own terms and BM25?

What is small is kept in memory as terms for as long as the file stays the same; what is large
is read anew for each question, and only entries that hold a word of it are looked at closer.
Never writes.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from sidelight.language.terms import Terms
from sidelight.source_settings import RECORD_FORMATS, SourceSettings
from sidelight.sources.asking import (
    PER_ANSWER,
    Answer,
    Ask,
    Card,
    Found,
    SourceError,
    cut,
    hash_of,
    one_line,
)
from sidelight.sources.judging import fulfils
from sidelight.sources.patterns import pattern_of
from sidelight.sources.record_files import FileFacts, examine, rows
from sidelight.sources.record_table import columns_of, table_rows
from sidelight.sources.scoring import Collection
from sidelight.types import Citation, CitationStatus, Match, PassageKind
from sidelight.vault.lines import readable

MAX_KEPT_CHARS = 8_000_000  # of texts kept as terms: about 4 s to cut, 100 MB in memory
MAX_CANDIDATES = 5_000  # entries of a large file that are looked at closer
MAX_PROBLEMS = 5  # told of one file; the rest are counted
CARD_COLUMN = "deep_search"


@dataclass(frozen=True, slots=True)
class Record:
    """One entry; lines only where it stands in a file."""

    title: str
    text: str
    id: str
    link: str
    start_line: int | None
    end_line: int | None
    card: Card | None


@dataclass(frozen=True, slots=True)
class _Kept:
    """All entries of a file as it was at one moment."""

    signature: tuple[int, ...]
    digest: str | None
    records: list[Record]
    collection: Collection
    problems: tuple[str, ...]


class Problems:
    """What was wrong in a file: the first few in words, the others counted."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._more = 0

    def __call__(self, what: str) -> None:
        """Takes one problem."""
        if len(self._said) < MAX_PROBLEMS:
            self._said.append(what)
        else:
            self._more += 1

    def told(self) -> tuple[str, ...]:
        """In words."""
        more = [f"and {self._more} more"] if self._more else []
        return (*self._said, *more)


class Records:
    """A table, view or file of entries."""

    def __init__(self, settings: SourceSettings, terms: Terms) -> None:
        self._settings = settings
        self._terms = terms
        self.path = Path(settings.path).expanduser()
        self._form = RECORD_FORMATS[self.path.suffix.lower()]
        self._lock = threading.Lock()
        self._kept: _Kept | None = None
        self._too_large: tuple[int, ...] = ()  # signature of the file that was too large to keep

    def ask(self, ask: Ask) -> Answer:
        """See `Adapter`."""
        wanted = ask.arguments.get("id")
        if wanted is not None:
            found = [r for r in self.entries(ask)[0] if r.id == wanted]
            return Answer([self._found(r, None) for r in found[:PER_ANSWER]])
        kept = self._load(ask)
        best = kept.collection.search(ask.terms, len(kept.records))
        found_here = (self._found(kept.records[n], kept.digest) for n in best)
        fitting = (one for one in found_here if fulfils(one, ask.filter))
        return Answer(list(islice(fitting, PER_ANSWER)), kept.problems)

    def check(self, ask: Ask) -> None:
        """See `Adapter`."""
        self._signature()
        first = next(iter(self._read(ask, Problems())), None)
        if first is None and self._form != "sqlite":
            raise SourceError("The file holds no entry.", "Check its form and its columns.")

    def has_target(self, arguments: Mapping[str, str], ask: Ask) -> bool:
        """See `Adapter`."""
        wanted = arguments.get("id")
        return wanted is None or any(record.id == wanted for record in self.entries(ask)[0])

    def close(self) -> None:
        """See `Adapter`."""
        with self._lock:
            self._kept = None

    def entries(self, ask: Ask) -> tuple[Iterator[Record], Problems]:
        """Every entry in order, and what was wrong so far."""
        problems = Problems()
        self._signature()
        return self._read(ask, problems), problems

    def find_again(
        self, ask: Ask, record_id: str, line: int | None, text_hash: str
    ) -> Record | None:
        """The entry with this id (or, without one, this text), as it is now."""
        same = [r for r in self.entries(ask)[0] if (r.id == record_id if record_id else
                                                    hash_of(r.text) == text_hash)]  # fmt: skip
        return min(same, key=lambda r: abs((r.start_line or 0) - (line or 0)), default=None)

    def cite(self, record: Record, digest: str | None, match: Match = Match.EXACT) -> Citation:
        """Where an entry stands now."""
        has_lines = record.start_line is not None
        fresh = match is Match.EXACT
        return Citation(
            kind=PassageKind.LINES if has_lines else PassageKind.NOTE,
            status=CitationStatus.FRESH if fresh else CitationStatus.SOURCE_CHANGED,
            match=match,
            start_line=record.start_line,
            end_line=record.end_line,
            node=record.id or None,
            file_hash=digest,
            text=record.text,
            why="the entry was read just now",
        )

    @property
    def place(self) -> str:
        """What a result shows as its path."""
        table = self._settings.table
        return f"{self.path.name}/{table}" if table else self.path.name

    # ------------------------------------------------------------------ inside

    def _load(self, ask: Ask) -> _Kept:
        """All entries as terms; of a large file those that hold a word of the question."""
        with self._lock:  # a second question waits for the first one's reading
            signature = self._signature()
            if self._kept is not None and self._kept.signature == signature:
                return self._kept
            if self._too_large != signature:
                kept = self._keep(ask, signature)
                if kept is not None:
                    self._kept = kept
                    return kept
                self._kept, self._too_large = None, signature
        return self._candidates(ask, signature)

    def _keep(self, ask: Ask, signature: tuple[int, ...]) -> _Kept | None:
        """Every entry; None where there is more text than is kept."""
        problems, chars = Problems(), 0
        collection, records = Collection(self._terms), list[Record]()
        digest = self.digest(ask)
        for record in self._read(ask, problems):
            chars += len(record.title) + len(record.text)
            if chars > MAX_KEPT_CHARS:
                return None
            records.append(record)
            collection.add(f"{record.title}\n{record.text}")
        return _Kept(signature, digest, records, collection, problems.told())

    def _candidates(self, ask: Ask, signature: tuple[int, ...]) -> _Kept:
        problems = Problems()
        collection, records = Collection(self._terms), list[Record]()
        pattern = pattern_of(ask.terms)
        for record in self._read(ask, problems):
            text = f"{record.title}\n{record.text}"
            if pattern is None or not re.search(pattern, text):
                continue
            if len(records) == MAX_CANDIDATES:
                problems(f"more than {MAX_CANDIDATES:,} entries hold a word of the query")
                break
            records.append(record)
            collection.add(text)
        return _Kept(signature, None, records, collection, problems.told())

    def digest(self, ask: Ask) -> str | None:
        """SHA-256 of the file now; None for a database, which would take too long."""
        return None if self._form == "sqlite" else self._facts(ask).digest

    def _facts(self, ask: Ask) -> FileFacts:
        return examine(self.path, self._settings.encoding, ask.must_stop)

    def _signature(self) -> tuple[int, ...]:
        """Changes when the file does; an SQLite file also by its write-ahead log.

        Raises:
            SourceError: it is not there, or cannot be looked at.
        """
        try:
            about = os.stat(self.path)
        except OSError as error:
            raise _unreadable(self.path, error) from error
        signature: tuple[int, ...] = (about.st_mtime_ns, about.st_size, about.st_ino)
        log = self.path.with_name(self.path.name + "-wal")
        if self._form == "sqlite" and log.exists():
            log_about = os.stat(log)
            signature += (log_about.st_mtime_ns, log_about.st_size)
        return signature

    def _read(self, ask: Ask, problems: Problems) -> Iterator[Record]:
        try:
            yield from self._records(ask, problems)
        except (OSError, UnicodeError) as error:
            raise _unreadable(self.path, error) from error

    def _records(self, ask: Ask, problems: Problems) -> Iterator[Record]:
        seen = given = 0
        for row, first, last in self._rows(ask, problems):
            if ask.must_stop():
                raise SourceError("Reading it took too long.", "Raise its 'timeout_s'.")
            if not seen and self._form == "csv":
                self._check_columns(list(row))
            seen += 1
            record = self._record(row, first, last)
            if record is not None:
                given += 1
                yield record
        if seen and not given:
            wanted = "' or '".join(self._settings.text_columns)
            raise SourceError(f"No entry has '{wanted}'.", "Name the right 'text_columns'.")

    def _rows(
        self, ask: Ask, problems: Problems
    ) -> Iterator[tuple[Mapping[str, Any], int | None, int | None]]:
        settings = self._settings
        if self._form != "sqlite":
            yield from rows(self.path, self._form, self._facts(ask), problems)
            return
        self._check_columns(columns_of(self.path, settings.table, ask.must_stop))
        wanted = [
            settings.title_column, *settings.text_columns, settings.id_column,
            settings.link_column, CARD_COLUMN,
        ]  # fmt: skip
        for row in table_rows(self.path, settings.table, wanted, ask.must_stop):
            yield row, None, None

    def _check_columns(self, there: list[str]) -> None:
        settings = self._settings
        wanted = list(settings.text_columns)
        chosen = {"title_column": "title", "id_column": "id", "link_column": ""}
        wanted += [v for k, default in chosen.items() if (v := getattr(settings, k)) != default]
        for name in wanted:
            if name not in there:
                raise SourceError(
                    f"There is no column '{name}' (any more).",
                    f"Columns: {', '.join(there[:20]) or 'none'}.",
                )

    def _record(self, row: Mapping[str, Any], first: int | None, last: int | None) -> Record | None:
        settings = self._settings
        text = "\n".join(filter(None, (_text(row.get(c)) for c in settings.text_columns)))
        title = one_line(_text(row.get(settings.title_column)))
        if not text and not title:
            return None
        link = _text(row.get(settings.link_column)) if settings.link_column else ""
        record_id = one_line(_text(row.get(settings.id_column)))
        return Record(
            title=title or record_id or one_line(text)[:60],
            text=cut(text or title),
            id=record_id,
            link=one_line(link),
            start_line=first,
            end_line=last,
            card=card_of(row.get(CARD_COLUMN)),
        )

    def _found(self, record: Record, digest: str | None) -> Found:
        return Found(
            text=record.text,
            title=record.title,
            path=self.place,
            citation=self.cite(record, digest),
            id=record.id,
            link=record.link,
            card=record.card,
        )


def card_of(value: Any) -> Card | None:
    """The card that a `deep_search` field describes; None where it describes none."""
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, Mapping) or not isinstance(value.get("source"), str):
        return None
    given = value.get("arguments")
    given = given if isinstance(given, Mapping) else {}
    arguments = {str(k): cut(_text(v), 1_000) for k, v in list(given.items())[:20]}
    return Card(value["source"], arguments)


def _text(value: Any) -> str:
    """A field as text; what is no text, number or list of them is shown as JSON."""
    if value is None or isinstance(value, bytes):
        return ""
    if isinstance(value, str):
        return readable(value.replace("\0", "")).strip()
    if isinstance(value, list) and all(isinstance(v, str | int | float) for v in value):
        return readable(", ".join(str(v) for v in value))
    if isinstance(value, bool | int | float):
        return str(value)
    return readable(json.dumps(value, ensure_ascii=False))


def _unreadable(path: Path, error: Exception) -> SourceError:
    if isinstance(error, FileNotFoundError):
        return SourceError(f"There is no file at {path}.", "It may have moved: correct its 'path'.")
    if isinstance(error, PermissionError):
        return SourceError(f"The file {path} may not be read.", "Check its permissions.")
    reason = getattr(error, "strerror", None) or str(error)
    return SourceError(f"The file {path} cannot be read ({reason}).", "Check the file.")
