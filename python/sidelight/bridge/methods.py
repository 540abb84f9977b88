"""What does each method of the protocol do? One small function each, from wire to engine and back.

Blocking; called in worker threads. Knows no socket and no JSON text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from sidelight import types
from sidelight.ask.loop import answer
from sidelight.ask.settings import endpoint_of, limits_of
from sidelight.ask.state import State
from sidelight.bridge import protocol, wire
from sidelight.bridge.discovery import installed_version
from sidelight.bridge.dispatch import Method, SessionRefusedError
from sidelight.bridge.door import Door
from sidelight.bridge.needs import EngineLike, SourcesLike
from sidelight.bridge.protocol import METHODS, NOTIFICATIONS, CloseCode
from sidelight.bridge.session import Call
from sidelight.config import PROTOCOL, Settings
from sidelight.errors import UsageError

MAX_FAILED_LISTED = 100


Doctor = Callable[[], Sequence[types.Finding]]


class Methods:
    """The method table of one daemon.

    Args:
        engine: answers.
        door: checks the token of `session/hello`.
        doctor: the checks of `sidelight doctor`.
        stop: asks the daemon to leave; called from the event loop.
        sources: the vault with other knowledge bases; None: the vault alone.
    """

    def __init__(
        self,
        engine: EngineLike,
        door: Door,
        doctor: Doctor,
        stop: Callable[[], None],
        sources: SourcesLike | None = None,
    ) -> None:
        self._sources = sources
        self._engine = engine
        self._door = door
        self._doctor = doctor
        self._stop = stop

    def table(self) -> dict[str, Method]:
        """Every method of the protocol by name."""
        answers: dict[str, Callable[[dict[str, Any], Call], Any]] = {
            "session/hello": self.hello,
            "query/search": self.search,
            "query/pack": self.pack,
            "ask/question": self.ask,
            "query/related": self.related,
            "citation/resolve": self.resolve,
            "citation/indexed": self.indexed,
            "sources/list": self.list_sources,
            "sources/check": self.check_sources,
            "feedback/record": self.record_feedback,
            "note/read": self.read,
            "note/links": self.links,
            "note/mentions": self.mentions,
            "note/grep": self.grep,
            "settings/get": self.get_settings,
            "settings/set": self.set_settings,
            "doctor/run": self.run_doctor,
            "index/status": self.status,
            "index/rebuild": self.rebuild,
            "index/pause": self.pause,
            "index/resume": self.resume,
            "daemon/stop": self.stop,
            "$/cancelRequest": self.cancel,
        }
        return {spec.name: Method(spec, answers[spec.name]) for spec in METHODS}

    def hello(self, params: dict[str, Any], call: Call) -> protocol.HelloResult:
        """Opens the session, or says why not; tells nothing before the token is right."""
        if not self._door.knows(params["token"]):
            raise SessionRefusedError(
                CloseCode.TOKEN_REFUSED,
                "The token is wrong.",
                "Read the discovery file again: each start of the daemon makes a new token.",
            )
        if params["protocol"] != PROTOCOL:
            raise _mismatch(params["protocol"])
        result: protocol.HelloResult = {
            "server": {
                "name": protocol.SERVER_NAME,
                "version": installed_version(),
                "pid": os.getpid(),
            },
            "protocol": PROTOCOL,
            "vault": str(self._engine.vault),
            "capabilities": {
                "methods": [spec.name for spec in METHODS],
                "notifications": [spec.name for spec in NOTIFICATIONS],
                "max_frame_bytes": protocol.MAX_FRAME_BYTES,
                "max_result_bytes": protocol.MAX_RESULT_BYTES,
            },
            "index": self.status({}, call),
        }
        call.session.open = True
        return result

    def search(self, params: dict[str, Any], call: Call) -> protocol.SearchResult:
        """`query/search`."""
        options = dict(params)
        if "mode" in options:
            options["mode"] = types.Mode(options["mode"])
        options["queries"] = _sub_queries(options.get("queries", []))
        if "sources" in options:
            options["sources"] = tuple(options["sources"])
        stream, notify = options.pop("stream", None), call.session.notify
        request = types.SearchRequest(**options)
        if self._sources is None:
            return wire.search_result_json(self._engine.search(request, call.cancelled))
        later = call.session.begin_later()

        def more(result: types.SearchResult, done: bool) -> None:
            assert notify is not None
            params = {"stream": stream, "result": wire.search_result_json(result), "done": done}
            notify("query/more", params)

        result = self._sources.search(
            request,
            lambda: call.cancelled() or later.is_set(),
            more if stream and notify is not None else None,
        )
        return wire.search_result_json(result)

    def list_sources(self, params: dict[str, Any], call: Call) -> protocol.SourcesResult:
        """`sources/list`."""
        reports = self._sources.reports() if self._sources else ()
        return {"sources": [wire.source_report_json(report) for report in reports]}

    def check_sources(self, params: dict[str, Any], call: Call) -> protocol.SourcesResult:
        """`sources/check`."""
        reports = self._sources.check(call.cancelled) if self._sources else ()
        return {"sources": [wire.source_report_json(report) for report in reports]}

    def record_feedback(self, params: dict[str, Any], call: Call) -> protocol.FeedbackResult:
        """`feedback/record`."""
        return {"kept": self._sources.record_feedback(params) if self._sources else False}

    def pack(self, params: dict[str, Any], call: Call) -> protocol.PackResult:
        """`query/pack`; a tokenizer is named, never a file of the client's choice."""
        options = dict(params)
        if options.get("tokenizer", "") not in ("", *protocol.TOKENIZERS):
            raise UsageError(
                f"'tokenizer' must be one of {', '.join(protocol.TOKENIZERS)}.",
                code="INVALID_PARAMS",
            )
        options["mode"] = types.Mode(options.get("mode", "hybrid"))
        options["queries"] = _sub_queries(options.get("queries", []))
        return wire.pack_json(self._engine.pack(types.PackRequest(**options), call.cancelled))

    def ask(self, params: dict[str, Any], call: Call) -> protocol.AskResult:
        """`ask/question`; asks this table's own methods, as any client would."""
        settings, notify = self._engine.settings, call.session.notify
        stream = params.get("stream")

        def tell(state: State) -> None:
            if stream and notify is not None:
                notify("ask/more", {"stream": stream, "result": wire.ask_json(state)})

        state = answer(
            params["text"],
            lambda method, given: dict(self._read_only(method)(dict(given), call)),
            endpoint_of(settings),
            limits_of(settings),
            tell,
            call.cancelled,
        )
        return wire.ask_json(state)

    def _read_only(self, method: str) -> Callable[[dict[str, Any], Call], Any]:
        """The methods that a loop may use."""
        return {
            "query/pack": self.pack,
            "note/grep": self.grep,
            "note/read": self.read,
            "note/links": self.links,
        }[method]

    def related(self, params: dict[str, Any], call: Call) -> protocol.SearchResult:
        """`query/related`."""
        result = self._engine.related(
            params["path"], params.get("line"), params.get("limit", 10), call.cancelled
        )
        return wire.search_result_json(result)

    def resolve(self, params: dict[str, Any], call: Call) -> protocol.ResolveResult:
        """`citation/resolve`."""
        buffer = params.get("buffer")
        asked = self._sources or self._engine
        path, citation = asked.resolve(params["ref"], buffer)
        location = self._sources.location(params["ref"]) if self._sources else None
        return {
            "path": path,
            "citation": wire.citation_json(citation),
            "text": citation.text,
            "why": citation.why,
            "location": location,
        }

    def indexed(self, params: dict[str, Any], call: Call) -> protocol.IndexedPassage:
        """`citation/indexed`."""
        return wire.passage_json(*self._engine.indexed_passage(params["ref"]))

    def read(self, params: dict[str, Any], call: Call) -> protocol.ReadResult:
        """`note/read`."""
        start, end = params.get("start_line"), params.get("end_line")
        if start is not None and end is not None and end < start:
            raise UsageError("'end_line' comes before 'start_line'.", code="INVALID_PARAMS")
        text, content_hash, line_count = self._engine.read_note(params["path"], start, end)
        return {
            "path": params["path"],
            "text": text,
            "content_hash": content_hash,
            "line_count": line_count,
        }

    def links(self, params: dict[str, Any], call: Call) -> protocol.LinksResult:
        """`note/links`."""
        links = self._engine.links(params["path"], params.get("direction", "out"))
        return {"links": [wire.link_json(link) for link in links]}

    def mentions(self, params: dict[str, Any], call: Call) -> protocol.MentionsResult:
        """`note/mentions`."""
        found = self._engine.mentions(
            params["path"], params.get("buffer"), params.get("limit", 50), call.cancelled
        )
        return {
            "inside": [wire.mention_json(mention) for mention in found.inside],
            "outside": [wire.mention_json(mention) for mention in found.outside],
        }

    def grep(self, params: dict[str, Any], call: Call) -> protocol.GrepResult:
        """`note/grep`."""
        found, truncated = self._engine.grep(
            params["pattern"],
            params.get("regex", False),
            params.get("path_glob"),
            params.get("limit", 200),
            call.cancelled,
        )
        matches: list[protocol.GrepMatch] = [
            {"path": path, "line": line, "text": text} for path, line, text in found
        ]
        return {"matches": matches, "truncated": truncated}

    def get_settings(self, params: dict[str, Any], call: Call) -> protocol.SettingsResult:
        """`settings/get`."""
        return {
            "settings": wire.settings_json(self._engine.settings),
            "defaults": wire.settings_json(Settings()),
        }

    def set_settings(self, params: dict[str, Any], call: Call) -> protocol.SetResult:
        """`settings/set`."""
        if self._sources is not None:
            self._sources.refuse_missing(params["values"])
        rebuilds = list(self._engine.update_settings(params["values"]))
        return {"settings": wire.settings_json(self._engine.settings), "rebuilds": rebuilds}

    def run_doctor(self, params: dict[str, Any], call: Call) -> protocol.DoctorResult:
        """`doctor/run`."""
        findings: list[Any] = [
            {"check": f.check, "severity": f.severity, "finding": f.finding, "remedy": f.remedy}
            for f in (*self._doctor(), *self._loosened())
        ]
        return {"findings": findings}

    def _loosened(self) -> list[types.Finding]:
        """What this daemon was told to let in besides Obsidian."""
        return [
            types.Finding(
                "bridge-origins",
                "warning",
                f"Web pages of {origin} may connect with the token.",
                "Start the daemon without --allow-origin.",
            )
            for origin in self._door.extra_origins
        ]

    def status(self, params: dict[str, Any], call: Call) -> protocol.IndexStatus:
        """`index/status`."""
        path = params.get("path")
        index, progress = self._engine.status()
        failed = [] if path else list(self._engine.failed_notes())[:MAX_FAILED_LISTED]
        return {
            "index": wire.index_json(index),
            "progress": wire.progress_json(progress),
            "oldest_pending_s": self._engine.oldest_pending_s(),
            "note": wire.note_status_json(self._engine.note_status(path)) if path else None,
            "failed": [wire.note_status_json(note) for note in failed],
        }

    def rebuild(self, params: dict[str, Any], call: Call) -> protocol.Done:
        """`index/rebuild`."""
        self._engine.rebuild()
        return {"ok": True}

    def pause(self, params: dict[str, Any], call: Call) -> protocol.Done:
        """`index/pause`."""
        self._engine.pause()
        return {"ok": True}

    def resume(self, params: dict[str, Any], call: Call) -> protocol.Done:
        """`index/resume`."""
        self._engine.resume()
        return {"ok": True}

    def stop(self, params: dict[str, Any], call: Call) -> protocol.Done:
        """`daemon/stop`."""
        self._stop()
        return {"ok": True}

    def cancel(self, params: dict[str, Any], call: Call) -> None:
        """`$/cancelRequest`."""
        call.session.cancel(params["id"])


def _sub_queries(queries: Sequence[Any]) -> tuple[str, ...]:
    if len(queries) > protocol.MAX_SUB_QUERIES or not all(isinstance(q, str) for q in queries):
        raise UsageError(
            f"'queries' must be at most {protocol.MAX_SUB_QUERIES} strings.", code="INVALID_PARAMS"
        )
    return tuple(query[: protocol.MAX_QUERY_CHARS] for query in queries)


def _mismatch(theirs: int) -> SessionRefusedError:
    older = "client" if theirs < PROTOCOL else "server"
    name = "program that connects (the plugin)" if older == "client" else "Sidelight daemon"
    return SessionRefusedError(
        CloseCode.PROTOCOL_MISMATCH,
        f"The daemon speaks protocol {PROTOCOL}, the client {theirs}: the {name} is older.",
        "Update the plugin in Obsidian."
        if older == "client"
        else "Update the sidelight package, then stop and start the daemon.",
        older=older,
        server_protocol=PROTOCOL,
    )
