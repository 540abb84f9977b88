"""Which adapter asks a source? One for each description, kept while the description stands."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from sidelight.language.terms import Terms
from sidelight.source_settings import SourceSettings
from sidelight.sources.asking import Adapter, SourceError
from sidelight.sources.command import Command
from sidelight.sources.markdown import MarkdownFolder
from sidelight.sources.other_vault import OtherVault
from sidelight.sources.records import Records


class Adapters:
    """The adapters of one vault's sources. Thread-safe.

    Args:
        vault: real path of the vault that asks.
        vault_key: its key.
    """

    def __init__(self, vault: Path, vault_key: str) -> None:
        self._vault = vault
        self._vault_key = vault_key
        self._lock = threading.Lock()
        self._made: dict[tuple[SourceSettings, str], Adapter] = {}

    def of(self, source: SourceSettings, terms: Terms) -> Adapter:
        """The adapter of a source.

        Raises:
            SourceError: the source is this vault itself.
        """
        with self._lock:
            key = (source, terms.signature)
            if key not in self._made:
                self._made[key] = self._make(source, terms)
            return self._made[key]

    def keep_only(self, sources: Sequence[SourceSettings]) -> None:
        """Lets go of adapters whose source was changed or removed."""
        with self._lock:
            gone = [key for key in self._made if key[0] not in sources]
            adapters = [self._made.pop(key) for key in gone]
        for adapter in adapters:
            adapter.close()

    def close(self) -> None:
        """Lets go of all."""
        self.keep_only(())

    def _make(self, source: SourceSettings, terms: Terms) -> Adapter:
        if source.kind == "vault":
            if _same_folder(Path(source.path).expanduser(), self._vault):
                raise SourceError(
                    "It is this vault itself.", "Take it out: the vault is searched anyway."
                )
            return OtherVault(source)
        if source.kind == "markdown":
            return MarkdownFolder(source, terms)
        if source.kind == "records":
            return Records(source, terms)
        return Command(source, self._vault_key)


def _same_folder(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
