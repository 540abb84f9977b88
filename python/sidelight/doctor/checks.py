"""What keeps Sidelight from working well on this vault? Every check, in order.

The doctor reads files, asks the daemon's `/health` and loads the model; it never repairs,
writes or changes anything, and never shows note text.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sidelight.config import Settings, load_settings, open_vault, places_for, real_path
from sidelight.doctor import contents, keeping, surroundings
from sidelight.doctor.visit import OpenIndex, Visit, counted
from sidelight.errors import SidelightError, UsageError, VaultError
from sidelight.models.embedder import Embedder
from sidelight.types import Finding

SEVERITIES = ("ok", "info", "warning", "error")

CHECKS: tuple[Callable[[Visit], list[Finding]], ...] = (
    surroundings.check_versions,
    contents.check_vault,
    contents.check_size,
    contents.check_settings,
    contents.check_exclusions,
    contents.check_unread_files,
    contents.check_clock,
    contents.check_note_problems,
    contents.check_sync_conflicts,
    keeping.check_index,
    keeping.check_made_with,
    keeping.check_failed_notes,
    keeping.check_writer,
    surroundings.check_model,
    surroundings.check_reranker,
    surroundings.check_calibration,
    surroundings.check_watching,
    surroundings.check_places,
    surroundings.check_disk_space,
    surroundings.check_daemon,
    surroundings.check_origins,
    surroundings.check_log,
)

# What cannot be told while the vault is away.
IN_THE_VAULT = (
    contents.check_size,
    contents.check_exclusions,
    contents.check_unread_files,
    contents.check_clock,
    contents.check_note_problems,
    contents.check_sync_conflicts,
    surroundings.check_watching,
)


def diagnose(
    vault: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    index: OpenIndex | None = None,
    index_error: SidelightError | None = None,
    allowed_origins: Sequence[str] = (),
    embedder: Embedder | None = None,
) -> list[Finding]:
    """Runs every check, in order; takes seconds, as it reads every note and loads the model.

    A vault that is away is a finding, and what needs its notes is then left out.

    Args:
        vault: the vault's folder.
        data_dir: where the index lies, if not in the user's data folder.
        index: an open engine (read-only will do); None where there is none.
        index_error: why the index could not be opened, if it could not.
        allowed_origins: what this daemon was started with (`--allow-origin`).
        embedder: the model, where it is loaded already; else it is loaded for the checks.
    """
    vault_error: SidelightError | None = None
    try:
        open_vault(vault)
    except VaultError as error:
        vault_error = error
    places = places_for(real_path(vault), data_dir)
    settings_error: SidelightError | None = None
    try:
        settings = load_settings(places)
    except UsageError as error:
        settings, settings_error = Settings(), error
    visit = Visit(
        places, settings, index, index_error, settings_error, tuple(allowed_origins),
        vault_error, embedder,
    )  # fmt: skip
    checks = [check for check in CHECKS if vault_error is None or check not in IN_THE_VAULT]
    return [finding for check in checks for finding in check(visit)]


def as_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """The JSON of `sidelight doctor --json`, the same as of `doctor/run`."""
    names = ("check", "severity", "finding", "remedy")
    return {"findings": [{name: getattr(f, name) for name in names} for f in findings]}


def render(findings: Sequence[Finding]) -> str:
    """What a person reads: one line a finding, its remedy below, and a count at the end."""
    width = max((len(f.check) for f in findings), default=0)
    lines = []
    for finding in findings:
        lines.append(f"{finding.severity:<7}  {finding.check:<{width}}  {finding.finding}")
        if finding.remedy:
            lines.append(" " * (width + 11) + "-> " + finding.remedy)
    counts = Counter(finding.severity for finding in findings)
    graver = [counted(counts[severity], severity) for severity in ("error", "warning")]
    return "\n".join([*lines, "", ", ".join([*graver, f"{counts['info']} to know"])])


def worst(findings: Sequence[Finding]) -> str:
    """The gravest severity among the findings; the command exits with 1 for an `error`."""
    return max((f.severity for f in findings), key=SEVERITIES.index, default="ok")
