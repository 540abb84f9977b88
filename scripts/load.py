"""Many clients typing at the same time while notes are being saved: does the daemon hold?

python scripts/load.py                      60 s, 16 clients, 10,000 connects; exit 1 if a bound breaks
python scripts/load.py --seconds 10 --connects 500 --lexical

Starts its own daemon on a copy of a vault (default: the largest of the shared ones), with its
own data, settings and runtime folders, and leaves nothing behind. Prints one table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import platformdirs
import psutil

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SIDELIGHT_SHARED") or ROOT.parent / "shared")
VAULT = SHARED / "vaults" / "oldwinter-garden"

SEED = 6
KEYS_A_SECOND = 3.0  # of one client
SAVES_A_SECOND = 2.0  # of the whole vault
P99_LIMIT_MS = 400.0  # issue 6
GROWTH_LIMIT_MB = 150.0  # over the run: caches fill, nothing may leak
NEWS_LIMIT_S = 30.0  # until the last save must have been announced
CANCELLED = -32800


@dataclass
class Tally:
    """What was seen."""

    latencies_ms: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    words: int = 0
    words_answered: int = 0
    saved: set[str] = field(default_factory=set)
    announced: dict[int, set[str]] = field(default_factory=dict)
    memory_mb: list[float] = field(default_factory=list)


class Client:
    """One sidebar: types words, reads answers and news."""

    def __init__(self, number: int, socket: aiohttp.ClientWebSocketResponse, tally: Tally) -> None:
        self.number = number
        self.socket = socket
        self.tally = tally
        self.sent: dict[int, float] = {}
        self.waiting: dict[int, asyncio.Future[bool]] = {}
        self.last_id = 0
        tally.announced[number] = set()

    async def ask(self, method: str, params: Any) -> asyncio.Future[bool]:
        """Sends a request; the future tells whether it had a result."""
        self.last_id += 1
        self.waiting[self.last_id] = asyncio.get_running_loop().create_future()
        self.sent[self.last_id] = time.perf_counter()
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        await self.socket.send_str(json.dumps(request))
        return self.waiting[self.last_id]

    async def read(self) -> None:
        """Takes whatever the daemon sends."""
        async for message in self.socket:
            said = json.loads(message.data)
            if said.get("method") == "index/changed":
                self.tally.announced[self.number] |= set(said["params"]["paths"])
            elif "id" in said:
                self._answered(said)

    def _answered(self, said: Any) -> None:
        spent = (time.perf_counter() - self.sent.pop(said["id"])) * 1000
        error = said.get("error")
        if error is None:
            self.tally.latencies_ms.append(spent)
            self.tally.outcomes["answered"] += 1
        elif error["code"] == CANCELLED:
            self.tally.outcomes["cancelled"] += 1
        else:
            self.tally.outcomes[f"error {error['data']['code']}"] += 1
        self.waiting.pop(said["id"]).set_result(error is None)

    async def type(
        self, words: list[str], seconds: float, mode: str, chance: random.Random
    ) -> None:
        """Types words at `KEYS_A_SECOND`; each key is a query, the last of a word must answer."""
        await asyncio.sleep(chance.random())  # people do not type in step
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            word = chance.choice(words)
            self.tally.words += 1
            for end in range(1, len(word) + 1):
                params = {"text": word[:end], "typing": end < len(word), "mode": mode}
                answer = await self.ask("query/search", params)
                if end < len(word):
                    await asyncio.sleep(1 / KEYS_A_SECOND)
            had_result = await asyncio.wait_for(answer, 60)
            self.tally.words_answered += had_result


async def save_notes(vault: Path, seconds: float, tally: Tally, chance: random.Random) -> None:
    """Saves notes, as an editor does, at `SAVES_A_SECOND`."""
    notes = sorted(vault.rglob("*.md"))
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        note = chance.choice(notes)
        with note.open("a", encoding="utf-8") as file:
            file.write(f"\n保存 saved {chance.randrange(10**9)}\n")
        tally.saved.add(note.relative_to(vault).as_posix())
        await asyncio.sleep(1 / SAVES_A_SECOND)


async def watch_memory(process: psutil.Process, tally: Tally) -> None:
    """Samples the daemon's resident memory once a second."""
    while True:
        tally.memory_mb.append(process.memory_info().rss / 1e6)
        await asyncio.sleep(1)


async def connect(session: aiohttp.ClientSession, found: Any) -> aiohttp.ClientWebSocketResponse:
    """A WebSocket that has said hello."""
    socket = await session.ws_connect(f"http://127.0.0.1:{found['port']}/rpc", max_msg_size=0)
    params = {"token": found["token"], "protocol": found["protocol"], "client": "load"}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "session/hello", "params": params}
    await socket.send_str(json.dumps(hello))
    answer = json.loads((await socket.receive()).data)
    if "result" not in answer:
        raise SystemExit(f"hello was refused: {answer}")
    return socket


async def type_together(found: Any, vault: Path, options: Any, tally: Tally) -> None:
    """The typing part of the load."""
    words = sorted({path.stem[:8] for path in vault.rglob("*.md") if len(path.stem) > 1})
    mode = "lexical" if options.lexical else "hybrid"
    async with aiohttp.ClientSession() as session:
        clients = [
            Client(number, await connect(session, found), tally)
            for number in range(options.clients)
        ]
        reading = [asyncio.create_task(client.read()) for client in clients]
        memory = asyncio.create_task(watch_memory(psutil.Process(found["pid"]), tally))
        await asyncio.gather(
            save_notes(vault, options.seconds, tally, random.Random(SEED)),
            *(c.type(words, options.seconds, mode, random.Random(c.number)) for c in clients),
        )
        until = time.perf_counter() + NEWS_LIMIT_S
        while lost(tally) and time.perf_counter() < until:
            await asyncio.sleep(0.2)
        for task in (memory, *reading):
            task.cancel()
        for client in clients:
            await client.socket.close()


def lost(tally: Tally) -> int:
    """Saves that a client was not told of."""
    return sum(len(tally.saved - seen) for seen in tally.announced.values())


async def connect_often(found: Any, times: int) -> tuple[int, int]:
    """Opens and ends connections in every way; open files of the daemon before and after."""
    process = psutil.Process(found["pid"])
    before = open_files(process)
    async with aiohttp.ClientSession() as session:
        for number in range(times):
            if number % 3 == 0:
                await (await connect(session, found)).close()
            elif number % 3 == 1:
                reader, writer = await asyncio.open_connection("127.0.0.1", found["port"])
                writer.write(b"GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n")
                await reader.read(100)
                writer.close()
            else:
                _, writer = await asyncio.open_connection("127.0.0.1", found["port"])
                writer.transport.abort()
    until = time.perf_counter() + 15
    while open_files(process) > before and time.perf_counter() < until:
        await asyncio.sleep(0.2)
    return before, open_files(process)


def open_files(process: psutil.Process) -> int:
    """File descriptors, or handles on Windows."""
    return int(process.num_handles() if os.name == "nt" else process.num_fds())


# --------------------------------------------------------------------------- the daemon


class Daemon:
    """A daemon of its own home, on a copy of the vault."""

    def __init__(self, vault: Path, folder: Path, *, lexical: bool) -> None:
        self.vault = folder / "vault"
        shutil.copytree(vault, self.vault)
        names = {"XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state",
                 "XDG_RUNTIME_DIR": "run", "XDG_CACHE_HOME": "cache"}  # fmt: skip
        if not lexical:  # the model that was built already
            names.pop("XDG_CACHE_HOME")
        self.environment = {**os.environ, **{n: str(folder / d) for n, d in names.items()}}
        (folder / "run").mkdir(mode=0o700)
        command = [sys.executable, "-m", "sidelight"]
        subprocess.run(
            [*command, "index", str(self.vault), *(["--lexical-only"] if lexical else [])],
            env=self.environment, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.process = subprocess.Popen(
            [*command, "serve", str(self.vault), "--json"],
            env=self.environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.found = json.loads(Path(ready["discovery"]).read_text("utf-8"))

    def stop(self) -> None:
        """Ends it."""
        self.process.terminate()
        self.process.wait(60)


async def until_idle(found: Any, *, lexical: bool) -> None:
    """Waits until everything is indexed (and embedded, with a model)."""
    async with aiohttp.ClientSession() as session:
        client = Client(-1, await connect(session, found), Tally())
        for _ in range(1_800):
            request = {"jsonrpc": "2.0", "id": 1, "method": "index/status", "params": {}}
            await client.socket.send_str(json.dumps(request))
            while "result" not in (said := json.loads((await client.socket.receive()).data)):
                pass
            index = said["result"]["index"]
            embedded = lexical or index["embedded_chunks"] > 0
            if index["notes"] and index["pending"] == 0 and embedded:
                return
            await asyncio.sleep(1)
    raise SystemExit("the vault was not indexed within half an hour")


def report(tally: Tally, files: tuple[int, int], options: Any) -> int:
    """Prints the table; 1 if a bound broke."""
    spent = sorted(tally.latencies_ms) or [0.0]
    p99 = spent[min(len(spent) - 1, int(len(spent) * 0.99))]
    memory = tally.memory_mb or [0.0]
    third = max(1, len(memory) // 3)
    growth = statistics.median(memory[-third:]) - statistics.median(
        memory[third : 2 * third] or memory
    )
    errors = sum(n for name, n in tally.outcomes.items() if name.startswith("error"))
    bounds = {
        "errors": (errors, errors == 0),
        "words whose last query was answered": (
            f"{tally.words_answered} of {tally.words}", tally.words_answered == tally.words,
        ),
        "notifications lost": (lost(tally), lost(tally) == 0),
        "p99 ms": (round(p99), p99 < P99_LIMIT_MS),
        "memory growth MB": (round(growth), growth < GROWTH_LIMIT_MB),
        "open files before, after": (files, files[1] <= files[0]),
    }  # fmt: skip
    print(f"clients {options.clients}, seconds {options.seconds:g}, connects {options.connects}")
    print(f"queries {dict(tally.outcomes)}, saves {len(tally.saved)} notes")
    print(f"p50 ms {statistics.median(spent):.0f}, max ms {spent[-1]:.0f}")
    print(f"memory MB first {memory[0]:.0f}, last {memory[-1]:.0f}, most {max(memory):.0f}")
    print(
        f"machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
        if hasattr(os, "getloadavg")
        else ""
    )
    for name, (value, kept) in bounds.items():
        print(f"{'ok    ' if kept else 'BROKEN'} {name}: {value}")
    return 0 if all(kept for _, kept in bounds.values()) else 1


def main() -> int:
    """Runs the load."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vault", type=Path, default=VAULT)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--connects", type=int, default=10_000)
    parser.add_argument("--lexical", action="store_true", help="without a model")
    options = parser.parse_args()
    models = platformdirs.user_cache_path("sidelight", False) / "models"
    if not options.lexical and not models.is_dir():
        print("There is no built model: run `sidelight model build`, or add --lexical.")
        return 1
    with tempfile.TemporaryDirectory(prefix="sidelight-load-") as folder:
        daemon = Daemon(options.vault, Path(folder), lexical=options.lexical)
        tally = Tally()
        try:
            asyncio.run(until_idle(daemon.found, lexical=options.lexical))
            asyncio.run(type_together(daemon.found, daemon.vault, options, tally))
            files = asyncio.run(connect_often(daemon.found, options.connects))
        finally:
            daemon.stop()
        for log in sorted((Path(folder) / "state").rglob("*.log")):
            print(*(line for line in log.read_text("utf-8").splitlines() if " ERROR " in line))
    return report(tally, files, options)


if __name__ == "__main__":
    sys.exit(main())
