"""Which passages and names of notes wait for their vector, and how do they get one?

Newest notes first, in windows small enough that a query or a newly saved note never waits long.
A text that breaks the model is left out, alone. What is embedded is never embedded again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from sidelight.errors import ModelError
from sidelight.indexing.draft import embedded_text
from sidelight.language.detect import detect
from sidelight.models.embedder import Embedder
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow, NoteHead, name_hash
from sidelight.store.tables import Tables
from sidelight.store.vectors import Matrix
from sidelight.types import Progress

log = logging.getLogger(__name__)

_WINDOW = 128  # chunks a commit
_AT_LEAST_S = 0.3  # of embedding, however much else there is to do; then it is left for that

Stopped = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A passage, or the name of a note, that has no vector yet."""

    embed_hash: str
    language: str
    path: str
    chunk: ChunkRow | None  # None for a name


class VectorQueue:
    """What is to be embedded. Not thread-safe: the indexer's thread calls it.

    Args:
        tables: where vectors are stored.
        catalog: what needs them.
        committed: called after each write.

    Attributes:
        embedder: the model; None while there is none.
        on_complete: see `settle`.
        oldest: when (`time.monotonic`) the note was seen to wait that waits longest; None if
            none does.
    """

    def __init__(self, tables: Tables, catalog: Catalog, committed: Callable[[], None]) -> None:
        self.embedder: Embedder | None = None
        self.on_complete: Callable[[], None] = lambda: None
        self._committed = committed
        self._tables = tables
        self._catalog = catalog
        self._queue: list[_Waiting] = []  # newest notes first
        self._revision = -1  # of the catalog the queue was made from
        self._since = 0.0  # when this run of embedding began
        self._done = 0  # passages since then
        self._pending_since: dict[str, float] = {}  # path -> when it was first seen to wait
        self.oldest: float | None = None

    def use(self, embedder: Embedder | None) -> None:
        """Embeds with another model from now on."""
        self.embedder = embedder
        self._revision, self._queue, self.oldest = -1, [], None
        self._catalog.unembeddable = {}

    def pending(self) -> int:
        """How many texts wait for their vector; those that cannot be embedded do not wait."""
        if self.embedder is None:
            return 0
        if self._revision != self._catalog.revision:
            with self._catalog.lock:
                self._revision = self._catalog.revision
                names = [_name(note) for note in self._catalog.unnamed()]
                rows = names + [_passage(row) for row in self._catalog.unembedded()]
                age = {note.path: -note.mtime_ns for note in self._catalog.notes.heads()}
            rows.sort(key=lambda row: age.get(row.path, 0))
            self._queue = rows
            self._since, self._done = time.monotonic(), 0
            before, now = self._pending_since, self._since
            self._pending_since = {row.path: before.get(row.path, now) for row in rows}
            self._look_for_oldest()
        return len(self._queue)

    def embed_window(self, interrupted: Stopped = lambda: False) -> int:
        """Embeds the next window of chunks, newest notes first; returns how many are left.

        Args:
            interrupted: asked before each text, after `_AT_LEAST_S`, so that even a note saved all
                the time lets some be embedded; what was embedded until then is kept.
        """
        if self.embedder is None or not self.pending():
            return 0
        window, self._queue = self._queue[:_WINDOW], self._queue[_WINDOW:]
        done = self._embed(self.embedder, window, interrupted)
        self._done += done
        self._look_for_oldest()
        if done < len(window):
            self._revision = -1  # the rest waits: look again what is missing
        return len(self._queue) + len(window) - done

    def held_back(self) -> AbstractContextManager[None]:
        """While held, no further text is embedded (it waits half a second at most)."""
        embedder = self.embedder
        return embedder.query_turn() if embedder is not None else nullcontext()

    def _look_for_oldest(self) -> None:
        since = self._pending_since
        self.oldest = min((since[row.path] for row in self._queue), default=None)

    def settle(self) -> None:
        """Says (`on_complete`) that nothing waits any more; does nothing while something does."""
        if self.embedder is not None and not self.pending():
            self.on_complete()

    def progress(self) -> Progress:
        """How far embedding is, over the whole index."""
        total = self._catalog.searchable + len(self._catalog.names)
        left = len(self._queue)
        spent = max(time.monotonic() - self._since, 1e-6)
        rate = self._done / spent
        return Progress("vectors", max(0, total - left), total, rate, left / rate if rate else None)

    def _embed(self, embedder: Embedder, rows: Sequence[_Waiting], interrupted: Stopped) -> int:
        """Embeds and stores a window in one commit; returns how many rows are dealt with."""
        texts = self._tables.texts([row.chunk.chunk_id for row in rows if row.chunk is not None])
        written = ((row, self._text(row, texts)) for row in rows)
        ready = [(row, text) for row, text in written if text is not None]
        ready.sort(key=lambda pair: len(pair[1]))  # texts of like length waste no padding
        embedded: list[_Waiting] = []
        vectors: list[Matrix] = []
        done = len(rows) - len(ready)  # gone since the queue was made
        log.debug("embedding %d passages", len(ready))
        began = time.monotonic()
        for row, text in ready:  # one by one, as each may wait for a query
            if time.monotonic() - began > _AT_LEAST_S and interrupted():
                break
            vector = self._vector_of(embedder, row, text)
            if vector is not None:
                embedded.append(row)
                vectors.append(vector)
            done += 1
        log.debug("done embedding")
        if embedded:
            self._tables.vectors.add(
                self._catalog.filling,
                [row.embed_hash for row in embedded],
                np.stack(vectors),
                [row.language for row in embedded],
            )
            self._committed()
        return done

    def _text(self, row: _Waiting, texts: Mapping[str, tuple[str, str]]) -> str | None:
        """What is embedded; None where it is gone since the queue was made."""
        note = self._catalog.notes.get(row.path)
        if note is None:
            return None
        if row.chunk is None:
            return note.title if name_hash(note.title) == row.embed_hash else None
        held = texts.get(row.chunk.chunk_id)
        return embedded_text(note.title, row.chunk.heading_path, held[0]) if held else None

    def _vector_of(self, embedder: Embedder, row: _Waiting, text: str) -> Matrix | None:
        """None for a text that breaks the model: it is left out, alone."""
        try:
            (vector,) = embedder.embed_passages([text])
        except (ModelError, RuntimeError, ValueError) as error:
            log.error("a passage could not be embedded: %s", type(error).__name__)
            with self._catalog.lock:
                self._catalog.unembeddable[row.embed_hash] = type(error).__name__
            return None
        embedded: Matrix = vector
        return embedded


def _passage(row: ChunkRow) -> _Waiting:
    return _Waiting(row.embed_hash, row.language, row.path, row)


def _name(note: NoteHead) -> _Waiting:
    return _Waiting(name_hash(note.title), detect(note.title), note.path, None)
