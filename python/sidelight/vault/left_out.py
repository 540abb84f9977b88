"""Why is a file of the vault not read? In a sentence with a remedy, for the vault's owner.

Only the owner's own commands may ask: to whoever comes over the bridge every refusal is the
same (`reading`).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sidelight.config import Settings
from sidelight.vault.exclusions import IGNORE_FILE, Exclusions
from sidelight.vault.files import is_placeholder, not_listed

# What to do about each problem that `files.scan` reports.
REMEDIES = {
    "folder-unreadable": "Give yourself the permission to read it.",
    "file-unreadable": "Give yourself the permission to read it.",
    "name-undecodable": "Rename it.",
    "folder-loop": "Remove the link.",
    "link-broken": "Repair or remove the link.",
    "link-not-followed": (
        "Put what it leads to into the vault, or name the linked folder in the setting "
        "followed_links."
    ),
    "not-a-file": "Put a file in its place, or move it out of the vault.",
}


def why_left_out(
    vault: Path, path: str, exclusions: Exclusions, settings: Settings
) -> tuple[str, str] | None:
    """The reason and a remedy; None for a file that is read, or that is not there.

    Args:
        vault: real path of the vault.
        path: vault path without `..`.
    """
    if exclusions.hidden(path):
        reason = (
            "names that start with a dot and the configuration folder are hidden, as in Obsidian"
        )
        return f"{path} is not read: {reason}.", "Rename it, or move it elsewhere."
    if exclusions.excluded(path):
        rules = f"Obsidian's excluded files, {IGNORE_FILE} or the setting excluded"
        return f"{path} is excluded and never read.", f"Change {rules}."
    place = vault
    followed = {link.strip("/") for link in settings.followed_links}
    try:
        for part in path.split("/"):
            place = place / part
            status = os.lstat(place)
            if place.relative_to(vault).as_posix() in followed:
                status = os.stat(place)
            if not stat.S_ISDIR(status.st_mode) and not stat.S_ISREG(status.st_mode):
                problem = not_listed(place, status.st_mode)
                return f"{path} is not read. {problem.message}", REMEDIES[problem.code]
    except (OSError, ValueError):
        return None  # reading it says what is wrong
    if stat.S_ISDIR(status.st_mode):
        return f"{path} is a folder.", "Name a note in it."
    if is_placeholder(status):
        remedy = "Let your sync service keep the vault's files on this computer."
        return f"{path} is not read: its content lies in the cloud only.", remedy
    if status.st_size > settings.max_note_bytes:
        limit = f"{settings.max_note_bytes / 1e6:g} MB"
        size = f"{status.st_size / 1e6:.1f} MB"
        remedy = "Split it, or raise the setting max_note_bytes."
        return f"{path} is not read: it has {size}, more than the limit of {limit}.", remedy
    return None
