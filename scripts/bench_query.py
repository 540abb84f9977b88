"""A query against what a user would pick instead, by size of the vault; ratios first.

For each size (`SIDELIGHT_BENCH_CHUNKS`, comma-separated, for others) all systems answer the same
queries over the same passages, terms and vectors, with a pool of 150, one system after the other
for every query, so that a busy machine hurts all alike. No query comes twice: caches of answers
would help only ours. Ours is asked through the bridge of a daemon of its own; its two channels are
also asked in this process, beside their rivals. The rivals want the `bench` extra.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import psutil

from bench import Timing
from bench_index import _daemon, wait_until_idle
from corpus import Corpus, Matrix, corpus
from rivals import Product, SqliteRecipe, Tantivy, overlap
from sidelight.engine import Engine
from sidelight.models.embedder import Embedder
from sidelight.query.index import Index
from sidelight.query.lexical import LexicalQuery
from sidelight.query.recall import recall_bm25, recall_vectors
from sidelight.store.rows import ChunkRow

SIZES = (1_000, 5_000, 20_000, 100_000)
QUERIES = 100
WARMING = 10  # asked before, not counted
SEED = 8
SHOWN = 10

MOST_MS = {20_000: 20.0, 100_000: 25.0}  # issue "Fast where it counts"
MOST_P95_MS = 50.0
MOST_OVERHEAD_MS = 10.0
MOST_GROWTH = 4.0
MOST_MB = 400.0  # of the largest
MOST_OF_RECIPE = 0.5
MOST_OF_ENGINE = 2.0  # tantivy, and the matrix product


def measure() -> Iterator[Timing]:
    chosen = os.environ.get("SIDELIGHT_BENCH_CHUNKS")
    sizes = [int(size) for size in chosen.split(",")] if chosen else SIZES
    corpora = {size: corpus(size) for size in sizes}  # made or brought up to date: nothing is timed
    medians: dict[int, float] = {}
    for size, made in corpora.items():
        measured, starts = _measured(made)
        medians[size] = measured.median("bridge")
        yield from _figures(size, measured)
        yield from starts
    if len(sizes) > 1:
        first, last = min(sizes), max(sizes)
        growth = medians[last] / medians[first]
        yield Timing(f"growth from {first:,} to {last:,}", growth, "x", MOST_GROWTH)


@dataclass(frozen=True)
class Measured:
    """Seconds by system, one for each query, and what each system found."""

    seconds: dict[str, list[float]]
    processor: dict[str, float]  # seconds in this process, of all queries
    found: dict[str, list[list[Any]]]
    answered: float  # share of the queries with a result

    def median(self, system: str) -> float:
        """Milliseconds."""
        return statistics.median(self.seconds[system]) * 1000

    def p95(self, system: str) -> float:
        """Milliseconds."""
        return float(np.percentile(self.seconds[system], 95)) * 1000

    def mean_processor_ms(self, system: str) -> float:
        """Processor time of a query in this process; a busy machine changes it little."""
        return self.processor[system] / len(self.seconds[system]) * 1000

    def overlap(self, ours: str, rival: str) -> float:
        """Mean share of the rival's hits that ours has, 0..1."""
        pairs = zip(self.found[ours], self.found[rival], strict=True)
        return statistics.mean(overlap(a, b) for a, b in pairs)


def _figures(size: int, m: Measured) -> Iterator[Timing]:
    at = f"{size:,}"
    ratios = (
        ("hybrid against the SQLite recipe", "bridge", "recipe", MOST_OF_RECIPE),
        ("full text against tantivy", "words", "tantivy", MOST_OF_ENGINE),
        ("full text against FTS5", "words", "fts5", None),
        ("meaning against the matrix product", "meaning", "product", MOST_OF_ENGINE),
        ("meaning against sqlite-vec", "meaning", "sqlite-vec", None),
    )
    for name, ours, rival, bound in ratios:
        held = bound if size >= min(MOST_MS) else None  # below, fixed costs are all there is
        yield Timing(name, m.median(ours) / m.median(rival), "x", held, at)
    yield Timing(
        "hybrid through the bridge, median", m.median("bridge"), "ms", MOST_MS.get(size), at
    )
    yield Timing("hybrid through the bridge, p95", m.p95("bridge"), "ms", MOST_P95_MS, at)
    rest = m.median("rest")
    yield Timing("of which neither recall nor encoding", rest, "ms", MOST_OVERHEAD_MS, at)
    yield Timing("of which encoding the query", m.median("encoding"), "ms", at=at)
    yield Timing("SQLite recipe with encoding", m.median("recipe"), "ms", at=at)
    for name in ("words", "tantivy", "fts5", "meaning", "product", "sqlite-vec"):
        yield Timing(f"{name} alone", m.median(name), "ms", at=at)
    yield Timing("recall@150 of exact cosines", 100 * m.overlap("meaning", "product"), "%", at=at)
    yield Timing("150 hits shared with tantivy", 100 * m.overlap("words", "tantivy"), "%", at=at)
    yield Timing("150 hits shared with FTS5", 100 * m.overlap("words", "fts5"), "%", at=at)
    yield Timing(
        "10 results shared with the recipe", 100 * m.overlap("bridge", "recipe"), "%", at=at
    )
    yield Timing("queries with a result", 100 * m.answered, "%", at=at)


def _measured(made: Corpus) -> tuple[Measured, list[Timing]]:
    started = time.perf_counter()
    with _daemon(made.vault, made.data) as (client, process):
        at = f"{int(made.data.parent.name):,}"
        client.call("query/search", {"text": "a", "mode": "lexical"})
        starts = [Timing("start, answers by words", time.perf_counter() - started, "s", 2.5)]
        while "being loaded" in str(client.call("query/search", {"text": "a"})["degraded"]):
            time.sleep(0.05)
        starts.append(Timing("start, answers by meaning", time.perf_counter() - started, "s", 4.0))
        wait_until_idle(client)  # it compares the vault with its index
        memory, bare = _resident(process), _bare()
        bound = MOST_MB if made.chunks >= max(MOST_MS) else None
        starts += [
            Timing("resident", memory[0], "MB"),
            Timing("resident over imports, model and tokenizer", memory[0] - bare[0], "MB", bound),
        ]
        if sys.platform == "linux":  # mapped pages count until the system wants them back
            over = memory[1] - bare[1]
            starts.append(Timing("the same without mapped files", over, "MB"))
        with closing(Engine.open(made.vault, data_dir=made.data, read_only=True)) as engine:
            bench = _Bench(made, engine._index())
            before = process.cpu_times()
            measured = bench.run(lambda text: client.call("query/search", {"text": text}))
            after = process.cpu_times()
    spent = after.user - before.user + after.system - before.system
    each = 1000 * spent / (WARMING + QUERIES)
    recipe = measured.mean_processor_ms("recipe")
    starts.append(Timing("processor time of a hybrid query", each, "ms"))
    starts.append(Timing("processor time against the recipe's", each / recipe, "x"))
    return measured, [replace(timing, at=at) for timing in starts]


def _resident(process: psutil.Process) -> tuple[float, float]:
    """Megabytes in memory, and those that are no part of a file."""
    now = process.memory_info()
    return now.rss / 1e6, (now.rss - getattr(now, "shared", 0)) / 1e6


def _bare() -> tuple[float, float]:
    """What a process takes that imported the daemon, loaded the model and encoded one query."""
    program = (
        "import sidelight.daemon;"
        "from sidelight.models.registry import load_embedder;"
        "model = load_embedder();"  # held, as a daemon holds it
        "model._embed_query('a');"
        "print(flush=True); input()"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bare:
        assert bare.stdout is not None
        bare.stdout.readline()
        found = _resident(psutil.Process(bare.pid))
        bare.communicate(b"\n")
    return found


class _Bench:
    """One corpus with all systems over it."""

    def __init__(self, made: Corpus, index: Index) -> None:
        self._index = index
        assert index.embedder is not None
        self._embedder: Embedder = index.embedder
        chunks = [c for c in index.catalog.chunks.values() if c.searchable]
        self._chunks = sorted(chunks, key=lambda c: c.order)
        self._rows = {c.chunk_id: row for row, c in enumerate(self._chunks)}
        stored = index.tables.texts([c.chunk_id for c in self._chunks])
        self._texts = [stored[c.chunk_id][0] for c in self._chunks]
        terms = [_terms_of(c, index) for c in self._chunks]
        vectors = index.catalog.vectors.rows(c.embed_hash for c in self._chunks)
        rivals = made.data.parent / "rivals" / _digest(terms, vectors)
        if not rivals.exists():  # none, or of another version of the index
            shutil.rmtree(rivals.parent, ignore_errors=True)
            rivals.mkdir(parents=True)
        self._recipe = SqliteRecipe(rivals / "recipe.db", terms, self._texts, vectors)
        self._tantivy = Tantivy(rivals / "tantivy", terms)
        self._product = Product(vectors)
        self._queries = queries(self._texts, WARMING + QUERIES)

    def run(self, search: Callable[[str], dict[str, Any]]) -> Measured:
        """Asks every system every query."""
        seconds: dict[str, list[float]] = {}
        found: dict[str, list[list[Any]]] = {}
        processor = {"recipe": 0.0}
        for number, text in enumerate(self._queries):
            for name, spent, hits in self._asked(text, search):
                if number >= WARMING:
                    seconds.setdefault(name, []).append(spent)
                    found.setdefault(name, []).append(hits or [])
            before = time.process_time()
            self._with_recipe(text)
            processor["recipe"] += (time.process_time() - before) * (number >= WARMING)
        return Measured(seconds, processor, found, statistics.mean(map(bool, found["bridge"])))

    def _asked(
        self, text: str, search: Callable[[str], dict[str, Any]]
    ) -> Iterator[tuple[str, float, list[Any] | None]]:
        index, pool = self._index, self._index.settings.pool
        spent, answer = timed(lambda: search(text))
        recall = max(answer["timing_ms"]["recall"].values(), default=0.0) / 1000
        shown = [result["text"] for result in answer["results"] if result["origin"] == "direct"]
        yield "bridge", spent, shown
        yield "rest", spent - recall, None
        terms = index.terms.query_terms(text)
        spent, vector = timed(lambda: self._vector(text))
        yield "encoding", spent, None
        weighted = [(t.term, t.weight) for t in terms]
        encoding = spent
        spent, texts = timed(lambda: self._recipe.hybrid(weighted, vector, pool, SHOWN))
        yield "recipe", spent + encoding, texts
        spent, hits = timed(lambda: self._words(terms))
        yield "words", spent, [self._rows[hit.chunk.chunk_id] for hit in hits]
        yield "tantivy", *timed(lambda: self._tantivy.words(weighted, pool))
        yield "fts5", *timed(lambda: self._recipe.words(weighted, pool))
        spent, hits = timed(lambda: recall_vectors(vector, index.catalog, None, pool))
        yield "meaning", spent, [self._rows[hit.chunk.chunk_id] for hit in hits]
        yield "product", *timed(lambda: self._product.meaning(vector, pool))
        yield "sqlite-vec", *timed(lambda: self._recipe.meaning(vector, pool))

    def _with_recipe(self, text: str) -> list[str]:
        """The whole of what the recipe's user runs for a query."""
        terms = [(t.term, t.weight) for t in self._index.terms.query_terms(text)]
        pool = self._index.settings.pool
        return self._recipe.hybrid(terms, self._vector(text), pool, SHOWN)

    def _vector(self, text: str) -> Matrix:
        return self._embedder.centre_query(self._embedder._embed_query(text), "")

    def _words(self, terms: Any) -> Sequence[Any]:
        index, settings = self._index, self._index.settings
        query = LexicalQuery(terms, index.catalog, settings.bm25_k1, settings.bm25_b)
        return recall_bm25(query, index.catalog, index.tables, None, settings.pool)


def queries(texts: list[str], count: int = QUERIES, seed: int = SEED) -> list[str]:
    """Words that stand beside each other in some passage, as one remembers them: 2 to 6."""
    draw = random.Random(seed)
    found: list[str] = []
    while len(found) < count:
        words = draw.choice(texts).split()
        size = draw.randint(2, 6)
        if len(words) > size + 4:
            start = draw.randrange(2, len(words) - size)
            text = " ".join(words[start : start + size])
            if any(letter.isalpha() for letter in text) and not set(text) & set('":()[]|`/-#*>'):
                found.append(text[:60])
    return found


def _digest(terms: Sequence[str], vectors: Matrix) -> str:
    """What the rivals are filled from, so that they never answer for an earlier index."""
    found = hashlib.blake2b(vectors.tobytes(), digest_size=8)
    for text in terms:
        found.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    started = time.perf_counter()
    done = work()
    return time.perf_counter() - started, done


def _terms_of(chunk: ChunkRow, index: Index) -> str:
    """The terms of a passage with repeats, as one text."""
    term = index.catalog.vocabulary.term
    words = (" ".join([term(c)] * n) for c, n in zip(chunk.codes, chunk.counts, strict=True))
    return " ".join(words)
