"""`sidelight index`: in this process, or by the daemon that already keeps the index."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sidelight.bridge import client
from sidelight.cli import show
from sidelight.config import open_vault, places_for
from sidelight.errors import IndexUnavailableError
from sidelight.types import Progress

_POLL_S = 0.3  # between two questions to the daemon
_PATIENCE_S = 12.0  # a daemon that waits looks again every 5 s, and what it looks at may be back


def run_index(vault: Path, data_dir: Path | None, *, lexical_only: bool, rebuild: bool) -> None:
    """Brings the index up to date and says what it covers.

    Raises:
        SidelightError: it cannot; the index stays as it was.
    """
    places = places_for(open_vault(vault), data_dir)
    daemon = client.connect(places)
    started = time.monotonic()
    reporter = show.bar() if sys.stderr.isatty() else show.plain_lines()
    with reporter as report:
        if daemon is not None:
            state, problems = _by_daemon(daemon, rebuild, report)
        else:
            state, problems = _here(vault, data_dir, lexical_only, rebuild, report)
    spent = time.monotonic() - started
    print(
        f"{state['notes']} notes, {state['chunks']} passages, "
        f"{state['embedded_chunks']} of them with vectors; {spent:.1f} s"
    )
    for path, reason in problems[:10]:
        print(f"not indexed: {path}: {reason}", file=sys.stderr)
    if len(problems) > 10:
        more = len(problems) - 10
        print(f"and {more} more; see `sidelight doctor`", file=sys.stderr)


def _here(
    vault: Path, data_dir: Path | None, lexical_only: bool, rebuild: bool,
    report: Callable[[Progress], None],
) -> tuple[dict[str, Any], list[tuple[str, str]]]:  # fmt: skip
    from sidelight.bridge.wire import index_json
    from sidelight.engine import Engine

    try:
        engine = Engine.open(vault, data_dir=data_dir, lexical_only=lexical_only)
    except IndexUnavailableError as error:
        if not rebuild or error.code == "INDEX_BUSY":
            raise
        engine = Engine.open(vault, data_dir=data_dir, lexical_only=lexical_only, rebuild=True)
    try:
        engine.sync(report, lexical_only=lexical_only, rebuild=rebuild)
        if engine.no_vectors and not lexical_only:
            print(f"words only: {engine.no_vectors}", file=sys.stderr)
        problems = [(n.path, n.error) for n in engine.failed_notes() if n.error]
        return dict(index_json(engine.state())), problems
    finally:
        engine.close()


def _by_daemon(
    daemon: client.BridgeClient, rebuild: bool, report: Callable[[Progress], None]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Asks the running daemon and waits until it is done.

    Raises:
        IndexUnavailableError: it cannot go on, or someone paused it meanwhile.
        BridgeError: it went away.
    """
    daemon.call("index/resume")
    if rebuild:
        daemon.call("index/rebuild")
    worked = time.monotonic()
    while True:
        time.sleep(_POLL_S)
        status = daemon.call("index/status")
        now = status["progress"]
        report(
            Progress(
                now["phase"],
                now["done"],
                now["total"],
                now["rate"],
                now["seconds_left"],
                now.get("reason", ""),
            )
        )
        if status["index"]["pending"] == 0 and now["phase"] in ("idle", "paused", "waiting"):
            failed = [(n["path"], n["error"]) for n in status["failed"] if n["error"]]
            return status["index"], failed
        if now["phase"] not in ("waiting", "paused"):
            worked = time.monotonic()
        elif time.monotonic() - worked > _PATIENCE_S:
            raise _held_back(now)


def _held_back(now: dict[str, Any]) -> IndexUnavailableError:
    if now["phase"] == "paused":
        return IndexUnavailableError(
            "Indexing was paused meanwhile.", "Run this again, or resume it in Obsidian."
        )
    return IndexUnavailableError(now.get("reason") or "The daemon waits and does not say why.")
