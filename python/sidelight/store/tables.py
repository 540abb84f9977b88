"""The index on disk, in LanceDB: notes, chunks, vectors, earlier versions of notes.

Order of writes: a note's chunks, then its note row. A crash in between leaves a note
whose row has its old hash, which the next start does again. Vectors are kept by the hash
of what was embedded and only ever added, so no write of words touches them.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

# Lance reports retries and index notices on standard error, where only our own lines belong.
os.environ.setdefault("LANCEDB_LOG", "error")

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lancedb.index import FTS
from lancedb.query import BooleanQuery, MatchQuery, Occur

from sidelight.config import write_private
from sidelight.errors import IndexUnavailableError
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow, NoteDraft, NoteRow, pack, unpack
from sidelight.store.schema import (
    CHUNKS,
    HISTORY,
    LIGHT_CHUNK,
    LIGHT_NOTE,
    NOTES,
    chunk_row,
    chunk_table,
    from_draft,
    note_table,
)
from sidelight.store.vectors import Centre, Matrix, VectorMatrix

log = logging.getLogger(__name__)

_STATEMENT_PATHS = 400  # paths in one predicate; keeps the statement well under its limit
_KEEP_VERSIONS = datetime.timedelta(minutes=10)  # a query still reading one is long done
_KEEP_HISTORY_DAYS = 7  # how long a reference to replaced text can be asked about

# LanceDB's stubs ask for every defaulted argument of its native query classes.
_match_query: Any = MatchQuery
_boolean_query: Any = BooleanQuery


class Tables:
    """The tables of one vault's index. One process writes, any may read.

    Args:
        folder: the data folder; made if missing.
        create: False only reads, and refuses where there is no index.

    Raises:
        IndexUnavailableError: the folder cannot be used, or there is no index.
    """

    def __init__(self, folder: Path, *, create: bool = True) -> None:
        self.folder = folder
        self._writes = create
        if not create and not (folder / "index.lance").exists():
            raise IndexUnavailableError(
                "This vault has no index yet.", "Run `sidelight index VAULT` first."
            )
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._db = lancedb.connect(str(folder / "index.lance"))
            self._chunks = self._table("chunks", CHUNKS, fts="terms")
            self._notes = self._table("notes", NOTES)
            self._history = self._table("history", HISTORY)
        except (OSError, RuntimeError, ValueError) as error:
            raise IndexUnavailableError(
                f"The index in {folder} cannot be opened ({_short(error)}).",
                "Check permissions and free space, or make it anew with "
                "`sidelight index VAULT --rebuild`.",
            ) from error
        self._vectors: Any = None

    # ------------------------------------------------------------------ facts

    def facts(self) -> dict[str, str]:
        """What the index was made with (schema, tokenizer, chunker, model); {} if unknown."""
        try:
            facts = json.loads((self.folder / "facts.json").read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return facts if isinstance(facts, dict) else {}

    def write_facts(self, facts: dict[str, str]) -> None:
        """Replaces the facts in one step."""
        write_private(self.folder / "facts.json", json.dumps(facts, indent=2) + "\n")

    # ------------------------------------------------------------------ reading

    def load(self, catalog: Catalog) -> list[str]:
        """Fills an empty catalog from the tables, in one pass over each.

        Returns:
            Paths with rows that a crash left half written (no note row, or chunks of other
            content than the note row names). They are not in the catalog; the writer
            discards them and reads their notes again.
        """
        notes = {
            row["path"]: NoteRow.from_table(row)
            for batch in self._notes.search().select(LIGHT_NOTE).to_batches()
            for row in batch.to_pylist()
        }
        by_path: dict[str, list[ChunkRow]] = {}
        torn = set()
        for chunk, content_hash in self._load_chunks(catalog):
            note = notes.get(chunk.path)
            if note is None or note.content_hash != content_hash:
                torn.add(chunk.path)
            by_path.setdefault(chunk.path, []).append(chunk)
        for path, note in sorted(notes.items()):
            rows = sorted(by_path.get(path, ()), key=lambda c: c.chunk_index)
            if path in torn or len(rows) != note.chunks:
                torn.add(path)
            else:
                catalog.replace(note, rows)
        return sorted(torn)

    def discard(self, paths: Sequence[str]) -> None:
        """Deletes all rows of half-written notes."""
        self._delete(paths)

    def _load_chunks(self, catalog: Catalog) -> Iterator[tuple[ChunkRow, str]]:
        for batch in self._chunks.search().select(LIGHT_CHUNK).to_batches():
            table = pa.Table.from_batches([batch])
            split = pc.split_pattern(table["terms"].combine_chunks(), " ")
            encoded = split.flatten().dictionary_encode()
            code_of = np.array(
                [catalog.vocabulary.code(t) for t in encoded.dictionary.to_pylist()], np.int32
            )
            codes = code_of[encoded.indices.to_numpy(zero_copy_only=False)]
            offsets = split.offsets.to_numpy()
            rows = table.drop_columns(["terms"]).to_pylist()
            for i, row in enumerate(rows):
                yield chunk_row(row, codes[offsets[i] : offsets[i + 1]]), row["content_hash"]

    def texts(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """`text` and `context` of chunks by id; unknown ids are left out."""
        found: dict[str, tuple[str, str]] = {}
        for part in _parts(chunk_ids):
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
        for part in _parts(paths):
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

    def earlier_version(self, hash_prefix: str) -> tuple[str, bytes] | None:
        """Path and raw bytes of a replaced version of a note, by its hash's first digits."""
        if not re.fullmatch(r"[0-9a-f]{8,64}", hash_prefix):
            return None
        rows = (
            self._history.search()
            .where(f"content_hash LIKE '{hash_prefix}%'")
            .select(["path", "snapshot", "replaced_at"])
            .to_arrow()
            .to_pylist()
        )
        if not rows:
            return None
        row = max(rows, key=lambda r: r["replaced_at"])
        return row["path"], unpack(row["snapshot"])

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
        queries = [
            (Occur.SHOULD, _match_query(" ".join(terms), "terms", boost=boost))
            for terms, boost in groups
            if terms
        ]
        if not queries or only == set():
            return []
        search = self._chunks.search(_boolean_query(queries), query_type="fts")
        search = search.select(["chunk_id", "_score"]).limit(limit)
        if only or without:
            quoted = ",".join(_quote(p) for p in sorted(only or without or ()))
            operator = "IN" if only else "NOT IN"
            search = search.where(f"path {operator} ({quoted})", prefilter=True)
        ids: list[str] = search.to_arrow()["chunk_id"].to_pylist()
        return ids

    # ------------------------------------------------------------------ writing

    def replace(self, drafts: Sequence[NoteDraft], catalog: Catalog) -> None:
        """Writes notes in place of what stood at their paths, then shows them to queries.

        Raises:
            IndexUnavailableError: the disk is full or the folder cannot be written; what
                was there before still is.
        """
        if not drafts:
            return
        paths = [d.row.path for d in drafts]
        known = [p for p in paths if p in catalog.notes]
        chunks = chunk_table(drafts)
        with _writing(self.folder):
            self._keep_history(known, catalog, {d.row.path: d.row.content_hash for d in drafts})
            if chunks.num_rows or known:
                self._write_chunks(chunks, paths)
            self._merge(self._notes, "path", note_table(drafts))
        for draft in drafts:
            catalog.replace(draft.row, [from_draft(c, catalog) for c in draft.chunks])

    def _write_chunks(self, chunks: pa.Table, paths: Sequence[str]) -> None:
        """One commit a statement; a note's old rows go in the commit that brings its new."""
        if len(paths) <= _STATEMENT_PATHS:
            merge = self._chunks.merge_insert("chunk_id")
            merge = merge.when_matched_update_all().when_not_matched_insert_all()
            where = f"path IN ({','.join(_quote(p) for p in paths)})"
            _retry(lambda: merge.when_not_matched_by_source_delete(where).execute(chunks))
            return
        for start in range(0, len(paths), _STATEMENT_PATHS):
            part = paths[start : start + _STATEMENT_PATHS]
            mask = pc.is_in(chunks["path"], value_set=pa.array(part, pa.string()))
            self._write_chunks(chunks.filter(mask), part)

    def touch(self, rows: Sequence[NoteRow], catalog: Catalog) -> None:
        """Stores new sizes and times of notes whose content is unchanged."""
        if not rows:
            return
        snapshots = self.snapshots([r.path for r in rows])
        drafts = [NoteDraft(r, snapshots.get(r.path, b""), ()) for r in rows]
        with _writing(self.folder):
            self._merge(self._notes, "path", note_table(drafts))
        with catalog.lock:
            for row in rows:
                catalog.notes[row.path] = row

    def remove(self, paths: Sequence[str], catalog: Catalog) -> None:
        """Deletes notes: note rows first, so that a crash re-does rather than forgets."""
        with _writing(self.folder):
            self._keep_history(paths, catalog, {})
            self._delete(paths)
        for path in paths:
            catalog.remove(path)

    def _delete(self, paths: Sequence[str]) -> None:
        for part in _parts(paths):
            where = f"path IN ({part})"
            _retry(lambda where=where: self._notes.delete(where))
            _retry(lambda where=where: self._chunks.delete(where))

    def _keep_history(
        self, paths: Sequence[str], catalog: Catalog, new_hashes: dict[str, str]
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
        now = time.time()
        rows = [
            {
                "path": path,
                "content_hash": catalog.notes[path].content_hash,
                "replaced_at": now,
                "snapshot": pack(snapshot),
            }
            for path, snapshot in self.snapshots(changed).items()
        ]
        if rows:
            _retry(lambda: self._history.add(pa.Table.from_pylist(rows, schema=HISTORY)))

    # ------------------------------------------------------------------ vectors

    def open_vectors(self, model_id: str, dimension: int, centre: Centre) -> VectorMatrix:
        """The vectors of a model, in memory. A writer drops those of other models.

        Args:
            model_id: names the table.
            dimension: of its vectors.
            centre: see `VectorMatrix`.
        """
        matrix = VectorMatrix(dimension, centre)
        name = "vectors_" + re.sub(r"[^A-Za-z0-9]", "_", model_id)
        if not self._writes and name not in self._names():
            return matrix
        schema = pa.schema(
            [
                ("embed_hash", pa.string()),
                ("language", pa.string()),
                ("vector", pa.list_(pa.float32(), dimension)),
            ]
        )
        self._vectors = self._table(name, schema)
        for other in self._names() if self._writes else ():
            if other.startswith("vectors_") and other != name:
                self._db.drop_table(other)
        for batch in self._vectors.search().to_batches():
            flat = batch["vector"].flatten().to_numpy(zero_copy_only=False)
            matrix.add(
                batch["embed_hash"].to_pylist(),
                flat.reshape(-1, dimension),
                batch["language"].to_pylist(),
            )
        return matrix

    def add_vectors(
        self, matrix: VectorMatrix, hashes: Sequence[str], raw: Matrix, languages: Sequence[str]
    ) -> None:
        """Stores vectors, then shows them to queries.

        Raises:
            IndexUnavailableError: as `replace`.
        """
        flat = pa.array(np.ascontiguousarray(raw, np.float32).reshape(-1))
        rows = pa.table(
            {
                "embed_hash": pa.array(hashes, pa.string()),
                "language": pa.array(languages, pa.string()),
                "vector": pa.FixedSizeListArray.from_arrays(flat, raw.shape[1]),
            }
        )
        with _writing(self.folder):
            _retry(lambda: self._vectors.add(rows))
        matrix.add(hashes, raw, languages)

    # ------------------------------------------------------------------ upkeep

    def compact(self, catalog: Catalog) -> None:
        """Merges small files, indexes new rows, drops old versions and unused rows."""
        horizon = time.time() - _KEEP_HISTORY_DAYS * 86_400
        with _writing(self.folder):
            _retry(lambda: self._history.delete(f"replaced_at < {horizon}"))
            self._drop_unused_vectors(catalog)
            for table in self._open_tables():
                _retry(lambda table=table: table.optimize(cleanup_older_than=_KEEP_VERSIONS))

    def _drop_unused_vectors(self, catalog: Catalog) -> None:
        """Forgets vectors no chunk names, once they are more than a quarter of all."""
        if self._vectors is None:
            return
        stored = self._vectors.search().select(["embed_hash"]).to_arrow()["embed_hash"].to_pylist()
        with catalog.lock:
            unused = sorted({h for h in stored if h not in catalog.by_embedding})
        if len(unused) * 4 <= len(stored):
            return
        for part in _parts(unused):
            where = f"embed_hash IN ({part})"
            _retry(lambda where=where: self._vectors.delete(where))

    @property
    def lost(self) -> bool:
        """Whether someone deleted the tables under us."""
        return not (self.folder / "index.lance" / "notes.lance").is_dir()

    def clear(self) -> None:
        """Throws the whole index away and starts an empty one."""
        for name in self._names():
            self._db.drop_table(name)
        self._chunks = self._table("chunks", CHUNKS, fts="terms")
        self._notes = self._table("notes", NOTES)
        self._history = self._table("history", HISTORY)
        self._vectors = None

    def size_bytes(self) -> int:
        """Size of the data folder on disk."""
        return sum(f.stat().st_size for f in self.folder.rglob("*") if f.is_file())

    # ------------------------------------------------------------------ inside

    def _names(self) -> list[str]:
        return [str(n) for n in self._db.list_tables().tables]

    def _open_tables(self) -> list[Any]:
        tables = [self._chunks, self._notes, self._history]
        return [*tables, self._vectors] if self._vectors is not None else tables

    def _table(self, name: str, schema: pa.Schema, fts: str | None = None) -> Any:
        if name in self._names():
            return self._db.open_table(name)
        table = self._db.create_table(name, schema=schema)
        if fts:
            config = FTS(
                base_tokenizer="whitespace",
                stem=False,
                remove_stop_words=False,
                ascii_folding=False,
                lower_case=False,
                max_token_length=None,
                with_position=False,
            )
            table.create_index(fts, config=config)
        return table

    @staticmethod
    def _merge(table: Any, key: str, rows: pa.Table) -> None:
        merge = table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all()
        _retry(lambda: merge.execute(rows))


class _writing:  # noqa: N801 - reads as a statement: `with _writing(folder)`
    """Turns the engine's write failures into one error with a remedy."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError | RuntimeError):
            raise IndexUnavailableError(
                f"The index in {self._folder} cannot be written ({_short(error)}).",
                "Free some disk space or check the folder's permissions; nothing is lost.",
            ) from error


def _retry(write: Any, attempts: int = 5) -> Any:
    """Repeats a write that lost a race with compaction (LanceDB's commit conflict)."""
    for attempt in range(attempts):
        try:
            return write()
        except (OSError, RuntimeError) as error:
            if "conflict" not in str(error).lower() or attempt == attempts - 1:
                raise
            log.debug("commit conflict, attempt %d", attempt + 1)
            time.sleep(0.05 * 2**attempt)
    raise AssertionError("unreachable")


def _parts(values: Iterable[str]) -> Iterator[str]:
    quoted = [_quote(v) for v in values]
    for start in range(0, len(quoted), _STATEMENT_PATHS):
        yield ",".join(quoted[start : start + _STATEMENT_PATHS])


def _quote(value: str) -> str:
    """A SQL string literal: single quotes, doubled inside."""
    return "'" + value.replace("'", "''") + "'"


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    said = re.sub(r",? ?/[^ ]*\.rs:\d+(:\d+)?", "", lines[0]) if lines else type(error).__name__
    return said[:200]


def throw_away(folder: Path) -> None:
    """Deletes an index's tables, readable or not; calibration and settings lie elsewhere."""
    shutil.rmtree(folder / "index.lance", ignore_errors=True)
    (folder / "facts.json").unlink(missing_ok=True)
