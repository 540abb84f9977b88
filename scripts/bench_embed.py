"""Embedding: passages a second against the bare ONNX session, query time, memory, idle processor.

The rival is what a script would do by hand: ONNX Runtime with its defaults (arena, spinning
threads) on rows that are tokenised already and sorted by length, in the fastest of several batch
sizes. Rounds alternate and each side's best counts, so that a busy machine hurts both alike.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import Timing
from sidelight.models.embedder import Embedder
from sidelight.models.registry import load_embedder

SAMPLE = Path(__file__).resolve().parent.parent / "python" / "sidelight" / "sample" / "vault"
PASSAGES = 16
TOKENS = 238  # of a passage, as in the design's measurements
ROUNDS = 3
BATCHES = (1, 8, 16)
IDLE_SECONDS = 5.0
QUERIES = (
    "how do I undo a commit",
    "昨天在哪里喝的拿铁",
    "ERR_OOM_KILL_001",
    "closed loop control",
)

_LOADING = """
import json, os, psutil, time
import onnxruntime, tokenizers
from sidelight.models.registry import load_embedder
process = psutil.Process()
before, start = process.memory_info().rss, time.perf_counter()
embedder = load_embedder()
loaded, seconds = process.memory_info().rss, time.perf_counter() - start
embedder.embed_passages(["x " * 600] * 16)
after = process.memory_info().rss
cpu = process.cpu_times()
time.sleep(%f)
later = process.cpu_times()
idle = later.user - cpu.user + later.system - cpu.system
print(json.dumps([seconds, (loaded - before) / 1e6, (after - loaded) / 1e6, 100 * idle / %f]))
"""


def measure() -> Iterator[Timing]:
    embedder = load_embedder()
    texts = passages(embedder)
    ours, bare = _compared(embedder, texts)
    yield Timing("passages of 238 tokens a second", len(texts) / ours, "/s")
    yield Timing(
        "time against the bare session, fastest batch size", ours / min(bare.values()), "x", 1 / 0.9
    )
    for size, seconds in bare.items():
        yield Timing(f"bare session, batches of {size}", len(texts) / seconds, "/s")
    yield Timing("query, median", _query_ms(embedder))
    yield Timing("query beside bulk work, median", _query_beside_bulk_ms(embedder, texts))
    script = _LOADING % (IDLE_SECONDS, IDLE_SECONDS)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    seconds, loaded, grown, idle = json.loads(done.stdout)
    yield Timing("load, checksums and first run", seconds, "s")
    yield Timing("resident: model and tokenizer over imports", loaded, "MB")
    yield Timing("resident: more after 16 long passages", grown, "MB")
    yield Timing("processor while idle", idle, "%", 1.0)


def passages(embedder: Embedder) -> list[str]:
    """Passages of about `TOKENS` tokens from the sample vault, Chinese and English mixed."""
    notes = sorted(SAMPLE.rglob("*.md"))
    letters = "\n".join(note.read_text("utf-8") for note in notes)
    found: list[str] = []
    at = 0
    while len(found) < PASSAGES:
        size = 400
        while embedder.count_tokens(letters[at : at + size]) > TOKENS:
            size -= 10
        while embedder.count_tokens(letters[at : at + size]) < TOKENS and size < 3_000:
            size += 10
        found.append(letters[at : at + size])
        at = (at + size) % (len(letters) - 3_000)
    return found


def _compared(embedder: Embedder, texts: list[str]) -> tuple[float, dict[int, float]]:
    runtime = _bare_runtime(embedder)
    prefix = embedder._session.manifest.passage_prefix
    rows = sorted((row for text in embedder._windows(texts, prefix) for row in text), key=len)
    ours = float("inf")
    bare = dict.fromkeys(BATCHES, float("inf"))
    embedder.embed_passages(texts[:2])
    for _ in range(ROUNDS):
        ours = min(ours, _seconds(lambda: embedder.embed_passages(texts)))
        for size in BATCHES:
            bare[size] = min(bare[size], _seconds(lambda: _run_bare(runtime, rows, size)))  # noqa: B023
    return ours, bare


def _bare_runtime(embedder: Embedder) -> Any:
    import onnxruntime

    graph = embedder.folder / "model.onnx"
    return onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])


def _run_bare(runtime: Any, rows: list[list[int]], size: int) -> None:
    for start in range(0, len(rows), size):
        batch = rows[start : start + size]
        longest = max(map(len, batch))
        ids = np.array([row + [1] * (longest - len(row)) for row in batch], np.int64)
        mask = (np.arange(longest) < np.array([[len(row)] for row in batch])).astype(np.int64)
        runtime.run(["sentence_embedding"], {"input_ids": ids, "attention_mask": mask})


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _query_ms(embedder: Embedder, rounds: int = 10) -> float:
    times = [_seconds(lambda: embedder._embed_query(q)) for _ in range(rounds) for q in QUERIES]  # noqa: B023
    return statistics.median(times) * 1000


def _query_beside_bulk_ms(embedder: Embedder, texts: list[str]) -> float:
    stop = threading.Event()

    def bulk() -> None:
        while not stop.is_set():
            embedder.embed_passages(texts[:4])

    worker = threading.Thread(target=bulk)
    worker.start()
    try:
        times = []
        for _ in range(5):
            for query in QUERIES:
                time.sleep(0.02)  # let bulk work start a row
                times.append(_seconds(lambda: embedder._embed_query(query)))  # noqa: B023
        return statistics.median(times) * 1000
    finally:
        stop.set()
        worker.join()
