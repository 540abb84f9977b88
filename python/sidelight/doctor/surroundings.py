"""Does what is around the vault let Sidelight work? Models, places, watching, the daemon."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import psutil

from sidelight.config import APP, PROTOCOL
from sidelight.doctor.visit import Visit, counted, error, info, ok, warning
from sidelight.errors import ModelError
from sidelight.models.embedder import Embedder
from sidelight.models.registry import (
    LATE_INTERACTION,
    check_languages,
    resolve_folder,
    verify,
)
from sidelight.query.gate import parse_gates
from sidelight.types import Finding

LITTLE_SPACE = 1_000_000_000  # bytes; an index of 20,000 passages and its rewriting need 0.3 GB
NO_SPACE = 200_000_000  # bytes; below, the next commit may fail
HEALTH_TIMEOUT_S = 1.0
# Parts of the paths in which sync services keep their folders.
SYNCED = {
    "onedrive": "OneDrive",
    "dropbox": "Dropbox",
    "mobile documents": "iCloud Drive",
    "icloud drive": "iCloud Drive",
    "iclouddrive": "iCloud Drive",
    "cloudstorage": "a cloud drive",
    "google drive": "Google Drive",
    "googledrive": "Google Drive",
    "nextcloud": "Nextcloud",
    "syncthing": "Syncthing",
}
# Types of file systems on which Linux reports no changes made elsewhere (proc(5), mount(8)).
NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "fuse.rclone", "drvfs", "davfs")


def check_versions(visit: Visit) -> list[Finding]:
    """Which versions run here?"""
    version = metadata.version(APP)
    python = sys.version.split()[0]
    return [ok("versions", f"Sidelight {version}, Python {python} on {sys.platform}.")]


# ------------------------------------------------------------------------------- models


def check_model(visit: Visit) -> list[Finding]:
    """Is the embedding model there and whole, and does it know both languages?"""
    name = visit.settings.embedding_model
    if not name and not resolve_folder().is_dir():
        finding = "The embedding model is not built: notes are found by their words alone."
        return [warning("model-files", finding, "Run `sidelight model build`.")]
    found = verify(name)
    if any(finding.severity == "error" for finding in found):
        return found
    if isinstance(visit.model, ModelError):
        return [*found, error("model-files", visit.model.message, visit.model.remedy)]
    return [*found, *check_languages(visit.model)]


def check_reranker(visit: Visit) -> list[Finding]:
    """Is the reranking model that the settings name there and whole?"""
    name = visit.settings.reranker_model
    if name in ("", LATE_INTERACTION):
        return []
    return [Finding("reranker-files", f.severity, f.finding, f.remedy) for f in verify(name)]


def check_calibration(visit: Visit) -> list[Finding]:
    """Is the gate fitted to this vault, and to the model in use?"""
    file, strictness = visit.places.calibration, visit.settings.gate_strictness
    if strictness == "off":
        remedy = "Set gate_strictness to balanced to be told when there is no evidence."
        return [info("calibration", "The evidence gate is off: every query gets results.", remedy)]
    again = "Run `sidelight calibrate VAULT QUERIES.jsonl` again."
    try:
        content = parse_gates(file.read_text("utf-8"))
        thresholds = {
            name: gate["thresholds"][strictness] for name, gate in content["gates"].items()
        }
        made = datetime.fromtimestamp(content["fitted_at"], UTC).date()
        questions = sum(content["questions"].values())
        model = content["model"]
    except FileNotFoundError:
        finding = f"The evidence gate is as shipped ({strictness}), not fitted to this vault."
        remedy = "30 to 50 questions of your own and `sidelight calibrate` fit it."
        return [info("calibration", finding, remedy)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as failure:
        finding = f"The calibration {file} cannot be used ({type(failure).__name__}: {failure})."
        return [warning("calibration", finding, again)]
    said = ", ".join(f"{name} {value:.3f}" for name, value in sorted(thresholds.items()))
    finding = (
        f"Fitted to {counted(questions, 'question')} on {made}; thresholds ({strictness}): {said}."
    )
    if model and isinstance(visit.model, Embedder) and model != visit.model.id:
        stale = f"{finding} It was made with another model ({model}) and counts for words only."
        return [warning("calibration", stale, again)]
    return [ok("calibration", finding)]


# ------------------------------------------------------------------------------- places


def check_places(visit: Visit) -> list[Finding]:
    """Do the index and the models lie outside the vault and outside synced folders?"""
    places = visit.places
    found = []
    remedy = "Name another folder with --data-dir, or set XDG_DATA_HOME."
    if _is_inside(places.data, places.vault):
        finding = f"The index lies inside the vault ({places.data}) and would be synced with it."
        found.append(error("data-folder", finding, remedy))
    if places.data.exists() and not os.access(places.data, os.W_OK):
        finding = f"The index in {places.data} cannot be written: it answers, and stays as it is."
        mend = "Check the folder's permissions and whether its disk is read-only."
        found.append(error("data-folder", finding, mend))
    kind = file_system(places.data, _read("/proc/mounts")) if sys.platform == "linux" else ""
    if kind.startswith(NETWORK_FILE_SYSTEMS) or str(places.data).startswith("\\\\"):
        finding = f"The index lies on a network drive ({places.data}), which may lose writes."
        found.append(warning("data-folder", finding, remedy))
    service = synced_by(places.data)
    if service:
        finding = f"The index lies in {service} ({places.data}), which can damage it."
        found.append(warning("data-folder", finding, remedy))
    return found or [ok("data-folder", f"The index lies in {places.data}.")]


def synced_by(folder: Path) -> str:
    """The sync service a folder seems to belong to, by the names on its path; "" if none."""
    for part in folder.parts:
        lowered = part.lower()
        for name, service in SYNCED.items():
            if lowered == name or lowered.startswith((name + " ", name + "-")):
                return service
    return ""


def _is_inside(folder: Path, vault: Path) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(vault)


def check_disk_space(visit: Visit) -> list[Finding]:
    """Is there room for the index to grow and be rewritten?"""
    folder = visit.places.data
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    said = f"{free / 1e9:.1f} GB are free where the index lies."
    if free < NO_SPACE:
        return [error("disk-space", said, "Free some space: the next change may not be saved.")]
    if free < LITTLE_SPACE:
        return [warning("disk-space", said, "Free some space before the vault grows.")]
    return [ok("disk-space", said)]


def check_log(visit: Visit) -> list[Finding]:
    """Where is the log?"""
    log = visit.places.log
    size = f"{log.stat().st_size / 1e6:.1f} MB" if log.exists() else "nothing is logged yet"
    return [ok("log", f"{log} ({size}).")]


# ------------------------------------------------------------------------------- watching


def check_watching(visit: Visit) -> list[Finding]:
    """Can the system tell of every change in this vault?"""
    vault, seconds = visit.places.vault, visit.settings.poll_seconds
    waits = visit.index is not None and visit.index.status()[1].phase == "waiting"
    if visit.index is not None and visit.index.problem and not waits:  # else see `check_index`
        finding = f"The daemon looks through the vault every {seconds} s: {visit.index.problem}"
        remedy = "Changes are found later than usual; mend that, then start the daemon again."
        return [warning("watching", finding, remedy)]
    if not sys.platform.startswith("linux"):
        return [ok("watching", "The system reports changes by itself.")]
    kind = file_system(vault, _read("/proc/mounts"))
    if kind.startswith(NETWORK_FILE_SYSTEMS):
        finding = f"The vault lies on {kind}, where changes made elsewhere are not reported."
        remedy = (
            "Nothing is to be done; a smaller poll_seconds finds changes sooner, a vault on this "
            "computer at once."
        )
        said = f"{finding} It is looked through every {seconds} s."
        return [info("watching", said, remedy)]
    limit = int(_read("/proc/sys/fs/inotify/max_user_watches").strip() or 0)
    needed = visit.listing.folders
    if limit and needed > limit * 0.8:  # other programs share the limit
        finding = (
            f"{counted(needed, 'folder', 'is')} to be watched, and the system allows {limit:,}."
        )
        remedy = (
            "Raise it: sudo sysctl fs.inotify.max_user_watches=524288; until then the vault is "
            f"looked through every {seconds} s."
        )
        return [warning("watching", finding, remedy)]
    return [
        ok("watching", f"{counted(needed, 'folder', 'is')} watched; the system allows {limit:,}.")
    ]


def file_system(folder: Path, mounts: str) -> str:
    """Type of the file system a folder lies on, from the text of `/proc/mounts`; "" if unknown."""
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = (
            fields[1].encode().decode("unicode_escape").encode("latin-1").decode("utf-8", "replace")
        )
        if len(point) >= len(best) and folder.is_relative_to(point):
            best, kind = point, fields[2]
    return kind


def _read(file: str) -> str:
    try:
        return Path(file).read_text("utf-8", errors="replace")
    except OSError:
        return ""  # not every Linux has it (containers, WSL); the check then says less


# ------------------------------------------------------------------------------- the daemon


def check_daemon(visit: Visit) -> list[Finding]:
    """Does a daemon answer for this vault, and is it this version?"""
    said = visit.discovery
    if said is None:
        remedy = "Start it with `sidelight serve VAULT`; the sidebar needs it."
        return [info("daemon", "No daemon runs for this vault.", remedy)]
    pid, port, version = said.get("pid"), said.get("port"), said.get("version")
    restart = "Stop it and start `sidelight serve VAULT` again."
    if not isinstance(pid, int) or not isinstance(port, int) or not psutil.pid_exists(pid):
        finding = f"A daemon left its file behind ({visit.places.discovery})."
        return [info("daemon", finding, "The next `sidelight serve VAULT` replaces it.")]
    if pid == os.getpid():
        return [ok("daemon", f"This daemon answers on port {port}, version {version}.")]
    protocol = _health(port)
    if protocol is None:
        finding = f"The daemon (process {pid}) does not answer on port {port}."
        return [warning("daemon", finding, restart)]
    installed = metadata.version(APP)
    if protocol != PROTOCOL or version != installed:
        finding = f"The running daemon is version {version}, and {installed} is installed."
        return [warning("daemon", finding, restart)]
    return [ok("daemon", f"It answers on port {port} (process {pid}), version {version}.")]


def _health(port: int) -> int | None:
    """The protocol number that answers on a loopback port; None if nothing of ours does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HEALTH_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        content = json.loads(connection.getresponse().read(4_096))
        protocol = content.get("protocol") if isinstance(content, dict) else None
        return protocol if isinstance(protocol, int) else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def check_origins(visit: Visit) -> list[Finding]:
    """May pages other than Obsidian talk to this daemon?"""
    if not visit.allowed_origins:
        return []
    finding = f"This daemon also answers the pages of {', '.join(visit.allowed_origins)}."
    return [
        warning("origins", finding, "That is for development: start it without --allow-origin.")
    ]
