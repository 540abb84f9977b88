"""Brings the index up to date with the vault: scan, words, vectors, upkeep.

One writer. Words come first and make notes searchable within seconds; vectors follow in
windows small enough that a query or a newly saved note never waits long. The files are
the only truth: everything here can be redone from them.
"""

from __future__ import annotations

import hashlib
import logging
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sidelight.config import Settings
from sidelight.errors import IndexUnavailableError, ModelError, VaultError
from sidelight.indexing.draft import attachment, draft_note, embedded_text, failed_note
from sidelight.indexing.renames import Renames, renamed_to
from sidelight.language.terms import Terms
from sidelight.models.embedder import Embedder
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow, NoteDraft, NoteRow
from sidelight.store.tables import Tables
from sidelight.store.vectors import Matrix
from sidelight.types import FileEntry, Progress
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import is_note, read_note_bytes, scan
from sidelight.vault.links import LinkResolver

log = logging.getLogger(__name__)

_COMMIT_NOTES = 256  # notes a commit: one costs 25 to 45 ms however many rows it has
_COMMIT_BYTES = 4_000_000  # and bounds memory
_EMBED_WINDOW = 128  # chunks a commit
_EMBED_BATCH = 16  # chunks between two looks at what else is to do: 0.2 to 0.4 s of work
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
        self.on_forced_done: Callable[[], None] = lambda: None
        self.on_tables_lost: Callable[[], None] = lambda: None
        self.placeholders: tuple[str, ...] = ()  # cloud files whose content is not here
        self._tables = tables
        self._catalog = catalog
        self._terms = terms
        self._resolver = resolver
        self._renames = renames
        self._names: set[str] = set(catalog.notes)  # what the resolver knows
        self._commits = 0
        self._forced = False
        self._queue: list[ChunkRow] = []  # what waits for vectors, newest notes first
        self._queue_revision = -1
        self._embedding_since = 0.0
        self._embedded_since = 0
        self._unembeddable: set[str] = set()

    # ------------------------------------------------------------------ words

    def use_terms(self, terms: Terms) -> None:
        """Other user words: a forced scan has to follow."""
        self._terms = terms

    def scan(self, *, forced: bool = False) -> Changes:
        """Compares the vault with the index by size and time.

        Args:
            forced: every note counts as changed (another tokenizer, a rebuild).

        Raises:
            VaultError: the vault is not there; the index stays as it is and waits.
        """
        self.require_vault()
        changes, names, seen = Changes(), set(), set()
        self.exclusions = Exclusions.load(self.vault, self.settings)
        for entry in scan(self.vault, self.exclusions, self.settings):
            names.add(entry.path)
            if not is_note(entry.path) or self.exclusions.excluded(entry.path):
                continue
            seen.add(entry.path)
            if entry.placeholder:
                changes.placeholders.append(entry.path)
            elif forced or self._differs(entry):
                changes.changed.append(entry)
        if not names and self._catalog.notes:
            raise VaultError(
                f"The vault {self.vault} is empty, though it had notes.",
                "If its drive is not mounted, mount it; if you emptied it, rebuild the index.",
            )
        self._forced = forced
        self._rename_targets(names)
        changes.gone = sorted(p for p in self._catalog.notes if p not in seen)
        return changes

    def require_vault(self) -> None:
        """Makes sure that the vault is there before anything counts as gone.

        Raises:
            VaultError: it is not.
        """
        if not self.vault.is_dir():
            raise VaultError(
                f"The vault {self.vault} is not there.",
                "Reconnect the drive or check the path; the index is kept and waits.",
            )

    def recover(self) -> bool:
        """Begins anew where someone deleted the index; whether it was so."""
        if not self._tables.lost:
            return False
        log.warning("the index was deleted and is made anew")
        self.on_tables_lost()
        return True

    def rules_changed(self, paths: Iterable[str]) -> bool:
        """Whether a change of these files may change which notes are read."""
        return any(path.rpartition("/")[2].startswith(".") for path in paths)

    def kind(self, path: str) -> str:
        """ "file", "folder" or "gone"; links and devices are neither file nor folder."""
        try:
            mode = (self.vault / path).lstat().st_mode
        except (OSError, ValueError):
            return "gone"
        if stat.S_ISDIR(mode):
            return "folder"
        return "file" if stat.S_ISREG(mode) else "gone"

    def indexed_under(self, paths: Iterable[str]) -> list[str]:
        """Indexed notes at these paths or below them."""
        wanted = set(paths)
        if not wanted:
            return []
        return sorted(
            note
            for note in self._catalog.notes
            if note in wanted or any(note.startswith(path + "/") for path in wanted)
        )

    def entry(self, path: str) -> FileEntry | None:
        """Size and time of one note, or None where it is not (or no longer) one to index."""
        if not is_note(path) or self.exclusions.excluded(path):
            return None
        try:
            status = (self.vault / path).lstat()
        except OSError:
            return None
        return FileEntry(path, status.st_size, status.st_mtime_ns)

    def apply(self, changes: Changes, report: Report, stopped: Stopped) -> None:
        """Reads changed notes and commits their words; forgets those that are gone."""
        entries = changes.changed
        started = time.monotonic()
        batch: list[NoteDraft] = []
        touched: list[NoteRow] = []
        size = 0
        gone = self._moved(changes) if changes.gone and entries else changes.gone
        for done, entry in enumerate(entries, start=1):
            if stopped():
                break
            draft = self._read(entry)
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

    def finished(self, changes: Changes, *, forced: bool) -> None:
        """A whole scan was applied: what it was made with is now true of every note."""
        self.placeholders = tuple(changes.placeholders)
        if forced:
            self._forced = False
            self.on_forced_done()
        if self._commits > 1:  # a first index or a checkout: index the new rows at once
            self.compact(force=True)

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
            data = self._bytes(entry.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return failed_note(entry, f"cannot be read ({error.strerror or error})")
        same = known is not None and known.content_hash == hashlib.sha256(data).hexdigest()
        if known is not None and same and not self._forced:
            return replace(known, size=entry.size, mtime_ns=entry.mtime_ns)
        try:
            return draft_note(entry, data, self._terms)
        except Exception as error:  # one note never stops the index; it is listed
            log.error("a note could not be indexed: %s", type(error).__name__)
            log.debug("in detail", exc_info=True)
            return failed_note(entry, f"could not be indexed ({type(error).__name__})")

    def _bytes(self, path: str) -> bytes:
        settings = self.settings
        return read_note_bytes(self.vault, path, settings.max_note_bytes, settings.followed_links)

    def _moved(self, changes: Changes) -> list[str]:
        """Records renames (same bytes, one old and one new path); returns what is gone."""
        new = {}
        for entry in changes.changed:
            if entry.path not in self._catalog.notes and entry.size <= self.settings.max_note_bytes:
                try:
                    data = self._bytes(entry.path)
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
        self._show_attachments()

    def _show_attachments(self) -> None:
        """Makes the names of files that are no notes searchable."""
        known = self._catalog.attachments
        names = (n for n in self._names if not is_note(n) and not self.exclusions.excluded(n))
        self._catalog.set_attachments(
            {name: known.get(name) or attachment(name, self._terms) for name in names}
        )

    def note_name(self, path: str, exists: bool) -> None:
        """Tells link resolution of one file that came or went."""
        if exists and path not in self._names:
            self._names.add(path)
            self._resolver.add(path)
        elif not exists and path in self._names:
            self._names.discard(path)
            self._resolver.remove(path)
        else:
            return
        if not is_note(path):
            self._show_attachments()

    def names_under(self, path: str) -> list[str]:
        """Known files at a path or below it."""
        return [n for n in self._names if n == path or n.startswith(path + "/")]

    def know_names(self) -> None:
        """Takes in the vault's file names, where nothing is to be indexed."""
        self._rename_targets(
            {entry.path for entry in scan(self.vault, self.exclusions, self.settings)}
        )

    # ------------------------------------------------------------------ vectors

    def pending(self) -> int:
        """How many texts wait for their vector; those that cannot be embedded do not wait."""
        if self.embedder is None:
            return 0
        if self._queue_revision != self._catalog.revision:
            with self._catalog.lock:
                self._queue_revision = self._catalog.revision
                rows = self._catalog.unembedded()
                age = {p: -n.mtime_ns for p, n in self._catalog.notes.items()}
            rows.sort(key=lambda row: age.get(row.path, 0))
            self._queue = [r for r in rows if r.embed_hash not in self._unembeddable]
            self._embedding_since, self._embedded_since = time.monotonic(), 0
        return len(self._queue)

    def embed_window(self, interrupted: Stopped = lambda: False) -> int:
        """Embeds the next window of chunks, newest notes first; returns how many are left.

        Args:
            interrupted: asked between batches; what was embedded until then is kept.
        """
        if self.embedder is None or not self.pending():
            return 0
        window, self._queue = self._queue[:_EMBED_WINDOW], self._queue[_EMBED_WINDOW:]
        done = self._embed(self.embedder, window, interrupted)
        self._embedded_since += done
        if done < len(window):
            self._queue_revision = -1  # the rest waits: look again what is missing
        return len(self._queue) + len(window) - done

    def vector_progress(self) -> Progress:
        """How far embedding is, over the whole index."""
        total = self._catalog.searchable
        left = len(self._queue)
        spent = max(time.monotonic() - self._embedding_since, 1e-6)
        rate = self._embedded_since / spent
        return Progress("vectors", max(0, total - left), total, rate, left / rate if rate else None)

    def _embed(self, embedder: Embedder, rows: Sequence[ChunkRow], interrupted: Stopped) -> int:
        """Embeds and stores a window in one commit; returns how many rows are dealt with."""
        texts = self._tables.texts([row.chunk_id for row in rows])
        ready = [
            (row, embedded_text(note.title, row.heading_path, texts[row.chunk_id][0]))
            for row in rows
            if row.chunk_id in texts and (note := self._catalog.notes.get(row.path))
        ]
        ready.sort(key=lambda pair: len(pair[1]))  # texts of like length waste no padding
        embedded: list[ChunkRow] = []
        vectors: list[Matrix] = []
        done = len(rows) - len(ready)  # gone since the queue was made
        for start in range(0, len(ready), _EMBED_BATCH):
            if interrupted():
                break
            batch = ready[start : start + _EMBED_BATCH]
            for row, vector in self._vectors_of(embedder, batch):
                embedded.append(row)
                vectors.append(vector)
            done += len(batch)
        if embedded:
            self._tables.add_vectors(
                self._catalog.vectors,
                [row.embed_hash for row in embedded],
                np.stack(vectors),
                [row.language for row in embedded],
            )
            self._commits += 1
        return done

    def _vectors_of(
        self, embedder: Embedder, batch: Sequence[tuple[ChunkRow, str]]
    ) -> list[tuple[ChunkRow, Matrix]]:
        """Vectors of a batch; a text that breaks the model is left out, alone."""
        try:
            vectors = embedder.embed_passages([text for _, text in batch])
        except (ModelError, RuntimeError, ValueError) as error:
            if len(batch) > 1:
                return [pair for one in batch for pair in self._vectors_of(embedder, [one])]
            log.error("a passage could not be embedded: %s", type(error).__name__)
            self._unembeddable.add(batch[0][0].embed_hash)
            return []
        return [(row, vector) for (row, _), vector in zip(batch, vectors, strict=True)]

    # ------------------------------------------------------------------ upkeep

    def compact(self, *, force: bool = False) -> None:
        """Compacts when enough commits have left small files behind."""
        if not force and self._commits < _COMPACT_AFTER:
            return
        try:
            self._tables.compact(self._catalog)
        except IndexUnavailableError as error:
            log.error("compaction failed and will be tried again: %s", error.code)
        self._commits = 0

    def sync(
        self,
        report: Report,
        stopped: Stopped = lambda: False,
        *,
        lexical_only: bool = False,
        forced: bool = False,
    ) -> None:
        """Scan, words, vectors, upkeep, once."""
        report(Progress("scan", 0, 0))
        changes = self.scan(forced=forced)
        self.apply(changes, report, stopped)
        if not stopped():
            self.finished(changes, forced=forced)
        if not lexical_only and self.embedder is not None:
            while self.pending() and not stopped():
                self.embed_window(stopped)
                report(self.vector_progress())
        report(Progress("compact", 0, 1))
        if self._commits:
            self.compact(force=True)
        report(Progress("idle", 1, 1))


def _progress(phase: str, done: int, total: int, started: float) -> Progress:
    spent = max(time.monotonic() - started, 1e-6)
    rate = done / spent
    return Progress(phase, done, total, rate, (total - done) / rate if rate else None)
