"""What a user would pick instead of Sidelight, with its documented best settings.

Each is given the same passages, terms and vectors and asked for the same number of hits. Nothing
here is part of the package: the rivals are its `bench` extra.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RRF_K = 60  # of the paper and of every recipe that is passed around

Terms = Sequence[tuple[str, float]]  # a query's terms with their weights
Vector = NDArray[np.float32]


class SqliteRecipe:
    """FTS5 and sqlite-vec in one file, their ranks fused in Python: the popular recipe.

    FTS5 ranks by its own BM25, has no content table of its own and is optimised once filled;
    sqlite-vec searches exactly, by cosine. The page cache holds the whole file.
    """

    def __init__(self, file: Path, terms: Sequence[str], texts: Sequence[str], vectors: Vector):
        import apsw
        import sqlite_vec

        def connect(to: Path) -> Any:
            db = apsw.Connection(str(to))  # Python's own sqlite3 often cannot load extensions
            db.enable_load_extension(True)
            db.load_extension(sqlite_vec.loadable_path())
            db.execute("PRAGMA cache_size = -1000000")
            db.execute("PRAGMA mmap_size = 2000000000")
            return db

        if not file.exists():
            part = file.with_suffix(".part")
            part.unlink(missing_ok=True)
            self._db = connect(part)
            self._fill(terms, texts, vectors)
            self._db.close()
            part.replace(file)  # a filling that was interrupted counts for nothing
        self._db = connect(file)

    def _fill(self, terms: Sequence[str], texts: Sequence[str], vectors: Vector) -> None:
        run = self._db.execute
        # Terms are cut already: only a space ends one.
        run(
            "CREATE VIRTUAL TABLE words USING fts5(terms, content='',"
            " tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* P* S* M* Co Cn Cf'\")"
        )
        run("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)")
        size = vectors.shape[1]
        run(f"CREATE VIRTUAL TABLE vectors USING vec0(v float[{size}] distance_metric=cosine)")
        many = self._db.executemany
        run("BEGIN")
        many("INSERT INTO words(rowid, terms) VALUES (?, ?)", enumerate(terms))
        many("INSERT INTO texts VALUES (?, ?)", enumerate(texts))
        many(
            "INSERT INTO vectors(rowid, v) VALUES (?, ?)",
            ((i, row.tobytes()) for i, row in enumerate(vectors)),
        )
        run("COMMIT")
        run("INSERT INTO words(words) VALUES ('optimize')")

    def words(self, terms: Terms, count: int) -> list[int]:
        """Passages by words, best first."""
        wanted = " OR ".join('"' + term.replace('"', '""') + '"' for term, _ in terms)
        query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        return [row for (row,) in self._db.execute(query, (wanted, count))] if wanted else []

    def meaning(self, vector: Vector, count: int) -> list[int]:
        """Passages by meaning, nearest first."""
        query = "SELECT rowid FROM vectors WHERE v MATCH ? AND k = ? ORDER BY distance"
        return [row for (row,) in self._db.execute(query, (vector.tobytes(), count))]

    def hybrid(self, terms: Terms, vector: Vector, count: int, shown: int) -> list[str]:
        """The best `shown` passages' texts after plain reciprocal rank fusion."""
        scores: dict[int, float] = {}
        for ranked in (self.words(terms, count), self.meaning(vector, count)):
            for rank, row in enumerate(ranked, 1):
                scores[row] = scores.get(row, 0.0) + 1 / (RRF_K + rank)
        best = sorted(scores, key=lambda row: -scores[row])[:shown]
        marks = ",".join("?" * len(best))
        found = dict(self._db.execute(f"SELECT id, text FROM texts WHERE id IN ({marks})", best))
        return [found[row] for row in best]


class Tantivy:
    """Full text by tantivy-py, in one segment, over the same terms; boosted as ours are."""

    def __init__(self, folder: Path, terms: Sequence[str]) -> None:
        import tantivy

        self._tantivy: Any = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("row", stored=True, fast=True)
        builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
        self._schema = builder.build()
        if not folder.exists():
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            self._fill(part, terms)
            part.rename(folder)  # a filling that was interrupted counts for nothing
        self._searcher = tantivy.Index(self._schema, path=str(folder), reuse=True).searcher()

    def _fill(self, folder: Path, terms: Sequence[str]) -> None:
        folder.mkdir(parents=True)
        index = self._tantivy.Index(self._schema, path=str(folder), reuse=True)
        writer = index.writer(200_000_000, num_threads=1)
        for row, words in enumerate(terms):
            writer.add_document(self._tantivy.Document(row=row, terms=words))
        writer.commit()
        writer.wait_merging_threads()

    def words(self, terms: Terms, count: int) -> list[int]:
        """Passages by words, best first."""
        tv = self._tantivy
        parts = [
            (
                tv.Occur.Should,
                tv.Query.boost_query(tv.Query.term_query(self._schema, "terms", term), weight),
            )
            for term, weight in terms
        ]
        if not parts:
            return []
        found = self._searcher.search(tv.Query.boolean_query(parts), count, count=False)
        column = self._searcher.fast_field_values("row", [hit for _, hit in found.hits])
        return [int(row) for row in column if row is not None]


class Product:
    """Exact cosines by one float32 matrix product."""

    def __init__(self, vectors: Vector) -> None:
        self._rows = vectors

    def meaning(self, vector: Vector, count: int) -> list[int]:
        """Passages by meaning, nearest first."""
        scores = self._rows @ vector
        top = np.argpartition(-scores, min(count, len(scores)) - 1)[:count]
        return list(map(int, top[np.argsort(-scores[top])]))


def overlap(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Share of `other` that `one` holds too, 0..1; 1 where there is nothing to hold."""
    return len(set(one) & set(other)) / len(set(other)) if other else 1.0


def median_overlap(found: Mapping[str, Sequence[Sequence[Any]]], ours: str, rival: str) -> float:
    """Median over the queries of `overlap`."""
    shares = [overlap(a, b) for a, b in zip(found[ours], found[rival], strict=True)]
    return float(np.median(shares))
