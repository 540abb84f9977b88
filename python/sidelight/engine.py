"""One vault, open: its index, models, words and settings; what the daemon and a command use.

Blocking and thread-safe. Owns the resources and hands them to the stages of `indexing/` and
`query/`; decides nothing about ranking and knows no socket.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sidelight.config import Places, Settings, open_vault, places_for, save_settings, settings_from
from sidelight.config import load_settings as read_settings
from sidelight.errors import IndexUnavailableError, UsageError
from sidelight.indexing import coverage, facts
from sidelight.indexing.models_in_use import LOADING, ModelsInUse
from sidelight.indexing.mounts import Mounts
from sidelight.indexing.pipeline import Indexer
from sidelight.indexing.worker import Worker
from sidelight.language.terms import Terms
from sidelight.models.embedder import Embedder
from sidelight.models.tokens import token_counter
from sidelight.query import lookup, notes, pipeline
from sidelight.query.credibility import credibility, rules_of
from sidelight.query.gate import Gate
from sidelight.query.index import Index
from sidelight.query.lexical import LexicalQuery
from sidelight.query.mentions import mentions
from sidelight.query.metadata import MetadataIndex
from sidelight.query.whole import WholeVault, whole_vault
from sidelight.store.catalog import Catalog
from sidelight.store.folder import throw_away
from sidelight.store.renames import Renames
from sidelight.store.tables import Tables
from sidelight.store.upkeep import give_back_memory
from sidelight.store.writer import WriterLock
from sidelight.types import (
    Citation,
    IndexState,
    Mentions,
    NoteState,
    Pack,
    PackRequest,
    Passage,
    Progress,
    ResolvedLink,
    SearchRequest,
    SearchResult,
)
from sidelight.vault.files import is_note
from sidelight.vault.grep import grep
from sidelight.vault.links import LinkResolver
from sidelight.vault.watcher import Watcher

log = logging.getLogger(__name__)

_WORKERS = 10  # of two queries: four channels and a reranker each
_ENCODERS = 2  # one a query
_ASKED_FOR = "a rebuild was asked for"
_MENTION_LINES = 5_000  # that name a note; what is named more often is no suggestion
_NEVER: Callable[[], bool] = lambda: False  # noqa: E731 - a default, not a function of its own

# Settings that say how notes are read: a change of these reads every note again.
_READING = ("user_words",)
_SCANNING = ("excluded", "config_folder", "followed_links", "max_note_bytes")
_WATCHING = ("debounce_ms", "debounce_ceiling_ms", "poll_seconds")
_MODELS = ("embedding_model", "reranker_model")


class Engine:
    """An open vault. Make one with `Engine.open`, and `close` it."""

    def __init__(self, places: Places, settings: Settings, *, read_only: bool) -> None:
        self.places = places
        self.vault = places.vault
        self.settings = settings
        self._read_only = read_only
        self._lock = WriterLock(places.data, places.vault) if not read_only else None
        self._terms = Terms(settings.user_words)
        # Dictionaries load in half a second or more: while a kept index is checked, not while the
        # first query waits.
        threading.Thread(target=self._terms.prepare, name="dictionaries", daemon=True).start()
        self._catalog = Catalog()
        self._anew = ""  # why notes are read again, while they are
        self._written: tuple[Settings | None, str] = (None, "")  # settings, and they as JSON
        self._closed = False
        try:
            self._tables = Tables(places.data, create=not read_only)
            self._commit_ns = self._tables.folder.last_commit_ns()
            self._facts = self._tables.folder.facts()
            if not read_only and facts.is_other_schema(self._facts, self._current_facts()):
                log.warning("the form of the index changed: notes are read again, vectors stay")
                self._tables.clear(vectors=False)
            torn = self._load_catalog()
            if torn and not read_only:
                self._tables.discard(torn)
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise
        self._count_graph()  # now: not while the first query waits
        self._resolver = LinkResolver(self._catalog.notes)
        self._renames = Renames(places.data / "renames.json")
        self._indexer = Indexer(
            self.vault, settings, self._tables, self._catalog, self._terms, self._resolver,
            self._renames, Mounts(self.vault, places.data / "mounts.json"),
        )  # fmt: skip
        self._indexer.on_changed = lambda paths: self._emit("changed", paths)
        self._indexer.on_forced_done = self._remember_facts
        self._indexer.on_tables_lost = lambda: self._clear(vectors=False)
        self._metadata = MetadataIndex()
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="query")
        self._encoders = ThreadPoolExecutor(_ENCODERS, thread_name_prefix="encoding")
        self._models = ModelsInUse(
            self._tables, self._catalog, self._indexer.queue,
            writes=not read_only, changed=self._models_changed,
        )  # fmt: skip
        self._worker: Worker | None = None
        self._watcher: Watcher | None = None
        self._progress = Progress("idle", 0, 0)
        self._listeners: list[Callable[[str, Any], None]] = []
        self._state_lock = threading.RLock()
        self._gate = self._make_gate()

    def _load_catalog(self) -> list[str]:
        """Fills the catalog; paths of notes that a crash left half written."""
        if not self._rereading():
            return self._tables.load(self._catalog, json.dumps(self._current_facts()))
        if not self._read_only:
            self._tables.forget_kept()
        return self._tables.load(self._catalog)

    @classmethod
    def open(
        cls,
        vault: str | Path,
        *,
        data_dir: str | Path | None = None,
        lexical_only: bool = False,
        read_only: bool = False,
        models_later: bool = False,
        rebuild: bool = False,
        settings: Settings | None = None,
    ) -> Engine:
        """Opens a vault and its index, and loads the models.

        Args:
            vault: its folder.
            data_dir: where the index lies instead of the user's data folder.
            lexical_only: loads no model.
            read_only: only asks; needs an index that is there, takes no lock.
            models_later: the caller will call `load_models`; until then it is said that they come.
            rebuild: throws the index away first, also one that cannot be opened.
            settings: instead of the user's.

        Raises:
            VaultError: there is no such vault.
            IndexUnavailableError: no index (read-only), another process writes it, or the
                folder cannot be used.
            UsageError: the settings file is not valid.
        """
        places = places_for(open_vault(vault), data_dir)
        _refuse_inside(places)
        chosen = settings or read_settings(places)
        if rebuild and not read_only:
            with WriterLock(places.data, places.vault):
                throw_away(places.data)
        engine = cls(places, chosen, read_only=read_only)
        try:
            if models_later:
                pass
            elif lexical_only:
                engine._models.no_vectors = "words only, as asked"
            else:
                engine.load_models()
            if read_only:
                engine.look_for_changes()
        except BaseException:
            engine.close()
            raise
        return engine

    # ------------------------------------------------------------------ life

    def start(self) -> None:
        """Watches the vault and keeps the index up to date in the background."""
        paused = self.places.paused.exists()
        self._progress = Progress("paused" if paused else "scan", 0, 0)  # until it begins
        loading = self._models.no_vectors == LOADING and bool(self._catalog.notes)
        worker = self._worker = Worker(
            self._indexer, self._tell, self._watch_again, paused=paused, held=loading
        )
        self._watcher = Watcher(
            self.vault, self.settings, worker.notice, worker.poll, worker.rescan, worker.watched
        )
        self._anew = self._reason_to_reread()
        if self._rereading():
            self._worker.rescan(forced=True)
        self._watcher.start()
        self._worker.start()

    def load_models(self) -> None:
        """Loads the models and the vectors; without them words still answer. Takes 2 to 4 s."""
        self._models.load(self.settings)
        give_back_memory()
        self._models_changed()
        if self._worker is not None:
            self._worker.wake()

    def close(self) -> None:
        """Stops the background work and lets go of the index. May be called twice."""
        if self._watcher is not None:
            self._watcher.stop()
        if self._worker is not None:
            self._worker.stop()
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._encoders.shutdown(wait=False, cancel_futures=True)
        if self._lock is not None and not self._closed:
            self._tables.keep(self._catalog, interrupted=lambda: True)
        self._models.release()
        if self._lock is not None:
            self._lock.release()
        self._closed = True

    def sync(
        self,
        progress: Callable[[Progress], None] | None = None,
        *,
        lexical_only: bool = False,
        rebuild: bool = False,
        stopped: Callable[[], bool] = _NEVER,
    ) -> None:
        """Brings the index up to date once, in this thread; ends a pause.

        Args:
            progress: told how far it is.
            lexical_only: leaves vectors out.
            rebuild: as `rebuild`.
            stopped: asked between notes; what was done stays.

        Raises:
            VaultError, IndexUnavailableError: with the index as it was.
        """
        if rebuild:
            self._read_anew()
        reason = self._reason_to_reread()
        self._anew = _ASKED_FOR if rebuild else reason
        tell = progress or (lambda _: None)
        self._remember_pause(False)
        self._indexer.sync(
            lambda now: tell(self._with_reason(now)),
            stopped,
            lexical_only=lexical_only,
            forced=bool((rebuild or self._rereading()) and self._catalog.notes),
        )
        if not stopped():
            self._remember_facts()

    # ------------------------------------------------------------------ queries

    def search(
        self, request: SearchRequest, cancelled: Callable[[], bool] = _NEVER
    ) -> SearchResult:
        """See `query/pipeline.py`."""
        with self._indexer.queue.held_back():
            return pipeline.search(self._index(), request, cancelled)

    def pack(self, request: PackRequest, cancelled: Callable[[], bool] = _NEVER) -> Pack:
        """A context for a model within a token budget; see `query/pack.py`.

        Raises:
            UsageError: a number or the tokenizer's name is wrong.
            ModelError: the tokenizer cannot be loaded.
            CancelledError: `cancelled` said so.
        """
        counter = token_counter(request.tokenizer, self.embedder, self.settings.embedding_model)
        with self._indexer.queue.held_back():
            return pipeline.pack(self._index(), request, counter, cancelled)

    def pack_all(self, budget: int, tokenizer: str = "") -> WholeVault:
        """Every note as one context, and what of it did not fit; see `query/whole.py`.

        Raises:
            ModelError, UsageError: as `pack`.
        """
        counter = token_counter(tokenizer, self.embedder, self.settings.embedding_model)
        return whole_vault(self._index(), budget, counter)

    def related(
        self,
        path: str,
        line: int | None = None,
        limit: int = 10,
        cancelled: Callable[[], bool] = _NEVER,
    ) -> SearchResult:
        """Passages of other notes about what this note or section is about."""
        with self._indexer.queue.held_back():
            return pipeline.related(self._index(), path, line, limit, cancelled)

    def weigh(self, text: str, typing: bool = False) -> LexicalQuery:
        """The terms of a text with what each is worth by this vault's statistics."""
        index = self._index()
        with index.catalog.lock:
            index.metadata.refresh(index.catalog)
            return LexicalQuery(
                index.terms.query_terms(text, typing), index.catalog, self.settings.bm25_k1,
                self.settings.bm25_b, index.metadata.knows,
            )  # fmt: skip

    def resolve(self, ref: str, buffer: str | None = None) -> tuple[str, Citation]:
        """Where a passage stands now: path and citation, perhaps `unresolvable`.

        Args:
            ref: from a result.
            buffer: the open editor's text, which then counts instead of the file.

        Raises:
            NotFoundError: the index has never seen, or has forgotten, this passage.
        """
        return lookup.resolve(self._index(), ref, buffer)

    def indexed_passage(self, ref: str) -> tuple[str, Passage]:
        """A passage as it was indexed, and its note's path now.

        Raises:
            NotFoundError: as `resolve`.
        """
        found = lookup.find(self._index(), ref)
        return found.path or found.version_path, found.passage

    def read_note(
        self, path: str, start_line: int | None = None, end_line: int | None = None
    ) -> tuple[str, str, int]:
        """Lines of a note as it is now: text, SHA-256 of the whole file, number of lines.

        Raises:
            AccessError, NotFoundError: as `vault/reading.py`.
        """
        lines = (start_line, end_line)
        return notes.read_note(self.vault, path, self._indexer.exclusions, self.settings, lines)

    def links(self, path: str, direction: str = "out") -> list[ResolvedLink]:
        """Links out of a note, into it, or both, with their lines as they are now.

        Raises:
            AccessError, NotFoundError: the note may not be read or is not there.
            UsageError: `direction` is none.
        """
        if direction not in ("out", "in", "both"):
            raise UsageError("'direction' must be out, in or both.")
        self.read_note(path, 1, 1)  # the same refusals as reading
        return lookup.links(self._index(), path, direction)

    def grep(
        self,
        pattern: str,
        regex: bool = False,
        path_glob: str | None = None,
        limit: int = 200,
        cancelled: Callable[[], bool] = _NEVER,
    ) -> tuple[list[tuple[str, int, str]], bool]:
        """Matching lines of all notes as they are now; see `vault/grep.py`."""
        with self._catalog.lock:
            paths = sorted(self._catalog.notes)
        allowed = [p for p in paths if not self._indexer.exclusions.excluded(p)]
        found, more = grep(
            self.vault, allowed, pattern, regex, limit, cancelled,
            path_glob=path_glob,
            followed=self.settings.followed_links,
            max_note_bytes=self.settings.max_note_bytes,
        )  # fmt: skip
        return list(found), more

    def mentions(
        self,
        path: str,
        buffer: str | None = None,
        limit: int = 50,
        cancelled: Callable[[], bool] = _NEVER,
    ) -> Mentions:
        """Links that are missing in a note and to it; see `query/mentions.py`.

        Raises:
            AccessError, NotFoundError: the note may not be read or is not there.
            CancelledError: `cancelled` said so.
        """
        self.read_note(path, 1, 1)  # the same refusals as reading

        def lines_of(expression: str) -> list[tuple[str, int, str]]:
            return self.grep(expression, regex=True, limit=_MENTION_LINES, cancelled=cancelled)[0]

        return mentions(self._index(), path, lines_of, buffer, limit, cancelled)

    # ------------------------------------------------------------------ state

    def state(self) -> IndexState:
        """What the index covers now."""
        models = self._models
        return coverage.index_state(
            self._catalog,
            self._constants(),
            vectors=models.embedder is not None or models.no_vectors == LOADING,
            unread=self._unread(),
        )

    def _unread(self) -> int:
        """Notes whose words wait; one at least while their number is not known yet."""
        indexer, worker = self._indexer, self._worker
        if worker is None:
            return len(indexer.unseen)
        noticed = {p for p in worker.noticed if is_note(p) and not indexer.exclusions.excluded(p)}
        return len(indexer.unseen | noticed) or int(worker.busy)

    def status(self) -> tuple[IndexState, Progress]:
        """What the index covers, and what is being done."""
        return self.state(), self._progress

    def believed(self, path: str) -> float:
        """How far a note is to be believed, 0..1, by its properties and the rules of the settings."""
        return credibility(self._catalog.notes.get(path), rules_of(self.settings.credibility))

    def oldest_pending_s(self) -> float | None:
        """Seconds since the change was noticed that waits longest; None if nothing waits."""
        worker = self._worker
        known = [self._indexer.queue.oldest, worker.waiting_since if worker is not None else None]
        since = min((at for at in known if at is not None), default=None)
        return None if since is None else max(0.0, time.monotonic() - since)

    def look_for_changes(self) -> None:
        """Counts the notes that changed since they were indexed, where nothing is indexed."""
        self._indexer.know_names()

    @property
    def is_outdated(self) -> bool:
        """Whether another process wrote the index since this one opened it to read."""
        return self._read_only and self._tables.folder.last_commit_ns() != self._commit_ns

    def note_status(self, path: str) -> NoteState:
        """What the index knows of one note; an unknown path is not indexed."""
        state = coverage.note_state(self._catalog, path, self._indexer.exclusions)
        reason = self._indexer.out_of_reach.reasons().get(path)
        return dataclasses.replace(state, error=reason) if reason else state

    def failed_notes(self) -> list[NoteState]:
        """Notes that could not be indexed, by path, each with its reason."""
        indexer = self._indexer
        return coverage.failed_notes(
            self._catalog, indexer.exclusions, indexer.out_of_reach.reasons(), indexer.unlisted
        )

    @property
    def terms(self) -> Terms:
        """How texts are cut into terms, with the user's own words."""
        return self._terms

    @property
    def embedder(self) -> Embedder | None:
        """The embedding model, once it is loaded."""
        return self._models.embedder

    @property
    def model_id(self) -> str:
        """Id of the embedding model in use, "" for words only."""
        return self.embedder.id if self.embedder is not None else ""

    @property
    def no_vectors(self) -> str:
        """Why there is no embedding model; "" if there is one."""
        return self._models.no_vectors

    @property
    def problem(self) -> str:
        """Why the vault is waited for or scanned instead of watched; "" if all is well."""
        return self._worker.problem if self._worker is not None else ""

    def update_settings(self, values: dict[str, Any]) -> list[str]:
        """Validates and stores settings; returns what will be done anew, in words.

        Raises:
            UsageError: a name or value is wrong; nothing is changed.
        """
        new = settings_from(values, self.settings)
        with self._state_lock:
            old, self.settings = self.settings, new
            save_settings(self.places, new)
            changed = {f for f in values if getattr(old, f) != getattr(new, f)}
            self._gate = self._make_gate()
            return self._follow(changed)

    def _follow(self, changed: set[str]) -> list[str]:
        """Carries out what a change of these settings asks for."""
        todo: list[str] = []
        self._indexer.settings = self.settings
        if changed & set(_READING):
            self._tables.forget_kept()
            self._terms = Terms(self.settings.user_words)
            self._indexer.use_terms(self._terms)
            self._anew = self._rereading()
            todo.append("the words of every note are read again")
        if "graph" in changed and self.settings.graph:
            self._anew = self._rereading()
            todo.append("notes that were read without the graph are read again")
        if changed & set(_SCANNING):
            todo.append("the vault is scanned again")
        if changed & set(_MODELS) or ("rerank" in changed and self._models.reranker is None):
            todo.append("the models are loaded again; passages new to them are embedded")
        if self._worker is not None:
            if changed & set(_WATCHING):
                self._watch_again()
                self._worker.wake()
            if changed & set(_MODELS):
                self._worker.run_soon(self.load_models)
            if changed & {*_SCANNING, *_READING, "graph"}:
                forced = changed & set(_READING) or ("graph" in changed and self._rereading())
                self._worker.rescan(forced=bool(forced))
        elif changed & set(_MODELS):
            self.load_models()
        return todo

    def _watch_again(self) -> None:
        if self._watcher is not None:
            self._watcher.restart(self.settings)

    def rebuild(self) -> None:
        """Reads every note anew, in the background if there is one.

        The rows of each note answer until its new ones are written; vectors stay, as they
        are kept by what was embedded. What cannot be read any more is thrown away first.
        """
        if self._worker is not None:
            self._anew = _ASKED_FOR
            self._worker.run_soon(self._read_anew)
            self._worker.rescan(forced=True)
        else:
            self.sync(rebuild=True)

    def _read_anew(self) -> None:
        """Before every note is: nothing that was made from them before counts any more."""
        self._tables.forget_kept()
        self._indexer.may_be_empty = True
        if self._tables.lost or self._tables.damage():
            self._clear()

    def pause(self) -> None:
        """Holds indexing back until `resume`, after a restart too."""
        if self._worker is not None:
            self._worker.pause()
            self._remember_pause(True)

    def resume(self) -> None:
        """Goes on, with a scan for what was missed."""
        if self._worker is not None:
            self._worker.resume()
            self._remember_pause(False)

    def _remember_pause(self, paused: bool) -> None:
        mark = self.places.paused
        try:
            if paused:
                mark.touch()
            else:
                mark.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the next start will not know of this: %s", error.strerror)

    def subscribe(self, callback: Callable[[str, Any], None]) -> Callable[[], None]:
        """Calls back with ("progress", Progress) and ("changed", paths), from any thread."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback) if callback in self._listeners else None

    # ------------------------------------------------------------------ inside

    def _count_graph(self) -> None:
        """Counts what passages mention together, once: a view of a query would forget it."""
        if self.settings.graph:
            _ = self._catalog.graph

    def _index(self) -> Index:
        self._count_graph()
        with self._state_lock:
            return Index(
                vault=self.vault,
                settings=self.settings,
                catalog=self._catalog.view(),
                tables=self._tables,
                terms=self._terms,
                metadata=self._metadata,
                resolver=self._resolver,
                gate=self._gate,
                embedder=self._models.embedder,
                no_vectors=self._models.no_vectors,
                reranker=self._models.reranker,
                workers=self._workers,
                encoders=self._encoders,
                state=self.state,
                renames=self._renames,
            )

    def _clear(self, *, vectors: bool = True) -> None:
        """Begins the index anew; vectors may stay, as they are kept by what was embedded."""
        self._tables.clear(vectors=vectors)
        with self._catalog.lock:
            for path in list(self._catalog.notes):
                self._catalog.remove(path)
        self._models.reopen()

    def _models_changed(self) -> None:
        self._gate = self._make_gate()

    def _make_gate(self) -> Gate:
        return Gate(self.model_id, self.settings.gate_strictness, self.places.calibration)

    def _current_facts(self) -> facts.Facts:
        return facts.current_facts(self._terms)

    def _rereading(self) -> str:
        """Why every note is to be read again (another tokenizer or chunker); "" if it is not."""
        return facts.difference(self._facts, self._current_facts(), graph=self.settings.graph)

    def _reason_to_reread(self) -> str:
        """The same for people, who need no reason for a first index."""
        damaged = "a part of the index was damaged" if self._tables.folder.remade else ""
        reason = damaged or (self._rereading() if self._facts.get("schema") else "")
        if reason:
            log.warning("every note is read again: %s", reason)
        if not self._catalog.notes:  # true of all that is read from now on, also after a crash
            self._remember_facts()
        return reason

    def _remember_facts(self) -> None:
        self._anew = ""
        self._tables.made_with = json.dumps(self._current_facts())
        if self._rereading():
            stored = {**self._tables.folder.facts(), **self._current_facts()}
            self._tables.folder.write_facts(stored)
            self._facts = stored

    def _constants(self) -> str:
        """What besides the notes decides an answer."""
        settings, written = self._written
        if settings is not self.settings:
            settings = self.settings
            written = json.dumps(dataclasses.asdict(settings), sort_keys=True)
            self._written = settings, written
        return f"{self._current_facts()}{self.model_id}{written}{self._gate.digest}"

    def _tell(self, progress: Progress) -> None:
        self._progress = self._with_reason(progress)
        self._emit("progress", self._progress)

    def _with_reason(self, progress: Progress) -> Progress:
        """Adds what it waits for, why it does not watch, or why notes are read or embedded anew."""
        reason = ""
        if progress.phase in ("scan", "words"):
            reason = self._anew
        elif progress.phase == "vectors":
            reason = self._models.following
        elif progress.phase == "waiting":
            reason = self.problem
        elif progress.phase == "idle" and self.problem:
            seconds = self.settings.poll_seconds
            reason = f"Changes are looked for every {seconds} s, as none are told: {self.problem}"
        return dataclasses.replace(progress, reason=reason) if reason else progress

    def _emit(self, kind: str, payload: Progress | Sequence[str]) -> None:
        for listener in list(self._listeners):
            listener(kind, payload)


def _refuse_inside(places: Places) -> None:
    data = Path(places.data).resolve()
    if data == places.vault or places.vault in data.parents:
        raise IndexUnavailableError(
            "The index must not lie inside the vault, where it would be synced and searched.",
            "Choose another folder with --data-dir.",
        )
