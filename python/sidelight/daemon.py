"""The daemon: one engine, one bridge, one discovery file, until it is told to leave."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import logging.handlers
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from sidelight.bridge import discovery
from sidelight.bridge.client import retire
from sidelight.bridge.protocol import Discovery
from sidelight.bridge.server import BridgeServer
from sidelight.config import PROTOCOL, Places, load_settings, open_vault, places_for
from sidelight.doctor import diagnose
from sidelight.engine import Engine
from sidelight.errors import BridgeError, IndexUnavailableError
from sidelight.sources.checking import findings
from sidelight.sources.federation import Federation
from sidelight.store.upkeep import share_arenas

log = logging.getLogger(__name__)

_LOG_BYTES = 1_000_000  # a file; five are kept
_LOG_FILES = 5
# A query makes some ten thousand objects and leaves no cycles. By Python's own 700 the collector
# runs dozens of times a query, for a twentieth of its time.
_NEW_OBJECTS = 50_000
LEAVING_S = 20.0  # an older daemon finishes the step under way first


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What `sidelight serve` was asked for."""

    vault: Path
    port: int = 0
    data_dir: Path | None = None
    log_level: str = "info"
    allow_origins: Sequence[str] = ()
    exit_with_clients: bool = False


def serve(options: ServeOptions, announce: Callable[[Places, int], None]) -> None:
    """Runs until a signal, `daemon/stop`, or (if asked) the last client's leaving.

    Args:
        options: what was asked for.
        announce: told the places and the port once the bridge answers.

    Raises:
        SidelightError: it cannot run; nothing is left behind.
    """
    share_arenas()
    gc.disable()  # until what stays is loaded: see `_load_models`
    places = places_for(open_vault(options.vault), options.data_dir)
    log_to_file(places, options.log_level)
    replaced = _make_room(places)
    engine = _open(options, places, LEAVING_S if replaced else 0.0)
    sources = Federation(engine)
    try:
        asyncio.run(_run(engine, sources, options, announce))
    finally:
        sources.close()
        engine.close()


def _make_room(places: Places) -> bool:
    """Asks an older daemon of this vault to leave; whether there was one.

    Raises:
        BridgeError: one of this version or a newer one serves the vault, or the older one stays.
    """
    running = discovery.read(places)
    if running is None or not discovery.is_alive(running):
        return False
    who = f"(process {running['pid']}, port {running['port']})"
    if not _is_older(running):
        raise BridgeError(
            f"A daemon already serves this vault {who}.",
            "Use it, or stop it first.",
            code="ALREADY_RUNNING",
        )
    log.info("version %s serves this vault and is asked to leave", running["version"])
    if not retire(running, LEAVING_S):
        raise BridgeError(
            f"An older daemon serves this vault and does not leave {who}.",
            f"End process {running['pid']}, then start again.",
            code="ALREADY_RUNNING",
        )
    return True


def _is_older(running: Discovery) -> bool:
    ours = discovery.installed_version()
    return (running["protocol"], _numbers(running["version"])) < (PROTOCOL, _numbers(ours))


def _numbers(version: str) -> tuple[int, ...]:
    """The release numbers of a version, to be compared: 1.10.2rc1 gives (1, 10, 2)."""
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


def _open(options: ServeOptions, places: Places, patience_s: float) -> Engine:
    """Opens the vault; waits for a daemon that is leaving to let go of the index."""
    until = time.monotonic() + patience_s
    while True:
        try:
            return Engine.open(
                options.vault,
                data_dir=options.data_dir,
                models_later=True,
                settings=load_settings(places),
            )
        except IndexUnavailableError as error:
            if error.code != "INDEX_BUSY" or time.monotonic() > until:
                raise
            time.sleep(0.1)


async def _run(
    engine: Engine,
    sources: Federation,
    options: ServeOptions,
    announce: Callable[[Places, int], None],
) -> None:
    server = BridgeServer(
        engine,
        port=options.port,
        allow_origins=options.allow_origins,
        exit_with_clients=options.exit_with_clients,
        doctor=lambda: [
            *diagnose(
                engine.vault,
                data_dir=options.data_dir,
                index=engine,
                embedder=engine.embedder,
                allowed_origins=options.allow_origins,
            ),
            *findings(sources.check()),
        ],
        sources=sources,
    )
    port = await server.start()
    leave = asyncio.Event()
    with _signals(leave):
        try:
            discovery.write(engine.places, port, server.token)
            engine.start()
            # Words answer at once; the model takes seconds and joins when it is there.
            threading.Thread(
                target=_load_models, args=(engine,), name="models", daemon=True
            ).start()
            announce(engine.places, port)
            told = asyncio.create_task(leave.wait())
            finished = asyncio.create_task(server.finished())
            await asyncio.wait({told, finished}, return_when=asyncio.FIRST_COMPLETED)
            for task in (told, finished):
                task.cancel()
        finally:
            discovery.remove(engine.places, server.token)
            await server.stop()


def _load_models(engine: Engine) -> None:
    """Loads the models; the index and they stay, so the collector never walks over them again."""
    try:
        engine.load_models()
    finally:
        gc.freeze()
        gc.set_threshold(_NEW_OBJECTS)
        gc.enable()


@contextlib.contextmanager
def _signals(leave: asyncio.Event) -> Iterator[None]:
    """Turns the signals that ask to leave into the event, on every platform."""
    loop = asyncio.get_running_loop()
    wanted = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGBREAK"):
        wanted.append(signal.SIGBREAK)
    old = {}
    for one in wanted:
        old[one] = signal.signal(one, lambda *_: loop.call_soon_threadsafe(leave.set))
    try:
        yield
    finally:
        for one, handler in old.items():
            signal.signal(one, handler)


def log_to_file(places: Places, level: str) -> None:
    """One event a line, in a rotating file of this vault's; never texts, queries or tokens."""
    places.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handler = logging.handlers.RotatingFileHandler(
        places.log, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    root = logging.getLogger("sidelight")
    root.setLevel(level.upper())
    root.addHandler(handler)
    root.propagate = False


def ready_line(places: Places, port: int, pid: int, out: TextIO) -> None:
    """The one line of `serve --json`."""
    event = {"event": "ready", "pid": pid, "port": port, "discovery": str(places.discovery)}
    out.write(json.dumps(event) + "\n")
    out.flush()
