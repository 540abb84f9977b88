"""How does a client find the daemon of a vault? The discovery file: port and token, in private.

The file lies in the user's runtime folder, readable by its owner alone: by mode 0600 in a folder
of mode 0700 on POSIX; on Windows below the user's local application data, which its access list
closes to other users. A folder that someone else owns or can write to (a shared `/tmp`) is
refused, because whoever owns it could hand out another token. Starts no connection except the
`/health` question of `is_alive`.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import stat
import time
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import cast

from sidelight.bridge.params import checked
from sidelight.bridge.protocol import HEALTH, Discovery
from sidelight.config import APP, PROTOCOL, Places, write_private
from sidelight.errors import BridgeError, UsageError

TOKEN_BYTES = 32  # 256 bits: guessing is hopeless at any speed
HEALTH_TIMEOUT_S = 1.0
_REMEDY = (
    "Set XDG_RUNTIME_DIR to a folder that only you can use (mode 700), "
    "or remove the folder and start again."
)


@cache
def installed_version() -> str:
    """Version of the installed package."""
    return metadata.version(APP)


def new_token() -> str:
    """A fresh token, 64 hex digits."""
    return secrets.token_hex(TOKEN_BYTES)


def write(places: Places, port: int, token: str) -> Discovery:
    """Publishes a running daemon; replaces the file of an earlier one.

    Raises:
        BridgeError: the folder is not private, or cannot be written.
    """
    discovery: Discovery = {
        "pid": os.getpid(),
        "port": port,
        "token": token,
        "protocol": PROTOCOL,
        "version": installed_version(),
        "vault": str(places.vault),
        "started_at": round(time.time(), 3),
    }
    folder = places.discovery.parent
    try:
        _make_private(folder)
        write_private(places.discovery, json.dumps(discovery, indent=1) + "\n")
    except OSError as error:
        raise BridgeError(
            f"The runtime folder {folder} cannot be written ({error.strerror}).", _REMEDY
        ) from error
    return discovery


def read(places: Places) -> Discovery | None:
    """What the file says; None if there is none, or one that is not ours or not whole."""
    try:
        if not _is_private(places.discovery.parent) or not _is_private(places.discovery):
            return None
        value = json.loads(places.discovery.read_text("utf-8"))
        known = {name: value[name] for name in Discovery.__annotations__}
        discovery = cast(Discovery, checked(Discovery, known))
    except (OSError, ValueError, TypeError, KeyError, UsageError):
        return None
    return discovery if 0 < discovery["port"] < 65_536 and discovery["pid"] > 0 else None


def remove(places: Places, token: str) -> None:
    """Removes the file if it is still the one with this token: never that of a newer daemon."""
    ours = read(places)
    if ours is not None and secrets.compare_digest(ours["token"], token):
        with contextlib.suppress(OSError):
            places.discovery.unlink()


def is_alive(discovery: Discovery) -> bool:
    """Whether a daemon of ours still stands behind the file.

    The process must exist and be older than the file (ids are used again), and its port must
    answer `/health` with our name (ports, too).
    """
    return runs(discovery) and answers_health(discovery["port"])


def runs(discovery: Discovery) -> bool:
    """Whether the process of the file is there, and older than the file."""
    import psutil  # 20 ms; a plain search never comes here

    try:
        born = psutil.Process(discovery["pid"]).create_time()
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True  # it exists; its port will tell
    return bool(born <= discovery["started_at"] + 2.0)  # clocks of kernel and file differ a little


def answers_health(port: int, timeout_s: float = HEALTH_TIMEOUT_S) -> bool:
    """Whether something on this port says that it is Sidelight."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", "/health")
        answer = json.loads(connection.getresponse().read(1_000))
        return isinstance(answer, dict) and answer.get("name") == HEALTH["name"]
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


def _make_private(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.name == "nt":
        return
    for place in (folder, folder.parent):
        _refuse_planted(place)
    about = os.lstat(folder)
    if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and about.st_mode & 0o077:
        os.chmod(folder, 0o700)
    if not _is_private(folder):
        raise BridgeError(f"The runtime folder {folder} is not yours alone.", _REMEDY)


def _refuse_planted(place: Path) -> None:
    """A folder that another user made in a shared one (`/tmp`) can be swapped by that user."""
    above, about = os.stat(place.parent), os.lstat(place)
    shared = bool(above.st_mode & stat.S_ISVTX and above.st_mode & stat.S_IWOTH)
    if shared and about.st_uid not in (os.geteuid(), 0):
        raise BridgeError(f"The runtime folder {place} belongs to another user.", _REMEDY)


def _is_private(path: Path) -> bool:
    about = os.lstat(path)
    if not (stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode)):
        return False
    if os.name == "nt":  # no modes: the profile's access list keeps others out
        return True
    return about.st_uid == os.geteuid() and not about.st_mode & 0o077
