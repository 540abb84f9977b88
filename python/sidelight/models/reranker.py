"""How is a short list of passages judged again, by reading query and passage together?

Two ways, one shape: a cross-encoder (an ONNX folder of the user's), or late interaction, the mean
over the query's tokens of the best cosine to a passage token (ColBERT's MaxSim, Khattab and
Zaharia 2020), over the token vectors of the embedding model. What is done with the scores is not
decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sidelight.errors import CancelledError, ModelError
from sidelight.models.embedder import Embedder, even_parts
from sidelight.models.manifest import read_manifest
from sidelight.models.session import Array, Session

MAX_QUERY_SHARE = 0.5  # of the window; the passage keeps the rest


class Reranker(Protocol):
    """Scores passages for a query."""

    name: str

    def score(
        self,
        query: str,
        passages: Sequence[str],
        cancelled: Callable[[], bool] | None = None,
    ) -> Array:
        """One score in 0..1 for each passage, higher is better, shape (n,), float32.

        Args:
            query: a cross-encoder reads its first part, up to half of the model's window.
            passages: any length each; nothing is cut off.
            cancelled: asked before every passage.

        Raises:
            ModelError: the model failed.
            CancelledError: `cancelled` said so.
        """
        ...


class CrossEncoder:
    """A model that reads query and passage as one text, for example bge-reranker."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.name = session.manifest.name
        self._output = _score_output(session)
        self.score("a", ["a"])  # refuses a model that does not fit its manifest

    @classmethod
    def load(cls, folder: Path, threads: int = 0) -> CrossEncoder:
        """Loads a folder whose manifest says `"kind": "reranker"`.

        Raises:
            ModelError: missing, damaged or not a reranker; with a remedy.
        """
        manifest = read_manifest(folder)
        if manifest.kind != "reranker":
            raise ModelError(
                f"{folder} is not a reranker.",
                'Its manifest.json must say "kind": "reranker".',
            )
        return cls(Session.load(folder, manifest, threads))

    def score(
        self,
        query: str,
        passages: Sequence[str],
        cancelled: Callable[[], bool] | None = None,
    ) -> Array:
        """See `Reranker.score`; a passage longer than the window counts by its best part."""
        manifest = self._session.manifest
        window = manifest.max_tokens - len(self._session.pair_rows([], [])[0])
        asked, *texts = self._session.tokenize(
            [manifest.query_prefix + query, *(manifest.passage_prefix + p for p in passages)]
        )
        head = asked[: int(window * MAX_QUERY_SHARE)]
        scores = np.zeros(len(passages), np.float32)
        for at, ids in enumerate(texts):
            for part in even_parts(ids, window - len(head)):
                if cancelled is not None and cancelled():
                    raise CancelledError("Reranking was cancelled.")
                row, types = self._session.pair_rows(head, part)
                value = self._activated(self._session.run(self._output, row, types))
                scores[at] = max(scores[at], value)
        return scores

    def _activated(self, raw: npt.NDArray[Any]) -> float:
        values = raw.astype(np.float64).reshape(-1)
        if not np.isfinite(values).all():
            raise ModelError(
                f"The reranker {self.name} gave numbers that are not finite.",
                "Use another reranker, or none.",
            )
        if self._session.manifest.activation == "none":
            return float(np.clip(values[-1], 0, 1))
        # two numbers are (irrelevant, relevant): their difference is the logit
        logit = values[0] if len(values) == 1 else values[1] - values[0]
        return float(0.5 * (1 + np.tanh(logit / 2)))  # the sigmoid, without its overflow


class LateInteraction:
    """MaxSim over an embedder's token vectors; costs one encoding a passage (about 20 ms)."""

    def __init__(self, embedder: Embedder) -> None:
        if not embedder.has_token_vectors:
            raise ModelError(
                f"The model {embedder.name} has no token vectors.",
                "Name a cross-encoder folder in the setting reranker_model.",
            )
        self._embedder = embedder
        self.name = f"late interaction over {embedder.name}"

    def score(
        self,
        query: str,
        passages: Sequence[str],
        cancelled: Callable[[], bool] | None = None,
    ) -> Array:
        """See `Reranker.score`; cosines below 0 count as 0."""
        asked = self._embedder.token_vectors(query, query=True)
        scores = np.zeros(len(passages), np.float32)
        for at, passage in enumerate(passages):
            if cancelled is not None and cancelled():
                raise CancelledError("Reranking was cancelled.")
            tokens = self._embedder.token_vectors(passage, query=False)
            if len(asked) and len(tokens):
                scores[at] = (asked @ tokens.T).max(axis=1).mean()
        return np.clip(scores, 0, 1)


def _score_output(session: Session) -> str:
    names = [name for name, rank in session.outputs if rank <= 2]
    if session.manifest.output:
        names = [name for name, _ in session.outputs if name == session.manifest.output]
    if not names:
        raise ModelError(
            f"The reranker {session.manifest.name} has no output of one score a pair.",
            "Name the right output in its manifest.json.",
        )
    return names[0]
