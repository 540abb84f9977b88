"""How do the inner values look on the wire? Pure conversions to the types of `protocol.py`.

Code points become UTF-16 units here and nowhere else. Keys always come in the same order
and numbers are never rounded, so equal values give equal bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

from sidelight.source_settings import as_given

if TYPE_CHECKING:  # a command that asks a daemon imports this module and waits for what it imports
    from sidelight import types
    from sidelight.ask.state import State
    from sidelight.bridge import protocol
    from sidelight.config import Settings


_MENTION_CHARS = 200  # of a line that are shown around a mention


def encode(value: Any) -> str:
    """Compact JSON without NaN or infinities; text stays readable, half characters are escaped.

    Raises:
        ValueError: a number that JSON does not know.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, from a file name that is not UTF-8
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def utf16_length(text: str) -> int:
    """UTF-16 units of `text`: characters beyond U+FFFF count twice."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_ranges(text: str, ranges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Code-point ranges of `text` as UTF-16 ranges."""
    if not text or max(text) <= "\uffff":
        return [[start, end] for start, end in ranges]
    return [[utf16_length(text[:start]), utf16_length(text[:end])] for start, end in ranges]


def search_result_json(result: types.SearchResult) -> protocol.SearchResult:
    """The contract's `SearchResult`, byte-stable; also what `sidelight search --json` prints."""
    return {
        "status": "ok" if result.ok else "no_evidence",
        "code": None if result.ok else "RAG_NO_EVIDENCE",
        "reasons": _reasons_json(result.reasons),
        "query": _query_json(result.query),
        "results": [result_json(r) for r in result.results],
        "near_misses": [result_json(r) for r in result.near_misses],
        "degraded": _degraded_json(result.degraded),
        "index": index_json(result.index),
        "timing_ms": cast(dict[str, Any], plain(result.timing_ms)),
        "trace": None if result.trace is None else cast(dict[str, Any], plain(result.trace)),
        "sources": [
            {
                "name": s.name,
                "kind": s.kind,
                "state": cast(Any, s.state),
                "shown": s.shown,
                "reason": s.reason,
            }
            for s in result.sources
        ],
        "cards": [card_json(card) for card in result.cards],
    }


def _reasons_json(reasons: Sequence[types.Reason]) -> list[protocol.Reason]:
    return [{"kind": r.kind, "message": r.message} for r in reasons]


def _degraded_json(degraded: Sequence[types.Degraded]) -> list[protocol.Degraded]:
    return [{"channel": d.channel, "reason": d.reason, "partial": d.partial} for d in degraded]


def _query_json(query: types.QueryView) -> protocol.QueryView:
    return {
        "text": query.text,
        "terms": list(query.terms),
        "unknown_terms": list(query.unknown_terms),
        "filters": cast(dict[str, Any], plain(query.filters)),
        "language": query.language,
    }


def pack_json(pack: types.Pack) -> protocol.PackResult:
    """A context; also what `sidelight pack --json` prints."""
    return {
        "status": "ok" if pack.ok else "no_evidence",
        "code": None if pack.ok else "RAG_NO_EVIDENCE",
        "reasons": _reasons_json(pack.reasons),
        "text": pack.text,
        "tokens": pack.tokens,
        "budget": pack.budget,
        "tokenizer": pack.tokenizer,
        "pieces": [piece_json(piece) for piece in pack.pieces],
        "left_out": [_left_out_json(one) for one in pack.left_out],
        "query": _query_json(pack.query),
        "queries": list(pack.queries),
        "near_misses": [result_json(r) for r in pack.near_misses],
        "degraded": _degraded_json(pack.degraded),
        "index": index_json(pack.index),
        "timing_ms": cast(dict[str, Any], plain(pack.timing_ms)),
    }


def piece_json(piece: types.Piece) -> protocol.Piece:
    """One numbered piece of a context."""
    return {
        "number": piece.number,
        "ref": piece.ref,
        "path": piece.path,
        "title": piece.title,
        "heading_path": list(piece.heading_path),
        "citation": citation_json(piece.citation),
        "text": piece.text,
        "tokens": piece.tokens,
        "scope": cast(Any, piece.scope),
        "origin": piece.origin.value,
        "evidence": float(piece.evidence),
        "queries": list(piece.queries),
    }


def _left_out_json(one: types.LeftOut) -> protocol.LeftOut:
    return {
        "ref": one.ref,
        "path": one.path,
        "heading_path": list(one.heading_path),
        "start_line": one.start_line,
        "end_line": one.end_line,
        "why": cast(Any, one.why),
    }


def ask_json(state: State) -> protocol.AskResult:
    """One question, answered or on its way; also what `sidelight ask --json` prints."""
    return {
        "question": state.question,
        "endpoint": state.endpoint,
        "phase": cast(Any, state.phase),
        "status": cast(Any, state.status),
        "code": "RAG_NO_EVIDENCE" if state.status == "no_evidence" else None,
        "reasons": cast(Any, [dict(reason) for reason in state.reasons]),
        "known": state.known,
        "missing": state.missing,
        "steps": cast(Any, [asdict(step) for step in state.steps]),
        "evidence": cast(
            Any, [{k: v for k, v in p.items() if k != "first"} for p in state.evidence]
        ),
        "sentences": [
            {
                "text": s.text,
                "citations": list(s.citations),
                "supported": s.supported,
                "removed": list(s.removed),
            }
            for s in state.sentences
        ],
        "spent": cast(Any, asdict(state.spent)),
        "stopped": state.stopped,
    }


def result_json(result: types.Result) -> protocol.Result:
    """One cited passage; `queries` only where there were sub-queries."""
    plain_result = _result_json(result)
    if result.queries:
        plain_result["queries"] = list(result.queries)
    return plain_result


def _result_json(result: types.Result) -> protocol.Result:
    return {
        "rank": result.rank,
        "ref": result.ref,
        "source": result.source,
        "also_in": list(result.also_in),
        "path": result.path,
        "title": result.title,
        "heading_path": list(result.heading_path),
        "text": result.text,
        "snippet": {
            "text": result.snippet.text,
            "highlights": utf16_ranges(result.snippet.text, result.snippet.highlights),
        },
        "origin": result.origin.value,
        "graph_provenance": _provenance_json(result.graph_provenance),
        "channels": {
            "metadata": _metadata_json(result.channels.get("metadata")),
            "bm25": _channel_json(result.channels.get("bm25")),
            "vector": _channel_json(result.channels.get("vector")),
            "graph": _chain_json(result.channels.get("graph")),
        },
        "rrf_score": float(result.rrf_score),
        "rerank_score": None if result.rerank_score is None else float(result.rerank_score),
        "evidence": float(result.evidence),
        "citation": citation_json(result.citation),
        "conflict_of": result.conflict_of,
        "entry": None
        if result.entry is None
        else {"kind": result.entry.kind, "id": result.entry.id, "link": result.entry.link},
        "via_card": None if result.via_card is None else card_json(result.via_card),
        "credibility": result.credibility,
    }


def card_json(card: types.FollowedCard) -> protocol.FollowedCard:
    """An index card that was followed."""
    return {
        "ref": card.ref,
        "title": card.title,
        "source": card.source,
        "arguments": dict(card.arguments),
        "ran": list(card.ran),
        "found": card.found,
        "problem": card.problem,
    }


def source_report_json(report: types.SourceReport) -> protocol.SourceReport:
    """How another knowledge base is."""
    return {
        "name": report.name,
        "kind": report.kind,
        "description": report.description,
        "place": report.place,
        "reachable": report.reachable,
        "last_success": report.last_success,
        "typical_ms": report.typical_ms,
        "error_rate": report.error_rate,
        "paused_s": report.paused_s,
        "reason": report.reason,
        "remedy": report.remedy,
        "dead_cards": list(report.dead_cards),
    }


def _provenance_json(link: types.GraphProvenance | None) -> protocol.GraphProvenance | None:
    if link is None:
        return None
    return {
        "seed_ref": link.seed_ref,
        "seed_path": link.seed_path,
        "seed_heading_path": list(link.seed_heading_path),
        "seed_rank": link.seed_rank,
        "seed_lines": None if link.seed_lines is None else list(link.seed_lines),
        "link": link.link,
        "link_line": link.link_line,
        "anchor": cast(Any, link.anchor),
    }


def _metadata_json(hit: types.ChannelHit | None) -> protocol.MetadataHit | None:
    if hit is None:
        return None
    return {"rank": hit.rank, "score": float(hit.score), "matched": list(hit.matched)}


def _chain_json(hit: types.ChannelHit | None) -> protocol.GraphHit | None:
    if hit is None:
        return None
    return {"rank": hit.rank, "score": float(hit.score), "chain": list(hit.matched)}


def _channel_json(hit: types.ChannelHit | None) -> protocol.ChannelHit | None:
    return None if hit is None else {"rank": hit.rank, "score": float(hit.score)}


def citation_json(citation: types.Citation) -> protocol.Citation:
    """Where a passage stands, with UTF-16 columns."""
    return {
        "kind": citation.kind.value,
        "status": citation.status.value,
        "match": None if citation.match is None else citation.match.value,
        "start_line": citation.start_line,
        "end_line": citation.end_line,
        "columns": _columns(citation),
        "node": citation.node,
        "file_hash": citation.file_hash,
    }


def _columns(citation: types.Citation) -> list[int] | None:
    if citation.columns is None:
        return None
    start = citation.columns[0] + citation.wide_before
    return [start, start + utf16_length(citation.text)]


def index_json(state: types.IndexState) -> protocol.IndexState:
    """What the index covers."""
    return {
        "snapshot": state.snapshot,
        "notes": state.notes,
        "chunks": state.chunks,
        "embedded_chunks": state.embedded_chunks,
        "pending": state.pending,
    }


def progress_json(progress: types.Progress) -> protocol.Progress:
    """How far a long job is."""
    told: protocol.Progress = {
        "phase": progress.phase,
        "done": progress.done,
        "total": progress.total,
        "rate": progress.rate,
        "seconds_left": progress.seconds_left,
    }
    if progress.reason:
        told["reason"] = progress.reason
    return told


def note_status_json(state: types.NoteState) -> protocol.NoteStatus:
    """What the index knows of one note."""
    return {
        "path": state.path,
        "indexed": state.indexed,
        "chunks": state.chunks,
        "embedded": state.embedded,
        "hash": state.content_hash,
        "error": state.error,
        "problems": [
            {"code": p.code, "message": p.message, "line": p.line} for p in state.problems
        ],
        "when": state.indexed_at,
    }


def passage_json(path: str, passage: types.Passage) -> protocol.IndexedPassage:
    """A passage as it was indexed."""
    return {
        "path": path,
        "kind": passage.kind.value,
        "heading_path": list(passage.heading_path),
        "start_line": passage.start_line,
        "end_line": passage.end_line,
        "node": passage.node,
        "text": passage.text,
    }


def link_json(resolved: types.ResolvedLink) -> protocol.LinkItem:
    """A link with where it leads."""
    link = resolved.link
    return {
        "source_path": resolved.source_path,
        "source_text": link.source_text,
        "line": link.line,
        "kind": link.kind.value,
        "embed": link.embed,
        "target": link.target,
        "subpath": link.subpath,
        "display": link.display,
        "path": resolved.path,
        "target_line": resolved.line,
    }


def mention_json(mention: types.Mention) -> protocol.MentionItem:
    """A mention with its place and the part of its line around it."""
    line, (start, end) = mention.line_text, mention.columns
    cut = max(0, start - _MENTION_CHARS // 2)
    shown = line[cut : max(end, cut + _MENTION_CHARS)]
    return {
        "source_path": mention.source_path,
        "target_path": mention.target_path,
        "name": mention.name,
        "line": mention.line,
        "columns": utf16_ranges(line, [mention.columns])[0],
        "text": line[start:end],
        "snippet": {"text": shown, "highlights": utf16_ranges(shown, [(start - cut, end - cut)])},
    }


def settings_json(settings: Settings) -> dict[str, Any]:
    """Every setting with its value."""
    values = asdict(settings)
    values["sources"] = [as_given(source) for source in settings.sources]
    return cast(dict[str, Any], plain(values))


def plain(value: Any) -> Any:
    """`value` in JSON's own types: tuples become lists, NaN and infinities become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [plain(item) for item in items]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral):  # NumPy's too
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    return str(value)
