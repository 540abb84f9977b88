"""Whom does a command ask? A running daemon of that vault, else the index itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidelight.bridge import client
from sidelight.bridge.protocol import MAX_QUERY_CHARS
from sidelight.config import open_vault, places_for
from sidelight.errors import SidelightError
from sidelight.types import Finding, Mode, PackRequest, SearchRequest

if TYPE_CHECKING:
    from sidelight.engine import Engine
    from sidelight.query.whole import WholeVault


def search(vault: Path, data_dir: Path | None, params: dict[str, Any]) -> dict[str, Any]:
    """The `SearchResult` JSON of one query.

    Raises:
        SidelightError: no vault, no index, or the daemon's own error.
    """
    places = places_for(open_vault(vault), data_dir)
    daemon = client.connect(places)
    if daemon is not None:
        params = {**params, "text": params["text"][:MAX_QUERY_CHARS]}
        answer: dict[str, Any] = daemon.call("query/search", params)
        return answer
    from sidelight.bridge.protocol import search_result_json

    request = SearchRequest(**{**params, "mode": Mode(params["mode"])})
    with engine(vault, data_dir, lexical_only=request.mode is Mode.LEXICAL) as opened:
        return dict(search_result_json(opened.search(request)))


def pack(vault: Path, data_dir: Path | None, params: dict[str, Any]) -> dict[str, Any]:
    """The JSON of one context. A tokenizer given as a file is read here, not by a daemon.

    Raises:
        SidelightError: as `search`; a tokenizer that is none.
    """
    from sidelight.bridge.methods import TOKENIZERS

    places = places_for(open_vault(vault), data_dir)
    named = params["tokenizer"] in ("", *TOKENIZERS)
    daemon = client.connect(places) if named else None
    if daemon is not None:
        params = {**params, "text": params["text"][:MAX_QUERY_CHARS]}
        answer: dict[str, Any] = daemon.call("query/pack", params)
        return answer
    from sidelight.bridge.wire import pack_json

    queries = tuple(params["queries"])
    request = PackRequest(**{**params, "mode": Mode(params["mode"]), "queries": queries})
    with engine(vault, data_dir, lexical_only=request.mode is Mode.LEXICAL) as opened:
        return dict(pack_json(opened.pack(request)))


def pack_all(vault: Path, data_dir: Path | None, budget: int, tokenizer: str) -> WholeVault:
    """Every note of the vault as one context; see `query/whole.py`.

    Raises:
        SidelightError: no vault, no index, or a tokenizer that is none.
    """
    with engine(vault, data_dir) as opened:
        return opened.pack_all(budget, tokenizer)


@contextlib.contextmanager
def engine(vault: Path, data_dir: Path | None, *, lexical_only: bool = False) -> Iterator[Engine]:
    """The vault's index, open for asking; a daemon may go on writing it.

    Raises:
        SidelightError: no vault or no index.
    """
    from sidelight.engine import Engine

    opened = Engine.open(vault, data_dir=data_dir, read_only=True, lexical_only=lexical_only)
    try:
        yield opened
    finally:
        opened.close()


def findings(vault: Path, data_dir: Path | None) -> Sequence[Finding]:
    """The checks of `doctor`: of the running daemon if there is one, else from here."""
    from sidelight.doctor import diagnose
    from sidelight.engine import Engine

    places = places_for(open_vault(vault), data_dir)
    daemon = client.connect(places)
    if daemon is not None:
        answer = daemon.call("doctor/run", timeout=120)
        return [Finding(**finding) for finding in answer["findings"]]
    try:
        opened = Engine.open(vault, data_dir=data_dir, read_only=True)
    except SidelightError as error:  # a finding, too: doctor names it
        return diagnose(vault, data_dir=data_dir, index_error=error)
    try:
        return diagnose(vault, data_dir=data_dir, index=opened, embedder=opened.embedder)
    finally:
        opened.close()
