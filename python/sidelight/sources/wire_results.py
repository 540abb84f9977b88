"""How does a result of another vault's daemon become ours again? The other way of `wire.py`.

Pure. UTF-16 positions become code points; what is missing or of a wrong form is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sidelight.types import (
    ChannelHit,
    Citation,
    CitationStatus,
    GraphProvenance,
    Match,
    Origin,
    PassageKind,
    Result,
    Snippet,
)


def result_from(value: Mapping[str, Any]) -> Result:
    """One result of a `SearchResult` JSON.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    text = str(value["snippet"]["text"])
    return Result(
        rank=int(value["rank"]),
        ref=str(value["ref"]),
        source=str(value["source"]),
        also_in=tuple(map(str, value["also_in"])),
        path=str(value["path"]),
        title=str(value["title"]),
        heading_path=tuple(map(str, value["heading_path"])),
        text=str(value["text"]),
        snippet=Snippet(
            text, tuple(_points(text, *pair) for pair in value["snippet"]["highlights"])
        ),
        origin=Origin(value["origin"]),
        graph_provenance=_provenance(value["graph_provenance"]),
        channels={name: _hit(hit) for name, hit in value["channels"].items()},
        rrf_score=float(value["rrf_score"]),
        rerank_score=None if value["rerank_score"] is None else float(value["rerank_score"]),
        evidence=float(value["evidence"]),
        citation=citation_from(value["citation"], str(value["text"])),
        conflict_of=value.get("conflict_of"),
    )


def citation_from(value: Mapping[str, Any], text: str) -> Citation:
    """A citation of `citation/resolve` or of a result; its columns stay UTF-16 by `wide_before`.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    columns = value["columns"]
    return Citation(
        kind=PassageKind(value["kind"]),
        status=CitationStatus(value["status"]),
        match=None if value["match"] is None else Match(value["match"]),
        start_line=value["start_line"],
        end_line=value["end_line"],
        # The wire gives the start in UTF-16 units and computes the end from the text: with no
        # wide characters counted before, the same numbers come out again.
        columns=None if columns is None else (int(columns[0]), int(columns[0]) + len(text)),
        node=value["node"],
        file_hash=value["file_hash"],
        text=text,
    )


def _hit(value: Mapping[str, Any] | None) -> ChannelHit | None:
    if value is None:
        return None
    return ChannelHit(int(value["rank"]), float(value["score"]), tuple(value.get("matched", ())))


def _provenance(value: Mapping[str, Any] | None) -> GraphProvenance | None:
    if value is None:
        return None
    lines = value["seed_lines"]
    return GraphProvenance(
        seed_ref=str(value["seed_ref"]),
        seed_path=str(value["seed_path"]),
        seed_heading_path=tuple(value["seed_heading_path"]),
        seed_rank=int(value["seed_rank"]),
        seed_lines=None if lines is None else (int(lines[0]), int(lines[1])),
        link=str(value["link"]),
        link_line=value["link_line"],
        anchor=str(value["anchor"]),
    )


def _points(text: str, start: int, end: int) -> tuple[int, int]:
    """UTF-16 positions of `text` as code points."""
    if text.isascii():
        return start, end
    units = text.encode("utf-16-le", "surrogatepass")
    first = len(units[: 2 * start].decode("utf-16-le", "replace"))
    return first, first + len(units[2 * start : 2 * end].decode("utf-16-le", "replace"))
