"""Brings the index up to date with the vault: scan, words, vectors, upkeep.

One writer. Words come first and make notes searchable within seconds; vectors follow in
windows small enough that a query or a newly saved note never waits long. The files are
the only truth: everything here can be redone from them.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sidelight.config import Settings
from sidelight.errors import IndexUnavailableError, ModelError, VaultError
from sidelight.indexing.draft import draft_note, embedded_text, failed_note
from sidelight.indexing.renames import Renames, renamed_to
from sidelight.language.terms import Terms
from sidelight.models.embedder import Embedder
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow, NoteDraft, NoteRow
from sidelight.store.tables import Tables
from sidelight.types import FileEntry, Progress
from sidelight.vault.files import Exclusions, read_note_bytes, scan
from sidelight.vault.links import LinkResolver

log = logging.getLogger(__name__)

_NOTE_ENDINGS = (".md", ".canvas")
_COMMIT_NOTES = 256  # notes a commit: one costs 25 to 45 ms however many rows it has
_COMMIT_BYTES = 4_000_000  # and bounds memory
_EMBED_WINDOW = 64  # chunks between two looks at what else is to do: 1 to 2 s of work
_COMPACT_AFTER = 200  # commits that leave small files behind

Report = Callable[[Progress], None]
Stopped = Callable[[], bool]


@dataclass(slots=True)
class Changes:
    """What a scan found to do."""

    changed: list[FileEntry] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    placeholders: list[str] = field(default_factory=list)


class Indexer:
    """Writes one vault's index. Not thread-safe: one thread calls it."""

    def __init__(
        self,
        vault: Path,
        settings: Settings,
        tables: Tables,
        catalog: Catalog,
        terms: Terms,
        resolver: LinkResolver,
        renames: Renames,
    ) -> None:
        self.vault = vault
        self.settings = settings
        self.exclusions = Exclusions.load(vault, settings)
        self.embedder: Embedder | None = None
        self.on_changed: Callable[[list[str]], None] = lambda paths: None
        self._tables = tables
        self._catalog = catalog
        self._terms = terms
        self._resolver = resolver
        self._renames = renames
        self._names: set[str] = set()
        self._commits = 0
        self._unembeddable: set[str] = set()

    # ------------------------------------------------------------------ words

    def scan(self) -> Changes:
        """Compares the vault with the index by size and time.

        Raises:
            VaultError: the vault is not there; the index stays as it is and waits.
        """
        if not self.vault.is_dir():
            raise VaultError(
                f"The vault {self.vault} is not there.",
                "Reconnect the drive or check the path; the index is kept and waits.",
            )
        changes, names, seen = Changes(), set(), set()
        self.exclusions = Exclusions.load(self.vault, self.settings)
        for entry in scan(self.vault, self.exclusions, self.settings):
            names.add(entry.path)
            if not is_note(entry.path) or self.exclusions.excluded(entry.path):
                continue
            seen.add(entry.path)
            if entry.placeholder:
                changes.placeholders.append(entry.path)
            elif self._differs(entry):
                changes.changed.append(entry)
        if not names and self._catalog.notes:
            raise VaultError(
                f"The vault {self.vault} is empty, though it had notes.",
                "If its drive is not mounted, mount it; if you emptied it, rebuild the index.",
            )
        self._rename_targets(names)
        changes.gone = sorted(p for p in self._catalog.notes if p not in seen)
        return changes

    def entry(self, path: str) -> FileEntry | None:
        """Size and time of one note, or None where it is not (or no longer) one to index."""
        if not is_note(path) or self.exclusions.excluded(path):
            return None
        try:
            stat = (self.vault / path).lstat()
        except OSError:
            return None
        return FileEntry(path, stat.st_size, stat.st_mtime_ns)

    def apply(self, changes: Changes, report: Report, stopped: Stopped) -> None:
        """Reads changed notes and commits their words; forgets those that are gone."""
        entries = changes.changed
        done, started = 0, time.monotonic()
        batch: list[NoteDraft] = []
        touched: list[NoteRow] = []
        size = 0
        gone = self._moved(changes) if changes.gone and entries else changes.gone
        for entry in entries:
            if stopped():
                break
            draft = self._read(entry)
            done += 1
            if isinstance(draft, NoteRow):
                touched.append(draft)
            elif draft is not None:
                batch.append(draft)
                size += len(draft.snapshot)
            if len(batch) >= _COMMIT_NOTES or size >= _COMMIT_BYTES:
                self._commit(batch)
                batch, size = [], 0
            report(_progress("words", done, len(entries), started))
        self._commit(batch)
        self._tables.touch(touched, self._catalog)
        if gone:
            self._tables.remove(gone, self._catalog)
            self._committed(gone)

    def _commit(self, batch: Sequence[NoteDraft]) -> None:
        if batch:
            self._tables.replace(batch, self._catalog)
            self._committed([d.row.path for d in batch])

    def _committed(self, paths: list[str]) -> None:
        self._commits += 1
        self.on_changed(paths)

    def _differs(self, entry: FileEntry) -> bool:
        known = self._catalog.notes.get(entry.path)
        return known is None or (known.size, known.mtime_ns) != (entry.size, entry.mtime_ns)

    def _read(self, entry: FileEntry) -> NoteDraft | NoteRow | None:
        """A draft of changed content, the row of merely touched content, None if it vanished."""
        known = self._catalog.notes.get(entry.path)
        if entry.size > self.settings.max_note_bytes:
            limit = self.settings.max_note_bytes / 1e6
            return failed_note(entry, f"larger than {limit:g} MB (setting max_note_bytes)")
        try:
            data = read_note_bytes(self.vault, entry.path, self.settings.max_note_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            return failed_note(entry, f"cannot be read ({error.strerror or error})")
        if known is not None and not known.error:
            if hashlib.sha256(data).hexdigest() == known.content_hash:
                return replace(known, size=entry.size, mtime_ns=entry.mtime_ns)
        try:
            return draft_note(entry, data, self._terms)
        except Exception as error:  # noqa: BLE001 - one note never stops the index; it is listed
            log.exception("note could not be indexed")
            return failed_note(entry, f"could not be indexed ({type(error).__name__})")

    def _moved(self, changes: Changes) -> list[str]:
        """Records renames (same bytes, one old and one new path); returns what is gone."""
        new = {}
        for entry in changes.changed:
            if entry.path not in self._catalog.notes and entry.size <= self.settings.max_note_bytes:
                try:
                    data = read_note_bytes(self.vault, entry.path, self.settings.max_note_bytes)
                except OSError:
                    continue
                new[entry.path] = hashlib.sha256(data).hexdigest()
        old = {p: self._catalog.notes[p].content_hash for p in changes.gone}
        self._renames.record(renamed_to(old, new))
        return changes.gone

    def _rename_targets(self, names: set[str]) -> None:
        for path in names - self._names:
            self._resolver.add(path)
        for path in self._names - names:
            self._resolver.remove(path)
        self._names = names

    def note_name(self, path: str, exists: bool) -> None:
        """Tells link resolution of one file that came or went."""
        if exists and path not in self._names:
            self._names.add(path)
            self._resolver.add(path)
        elif not exists and path in self._names:
            self._names.discard(path)
            self._resolver.remove(path)

    def names_under(self, path: str) -> list[str]:
        """Known files at a path or below it."""
        return [n for n in self._names if n == path or n.startswith(path + "/")]

    # ------------------------------------------------------------------ vectors

    def pending(self) -> list[ChunkRow]:
        """Chunks that wait for their vector; those that cannot be embedded do not wait."""
        rows = self._catalog.unembedded()
        return [row for row in rows if row.embed_hash not in self._unembeddable]

    def embed_window(self) -> int:
        """Embeds the next window of chunks, newest notes first; returns how many are left."""
        if self.embedder is None:
            return 0
        rows = self.pending()
        newest = {p: n.mtime_ns for p, n in self._catalog.notes.items()}
        rows.sort(key=lambda row: -newest.get(row.path, 0))
        window = rows[:_EMBED_WINDOW]
        self._embed(self.embedder, window)
        return len(rows) - len(window)

    def _embed(self, embedder: Embedder, rows: Sequence[ChunkRow]) -> None:
        texts = self._tables.texts([row.chunk_id for row in rows])
        ready = [r for r in rows if r.chunk_id in texts and r.path in self._catalog.notes]
        if not ready:
            self._unembeddable.update(r.embed_hash for r in rows if r.chunk_id not in texts)
            return
        inputs = [
            embedded_text(
                self._catalog.notes[row.path].title, row.heading_path, texts[row.chunk_id][0]
            )
            for row in ready
        ]
        try:
            vectors = embedder.embed_passages(inputs)
        except (ModelError, RuntimeError, ValueError):
            if len(ready) == 1:  # found it: this text cannot be embedded, the others can
                log.exception("a chunk could not be embedded")
                self._unembeddable.add(ready[0].embed_hash)
                return
            for row in ready:
                self._embed(embedder, [row])
            return
        hashes = [row.embed_hash for row in ready]
        languages = [row.language for row in ready]
        self._tables.add_vectors(self._catalog.vectors, hashes, vectors, languages)
        self._commits += 1

    # ------------------------------------------------------------------ upkeep

    def compact(self, *, force: bool = False) -> None:
        """Compacts when enough commits have left small files behind."""
        if not force and self._commits < _COMPACT_AFTER:
            return
        try:
            self._tables.compact(self._catalog)
        except IndexUnavailableError:
            log.exception("compaction failed; it will be tried again")
        self._commits = 0

    def sync(
        self, report: Report, stopped: Stopped = lambda: False, *, lexical_only: bool = False
    ) -> None:
        """Scan, words, vectors, upkeep, once."""
        report(Progress("scan", 0, 0))
        changes = self.scan()
        self.apply(changes, report, stopped)
        if not lexical_only and self.embedder is not None:
            total, started = len(self.pending()), time.monotonic()
            left = total
            while left and not stopped():
                left = self.embed_window()
                report(_progress("vectors", total - left, total, started))
        report(Progress("compact", 0, 1))
        if self._commits:
            self.compact(force=True)
        report(Progress("idle", 1, 1))


def is_note(path: str) -> bool:
    """Whether a file is one whose text is searched."""
    return path.lower().endswith(_NOTE_ENDINGS)


def _progress(phase: str, done: int, total: int, started: float) -> Progress:
    spent = max(time.monotonic() - started, 1e-6)
    rate = done / spent
    return Progress(phase, done, total, rate, (total - done) / rate if rate else None)


