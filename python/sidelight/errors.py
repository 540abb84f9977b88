"""Every error a caller can act on: a stable code, a message for people, a remedy.

One root, leaves by what the caller can do. Nothing here prints or exits.
"""

from __future__ import annotations


class SidelightError(Exception):
    """An expected failure.

    Attributes:
        code: stable identifier, `UPPER_SNAKE`; scripts and the plugin match on it.
        message: one sentence for people, without private note text.
        remedy: what the person can do about it, one sentence; may be empty.
    """

    code = "INTERNAL"

    def __init__(self, message: str, remedy: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class UsageError(SidelightError):
    """The call itself is wrong (exit code 2, JSON-RPC invalid params)."""

    code = "USAGE"


class SettingsError(UsageError):
    """The user's settings file is not valid; the command itself was right (exit code 1)."""

    code = "SETTINGS"


class QueriesError(UsageError):
    """A file of judged queries is missing or not valid; the command was right (exit code 1)."""

    code = "QUERIES"


class VaultError(SidelightError):
    """The vault is missing, not a folder, or cannot be read."""

    code = "VAULT_UNAVAILABLE"


class AccessError(SidelightError):
    """A path is outside what may be read: one error for every such path."""

    code = "PATH_REFUSED"


class NotFoundError(SidelightError):
    """A note, passage or reference is not (or no longer) there."""

    code = "NOT_FOUND"


class IndexUnavailableError(SidelightError):
    """The index cannot be opened or written now (locked, full disk, read-only)."""

    code = "INDEX_UNAVAILABLE"


class ModelError(SidelightError):
    """A model is missing, damaged or cannot be built; words still work."""

    code = "MODEL_UNAVAILABLE"


class BridgeError(SidelightError):
    """The daemon does not run, refuses, or speaks another protocol."""

    code = "BRIDGE_UNAVAILABLE"


class CancelledError(SidelightError):
    """The request was cancelled by its client or replaced by a newer one."""

    code = "CANCELLED"
