"""Which models answer queries, and which is to follow?

After a change of the embedding model the one before keeps answering from its own vectors until
every passage has been embedded by the new one, also across a restart. Knows no query.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from sidelight.config import Settings
from sidelight.errors import ModelError
from sidelight.indexing.embedding import VectorQueue
from sidelight.models.embedder import Embedder
from sidelight.models.registry import load_embedder, load_reranker
from sidelight.models.reranker import Reranker
from sidelight.store.catalog import Catalog
from sidelight.store.tables import Tables
from sidelight.store.vectors import VectorMatrix

log = logging.getLogger(__name__)

LOADING = "the model is being loaded"


class ModelsInUse:
    """The models of one open vault.

    Args:
        tables: hold the vectors and say which model they are from.
        catalog: gets the vectors that answer.
        queue: embeds what is missing.
        writes: False changes nothing on disk.
        changed: called when another model answers from now on.

    Attributes:
        embedder: what answers; None for words only.
        reranker: if there is one.
        no_vectors: why there is no embedder, for people; "" if there is one.
        following: why passages are embedded anew, for people; "" if they are not.
    """

    def __init__(
        self, tables: Tables, catalog: Catalog, queue: VectorQueue, *, writes: bool,
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self.embedder: Embedder | None = None
        self.reranker: Reranker | None = None
        self.no_vectors = LOADING
        self.following = ""
        self._tables = tables
        self._catalog = catalog
        self._queue = queue
        self._writes = writes
        self._setting = ""  # that named the model which the queue embeds with
        self._changed = changed
        queue.on_complete = self._follow

    def load(self, settings: Settings) -> None:
        """Loads the models and the vectors; without them words still answer. Takes 2 to 4 s."""
        try:
            embedder = load_embedder(settings.embedding_model)
        except ModelError as error:
            self.no_vectors = str(error)
            self.embedder = None
            self._queue.use(None)
            return
        self.use(embedder, settings.embedding_model)
        if settings.reranker_model or settings.rerank:
            try:
                self.reranker = load_reranker(settings.reranker_model, embedder)
            except ModelError as error:
                log.warning("no reranker: %s", error.code)

    def release(self) -> None:
        """Lets go of the models, some 400 MB: the parts of an engine know each other, so they
        would stay until the collector comes by."""
        with self._catalog.lock:
            self.embedder = self.reranker = self._queue.embedder = None
            self._catalog.vectors = VectorMatrix(0)
            self._catalog.next_vectors = None

    def use(self, embedder: Embedder, setting: str) -> None:
        """Takes the vectors of a model in; they answer at once unless another's are fuller."""
        wanted = self._open(embedder)
        before = self._before(embedder) if self._writes else None
        with self._catalog.lock:
            if before is not None and self._catalog.covered(wanted) < self._catalog.searchable:
                self.embedder, self._catalog.vectors = before
                self._catalog.next_vectors = wanted
                self.following = "the embedding model changed"
                log.info(
                    "the embedding model changed; the one before answers until all is embedded"
                )
            else:
                self.embedder = embedder
                self._catalog.vectors, self._catalog.next_vectors = wanted, None
            self._catalog.revision += 1
        self._setting = setting
        self.no_vectors = ""
        self._queue.use(embedder)
        if self._catalog.next_vectors is None:
            self._remember()

    def reopen(self) -> None:
        """Takes the vectors in again, after the tables were made anew."""
        if self._queue.embedder is not None:
            with self._catalog.lock:
                self._catalog.vectors = VectorMatrix(0)
            self.use(self._queue.embedder, self._setting)

    def _open(self, embedder: Embedder) -> VectorMatrix:
        vectors = self._tables.vectors.open(
            embedder.vectors_id, embedder.dimension, embedder.centre_passages, embedder.id
        )
        vectors.prepare()  # now: not while the first query waits
        return vectors

    def _before(self, embedder: Embedder) -> tuple[Embedder, VectorMatrix] | None:
        """The model that answered until now and its vectors, if it is another one and has some."""
        if self.embedder is not None:
            before = self.embedder
        else:
            facts = self._tables.folder.facts()
            if facts.get("vectors", embedder.vectors_id) == embedder.vectors_id:
                return None
            try:
                before = load_embedder(facts.get("model", ""))
            except ModelError as error:
                log.warning("the model before cannot be loaded: %s", error.code)
                return None
            if before.vectors_id != facts["vectors"]:
                return None
        if before.vectors_id == embedder.vectors_id:
            return None
        vectors = self._open(before)
        return (before, vectors) if len(vectors) else None

    def _follow(self) -> None:
        """Everything is embedded: the new model answers from now on."""
        if self._catalog.next_vectors is None:
            return
        with self._catalog.lock:
            self.embedder = self._queue.embedder
            self._catalog.follow()
        self.following = ""
        self._remember()
        self._changed()

    def _remember(self) -> None:
        """Which model the vectors are from; those of others are deleted."""
        embedder = self._queue.embedder
        if not self._writes or embedder is None:
            return
        self._tables.vectors.keep_only(embedder.vectors_id)
        facts = self._tables.folder.facts()
        made_with = {"vectors": embedder.vectors_id, "model": self._setting}
        if {**facts, **made_with} != facts:
            self._tables.folder.write_facts({**facts, **made_with})
