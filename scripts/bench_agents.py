"""What agents wait for: a packed context on top of a search, and the tools' first answer.

Search and pack are asked in turns, so that a noisy machine spoils neither; the middle of the
differences counts. The tools are started as a client starts them, beside a running daemon.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench import Timing

ROUNDS = 9
STARTS = 3
MOST_ADDED_MS = 30.0  # issue "From hits to context"
MOST_START_MS = 1_500.0
QUERIES = ("gateway restarts", "稳态误差 增益", "coffee receipt", "cache timeout", "桂花 乌龙")


def measure() -> Iterator[Timing]:
    with tempfile.TemporaryDirectory(prefix="sidelight-bench-") as folder:
        root = Path(folder)
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
            (root / name).mkdir(mode=0o700)
            os.environ[name] = str(root / name)
        yield _pack(root)
        yield _first_answer()


def _pack(root: Path) -> Timing:
    from sidelight.engine import Engine
    from sidelight.sample import sample_vault
    from sidelight.types import PackRequest, SearchRequest

    engine = Engine.open(sample_vault(), data_dir=root / "data", lexical_only=True)
    engine.sync(lexical_only=True)
    added = []
    for turn in range(ROUNDS + 1):
        for text in QUERIES:
            started = time.perf_counter()
            engine.search(SearchRequest(text))
            between = time.perf_counter()
            engine.pack(PackRequest(text, tokenizer="estimate"))
            spent = time.perf_counter() - between - (between - started)
            if turn:  # the first fills caches
                added.append(spent * 1_000)
    engine.close()
    return Timing("a packed context adds", statistics.median(added), bound=MOST_ADDED_MS)


def _first_answer() -> Timing:
    from sidelight.sample import sample_vault

    sidelight = [sys.executable, "-m", "sidelight"]
    vault = str(sample_vault())
    subprocess.run([*sidelight, "index", vault, "--lexical-only"], check=True, capture_output=True)
    daemon = subprocess.Popen([*sidelight, "serve", vault, "--json"], stdout=subprocess.PIPE)
    try:
        assert daemon.stdout is not None
        assert json.loads(daemon.stdout.readline())["event"] == "ready"
        time.sleep(5)  # the model is loaded meanwhile
        spent = min(asyncio.run(_ask(vault)) for _ in range(STARTS))
    finally:
        daemon.terminate()
        daemon.wait(30)
    return Timing("tools: start to first answer, quickest of 3", spent, bound=MOST_START_MS)


async def _ask(vault: str) -> float:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "sidelight", "mcp", vault], env=dict(os.environ)
    )
    started = time.perf_counter()
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        found = await session.call_tool("search", {"query": "gateway restarts"})
        assert not found.is_error
        return (time.perf_counter() - started) * 1_000
