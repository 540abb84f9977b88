"""Whom does a command ask? A running daemon of that vault, else the index itself."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidelight.bridge import client
from sidelight.bridge.protocol import MAX_QUERY_CHARS, TOKENIZERS
from sidelight.config import (
    Places,
    load_settings,
    open_vault,
    places_for,
    real_path,
    save_settings,
    settings_from,
)
from sidelight.errors import SidelightError, UsageError, VaultError
from sidelight.source_settings import ASKING, as_given, missing

if TYPE_CHECKING:
    from sidelight.engine import Engine
    from sidelight.evaluation.topics import Topic
    from sidelight.query.whole import WholeVault
    from sidelight.sources.feedback import FeedbackLog
    from sidelight.types import Finding


def search(vault: Path, data_dir: Path | None, params: dict[str, Any]) -> dict[str, Any]:
    """The `SearchResult` JSON of one query.

    Raises:
        SidelightError: no vault, no index, or the daemon's own error.
    """
    places = places_for(open_vault(vault), data_dir)
    params = {**params, **_not_in_a_circle(places)}
    daemon = client.connect(places)
    if daemon is not None:
        params["text"] = params["text"][:MAX_QUERY_CHARS]
        answer: dict[str, Any] = daemon.call("query/search", params, _patience(places))
        return answer
    from sidelight.bridge.protocol import search_result_json
    from sidelight.sources.federation import Federation
    from sidelight.types import Mode, SearchRequest

    if "sources" in params:
        params["sources"] = tuple(params["sources"])
    queries = tuple(params.get("queries", ()))
    request = SearchRequest(**{**params, "mode": Mode(params["mode"]), "queries": queries})
    with engine(vault, data_dir, lexical_only=request.mode is Mode.LEXICAL) as opened:
        federation = Federation(opened)
        try:
            return dict(search_result_json(federation.search(request)))
        finally:
            federation.close()


def _not_in_a_circle(places: Places) -> dict[str, Any]:
    """What a search that another search started may ask: the vault alone, and never its own.

    Raises:
        SidelightError: it was started by a source of this very vault.
    """
    asking = os.environ.get(ASKING, "").split()
    if places.key in asking:
        raise SidelightError(
            "This search was started by a source of the same vault.",
            "Let that source ask another vault, or take it out.",
            code="SOURCE_CYCLE",
        )
    return {"sources": []} if asking else {}


def _patience(places: Places) -> float:
    """Seconds to wait for a daemon that waits for its sources."""
    limits = [source.timeout_s for source in load_settings(places).sources]
    return client.CALL_S + max(limits, default=0.0)


def sources(vault: Path, data_dir: Path | None, *, check: bool) -> list[dict[str, Any]]:
    """How the other knowledge bases are, as `sources/list` or `sources/check` tells it."""
    from sidelight.bridge.wire import source_report_json
    from sidelight.sources.adapters import Adapters
    from sidelight.sources.checking import check_all, reports
    from sidelight.sources.health import Health

    places = places_for(open_vault(vault), data_dir)
    daemon = client.connect(places)
    if daemon is not None:
        answer = daemon.call("sources/check" if check else "sources/list")
        return list(answer["sources"])
    settings, health = load_settings(places), Health(places.source_health)
    if not check:
        return [dict(source_report_json(one)) for one in reports(settings.sources, health)]
    from sidelight.language.terms import Terms

    adapters = Adapters(places.vault, places.key)
    terms = Terms(settings.user_words)
    found = check_all(settings.sources, adapters, health, terms, places.vault)
    adapters.close()
    return [dict(source_report_json(one)) for one in found]


def source_settings(vault: Path, data_dir: Path | None) -> list[dict[str, Any]]:
    """The sources of the settings, as a person would write them."""
    places = places_for(open_vault(vault), data_dir)
    return [as_given(source) for source in load_settings(places).sources]


def set_sources(vault: Path, data_dir: Path | None, values: list[dict[str, Any]]) -> None:
    """Puts other sources into the settings, through a running daemon if there is one.

    Raises:
        UsageError: one is not right, or what a new one names is not there.
    """
    places = places_for(open_vault(vault), data_dir)
    old = load_settings(places)
    new = settings_from({"sources": values}, old)
    for source in new.sources:
        what = missing(source) if source not in old.sources else ""
        if what:
            raise UsageError(f"Source '{source.name}': {what}.", "Correct its path.")
    set_settings(vault, data_dir, {"sources": values})


def set_settings(vault: Path, data_dir: Path | None, values: dict[str, Any]) -> None:
    """Changes settings, through a running daemon if there is one.

    Raises:
        UsageError: a name or value is wrong; nothing is changed.
    """
    places = places_for(open_vault(vault), data_dir)
    daemon = client.connect(places)
    if daemon is not None:
        daemon.call("settings/set", {"values": values})
    else:
        save_settings(places, settings_from(values, load_settings(places)))


def feedback_log(vault: Path, data_dir: Path | None) -> FeedbackLog:
    """The feedback log of a vault."""
    from sidelight.sources.feedback import FeedbackLog

    return FeedbackLog(places_for(open_vault(vault), data_dir).feedback)


def pack(vault: Path, data_dir: Path | None, params: dict[str, Any]) -> dict[str, Any]:
    """The JSON of one context. A tokenizer given as a file is read here, not by a daemon.

    Raises:
        SidelightError: as `search`; a tokenizer that is none.
    """
    places = places_for(open_vault(vault), data_dir)
    named = params["tokenizer"] in ("", *TOKENIZERS)
    daemon = client.connect(places) if named else None
    if daemon is not None:
        params = {**params, "text": params["text"][:MAX_QUERY_CHARS]}
        answer: dict[str, Any] = daemon.call("query/pack", params)
        return answer
    from sidelight.bridge.wire import pack_json
    from sidelight.types import Mode, PackRequest

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


def warn_of_unknown_notes(engine: Engine, topics: Sequence[Topic]) -> None:
    """Says on standard error which notes the judgements name and no search can find.

    A misspelt path would look like a bad search otherwise.
    """
    from sidelight.evaluation.topics import unknown_notes

    def known(path: str) -> bool:
        attached = not path.endswith(".md") and (engine.vault / path).is_file()
        return attached or engine.note_status(path).indexed

    unknown = unknown_notes(topics, known)
    if unknown:
        shown = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        what = "1 note" if len(unknown) == 1 else f"{len(unknown)} notes"
        said = f"{what} of the query file cannot be found, being not in the index: {shown}"
        print(f"sidelight: {said}", file=sys.stderr)


def findings(vault: Path, data_dir: Path | None) -> Sequence[Finding]:
    """The checks of `doctor`: of the running daemon if there is one, else from here."""
    from sidelight.types import Finding

    places = places_for(real_path(vault), data_dir)
    daemon = client.connect(places)
    if daemon is not None:
        answer = daemon.call("doctor/run", timeout=120)
        return [Finding(**finding) for finding in answer["findings"]]
    return [*_own_findings(vault, data_dir), *_source_findings(vault, data_dir)]


def _source_findings(vault: Path, data_dir: Path | None) -> Sequence[Finding]:
    from sidelight.sources.checking import findings as told
    from sidelight.types import SourceReport

    try:
        checked = sources(vault, data_dir, check=True)
    except (UsageError, VaultError):  # a finding of its own: settings that are not right, no vault
        return ()
    lists = ({**one, "dead_cards": tuple(one["dead_cards"])} for one in checked)
    return told([SourceReport(**one) for one in lists])


def _own_findings(vault: Path, data_dir: Path | None) -> Sequence[Finding]:
    from sidelight.doctor import diagnose
    from sidelight.engine import Engine

    try:
        opened = Engine.open(vault, data_dir=data_dir, read_only=True)
    except VaultError:  # a finding, too: doctor names it, as it does the next
        return diagnose(vault, data_dir=data_dir)
    except SidelightError as error:
        return diagnose(vault, data_dir=data_dir, index_error=error)
    try:
        return diagnose(vault, data_dir=data_dir, index=opened, embedder=opened.embedder)
    finally:
        opened.close()
