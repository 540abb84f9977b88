"""What other knowledge bases cost: the vault's own answer with five idle ones and with a hung one.

Alone and with sources are asked in turns, so that a noisy machine spoils neither; the middle
of the differences counts. "First" is the answer that the sidebar shows; "all" waits for every
source, as the command line does.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import Timing

ROUNDS = 15
MOST_ADDED_MS = 15.0  # issue "Several knowledge bases, one honest answer"
QUERIES = ("gateway restarts", "稳态误差 增益", "coffee receipt", "cache timeout", "桂花 乌龙")


def measure() -> Iterator[Timing]:
    with tempfile.TemporaryDirectory(prefix="sidelight-bench-") as folder:
        root = Path(folder)
        for name in ("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "LOCALAPPDATA", "APPDATA"):
            os.environ[name] = str(root / "home")  # health and feedback of nobody's
        yield from _measured(root)


def _measured(root: Path) -> Iterator[Timing]:
    from sidelight.config import settings_from
    from sidelight.engine import Engine
    from sidelight.sample import sample_vault
    from sidelight.sources.federation import Federation
    from sidelight.types import SearchRequest

    engine = Engine.open(sample_vault(), data_dir=root / "data", lexical_only=True)
    engine.sync(lexical_only=True)
    federation = Federation(engine)
    hung = {
        "name": "Hung",
        "kind": "command",
        "timeout_s": 2,
        "command": [sys.executable, "-c", "import time; time.sleep(600)", "{query}"],
    }
    five = _idle(root)

    def alone(text: str) -> None:
        engine.search(SearchRequest(text))

    def first(text: str) -> None:
        federation.search(SearchRequest(text), more=lambda result, done: None)

    def everything(text: str) -> None:
        federation.search(SearchRequest(text))

    for name, sources, ask, bound in (
        ("five idle sources add to the first answer", five, first, MOST_ADDED_MS),
        ("five idle sources add until all have answered", five, everything, None),
        ("a hung source adds to the first answer", [hung], first, MOST_ADDED_MS),
    ):
        engine.settings = settings_from({"sources": sources}, engine.settings)
        added, own = _added(alone, ask, rest_s=0.5 if ask is first else 0.0)
        yield Timing(f"{name} (the vault alone: {own:.1f} ms)", added, bound=bound)
    federation.close()
    engine.close()


def _added(
    alone: Callable[[str], None], together: Callable[[str], None], rest_s: float
) -> tuple[float, float]:
    """Milliseconds that `together` takes longer, and what `alone` takes; the middle of all."""
    for text in QUERIES:
        alone(text)
        together(text)
    time.sleep(rest_s)
    differences, owns = [], []
    for number in range(ROUNDS):
        text = QUERIES[number % len(QUERIES)]
        own, both = _timed(alone, text), _timed(together, text)
        time.sleep(rest_s)  # what came late is over before the next
        owns.append(own)
        differences.append(both - own)
    return max(0.0, statistics.median(differences)), statistics.median(owns)


def _timed(ask: Callable[[str], None], text: str) -> float:
    begun = time.perf_counter()
    ask(text)
    return (time.perf_counter() - begun) * 1000


def _idle(root: Path) -> list[dict[str, Any]]:
    """Five sources of every kind but the slow one to start, which know nothing of the queries."""
    manuals = root / "manuals"
    manuals.mkdir()
    for number in range(200):
        (manuals / f"m{number}.md").write_text(f"# Manual {number}\n\nTurn the knob.\n", "utf-8")
    rows = "".join(f"{n},Entry {n},Nothing of note\n" for n in range(2_000))
    (root / "things.csv").write_text("id,title,text\n" + rows, "utf-8")
    lines = "".join(f'{{"id": {n}, "text": "无关的内容 {n}"}}\n' for n in range(2_000))
    (root / "things.jsonl").write_text(lines, "utf-8")
    with sqlite3.connect(root / "things.db") as database:
        database.execute("CREATE TABLE items (id, title, text)")
        database.executemany(
            "INSERT INTO items VALUES (?, ?, ?)", [(n, "Row", "Nothing") for n in range(2_000)]
        )
    database.close()
    program = [sys.executable, "-S", "-c", "pass", "{query}"]
    return [
        {"name": "Manuals", "kind": "markdown", "path": str(manuals)},
        {"name": "Table", "kind": "records", "path": str(root / "things.csv")},
        {"name": "Lines", "kind": "records", "path": str(root / "things.jsonl")},
        {"name": "Rows", "kind": "records", "path": str(root / "things.db"), "table": "items"},
        {"name": "Program", "kind": "command", "command": program},
    ]
