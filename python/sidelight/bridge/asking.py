"""Whom do the tools and `sidelight ask` ask? The vault's running daemon, else the index opened in this process.

A daemon that goes away is looked for again; one that comes is used. Reads only: of the bridge's
methods those below and no other can be asked. An index opened here is opened again once someone
wrote it, and the vault is looked through for changes from time to time.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidelight.bridge import client
from sidelight.bridge.messages import error_from
from sidelight.config import open_vault, places_for
from sidelight.errors import AccessError, BridgeError

if TYPE_CHECKING:
    from sidelight.bridge.dispatch import Dispatcher
    from sidelight.engine import Engine

METHODS = (
    "query/search", "query/pack", "note/read", "note/links", "note/grep", "index/status",
)  # fmt: skip
_LOOK_AGAIN_S = 10.0  # a look through 20,000 notes takes half a second


class Asker:
    """One vault that is asked. Thread-safe; one question at a time.

    Args:
        vault: its folder.
        data_dir: where the index lies instead of the user's data folder.

    Raises:
        VaultError: there is no such vault.
    """

    def __init__(self, vault: Path, data_dir: Path | None) -> None:
        self._places = places_for(open_vault(vault), data_dir)
        self._vault, self._data_dir = vault, data_dir
        self._lock = threading.Lock()
        self._daemon: client.BridgeClient | None = None
        self._engine: Engine | None = None
        self._alone: Dispatcher | None = None
        self._looked = 0.0  # `time.monotonic` of the last look through the vault

    @property
    def vault(self) -> Path:
        """Its real path."""
        return self._places.vault

    @property
    def source(self) -> str:
        """Who answered last: "daemon", "index", or "" before the first question."""
        return "daemon" if self._daemon else "index" if self._alone else ""

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a method, as the bridge gives it.

        Raises:
            SidelightError: as the bridge's error says; or no daemon and no index.
        """
        if method not in METHODS:
            raise AccessError(f"The tools do not use {method}.")
        with self._lock:
            if self._daemon is None:
                self._daemon = client.connect(self._places)
            if self._daemon is not None:
                try:
                    return dict(self._daemon.call(method, params))
                except BridgeError:
                    self._daemon = client.connect(self._places)
                    if self._daemon is not None:
                        return dict(self._daemon.call(method, params))
            return self._ask_index(method, params)

    def close(self) -> None:
        """Lets go of the connection and the index."""
        if self._daemon is not None:
            self._daemon.close()
        if self._engine is not None:
            self._engine.close()

    def _ask_index(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        from sidelight.bridge.session import Session

        self._bring_up_to_date()
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
        text = json.dumps(request)
        answered = asyncio.run(_handled(self._opened(), text, Session))
        answer = json.loads(answered)
        if "error" in answer:
            raise error_from(dict(answer["error"]))
        return dict(answer["result"])

    def _bring_up_to_date(self) -> None:
        if self._engine is not None and self._engine.is_outdated:
            self._engine.close()
            self._engine = self._alone = None
        elif self._engine is not None and time.monotonic() - self._looked > _LOOK_AGAIN_S:
            self._engine.look_for_changes()
            self._looked = time.monotonic()

    def _opened(self) -> Dispatcher:
        if self._alone is None:
            self._alone = self._open()
            self._looked = time.monotonic()
        return self._alone

    def _open(self) -> Dispatcher:
        from sidelight.bridge.dispatch import Dispatcher
        from sidelight.bridge.door import Door
        from sidelight.bridge.methods import Methods
        from sidelight.engine import Engine

        self._engine = Engine.open(self._vault, data_dir=self._data_dir, read_only=True)
        methods = Methods(self._engine, Door(""), lambda: (), lambda: None)
        return Dispatcher(methods.table())


async def _handled(dispatcher: Dispatcher, text: str, session: Any) -> str:
    answer = await dispatcher.handle(text, session("t", opened=True))
    if answer is None:
        raise BridgeError("The index gave no answer.", "Run `sidelight doctor`.")
    return answer
