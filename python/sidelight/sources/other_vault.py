"""A source that is another indexed vault: asked through its daemon, else by its index.

Its own gate has decided what is evidence; its own sources are not asked, so two vaults that
name each other end after one step. Without a running daemon its index is opened read-only and
searched by words.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sidelight.bridge import client
from sidelight.config import Places, Settings, load_settings, open_vault, places_for
from sidelight.engine import Engine
from sidelight.errors import CancelledError, SidelightError
from sidelight.source_settings import SourceSettings
from sidelight.sources.asking import PER_ANSWER, Answer, Ask, Found, SourceError
from sidelight.sources.wire_results import citation_from, result_from
from sidelight.types import Citation, Origin, Result, SearchRequest

WORDS_ONLY = "its daemon does not run: only words were searched"


class OtherVault:
    """Another vault of the user's."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: tuple[tuple[int, ...], Engine] | None = None

    def ask(self, ask: Ask) -> Answer:
        """See `Adapter`."""
        request = self._request(ask)
        places = self._places()
        try:
            daemon = client.connect(places)
            if daemon is not None:
                return _answered(_by_daemon(daemon, request, ask))
            with self._lock:
                engine = self._engine(places)
                result = engine.search(request, ask.must_stop)
            return _answered(result.results if result.ok else (), WORDS_ONLY)
        except CancelledError as error:
            raise SourceError("It took too long.", "Raise its 'timeout_s'.") from error
        except SourceError:
            raise
        except SidelightError as error:
            raise SourceError(error.message, error.remedy) from error

    def check(self, ask: Ask) -> None:
        """See `Adapter`."""
        places = self._places()
        try:
            if client.connect(places) is None:
                with self._lock:
                    self._engine(places)
        except SidelightError as error:
            raise SourceError(error.message, error.remedy) from error

    def has_target(self, arguments: Mapping[str, str], ask: Ask) -> bool:
        """See `Adapter`."""
        path = arguments.get("path")
        return path is None or (self._places().vault / path).is_file()

    def close(self) -> None:
        """See `Adapter`."""
        with self._lock:
            if self._opened is not None:
                self._opened[1].close()
            self._opened = None

    def resolve(self, ref: str) -> tuple[str, Citation]:
        """Where a passage of it stands now.

        Raises:
            SidelightError: it cannot be asked, or knows the passage no more.
        """
        places = self._places()
        daemon = client.connect(places)
        if daemon is None:
            with self._lock:
                return self._engine(places).resolve(ref)
        answer = daemon.call("citation/resolve", {"ref": ref}, timeout=self._settings.timeout_s)
        return str(answer["path"]), citation_from(answer["citation"], str(answer["text"]))

    def place_of(self, path: str) -> Path | None:
        """The full path of one of its notes, if it is there."""
        place = self._places().vault / path
        return place if place.is_file() else None

    # ------------------------------------------------------------------ inside

    def _places(self) -> Places:
        data_dir = os.path.expanduser(self._settings.data_dir) or None
        try:
            return places_for(open_vault(self._settings.path), data_dir)
        except SidelightError as error:
            raise SourceError(error.message, "It may have moved: correct its 'path'.") from error

    def _request(self, ask: Ask) -> SearchRequest:
        given, path = ask.arguments.get("query"), ask.arguments.get("path")
        asked = ask.request
        return SearchRequest(
            text=given or asked.text,
            mode=asked.mode,
            limit=PER_ANSWER,
            filters={"path": path} if path else {} if given else asked.filters,
            typing=asked.typing and not given,
            sources=(),
        )

    def _engine(self, places: Places) -> Engine:
        """Its index as it is now, opened read-only; opened anew when it has changed."""
        signature = _written(places.data)
        if self._opened is not None and self._opened[0] == signature:
            return self._opened[1]
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None
        settings: Settings = load_settings(places)
        engine = Engine.open(
            places.vault, data_dir=places.data, read_only=True, lexical_only=True, settings=settings
        )
        self._opened = (signature, engine)
        return engine


def _by_daemon(daemon: client.BridgeClient, request: SearchRequest, ask: Ask) -> list[Result]:
    params: dict[str, Any] = {
        "text": request.text, "mode": request.mode.value, "limit": request.limit,
        "filters": dict(request.filters), "typing": request.typing, "sources": [],
    }  # fmt: skip
    answer = daemon.call("query/search", params, timeout=max(0.1, ask.seconds_left))
    try:
        return [result_from(one) for one in answer["results"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(
            "Its daemon is of another version and was not understood.",
            "Update it, then stop and start it.",
        ) from error


def _answered(results: Any, *problems: str) -> Answer:
    found = [
        Found(
            text=result.text,
            title=result.title,
            path=result.path,
            citation=result.citation,
            heading_path=result.heading_path,
            inner=result,
        )
        for result in results
        if result.origin is Origin.DIRECT
    ]
    return Answer(found[:PER_ANSWER], problems)


def _written(data: Path) -> tuple[int, ...]:
    """When the parts of an index were last written."""
    try:
        return tuple(
            sorted(
                os.stat(inner).st_mtime_ns
                for folder in os.scandir(data)
                if folder.is_dir()
                for inner in os.scandir(folder)
                if inner.is_dir()
            )
        )
    except OSError:
        return ()  # opening it says what is wrong
