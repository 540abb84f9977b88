#!/usr/bin/env python3
"""What does each part of a query cost in a vault of a million passages? The figures of docs/scale.md.

python scripts/simulate_scale.py [--passages 100000 300000 1000000]

Measures on made-up data what grows with the vault: the search among all vectors, the recall
of words from postings, and their memory. With the corpora of `scripts/bench.py query` also
the memory and the time of opening a whole index.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from environment import use_environment

use_environment()

import numpy as np
from numpy.typing import NDArray

from corpus import CORPORA
from sidelight.store import postings
from sidelight.store.postings import Postings
from sidelight.store.rows import ChunkRow
from sidelight.store.vectors import VectorMatrix
from sidelight.types import PassageKind

DIMENSION = 384
TERMS = 200  # distinct ones of a passage of the generated vaults
VOCABULARY = 400_000
ZIPF = 1.1
ROUNDS = 7
_OPEN = """
import gc, json, sys, time
from pathlib import Path
import psutil
from sidelight.indexing.facts import current_facts
from sidelight.language.terms import Terms
from sidelight.store.catalog import Catalog
from sidelight.store.tables import Tables
process = psutil.Process()
tables, catalog = Tables(Path(sys.argv[1]), create=False), Catalog()
made_with = json.dumps(current_facts(Terms())) if sys.argv[2:] else ""
before, started = process.memory_info().rss, time.process_time()
tables.load(catalog, made_with)
spent = time.process_time() - started
gc.collect()
grown = process.memory_info().rss - before
is_kept = catalog.notes.kept is not None
print(json.dumps([catalog.searchable, spent, grown / 1e6, is_kept]))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passages", type=int, nargs="*", default=[100_000, 300_000, 1_000_000])
    for passages in parser.parse_args().passages:
        _vectors(passages)
        _words(passages)
    for made in sorted(CORPORA.glob("*/made.json"), key=lambda path: int(path.parent.name)):
        _index(made.parent / "data")
    return 0


def _vectors(passages: int) -> None:
    rows = np.random.default_rng(8).standard_normal((passages, DIMENSION), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    query = rows[0].copy()
    product = _quickest(lambda: rows @ query)
    matrix = VectorMatrix(DIMENSION)
    matrix.add([f"{number:08}" for number in range(passages)], rows, ["en"] * passages)
    matrix.prepare()
    nearest = _quickest(lambda: matrix.nearest(query, 150, None))
    megabytes = (rows.nbytes + rows.size) / 1e6
    print(f"{passages:9,} passages: vectors {megabytes:6.0f} MB, a fifth of it in bytes", end="")
    print(f"  product {product:6.1f} ms  the nearest {nearest:6.1f} ms", flush=True)


def _words(passages: int) -> None:
    draw = np.random.default_rng(8)
    found = Postings()
    postings.MOST_POSTINGS = passages * TERMS  # measured also where the tables would be asked
    for number in range(passages):
        drawn = np.unique(draw.zipf(ZIPF, TERMS) % VOCABULARY).astype(np.int32)
        found.add(_chunk(number, drawn))
        if number % 50_000 == 49_999:
            found.settle()
    found.settle()
    common = [((code,), 1.0) for code in (1, 2, 5, 20, 100, 1_000, 10_000, 100_000)]
    rare = common[4:]
    for name, terms in (("8 words, 3 of them everywhere", common), ("4 rarer words", rare)):
        spent = _quickest(lambda: found.best(terms, 150, 1.2, 0.75, TERMS, None))  # noqa: B023
        print(f"{passages:9,} passages: {name:30} {spent:6.1f} ms", flush=True)
    print(f"{passages:9,} passages: postings {5 * found.size / 1e6:6.0f} MB", flush=True)


def _chunk(number: int, codes: NDArray[np.int32]) -> ChunkRow:
    return ChunkRow(
        f"{number}", f"{number // 3}.md", PassageKind.LINES, (), 0, number % 3, 1, 2, None, None,
        True, "en", "", "", TERMS, codes, np.ones(len(codes), np.uint16),
    )  # fmt: skip


def _index(data: Path) -> None:
    size = sum(file.stat().st_size for file in data.rglob("*") if file.is_file()) / 1e6
    for how in ([], ["kept"]):
        done = subprocess.run(
            [sys.executable, "-c", _OPEN, str(data), *how],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        passages, seconds, megabytes, is_kept = json.loads(done.stdout)
        if how and not is_kept:
            print("          nothing is kept of it: `sidelight index` keeps it", flush=True)
            return
        print(
            f"{passages:9,} passages, a whole index: {size:6.0f} MB on disk, opened from"
            f" {'what is kept' if is_kept else 'its tables'} in {seconds:5.1f} s"
            f" of the processor, {megabytes:6.0f} MB without vectors", flush=True,
        )  # fmt: skip


def _quickest(work: Callable[[], object]) -> float:
    """Milliseconds of the quickest of several runs."""
    spent = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return min(spent) * 1000


if __name__ == "__main__":
    raise SystemExit(main())
