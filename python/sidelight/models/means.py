"""What is language-centring, and which mean belongs to a text?

A multilingual model puts texts of one language close together whatever they say. Subtracting the
mean vector of the text's language and bringing the rest back to length 1 takes that away, so that
a Chinese question reaches the English note that answers it.

A query loses more: its mean, and then everything along the directions in which the means of the
languages differ (one fewer than there are languages). What a passage still has of its language
then meets nothing in the query. That matters for mixed text: 12 Chinese characters before 700
English ones move a vector half way to the Chinese mean, so no single mean fits it. It also frees
the query from the detector, as the result is the same whichever language's mean is subtracted
first. nDCG@10 of the vector channel, mean alone and with the directions: tasks .709 and .721,
fastapi .696 and .812, xquad .988 and .988, squad2 .991 and .991, a sixth of oldwinter .838 and
.856. Taking the directions out of the passages too, or instead, is no better (.705 .809 .988 .991
.848).

The means are constants of a model,
fitted once by `scripts/fit_language_means.py` on parallel text (the same content in every
language, so only the language differs) and shipped as a small file; never from the vault or its
questions, which would take the topic with them.

A language without a mean of its own, mixed text and text of no language get the mean of all
means. Tried with each fitted language left out in turn (hit@1 across languages, mean of 12): no
centring .18, mean of all .44, mean of the Latin-script languages .43, of the two nearest .42, of
the nearest one .37, its own mean .74.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sidelight.errors import ModelError
from sidelight.models.manifest import Manifest
from sidelight.models.session import Array

RULE = 2  # raise it when the same means would centre a vector otherwise
FILE = "language-means.npz"
DATA = Path(__file__).with_name("data")
_NOTHING = 1e-4  # a length below this is rounding


class LanguageMeans:
    """Mean passage and query vectors by language, of one model.

    Attributes:
        languages: codes with means of their own.
        digest: hash of all numbers and the rule; part of the model's identity.
    """

    def __init__(self, languages: Sequence[str], passages: Array, queries: Array) -> None:
        self.languages = tuple(languages)
        self._rows = {code: at for at, code in enumerate(self.languages)}
        self._passages = passages.astype(np.float32)
        self._queries = queries.astype(np.float32)
        self._query_centre = self._queries.mean(axis=0)
        self._query_directions = _directions(self._queries)
        content = [b"%d" % RULE, ",".join(self.languages).encode()]
        content += [self._passages.tobytes(), self._queries.tobytes()]
        self.digest = hashlib.sha256(b"|".join(content)).hexdigest()[:12]

    def passage_mean(self, language: str) -> Array:
        """Mean passage vector for a language code, shape (d,)."""
        return self._mean(self._passages, language)

    def centre_passages(self, matrix: Array, languages: Sequence[str]) -> Array:
        """See `Embedder.centre_passages`."""
        if len(matrix) == 0:
            return matrix
        distinct = sorted(set(languages))
        table = np.stack([self.passage_mean(code) for code in distinct])
        rows = np.searchsorted(distinct, list(languages))
        return _centred(matrix, table[rows])

    def centre_query(self, vector: Array) -> Array:
        """See `Embedder.centre_query`."""
        moved = vector - self._query_centre
        free = moved - self._query_directions.T @ (self._query_directions @ moved)
        norm = np.linalg.norm(free)
        return np.asarray(free / norm if norm > _NOTHING else vector, np.float32)

    def _mean(self, table: Array, language: str) -> Array:
        if language in self._rows:
            return np.asarray(table[self._rows[language]])
        return np.asarray(table.mean(axis=0))


def means_for(folder: Path, manifest: Manifest) -> LanguageMeans | None:
    """The means of a model: its folder's own file, else those shipped for its name, else none.

    Raises:
        ModelError: the file is damaged or was fitted for vectors of another width.
    """
    shipped = DATA / f"{manifest.name}.{FILE}"
    path = next((p for p in (folder / FILE, shipped) if p.is_file()), None)
    if path is None:
        return None
    try:
        with np.load(path, allow_pickle=False) as stored:
            means = LanguageMeans(
                [str(code) for code in stored["languages"]], stored["passages"], stored["queries"]
            )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"The language means {path} cannot be read ({error}).",
            "Install Sidelight again, or delete the file if it is your own.",
        ) from error
    if means.passage_mean("en").shape != (manifest.dimension,):
        raise ModelError(
            f"The language means {path} are for vectors of another width.",
            "Fit them for this model with scripts/fit_language_means.py, or delete the file.",
        )
    return means


def save_means(path: Path, languages: Sequence[str], passages: Array, queries: Array) -> None:
    """Writes means in the form `means_for` reads; about 40 KB for 12 languages."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        np.savez(
            file,
            languages=np.array(list(languages)),
            passages=passages.astype(np.float32),
            queries=queries.astype(np.float32),
        )


def _centred(rows: Array, means: Array) -> Array:
    moved = rows - means
    norms = np.linalg.norm(moved, axis=1, keepdims=True)
    # a text that is nothing but its language keeps its own direction
    kept = norms > _NOTHING
    return np.asarray(np.where(kept, moved / np.maximum(norms, _NOTHING), rows), np.float32)


def _directions(means: Array) -> Array:
    """Orthonormal rows spanning the differences of the means, shape (languages - 1, d) at most."""
    _, sizes, rows = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    return np.asarray(rows[sizes > _NOTHING], np.float32)
