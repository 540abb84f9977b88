#!/usr/bin/env python3
"""From a fresh clone to a search that answers, in one command.

    python3 scripts/run.py [VAULT] [--once]

Makes `.venv`, installs Sidelight, builds the embedding model if it is missing, indexes VAULT
(without one: the bilingual sample vault), starts the daemon, and shows where it listens and one
example search. Standard library only; writes nothing into the vault.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # before anything that an older Python could stumble over
    sys.exit(
        "Sidelight needs Python 3.11 or newer; this is Python " + sys.version.split()[0] + ". "
        "Start this script with a newer one, for example: python3.12 scripts/run.py"
    )

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import environment
from environment import ROOT, OneLineParser, SetupError

SAMPLE = ROOT / "python" / "sidelight" / "sample" / "vault"
SAMPLE_QUERY = "拿铁"  # finds the receipt of an osmanthus latte, whatever jieba makes of it
READY_SECONDS = 120  # the daemon opens its index and loads the model before it answers
MODEL_SECONDS = 15  # it loads in 2 to 4; a search by words alone is the example otherwise
STOP_SECONDS = 20  # it finishes the commit at hand before it goes


def main() -> int:
    environment.prepare_console()
    parser = OneLineParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("vault", nargs="?", help="your vault's folder (default: the sample vault)")
    parser.add_argument("--once", action="store_true", help="stop after the example search")
    arguments = parser.parse_args()
    if arguments.vault == "":
        parser.error("the vault's path is empty")
    vault = Path(arguments.vault).expanduser() if arguments.vault is not None else SAMPLE
    _stop_on_signals()
    try:
        _check_vault(vault)
        environment.ensure_environment()
        return _run(vault.resolve(), once=arguments.once)
    except SetupError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; starting again goes on from here.", file=sys.stderr)
        return 130


def _check_vault(vault: Path) -> None:
    if not vault.exists():
        raise SetupError(f"There is no folder at {vault}. Check the path of the vault.")
    if not vault.is_dir():
        raise SetupError(f"{vault} is a file, not a vault. Name the vault's folder.")


def _run(vault: Path, *, once: bool) -> int:
    words_only = not _ensure_model()
    print(f"Indexing {vault}", flush=True)
    options = ["--lexical-only"] if words_only else []
    if _sidelight("index", str(vault), *options) != 0:
        return 1
    with _daemon(vault) as ready:
        print(f"\nSidelight listens on 127.0.0.1:{ready['port']} (this computer only).")
        print(f"Discovery file: {ready['discovery']}")
        if not _example_search(vault, words_only=words_only):
            return 1
        if once:
            return 0
        return _wait(ready["process"])


def _wait(process: subprocess.Popen[str]) -> int:
    """Until Ctrl-C (0), or until the daemon ends by itself (1)."""
    try:
        print("\nSidelight is running and follows your edits. Stop it with Ctrl-C.", flush=True)
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)  # a wait without end cannot be interrupted on Windows
    except KeyboardInterrupt:
        print("Stopping.", flush=True)
        return 0
    print(f"run.py: the daemon has ended (exit code {process.returncode}).", file=sys.stderr)
    return 1


def _ensure_model() -> bool:
    """Builds the default model if it is missing; whether there is one now."""
    if _sidelight("model", "verify", quiet=True) == 0:
        return True
    print("Building the embedding model (about 100 MB are downloaded once, two minutes)")
    if _sidelight("model", "build") == 0:
        return True
    print("The embedding model could not be built: going on with words only, without meaning.")
    return False


def _sidelight(*arguments: str, quiet: bool = False) -> int:
    output = subprocess.DEVNULL if quiet else None
    command = [environment.program("sidelight"), *arguments]
    sys.stdout.flush()
    return subprocess.run(
        command,
        env=environment.child_environment(),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        check=False,
    ).returncode


def _example_search(vault: Path, *, words_only: bool) -> bool:
    query = SAMPLE_QUERY if vault == SAMPLE.resolve() else _query_from(vault)
    if not query:
        print("The vault holds no notes yet: there is nothing to search for.")
        return True
    if not words_only:
        _wait_for_all_channels(vault, query)
    print(f'\nAn example: sidelight search "{vault}" "{query}"\n', flush=True)
    return _sidelight("search", str(vault), query, "--limit", "3") == 0


def _wait_for_all_channels(vault: Path, query: str) -> None:
    """Lets the daemon load its model, which it does after it has begun to answer by words."""
    until = time.monotonic() + MODEL_SECONDS
    while time.monotonic() < until:
        answer = subprocess.run(
            [environment.program("sidelight"), "search", str(vault), query, "--json"],
            env=environment.child_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if answer.returncode != 0 or not json.loads(answer.stdout).get("degraded"):
            return
        time.sleep(0.5)


def _query_from(vault: Path) -> str:
    """Words of the name of the note that was changed last: a search that should find it."""
    newest, name = -1.0, ""
    for folder, folders, files in os.walk(vault):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for file in sorted(files):
            words = " ".join(re.findall(r"\w+", Path(file).stem))
            if not file.lower().endswith(".md") or file.startswith(".") or len(words) < 2:
                continue
            with contextlib.suppress(OSError):  # a note may vanish while we look
                changed = os.stat(os.path.join(folder, file)).st_mtime
                if changed > newest:
                    newest, name = changed, words
    return name


@contextlib.contextmanager
def _daemon(vault: Path) -> Iterator[dict[str, Any]]:
    """The running daemon's ready event, with its process; stopped cleanly at the end.

    Raises:
        SetupError: it ended or said nothing before it was ready (its own line says why).
    """
    # A group of its own: Ctrl-C reaches this script alone, which then stops the daemon once.
    new_group = 0
    if sys.platform == "win32":
        new_group = subprocess.CREATE_NEW_PROCESS_GROUP
    process = subprocess.Popen(
        [environment.program("sidelight"), "serve", str(vault), "--json"],
        env=environment.child_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        creationflags=new_group,
        start_new_session=sys.platform != "win32",
    )
    try:
        yield {**_ready_event(process), "process": process}
    finally:
        _stop(process)


def _ready_event(process: subprocess.Popen[str]) -> dict[str, Any]:
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    try:
        line = lines.get(timeout=READY_SECONDS)
    except queue.Empty:
        raise SetupError(f"The daemon did not answer within {READY_SECONDS} s.") from None
    if not line:
        raise SetupError("The daemon did not start; its message stands above.")
    try:
        event = json.loads(line)
        return {"port": event["port"], "discovery": event["discovery"]}
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(f"The daemon said something unexpected: {line.strip()}") from error


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.send_signal(signal.CTRL_BREAK_EVENT)
    else:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        print("run.py: the daemon had to be killed.", file=sys.stderr)


def _stop_on_signals() -> None:
    """Lets a closed terminal or a polite kill stop the daemon too, as Ctrl-C does."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    # SIGINT, too: a shell without job control starts what runs in the background with it ignored.
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)


if __name__ == "__main__":
    sys.exit(main())
