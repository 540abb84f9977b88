"""Brings the index up to date with the vault: scan, words, vectors, upkeep.

One writer. Words come first and make notes searchable within seconds; vectors follow in
windows small enough that a query or a newly saved note never waits long. The files are
the only truth: everything here can be redone from them.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import stat
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sidelight.config import Settings
from sidelight.errors import NotFoundError, SidelightError, VaultError
from sidelight.indexing import drafting
from sidelight.indexing.draft import attachment, draft_note, failed_note
from sidelight.indexing.drafting import Content, Outcome
from sidelight.indexing.embedding import Stopped, VectorQueue
from sidelight.indexing.mounts import NOT_MOUNTED, Mounts
from sidelight.indexing.out_of_reach import IN_THE_CLOUD, OutOfReach
from sidelight.indexing.renames import renames_in
from sidelight.indexing.tidying import Report, Tidying
from sidelight.language.terms import Terms
from sidelight.store.catalog import Catalog
from sidelight.store.renames import Renames
from sidelight.store.rows import NoteDraft, NoteHead, NoteRow
from sidelight.store.tables import Tables
from sidelight.types import FileEntry, Problem, Progress
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import is_gone, is_note, is_placeholder, read_note_bytes, scan
from sidelight.vault.links import LinkResolver

log = logging.getLogger(__name__)

_COMMIT_NOTES = 256  # notes a commit: one costs 25 to 45 ms however many rows it has
_COMMIT_BYTES = 4_000_000  # and bounds memory
# Problems of `scan` that hide notes without telling that they are gone (an unmounted drive).
_UNREADABLE = ("folder-unreadable", "file-unreadable")
_LINKS = ("link-not-followed", "folder-loop")
_OUT_OF_SIGHT = (*_UNREADABLE, "link-broken")


# What reading a file says whose content a sync service has not fetched yet (seen on iCloud Drive
# and FUSE mounts, see the field reports): not damage, and not gone either.
_ELSEWHERE = (errno.EAGAIN, errno.ETIMEDOUT, errno.EDEADLK)
_LATER_S = 0.001  # seconds since the epoch are known to a quarter of a microsecond
_TO_BE_REREAD = -1  # a size that no file has: the note's row differs until it is read anew


@dataclass(slots=True)
class Changes:
    """What a scan found to do."""

    changed: list[FileEntry] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


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
        mounts: Mounts,
    ) -> None:
        self.vault = vault
        self.settings = settings
        self.exclusions = Exclusions.load(vault, settings)
        self.on_changed: Callable[[list[str]], None] = lambda paths: None
        self.on_forced_done: Callable[[], None] = lambda: None
        self.on_tables_lost: Callable[[], None] = lambda: None
        self.out_of_reach = OutOfReach()
        self.unlisted: tuple[tuple[str, Problem], ...] = ()  # what the last scan left out
        self.unseen: frozenset[str] = frozenset()  # notes known to have changed, not committed
        self.drive_came = False  # between the last two scans, in a folder of the vault
        self.may_be_empty = False  # a person said so: of the next scan
        self._tables = tables
        self._catalog = catalog
        self._terms = terms
        self._resolver = resolver
        self._renames = renames
        self._mounts = mounts
        self._names: set[str] = set(catalog.notes)  # what the resolver knows
        self._forced = False
        self._new_links = False  # a link to a folder came since the last scan
        # Of the last step, seconds since the epoch. Later steps are later, whatever becomes
        # of the clock: citations follow renames in the order of their times.
        self._at = max([catalog.notes.last_at(), *(one.at for one in renames.seen())])
        self.tidying = Tidying(tables, catalog)
        self.queue = VectorQueue(tables, catalog, self.tidying.committed)

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
        may_be_empty, self.may_be_empty = self.may_be_empty, False
        self.require_vault()
        changes, names, seen = Changes(), set(), set()
        self.exclusions = Exclusions.load(self.vault, self.settings)
        unlisted: list[tuple[str, Problem]] = []
        in_the_cloud: list[str] = []
        listing = scan(
            self.vault, self.exclusions, self.settings, lambda *found: unlisted.append(found)
        )
        for entry in listing:
            names.add(entry.path)
            if not is_note(entry.path) or self.exclusions.excluded(entry.path):
                continue
            seen.add(entry.path)
            if entry.placeholder:
                in_the_cloud.append(entry.path)
            elif forced or self._differs(entry):
                changes.changed.append(entry)
        waiting = self._out_of_sight(unlisted)
        if not (names or waiting or may_be_empty) and self._catalog.notes:
            raise VaultError(
                f"The vault {self.vault} is empty, though it had notes.",
                "If its drive is not mounted, mount it; if you emptied it, rebuild the index.",
            )
        self._forced = forced
        self._wait_for(changes, in_the_cloud, unlisted)
        self.drive_came = self._mounts.see(names)
        self._rename_targets(names | waiting)
        present = seen | waiting
        changes.gone = sorted(p for p in self._catalog.notes if p not in present)
        self.unseen = frozenset(entry.path for entry in changes.changed)
        return changes

    def _wait_for(
        self,
        changes: Changes,
        in_the_cloud: Sequence[str],
        unlisted: Sequence[tuple[str, Problem]],
    ) -> None:
        """What a scan could not look into is looked at again; all else it saw as it is."""
        self.unlisted = tuple(found for found in unlisted if found[1].code not in _UNREADABLE)
        self._new_links = False
        away = self._mounts.away()
        unreadable = {p: problem for p, problem in unlisted if problem.code in _UNREADABLE}
        changed = {entry.path for entry in changes.changed}
        self.out_of_reach.keep({*changed, *away, *unreadable, *in_the_cloud})
        for path in in_the_cloud:
            self.in_the_cloud(path)
        for path, problem in unreadable.items():
            self._wait(path, problem.message.rstrip("."))
        for path in away:
            self._wait(path, NOT_MOUNTED)

    def _out_of_sight(self, unlisted: Sequence[tuple[str, Problem]]) -> set[str]:
        """Indexed notes that cannot be looked for now: they are not known to be gone.

        Raises:
            VaultError: the vault itself cannot be.
        """
        hidden = [path for path, problem in unlisted if problem.code in _OUT_OF_SIGHT]
        hidden += self._mounts.away()
        if "" in hidden:
            raise VaultError(
                f"The vault {self.vault} cannot be read.",
                "Check the permissions of its folder; the index is kept and waits.",
            )
        return {
            note
            for note in self._catalog.notes
            if any(note == path or note.startswith(f"{path}/") for path in hidden)
        }

    def require_vault(self) -> None:
        """Makes sure that the vault is there before anything counts as gone.

        Raises:
            VaultError: it is not.
        """
        if not os.path.isdir(self.vault):  # also where the system cannot tell
            raise VaultError(
                f"The vault {self.vault} is not there.",
                "Reconnect the drive or check the path; the index is kept and waits.",
            )

    def recover(self, *, suspect: bool = False) -> bool:
        """Begins anew where someone deleted or damaged the index; whether it was so.

        Args:
            suspect: the last step failed: every row is read, to know why.
        """
        if not self._tables.lost and not (suspect and self._tables.damage()):
            return False
        log.warning("the index was deleted or damaged and is made anew")
        self.on_tables_lost()
        return True

    def rules_changed(self, paths: Iterable[str]) -> bool:
        """Whether a change of these files may change which notes are read."""
        return any(path.rpartition("/")[2].startswith(".") for path in paths)

    @property
    def has_links(self) -> bool:
        """Whether there are links to folders, which the system follows where it watches."""
        left_out = (p for p, problem in self.unlisted if problem.code in _LINKS and not is_note(p))
        return self._new_links or bool(self.settings.followed_links) or any(left_out)

    def kind(self, path: str) -> str:
        """ "file", "folder" or "gone"; links, what is behind them and devices are no file or folder.

        Raises:
            OSError: the system cannot tell, or a folder cannot be listed or its drive is away, now.
        """
        self._mounts.require(path)
        place = self.vault / path
        if self._is_behind_a_link(path):
            return "gone"
        try:
            mode = place.lstat().st_mode
            if stat.S_ISDIR(mode):
                os.scandir(place).close()
                return "folder"
        except ValueError:
            return "gone"
        except OSError as error:
            if is_gone(error):
                return "gone"
            raise
        if stat.S_ISLNK(mode) and path in self.settings.followed_links:
            os.scandir(place).close()  # what it leads to may be a drive that is away
            return "folder"
        self._new_links |= stat.S_ISLNK(mode) and os.path.isdir(place)
        return "file" if stat.S_ISREG(mode) else "gone"

    def _is_behind_a_link(self, path: str) -> bool:
        above = Path(path).parents
        return any(
            folder.as_posix() not in self.settings.followed_links
            and os.path.islink(self.vault / folder)
            for folder in above
            if folder.name
        )

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
        """Size and time of one note, or None where it is not (or no longer) one to index.

        Raises:
            OSError: the system cannot tell now.
        """
        if not is_note(path) or self.exclusions.excluded(path):
            return None
        try:
            status = (self.vault / path).lstat()
        except OSError as error:
            if is_gone(error):
                return None
            raise
        return FileEntry(path, status.st_size, status.st_mtime_ns, is_placeholder(status))

    def cannot_read(self, path: str, error: OSError) -> None:
        """What is known of a note stays; it is listed, and looked at again."""
        if error.errno in _ELSEWHERE:
            self.in_the_cloud(path)
        elif not self.exclusions.excluded(path):
            self._wait(path, error.strerror or type(error).__name__)

    def _wait(self, path: str, why: str) -> None:
        kept = "; what was indexed of it is kept" if self.indexed_under([path]) else ""
        self.out_of_reach.add(path, f"cannot be read now ({why}){kept}; it is tried again")

    def in_the_cloud(self, path: str) -> None:
        """The same of a note whose content is not on this computer."""
        self.out_of_reach.add(path, IN_THE_CLOUD)

    def apply(self, changes: Changes, report: Report, stopped: Stopped) -> None:
        """Reads changed notes and commits their words; forgets those that are gone."""
        entries = changes.changed
        started = time.monotonic()
        batch: list[NoteDraft] = []
        touched: list[NoteRow] = []
        size = 0
        at = self._at = max(time.time(), self._at + _LATER_S)
        self.unseen = frozenset(entry.path for entry in entries)
        self._record_renames(changes, at)
        with contextlib.closing(self._outcomes(entries, stopped)) as outcomes:
            for done, draft in enumerate(outcomes, start=1):
                if isinstance(draft, NoteRow):
                    touched.append(draft)
                elif draft is not None:
                    batch.append(draft)
                    size += len(draft.snapshot)
                if len(batch) >= _COMMIT_NOTES or size >= _COMMIT_BYTES:
                    self._commit(batch, at)
                    batch, size = [], 0
                    self.unseen = frozenset(entry.path for entry in entries[done:])
                report(_progress("words", done, len(entries), started))
                if stopped():
                    break
        self._commit(batch, at)
        self._tables.touch(touched, self._catalog)
        self.unseen = frozenset()
        if changes.gone:
            self._tables.remove(changes.gone, self._catalog, at)
            self._committed(changes.gone)
            self.out_of_reach.forget(changes.gone)

    def finished(self, *, forced: bool) -> None:
        """A whole scan was applied: what it was made with is now true of every note."""
        if forced:
            self._forced = False
            self.on_forced_done()
        self.tidying.after_scan()

    def _commit(self, batch: Sequence[NoteDraft], at: float) -> None:
        if batch:
            self._tables.replace(batch, self._catalog, at)
            self._committed([d.row.path for d in batch])

    def _committed(self, paths: list[str]) -> None:
        self.tidying.committed()
        self.on_changed(paths)

    def _differs(self, entry: FileEntry) -> bool:
        """Whether a note is to be read; one that failed is, as the reason may be gone."""
        known = self._catalog.notes.head(entry.path)
        if known is None or known.error is not None or self._lacks_things(known):
            return True
        return (known.size, known.mtime_ns) != (entry.size, entry.mtime_ns)

    def _lacks_things(self, note: NoteHead) -> bool:
        """Whether it was read while the graph was off, and now is on."""
        return self.settings.graph and not note.has_entities

    def _is_stale(self, note: NoteRow) -> bool:
        """Whether it is made anew although its bytes are the same."""
        return self._forced or note.size == _TO_BE_REREAD or self._lacks_things(note)

    def _to_be_reread(self, path: str) -> NoteRow | None:
        """The row of a note that a forced scan could not read: a later one makes it anew."""
        known = self._catalog.notes.get(path)
        return None if known is None else replace(known, size=_TO_BE_REREAD)

    def _outcomes(
        self, entries: Sequence[FileEntry], stopped: Stopped
    ) -> Generator[Outcome, None, None]:
        """A draft of each note with changed content, the row of one merely touched, else None."""
        size = sum(entry.size for entry in entries)
        found = (self._look_at(entry) for entry in entries if not stopped())
        with drafting.beside(self._terms, size, things=self.settings.graph) as second:
            yield from drafting.in_order(found, self._draft, second, stopped)

    def _look_at(self, entry: FileEntry) -> Content | Outcome:
        try:
            found = self._read(entry)
        except OSError as error:
            self.cannot_read(entry.path, error)
            return self._to_be_reread(entry.path) if self._forced else None
        self.out_of_reach.forget([entry.path])
        return found

    def _read(self, entry: FileEntry) -> Content | Outcome:
        """Changed content, the row of merely touched content, None for nothing new.

        Raises:
            OSError: its content is not on this computer, or cannot be read now.
        """
        known = self._catalog.notes.get(entry.path)
        if entry.size > self.settings.max_note_bytes:
            limit = self.settings.max_note_bytes / 1e6
            return self._failed(entry, f"larger than {limit:g} MB (setting max_note_bytes)")
        try:
            data = self._bytes(entry.path)
        except NotFoundError:
            return None
        except SidelightError as error:  # such as a link that leads out of the vault
            return self._failed(entry, f"cannot be read ({error.message})")
        same = known is not None and known.content_hash == hashlib.sha256(data).hexdigest()
        if known is not None and same and not self._is_stale(known):
            return replace(known, size=entry.size, mtime_ns=entry.mtime_ns)
        # The time tells since when these bytes stand here.
        return Content(entry, data, known.indexed_at if known is not None and same else self._at)

    def _draft(self, content: Content) -> NoteDraft | None:
        entry, things = content.entry, self.settings.graph
        try:
            return draft_note(entry, content.data, self._terms, things=things, at=content.at)
        except Exception as error:  # one note never stops the index; it is listed
            log.error("a note could not be indexed: %s", type(error).__name__)
            log.debug("in detail", exc_info=True)
            return self._failed(entry, f"could not be indexed ({type(error).__name__})")

    def _failed(self, entry: FileEntry, reason: str) -> NoteDraft | None:
        """The row of a note that cannot be indexed; None where just that is known already."""
        known = self._catalog.notes.get(entry.path)
        same = known is not None and (known.error, known.size, known.mtime_ns) == (
            reason, entry.size, entry.mtime_ns,
        )  # fmt: skip
        return None if same else failed_note(entry, reason, self._at)

    def _bytes(self, path: str) -> bytes:
        settings = self.settings
        return read_note_bytes(self.vault, path, settings.max_note_bytes, settings.followed_links)

    def _record_renames(self, changes: Changes, at: float) -> None:
        """Remembers which notes were renamed, before the old paths are forgotten."""
        known = self._catalog.notes
        gone = [head for path in changes.gone if (head := known.head(path)) is not None]
        changed = [
            (entry, known.head(entry.path))
            for entry in changes.changed
            if entry.size <= self.settings.max_note_bytes and self._differs(entry)
        ]
        self._renames.record(renames_in(gone, changed, self._hash_of, at))

    def _hash_of(self, path: str) -> str:
        try:
            return hashlib.sha256(self._bytes(path)).hexdigest()
        except (OSError, SidelightError):
            return ""  # it went; `_read` finds the same

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
        """Takes in the vault's file names, which notes changed and which cannot be read, where
        nothing is indexed or while indexing is paused.

        What differs by size or time is verified by its hash.
        """
        names, seen, changed = set(), set(), set()
        unlisted: list[tuple[str, Problem]] = []
        in_the_cloud: list[str] = []
        for entry in scan(
            self.vault, self.exclusions, self.settings, lambda *found: unlisted.append(found)
        ):
            names.add(entry.path)
            if is_note(entry.path) and not self.exclusions.excluded(entry.path):
                seen.add(entry.path)
                if self._is_news(entry):
                    changed.add(entry.path)
                if entry.placeholder:
                    in_the_cloud.append(entry.path)
        self._rename_targets(names)
        self._wait_for(Changes(), in_the_cloud, unlisted)
        gone = set(self._catalog.notes) - seen - self._out_of_sight(unlisted)
        self.unseen = frozenset(changed | gone)

    def _is_news(self, entry: FileEntry) -> bool:
        """Whether a note holds what the index does not."""
        known = self._catalog.notes.head(entry.path)
        if entry.placeholder:
            return False
        if known is None:
            return True
        if (known.size, known.mtime_ns) == (entry.size, entry.mtime_ns):
            return False
        return known.size != entry.size or known.content_hash != self._hash_of(entry.path)

    # ------------------------------------------------------------------ all of it, once

    def sync(
        self,
        report: Report,
        stopped: Stopped = lambda: False,
        *,
        lexical_only: bool = False,
        forced: bool = False,
    ) -> None:
        """Scan, words, vectors, upkeep, once; a second time where the index proves damaged."""
        try:
            self._sync(report, stopped, lexical_only=lexical_only, forced=forced)
        except VaultError:
            raise
        except Exception:
            if not self.recover(suspect=True):
                raise
            self._sync(report, stopped, lexical_only=lexical_only, forced=forced)

    def _sync(self, report: Report, stopped: Stopped, *, lexical_only: bool, forced: bool) -> None:
        report(Progress("scan", 0, 0))
        changes = self.scan(forced=forced)
        self.apply(changes, report, stopped)
        if not stopped():
            self.finished(forced=forced)
        if not lexical_only:
            while self.queue.pending() and not stopped():
                self.queue.embed_window(stopped)
                report(self.queue.progress())
            if not stopped():
                self.queue.settle()
        self.tidying.finish(report)
        report(Progress("idle", 1, 1))


def _progress(phase: str, done: int, total: int, started: float) -> Progress:
    spent = max(time.monotonic() - started, 1e-6)
    rate = done / spent
    return Progress(phase, done, total, rate, (total - done) / rate if rate else None)
