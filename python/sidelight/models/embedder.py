"""How do texts become vectors?

An `Embedder` puts the model's prefix before a text, cuts what is longer than the model's window
into even windows and averages them (nothing is ever truncated), and returns unit vectors. It
does not decide what text is embedded, stores nothing and knows no vault.

The same text always gets the same vector on one machine, whatever is embedded beside it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from sidelight.errors import CancelledError, ModelError
from sidelight.models.manifest import GRAPH, TOKENIZER, read_manifest
from sidelight.models.means import LanguageMeans, means_for
from sidelight.models.session import Array, Session
from sidelight.models.tokenizer import Row

TOKENIZED_TEXTS = 64  # at once, on all cores; more would only hold memory
QUERIES_REMEMBERED = 32  # 1.5 kB each
WINDOW_RULE = 1  # raise it when the same text would give another vector


class Embedder:
    """A loaded embedding model; safe to use from several threads at once.

    Attributes:
        id: changes whenever centred vectors made before cannot be compared with those made now.
        vectors_id: the same of vectors as the model gives them: other means alone keep them.
        name: for people.
        dimension: d below.
        max_tokens: the model's window; longer texts are averaged over windows.
    """

    def __init__(self, session: Session, means: LanguageMeans | None) -> None:
        self._session = session
        self._means = means
        manifest = session.manifest
        self.name = manifest.name
        self.dimension = manifest.dimension
        self.max_tokens = manifest.max_tokens
        self.folder = session.folder
        self._output, self._rank = _sentence_output(session)
        self._tokens_output = next((name for name, rank in session.outputs if rank == 3), None)
        self.id = _identity(session, means)
        self.vectors_id = _identity(session, None)
        self._remembered: dict[str, Array] = {}
        self._remembering = threading.Lock()
        self._probe()

    @classmethod
    def load(cls, folder: Path, threads: int = 0) -> Embedder:
        """Loads a model folder.

        Args:
            folder: with `model.onnx`, `tokenizer.json` and `manifest.json`.
            threads: processor threads; 0 means the physical cores.

        Raises:
            ModelError: missing, damaged, or not an embedding model; with a remedy.
        """
        manifest = read_manifest(folder)
        if manifest.kind != "embedder":
            raise ModelError(
                f"{folder} is a {manifest.kind}, not an embedding model.",
                "Name an embedding model in the setting embedding_model.",
            )
        return cls(Session.load(folder, manifest, threads), means_for(folder, manifest))

    # ------------------------------------------------------------------ vectors

    def embed_passages(
        self, texts: Sequence[str], cancelled: Callable[[], bool] | None = None
    ) -> Array:
        """Vectors of passages, as the model gives them (not language-centred).

        Args:
            texts: any length each, empty ones too.
            cancelled: asked before every run (one text, or one window of a long text).

        Returns:
            Unit vectors in the order of `texts`, shape (n, d), float32.

        Raises:
            ModelError: the model failed.
            CancelledError: `cancelled` said so.
        """
        prefix = self._session.manifest.passage_prefix
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), TOKENIZED_TEXTS):
            for at, rows in enumerate(
                self._windows(texts[start : start + TOKENIZED_TEXTS], prefix)
            ):
                vectors[start + at] = self._passage_vector(rows, cancelled)
        return vectors

    def embed_query(self, text: str) -> Array:
        """Vector of a query, as the model gives it; shape (d,), unit, float32, read-only.

        Runs at once, beside at most one row of bulk work, and holds the next one back. The last
        texts are remembered: paging, other sources and contexts ask the same again.

        Raises:
            ModelError: the model failed.
        """
        vector = self._remembered.get(text)
        if vector is None:
            vector = self._embed_query(text)
            vector.flags.writeable = False
            with self._remembering:
                self._remembered[text] = vector
                if len(self._remembered) > QUERIES_REMEMBERED:
                    del self._remembered[next(iter(self._remembered))]
        return vector

    def query_turn(self) -> AbstractContextManager[None]:
        """While held, no further row of bulk work begins: a query has the processor to itself."""
        return self._session.query_turn()

    def _embed_query(self, text: str) -> Array:
        with self.query_turn():
            (rows,) = self._windows([text], self._session.manifest.query_prefix)
            return _averaged([self._vector(row) for row in rows], rows)

    def token_vectors(self, text: str, *, query: bool) -> Array:
        """Unit vectors of a text's own tokens, shape (tokens, d), for late interaction.

        Prefix and special tokens are left out; a text longer than the window has all its tokens.

        Raises:
            ModelError: the model has no token output, or failed.
        """
        if self._tokens_output is None:
            raise ModelError(
                f"The model {self.name} has no token vectors.",
                "Use a cross-encoder folder as reranker, or the default embedding model.",
            )
        manifest = self._session.manifest
        prefix = manifest.query_prefix if query else manifest.passage_prefix
        head, after = len(self._session.frame.before), len(self._session.frame.after)
        head += len(self._prefix_ids(prefix))
        parts = []
        with self._session.query_turn():
            for row in self._windows([text], prefix)[0]:
                tokens = self._session.run(self._tokens_output, row)
                parts.append(tokens[head : len(row) - after])
        return _unit(np.concatenate(parts).astype(np.float32))

    @property
    def has_token_vectors(self) -> bool:
        """Whether `token_vectors` can answer."""
        return self._tokens_output is not None

    def count_tokens(self, text: str) -> int:
        """Tokens of a passage with its prefix and special tokens."""
        frame = self._session.frame
        (ids,) = self._session.tokenize([self._session.manifest.passage_prefix + text])
        return len(ids) + len(frame.before) + len(frame.after)

    def count_words_tokens(self, text: str) -> int:
        """Tokens of a text alone: no prefix, no special tokens."""
        return len(self._session.tokenize([text])[0])

    def unknown_share(self, text: str) -> float:
        """Share of a text's tokens that the vocabulary does not know, 0..1."""
        (ids,) = self._session.tokenize([text])
        return sum(at == self._session.unknown for at in ids) / max(1, len(ids))

    # ------------------------------------------------------------------ language centring

    @property
    def has_means(self) -> bool:
        """Whether centring changes anything for this model."""
        return self._means is not None

    def centre_passages(self, matrix: Array, languages: Sequence[str]) -> Array:
        """Passage vectors less the mean of their language, unit again; shape (n, d), float32.

        Args:
            matrix: from `embed_passages`.
            languages: one code each, as `language.detect` gives them.
        """
        return matrix if self._means is None else self._means.centre_passages(matrix, languages)

    def centre_query(self, vector: Array, language: str) -> Array:
        """A query vector without anything that tells its language, unit again; shape (d,).

        Args:
            vector: from `embed_query`.
            language: its code; every fitted one gives the same result (see `models/means.py`).
        """
        del language  # part of the interface: another rule may need it
        return vector if self._means is None else self._means.centre_query(vector)

    # ------------------------------------------------------------------ inside

    def _windows(self, texts: Sequence[str], prefix: str) -> list[list[Row]]:
        """Each text's rows, which fit the model."""
        frame = self._session.frame
        head = self._prefix_ids(prefix)
        room = self.max_tokens - len(frame.before) - len(frame.after) - len(head)
        windows = []
        for ids in self._session.tokenize([prefix + text for text in texts]):
            content = ids[len(head) :] if ids[: len(head)] == head else ids
            parts = even_parts(content, room)
            windows.append([[*frame.before, *head, *part, *frame.after] or [0] for part in parts])
        return windows

    def _prefix_ids(self, prefix: str) -> Row:
        return self._session.tokenize([prefix.rstrip()])[0] if prefix else []

    def _passage_vector(self, rows: list[Row], cancelled: Callable[[], bool] | None) -> Array:
        vectors = []
        for row in rows:
            if cancelled is not None and cancelled():
                raise CancelledError("Embedding was cancelled.")
            with self._session.bulk_turn():
                vectors.append(self._vector(row))
        return _averaged(vectors, rows)

    def _vector(self, row: Row) -> Array:
        """Unit vector of one row."""
        raw = self._session.run(self._output, row).astype(np.float32)
        if raw.shape[-1] != self.dimension:
            raise ModelError(
                f"The model {self.name} gives {raw.shape[-1]} numbers a vector, "
                f"not {self.dimension}.",
                "Correct `dimension` or `output` in its manifest.json.",
            )
        if self._rank == 3:
            raw = raw[0] if self._session.manifest.pooling == "cls" else raw.mean(axis=0)
        if not np.isfinite(raw).all():
            raise ModelError(
                f"The model {self.name} gave numbers that are not finite.",
                "Use another model, or make it again.",
            )
        return _unit(raw)

    def _probe(self) -> None:
        """One short run, so that a model that does not fit its manifest is refused at load."""
        self.embed_query("a")


def even_parts(ids: Row, room: int) -> list[Row]:
    """Runs of at most `room` ids, as even as possible: a tail of three tokens means nothing."""
    count = max(1, -(-len(ids) // room))
    edges = [round(len(ids) * at / count) for at in range(count + 1)]
    return [ids[start:end] for start, end in itertools.pairwise(edges)]


def _averaged(vectors: Sequence[Array], rows: Sequence[Row]) -> Array:
    """Mean of window vectors weighted by their tokens, unit."""
    if len(vectors) == 1:
        return vectors[0]
    weights = [len(row) for row in rows]
    return _unit(np.average(vectors, axis=0, weights=weights))


def _unit(rows: Any) -> Array:
    """Rows at length 1; a row of zeros stays."""
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0, norms, 1), dtype=np.float32)


def _sentence_output(session: Session) -> tuple[str, int]:
    """The output that holds or leads to sentence vectors, and its rank."""
    wanted = 2 if session.manifest.pooling == "none" else 3
    for name, rank in session.outputs:
        if name == session.manifest.output or (not session.manifest.output and rank == wanted):
            return name, rank
    raise ModelError(
        f"The model {session.manifest.name} has no output "
        + (f"'{session.manifest.output}'." if session.manifest.output else f"of rank {wanted}."),
        "Set `pooling` to mean or cls if its output is one vector a token, none if it is one a "
        "text, or name the output in its manifest.json.",
    )


def _identity(session: Session, means: LanguageMeans | None) -> str:
    """Name and 12 hex digits over everything that makes a vector what it is."""
    manifest = session.manifest
    parts = [
        WINDOW_RULE,
        session.hashes[GRAPH],
        session.hashes[TOKENIZER],
        manifest.query_prefix,
        manifest.passage_prefix,
        manifest.pooling,
        manifest.output,
        manifest.dimension,
        manifest.max_tokens,
        means.digest if means else "",
    ]
    digest = hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8")).hexdigest()
    return f"{manifest.name}-{digest[:12]}"
