"""The index at work: words of a large vault, a saved note, queries meanwhile, idle, and a restart.

A generated vault of 15,000 notes and 10 MB (`SIDELIGHT_BENCH_NOTES` and `SIDELIGHT_BENCH_MEDIAN`,
characters of a note, for another). Embedding that many takes the better part of an hour, so random
unit vectors stand in where their number matters (start, memory, idle); `embed` measures throughput.
The daemon runs as a process of its own, as people run it. `SIDELIGHT_BENCH_LONG=1` also embeds some
hundred notes for real, and looks at memory and at queries meanwhile: with 20,000 notes these are
the figures of a large vault.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jieba
import numpy as np
import psutil

from bench import Timing
from generate_vault import generate, write_vault
from sidelight.bridge.client import BridgeClient, connect
from sidelight.config import open_vault, places_for
from sidelight.engine import Engine
from sidelight.store.rows import name_hash
from sidelight.types import Mode, SearchRequest

NOTES = int(os.environ.get("SIDELIGHT_BENCH_NOTES") or 15_000)
MEDIAN = int(os.environ.get("SIDELIGHT_BENCH_MEDIAN") or 210)  # of 15,000 notes: 10 MB
LONG = bool(os.environ.get("SIDELIGHT_BENCH_LONG"))
FIRST_NOTES, FIRST_TURNS = 800, 3  # 1.9 MB of Markdown: so little is drafted by one process
LEAST_MB_S = 1.5  # issue "Fast where it counts"
EMBEDDED = 300  # notes that are embedded for real
SAVES = 30
IDLE_S = 60.0
QUERIES = ("拿铁", "closed loop control", "ERR_OOM_KILL_001", "tare miso")


def measure() -> Iterator[Timing]:
    with tempfile.TemporaryDirectory(prefix="sidelight-bench-") as root:
        yield from _first_index(Path(root))
        vault, data = Path(root) / "vault", Path(root) / "data"
        size = write_vault(vault, NOTES, median=MEDIAN)
        yield Timing(f"generated vault, {NOTES:,} notes", size / 1e6, "MB")
        yield from _words(vault, data)
        _stand_in_vectors(vault, data)
        yield from _running(vault, data)


def _first_index(root: Path) -> Iterator[Timing]:
    """Processor time of a first index by words, and beside it what jieba alone takes for it."""
    vault = root / "first"
    size = write_vault(vault, FIRST_NOTES) / 1e6
    texts = [file.read_text("utf-8") for file in vault.rglob("*.md")]
    jieba.setLogLevel(60)
    jieba.initialize()
    ours, alone = [], []
    for turn in range(FIRST_TURNS):
        started = time.process_time()
        with contextlib.closing(
            Engine.open(vault, data_dir=root / f"first-{turn}", lexical_only=True)
        ) as engine:
            engine.terms.prepare()
            engine.sync(lexical_only=True)
        ours.append(time.process_time() - started)
        started = time.process_time()
        for text in texts:
            jieba.lcut_for_search(text)
        alone.append(time.process_time() - started)
    yield Timing("first index by words", min(ours) / size, "s/MB", 1 / LEAST_MB_S)
    yield Timing("jieba alone", min(alone) / size, "s/MB")
    yield Timing("first index by words against jieba alone", min(ours) / min(alone), "x")


def _words(vault: Path, data: Path) -> Iterator[Timing]:
    engine = Engine.open(vault, data_dir=data, lexical_only=True)
    meanwhile: list[float] = []
    looked = started = time.perf_counter()

    def look(_: object) -> None:
        nonlocal looked
        if time.perf_counter() - looked > 0.5:
            meanwhile.append(_query_ms(engine))
            looked = time.perf_counter()

    engine.sync(look, lexical_only=True)
    spent = time.perf_counter() - started - sum(meanwhile) / 1000
    yield Timing("word index ready", spent, "s", 30.0)
    idle = [_query_ms(engine) for _ in range(20)]
    engine.close()
    yield Timing("query of the idle index, median", statistics.median(idle))
    if meanwhile:
        ratio = statistics.median(meanwhile) / statistics.median(idle)
        yield Timing("query between commits of indexing", ratio, "x", 3.0)


def _query_ms(engine: Engine) -> float:
    started = time.perf_counter()
    for text in QUERIES:
        engine.search(SearchRequest(text, mode=Mode.LEXICAL))
    return (time.perf_counter() - started) * 1000 / len(QUERIES)


def _running(vault: Path, data: Path) -> Iterator[Timing]:
    started = time.perf_counter()
    with _daemon(vault, data) as (client, process):
        client.call("query/search", {"text": "control", "mode": "lexical"})
        yield Timing("restart, answers by words", time.perf_counter() - started, "s", 2.5)
        while client.call("query/search", {"text": "control"})["degraded"]:
            time.sleep(0.02)
        yield Timing("restart, answers by meaning", time.perf_counter() - started, "s", 4.0)
        wait_until_idle(client)
        yield Timing("resident, idle", process.memory_info().rss / 1e6, "MB", 800.0)
        before = process.cpu_times()
        time.sleep(IDLE_S)
        after = process.cpu_times()
        spent = after.user - before.user + after.system - before.system
        yield Timing(f"processor over {IDLE_S:.0f} s", 100 * spent / IDLE_S, "%", 0.5)
        times = sorted(_found_s(vault, client, n) for n in range(SAVES))
        yield Timing("saved note found, p95", times[int(0.95 * (SAVES - 1))], "s", 1.0)
        if LONG:
            yield from _embedding(vault, client, process)


def _embedding(vault: Path, client: BridgeClient, process: psutil.Process) -> Iterator[Timing]:
    """Memory and queries while some 1,300 texts are embedded, and memory afterwards."""
    wait_until_idle(client)
    idle = [_asked_ms(client) for _ in range(15)]
    for path, text in generate(EMBEDDED, seed=2):
        file = vault / "new" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    while _phase(client) != "vectors":
        time.sleep(0.02)
    resident, meanwhile = [], []
    while (phase := _phase(client)) in ("vectors", "compact", "cleanup"):  # tables are tidied, too
        resident.append(process.memory_info().rss)
        if phase == "vectors":
            meanwhile.append(_asked_ms(client))
        time.sleep(0.1)
    yield Timing("resident while embedding, at first", resident[0] / 1e6, "MB")
    yield Timing("resident while embedding, half done", resident[len(resident) // 2] / 1e6, "MB")
    yield Timing("resident while embedding, at most", max(resident) / 1e6, "MB", 1200.0)
    ratio = statistics.median(meanwhile) / statistics.median(idle)
    yield Timing("query while embedding over idle, median", ratio, "x", 3.0)
    wait_until_idle(client)
    yield Timing("resident, idle again", process.memory_info().rss / 1e6, "MB", 800.0)


def _phase(client: BridgeClient) -> str:
    return str(client.call("index/status", {})["progress"]["phase"])


def _asked_ms(client: BridgeClient) -> float:
    started = time.perf_counter()
    for text in QUERIES:
        client.call("query/search", {"text": text})
    return (time.perf_counter() - started) * 1000 / len(QUERIES)


def wait_until_idle(client: BridgeClient) -> None:
    while (now := client.call("index/status", {}))["index"]["pending"] or (
        now["progress"]["phase"] != "idle"
    ):
        time.sleep(0.2)


def _stand_in_vectors(vault: Path, data: Path) -> None:
    """Random vectors in place of embedded ones, as many as the model would make."""
    engine = Engine.open(vault, data_dir=data)
    catalog, dice = engine._catalog, np.random.default_rng(1)
    rows = [(chunk.embed_hash, chunk.language) for chunk in catalog.unembedded()]
    rows += [(name_hash(note.title), "en") for note in catalog.unnamed()]
    for start in range(0, len(rows), 4_096):
        part = rows[start : start + 4_096]
        raw = dice.standard_normal((len(part), catalog.filling.dimension)).astype(np.float32)
        raw /= np.linalg.norm(raw, axis=1, keepdims=True)
        hashes, languages = zip(*part, strict=True)
        engine._tables.vectors.add(catalog.filling, hashes, raw, languages)
    engine.close()


def _found_s(vault: Path, client: BridgeClient, n: int) -> float:
    word = f"zugzwang{n}x"
    started = time.perf_counter()
    path = f"saved {n}.md"
    (vault / path).write_text(f"守拙 {word}\n", "utf-8")
    while not is_found(client, word, path):
        if time.perf_counter() - started > 30:
            break
        time.sleep(0.02)
    return time.perf_counter() - started


def is_found(client: BridgeClient, word: str, path: str) -> bool:
    """Whether that very note answers: a word that is not there yet is taken for a slip of
    another, and finds the note of that one."""
    found = client.call("query/search", {"text": word, "mode": "lexical"})["results"]
    return any(result["path"] == path for result in found)


@contextlib.contextmanager
def _daemon(vault: Path, data: Path) -> Iterator[tuple[BridgeClient, psutil.Process]]:
    command = [sys.executable, "-m", "sidelight", "serve", str(vault), "--json"]
    process = subprocess.Popen(
        [*command, "--data-dir", str(data)], stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        assert process.stdout is not None
        ready: dict[str, Any] = json.loads(process.stdout.readline())
        client = connect(places_for(open_vault(vault), data))
        assert client is not None
        yield client, psutil.Process(ready["pid"])
    finally:
        process.terminate()
        process.wait(timeout=60)
        places_for(open_vault(vault), data).log.unlink(missing_ok=True)
