"""The index on disk, in LanceDB: notes, chunks, vectors, earlier versions of notes.

Order of writes: a note's chunks, then its note row. A crash in between leaves a note
whose row has its old hash, which the next start does again. Vectors are kept by the hash
of what was embedded and only ever added, so no write of words touches them.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sidelight.errors import IndexUnavailableError
from sidelight.store import keeping, loading, upkeep
from sidelight.store.catalog import Catalog
from sidelight.store.folder import Folder
from sidelight.store.rows import EarlierVersion, NoteDraft, NoteRow, pack, unpack
from sidelight.store.schema import (
    CHUNKS,
    HISTORY,
    NOTES,
    chunk_table,
    drafted_rows,
    note_table,
)
from sidelight.store.statements import (
    ENGINE_ERRORS,
    STATEMENT_VALUES,
    is_damage,
    parts,
    quote,
    retry,
    short,
    writing,
)
from sidelight.store.vector_tables import VectorTables, is_vectors

log = logging.getLogger(__name__)

_WORTH_KEEPING = 2_000  # searchable chunks; fewer are cut in a third of a second
_WORD_TABLES = {"chunks": CHUNKS, "notes": NOTES, "history": HISTORY}

Step = Callable[[], None]


def _never() -> bool:
    return False


class Tables:
    """The tables of one vault's index. One process writes, any may read.

    Args:
        folder: the data folder; made if missing.
        create: False only reads, and refuses where there is no index.

    Raises:
        IndexUnavailableError: the folder cannot be used, or there is no index.
    """

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self._writes = create
        self.made_with = ""  # how the notes were read; "" while that changes
        self._not_as_kept: set[str] | None = None  # paths; None where nothing is kept
        self._opened: dict[str, Any] = {}
        self._opening = threading.Lock()
        self._trusted = False  # the catalog was filled without opening them
        self._begun_anew = False  # and one of them was found damaged later
        try:
            self.folder = Folder(folder, writes=create)
        except OSError as error:
            raise _cannot_open(folder, error) from error
        self.vectors = VectorTables(self.folder, writes=create)

    def _table(self, name: str) -> Any:
        """A table; all are opened when the first is asked for.

        Raises:
            IndexUnavailableError: they cannot be opened; a writer begins damaged ones anew.
        """
        with self._opening:
            if not self._opened:
                before = len(self.folder.remade)
                try:
                    form = _WORD_TABLES.items()
                    self._opened = {name: self.folder.table(name, schema) for name, schema in form}
                except ENGINE_ERRORS as error:
                    raise _cannot_open(self.folder.path, error) from error
                self._begun_anew = self._trusted and len(self.folder.remade) > before
            return self._opened[name]

    @property
    def _chunks(self) -> Any:
        return self._table("chunks")

    @property
    def _notes(self) -> Any:
        return self._table("notes")

    @property
    def _history(self) -> Any:
        return self._table("history")

    # ------------------------------------------------------------------ reading

    def load(self, catalog: Catalog, made_with: str = "") -> list[str]:
        """Fills an empty catalog.

        Args:
            catalog: to be filled.
            made_with: names how the notes were read (facts); what an earlier start kept of them
                counts where it was the same. "" while that is about to change.

        Returns:
            Paths with rows that a crash left half written (no note row, or chunks of other
            content than the note row names). They are not in the catalog; the writer
            discards them and reads their notes again.

        Raises:
            IndexUnavailableError: the tables cannot be read; a writer begins damaged ones anew.
        """
        self.made_with = made_with
        try:
            with _collector_off():
                found = keeping.read(self.folder.path, made_with) if made_with else None
                torn, self._not_as_kept = loading.load(self, catalog, found)
                self._trusted = not self._opened
                pa.default_memory_pool().release_unused()
                return torn
        except ENGINE_ERRORS as error:
            if not self._writes or not is_damage(error):
                raise _cannot_open(self.folder.path, error) from error
            log.warning("the index is damaged and its notes are read anew")
            self.clear(vectors=False)
            catalog.begin_anew()  # what is kept may be in it
            self.folder.remade.append("notes")
            return []

    def discard(self, paths: Sequence[str]) -> None:
        """Deletes all rows of half-written notes."""
        self._delete(paths)

    def chunks(self) -> Any:
        """The table of chunks."""
        return self._chunks

    def notes(self) -> Any:
        """The table of notes."""
        return self._notes

    def stamp(self) -> str:
        """What the files of notes and chunks are now."""
        return keeping.stamp([self.folder.place("chunks"), self.folder.place("notes")])

    def keep(self, catalog: Catalog, interrupted: Callable[[], bool]) -> None:
        """Sees to it that the next start need not work out what this catalog holds.

        Args:
            catalog: the same as the tables.
            interrupted: asked while all of it is written, which takes seconds where there is
                much; then it is left for another time.
        """
        self.vectors.keep(catalog)
        if not self.made_with:
            return
        if catalog.searchable < _WORTH_KEEPING:
            self._not_as_kept = None
            with contextlib.suppress(OSError):  # of a vault that was larger; it costs only space
                keeping.forget(self.folder.path)
            return
        changed = self._not_as_kept
        few = changed is not None and loading.few(len(changed), len(catalog.notes))
        if few and keeping.renew(self.folder.path, self.stamp(), sorted(changed or ())):
            return
        if keeping.write(self.folder.path, catalog, self.made_with, self.stamp(), interrupted):
            self._not_as_kept = set()
            if (found := keeping.read(self.folder.path, self.made_with)) and found.is_sound:
                catalog.rest_on(found.index)
                upkeep.give_back_memory()

    def forget_kept(self) -> None:
        """Notes are about to be read anew: what was kept of them counts no more.

        Raises:
            IndexUnavailableError: the folder cannot be written.
        """
        self.made_with, self._not_as_kept = "", None
        with writing(self.folder.path):
            keeping.forget(self.folder.path)

    def _change(self, paths: Iterable[str]) -> None:
        """Before rows of these notes are written: a crash may leave some of them."""
        if self._not_as_kept is not None:
            self._not_as_kept.update(paths)

    def texts(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """`text` and `context` of chunks by id; unknown ids are left out."""
        found: dict[str, tuple[str, str]] = {}
        for part in parts(chunk_ids):
            rows = (
                self._chunks.search()
                .where(f"chunk_id IN ({part})")
                .select(["chunk_id", "text", "context"])
                .to_arrow()
                .to_pylist()
            )
            found.update({r["chunk_id"]: (r["text"], r["context"]) for r in rows})
        return found

    def snapshots(self, paths: Sequence[str]) -> dict[str, bytes]:
        """The raw bytes of notes as they were indexed, by path."""
        found: dict[str, bytes] = {}
        for part in parts(paths):
            rows = (
                self._notes.search()
                .where(f"path IN ({part})")
                .select(["path", "snapshot"])
                .to_arrow()
                .to_pylist()
            )
            found.update({r["path"]: unpack(r["snapshot"]) for r in rows})
        return found

    def all_snapshots(self) -> Iterator[tuple[str, bytes]]:
        """Every note's raw bytes as indexed, in batches, never all at once."""
        for batch in self._notes.search().select(["path", "snapshot"]).to_batches():
            for row in batch.to_pylist():
                yield row["path"], unpack(row["snapshot"])

    def earlier_versions(self, hash_prefix: str) -> list[EarlierVersion]:
        """Replaced versions of notes by their hash's first digits, oldest first."""
        if not re.fullmatch(r"[0-9a-f]{8,64}", hash_prefix):
            return []
        rows = (
            self._history.search()
            .where(f"content_hash LIKE '{hash_prefix}%'")
            .select(["path", "snapshot", "replaced_at"])
            .to_arrow()
            .to_pylist()
        )
        rows.sort(key=lambda row: row["replaced_at"])
        return [EarlierVersion(r["path"], r["replaced_at"], unpack(r["snapshot"])) for r in rows]

    @property
    def indexes_words(self) -> bool:
        """Whether `match` can be asked: only a large vault has a full-text index on disk."""
        return upkeep.word_indexes(self._chunks, "terms") != []

    def match(
        self,
        groups: Sequence[tuple[Sequence[str], float]],
        limit: int,
        only: set[str] | None = None,
        without: set[str] | None = None,
    ) -> list[str]:
        """Ids of chunks that hold any of the terms, by LanceDB's own order.

        The caller over-fetches and scores exactly: this order depends on how much of the
        table is indexed.

        Args:
            groups: terms with the boost they share.
            limit: most ids.
            only: notes of these paths; None for all.
            without: not notes of these paths.
        """
        from sidelight.store.lance import BooleanQuery, MatchQuery, Occur  # see `Folder`

        # LanceDB's stubs ask for every defaulted argument of its native query classes.
        match_query: Any = MatchQuery
        boolean_query: Any = BooleanQuery
        queries = [
            (Occur.SHOULD, match_query(" ".join(terms), "terms", boost=boost))
            for terms, boost in groups
            if terms
        ]
        if not queries or only == set():
            return []
        search = self._chunks.search(boolean_query(queries), query_type="fts")
        search = search.select(["chunk_id", "_score"]).limit(limit)
        if only or without:
            quoted = ",".join(quote(p) for p in sorted(only or without or ()))
            operator = "IN" if only else "NOT IN"
            search = search.where(f"path {operator} ({quoted})", prefilter=True)
        ids: list[str] = search.to_arrow()["chunk_id"].to_pylist()
        return ids

    # ------------------------------------------------------------------ writing

    def replace(self, drafts: Sequence[NoteDraft], catalog: Catalog, at: float) -> None:
        """Writes notes in place of what stood at their paths, then shows them to queries.

        Args:
            drafts: of one note each.
            catalog: what queries see.
            at: when the versions before them were found replaced, seconds since the epoch.

        Raises:
            IndexUnavailableError: the disk is full or the folder cannot be written; what
                was there before still is.
        """
        if not drafts:
            return
        paths = [d.row.path for d in drafts]
        known = [p for p in paths if p in catalog.notes]
        chunks = chunk_table(drafts)
        log.debug("merging %d notes", len(drafts))
        self._change(paths)
        with writing(self.folder.path):
            new = {d.row.path: d.row.content_hash for d in drafts}
            self._keep_history(known, catalog, new, at)
            if chunks.num_rows or known:
                self._write_chunks(chunks, paths)
            self._merge(self._notes, "path", note_table(drafts))
        log.debug("done merging")
        rows = drafted_rows(drafts, chunks, catalog.vocabulary)
        for draft in drafts:
            catalog.replace(draft.row, rows[draft.row.path])
        catalog.settle()

    def _write_chunks(self, chunks: pa.Table, paths: Sequence[str]) -> None:
        """One commit a statement; a note's old rows go in the commit that brings its new."""
        if len(paths) <= STATEMENT_VALUES:
            merge = self._chunks.merge_insert("chunk_id")
            merge = merge.when_matched_update_all().when_not_matched_insert_all()
            where = f"path IN ({','.join(quote(p) for p in paths)})"
            retry(lambda: merge.when_not_matched_by_source_delete(where).execute(chunks))
            return
        for start in range(0, len(paths), STATEMENT_VALUES):
            part = paths[start : start + STATEMENT_VALUES]
            mask = pc.is_in(chunks["path"], value_set=pa.array(part, pa.string()))
            self._write_chunks(chunks.filter(mask), part)

    def touch(self, rows: Sequence[NoteRow], catalog: Catalog) -> None:
        """Stores new sizes and times of notes whose content is unchanged."""
        if not rows:
            return
        snapshots = self.snapshots([r.path for r in rows])
        drafts = [NoteDraft(r, snapshots.get(r.path, b""), ()) for r in rows]
        self._change(row.path for row in rows)
        with writing(self.folder.path):
            self._merge(self._notes, "path", note_table(drafts))
        with catalog.lock:
            for row in rows:
                catalog.notes[row.path] = row

    def remove(self, paths: Sequence[str], catalog: Catalog, at: float) -> None:
        """Deletes notes: note rows first, so that a crash re-does rather than forgets.

        `at` as in `replace`.
        """
        with writing(self.folder.path):
            self._keep_history(paths, catalog, {}, at)
            self._delete(paths)
        for path in paths:
            catalog.remove(path)

    def _delete(self, paths: Sequence[str]) -> None:
        self._change(paths)
        for part in parts(paths):
            where = f"path IN ({part})"
            retry(lambda where=where: self._notes.delete(where))  # type: ignore[misc]
            retry(lambda where=where: self._chunks.delete(where))  # type: ignore[misc]

    def _keep_history(
        self, paths: Sequence[str], catalog: Catalog, new_hashes: dict[str, str], at: float
    ) -> None:
        changed = [
            p
            for p in paths
            if p in catalog.notes
            and catalog.notes[p].content_hash
            and catalog.notes[p].content_hash != new_hashes.get(p)
        ]
        if not changed:
            return
        rows = [
            {
                "path": path,
                "content_hash": catalog.notes[path].content_hash,
                "replaced_at": at,
                "snapshot": pack(snapshot),
            }
            for path, snapshot in self.snapshots(changed).items()
        ]
        if rows:
            retry(lambda: self._history.add(pa.Table.from_pylist(rows, schema=HISTORY)))

    # ------------------------------------------------------------------ upkeep

    def compaction(self, catalog: Catalog, interrupted: Callable[[], bool] = _never) -> list[Step]:
        """What merging small files and forgetting unused rows takes, in small steps; see `upkeep`.

        A step is one action on one table, and raises IndexUnavailableError as `replace` does.
        Between two of them anything may be read and written. For `interrupted` see `keep`.
        """
        return [
            self._step(lambda: upkeep.forget_history(self._history, len(catalog.notes))),
            self._step(lambda: self.vectors.drop_unused(catalog)),
            self._step(lambda: self._keep_word_index(catalog)),
            *self._each_table(upkeep.compact),
            lambda: self.keep(catalog, interrupted),
        ]

    def cleaning(self, catalog: Catalog, interrupted: Callable[[], bool] = _never) -> list[Step]:
        """What deleting versions that nobody reads any more takes, in such steps."""
        return [*self._each_table(upkeep.clean_up), lambda: self.keep(catalog, interrupted)]

    def compact(self, catalog: Catalog) -> None:
        """All of `compaction`, at once."""
        for step in self.compaction(catalog):
            step()

    def clean_up(self, catalog: Catalog) -> None:
        """All of `cleaning`, at once."""
        for step in self.cleaning(catalog):
            step()

    def _keep_word_index(self, catalog: Catalog) -> None:
        """Words are indexed on disk only where memory does not recall them."""
        upkeep.keep_word_index(self._chunks, "terms", wanted=catalog.postings.too_many)

    def _each_table(self, action: Callable[[Sequence[Any]], None]) -> list[Step]:
        def on(name: str) -> Callable[[], None]:  # a table may have gone since the step was planned
            return lambda: action([table for table in self._open_tables() if table.name == name])

        return [self._step(on(table.name)) for table in self._open_tables()]

    def _step(self, action: Callable[[], object]) -> Step:
        def step() -> None:
            with writing(self.folder.path):
                action()

        return step

    @property
    def lost(self) -> bool:
        """Whether a table was deleted under us, or found damaged after the kept index was taken."""
        return self._begun_anew or not all(map(self.folder.has, _WORD_TABLES))

    def damage(self) -> str:
        """What is wrong with the tables' files, "" if all can be read; reads every row."""
        try:
            for table in self._open_tables():
                for _ in table.search().to_batches():
                    pass
        except ENGINE_ERRORS as error:
            if is_damage(error):
                return short(error)
        return ""

    def clear(self, *, vectors: bool = True) -> None:
        """Throws notes and words away and starts an empty index.

        Args:
            vectors: those too; else they stay, as they are kept by what was embedded.
        """
        self.forget_kept()
        for name in self.folder.names():
            if vectors or not is_vectors(name):
                self.folder.drop(name)
        with self._opening:
            self._opened, self._trusted, self._begun_anew = {}, False, False
        if vectors:
            self.vectors.forget()
        self._table("notes")  # makes them

    # ------------------------------------------------------------------ inside

    def _open_tables(self) -> list[Any]:
        return [self._chunks, self._notes, self._history, *self.vectors.tables()]

    @staticmethod
    def _merge(table: Any, key: str, rows: pa.Table) -> None:
        merge = table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all()
        retry(lambda: merge.execute(rows))


@contextlib.contextmanager
def _collector_off() -> Iterator[None]:
    """Among a million new objects that all stay, the collector would take most of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _cannot_open(folder: Path, error: Exception) -> IndexUnavailableError:
    if "convert URL" in str(error):  # lancedb/lancedb#2623; a drive letter of a share, too
        return IndexUnavailableError(
            f"The index in {folder} lies on a network drive, which LanceDB cannot open.",
            "Leave out --data-dir, or name a folder on this computer with it.",
        )
    return IndexUnavailableError(
        f"The index in {folder} cannot be opened ({short(error)}).",
        "Check permissions and free space, or make it anew with `sidelight index VAULT --rebuild`.",
    )
