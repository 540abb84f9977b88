"""Vaults of a wanted number of chunks, indexed, with vectors as real passages have them.

The Markdown is `generate_vault.py`'s. Embedding a hundred thousand passages takes hours, so the
vectors are real ones, moved: each is the embedding of a passage of the evaluation's indexes
(`scripts/evaluate.py` keeps them), shifted by a share of the difference of two others of its
language. Shift and language keep the distances between neighbours as they are among real
passages (`neighbours` measures both). A corpus is made once and kept in `artifacts/bench`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from generate_vault import write_vault
from sidelight.engine import Engine
from sidelight.models.embedder import Embedder
from sidelight.models.registry import load_embedder
from sidelight.store.catalog import Catalog
from sidelight.store.tables import Tables

ROOT = Path(__file__).resolve().parent.parent
REAL = ROOT / "artifacts" / "evaluation"
CORPORA = ROOT / "artifacts" / "bench"
RECIPE = 1  # raise it when the same number of chunks would give another corpus
CHUNKS_A_NOTE = 3.346  # passages that can be found, of the generated notes
LEAST_SHIFT, MOST_SHIFT = 0.1, 0.6  # share of the difference of two passages; see `neighbours`
BATCH = 5_000  # vectors a commit

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Corpus:
    """A vault on disk and its index."""

    vault: Path
    data: Path
    chunks: int  # passages that can be found
    markdown_mb: float


def corpus(chunks: int) -> Corpus:
    """The corpus of about this many chunks; made if it is not there (100,000: five minutes).

    Raises:
        FileNotFoundError: there are no real vectors to begin with.
    """
    folder = CORPORA / str(chunks)
    made = folder / "made.json"
    if not made.exists() or json.loads(made.read_text("utf-8"))["recipe"] != RECIPE:
        shutil.rmtree(folder, ignore_errors=True)
        size = write_vault(folder / "vault", round(chunks / CHUNKS_A_NOTE))
        with closing(Engine.open(folder / "vault", data_dir=folder / "data")) as engine:
            engine.sync(lexical_only=True)
            count = _give_vectors(engine)
        facts = {"recipe": RECIPE, "chunks": count, "markdown_mb": size / 1e6}
        made.write_text(json.dumps(facts), "utf-8")
    _bring_up_to_date(folder)
    facts = json.loads(made.read_text("utf-8"))
    return Corpus(folder / "vault", folder / "data", facts["chunks"], facts["markdown_mb"])


def _bring_up_to_date(folder: Path) -> None:
    """Reads notes again where a newer version wants it, so that no daemon does so while timed."""
    with closing(Engine.open(folder / "vault", data_dir=folder / "data", lexical_only=True)) as one:
        one.sync(lexical_only=True)
    with closing(Engine.open(folder / "vault", data_dir=folder / "data")) as engine:
        if engine._catalog.waiting():  # passages that are cut otherwise now
            _give_vectors(engine)


def _give_vectors(engine: Engine) -> int:
    """Stores a moved vector for what has none, names too; how many passages there are."""
    catalog, embedder = engine._catalog, engine.embedder
    assert embedder is not None
    languages = {chunk.embed_hash: chunk.language for chunk in catalog.unembedded()}
    languages |= {catalog.names[note.path]: "" for note in catalog.unnamed()}
    moved = Moved(real_vectors(embedder), seed=8 + len(catalog.filling))
    hashes = sorted(languages)
    for start in range(0, len(hashes), BATCH):
        part = hashes[start : start + BATCH]
        spoken = [languages[h] for h in part]
        engine._tables.vectors.add(catalog.filling, part, moved.draw(spoken), spoken)
    engine._tables.compact(catalog)
    return catalog.searchable


def real_vectors(embedder: Embedder) -> dict[str, Matrix]:
    """Embeddings of real passages by language, as the model gives them.

    Raises:
        FileNotFoundError: see `corpus`.
    """
    found: dict[str, list[Matrix]] = {}
    for facts in sorted(REAL.glob("*/facts.json")):
        if json.loads(facts.read_text("utf-8")).get("vectors") != embedder.vectors_id:
            continue
        tables, catalog = Tables(facts.parent, create=False), Catalog()
        tables.load(catalog)
        matrix = tables.vectors.open(embedder.vectors_id, embedder.dimension, lambda m, _: m)
        by_language: dict[str, list[str]] = {}
        for chunk in catalog.chunks.values():
            if chunk.embed_hash in matrix:
                by_language.setdefault(chunk.language, []).append(chunk.embed_hash)
        for language, hashes in by_language.items():
            found.setdefault(language, []).append(matrix.rows(sorted(set(hashes))))
    if not found:
        raise FileNotFoundError(f"no embeddings in {REAL}: run scripts/evaluate.py once")
    return {language: np.concatenate(parts) for language, parts in found.items()}


class Moved:
    """Draws vectors near real ones; the same seed gives the same ones."""

    def __init__(self, real: dict[str, Matrix], seed: int) -> None:
        self._real = real
        self._all = np.concatenate([real[language] for language in sorted(real)])
        self._draw = np.random.default_rng(seed)

    def draw(self, languages: Sequence[str]) -> Matrix:
        """One vector a language code, shape (n, d), unit; unknown languages draw from all."""
        drawn = np.empty((len(languages), self._all.shape[1]), np.float32)
        spoken = np.array(languages)
        for language in sorted(set(languages)):
            where = np.flatnonzero(spoken == language)
            pool = self._real.get(language, self._all)
            pool = pool if len(pool) >= 100 else self._all
            base, one, other = (
                pool[self._draw.integers(len(pool), size=len(where))] for _ in "123"
            )
            shift = self._draw.uniform(LEAST_SHIFT, MOST_SHIFT, (len(where), 1)).astype(np.float32)
            rows = base + shift * (one - other)
            drawn[where] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return drawn


def neighbours(rows: Matrix, at: Sequence[int] = (1, 10, 150), looked_at: int = 500) -> list[float]:
    """Median cosine of a vector to its nearest neighbours number `at`."""
    sample = rows[:: max(1, len(rows) // looked_at)]
    cosines = -np.sort(-(sample @ rows.T), axis=1)
    return [float(np.median(cosines[:, place])) for place in at]


def compare_neighbours(count: int = 5_000) -> tuple[list[float], list[float]]:
    """`neighbours` of as many real vectors and of moved ones, language-centred as for a search."""
    embedder = load_embedder()
    real = real_vectors(embedder)
    languages = [lang for lang in sorted(real) for _ in real[lang]]
    rows = np.concatenate([real[language] for language in sorted(real)])
    chosen = np.random.default_rng(8).permutation(len(rows))[:count]
    spoken = [languages[i] for i in chosen]
    moved = Moved(real, seed=9).draw(spoken)
    return (
        neighbours(embedder.centre_passages(rows[chosen], spoken)),
        neighbours(embedder.centre_passages(moved, spoken)),
    )
