"""What is in a canvas? Its text nodes and links (JSON Canvas 1.0; lines have no meaning)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from sidelight.types import CanvasNode, Link, LinkKind, Note, NoteKind, Problem
from sidelight.vault.inline import Stretch, links_in
from sidelight.vault.lines import decode, readable, split_lines
from sidelight.vault.wikilinks import is_asset


def parse_canvas(path: str, data: bytes) -> Note:
    """Reads one canvas; a broken one is a note with a problem and no nodes.

    File nodes are embeds of their file; links in text nodes are kept in node order.
    """
    text, problems = decode(data)
    nodes, problem = _nodes(text)
    texts: list[CanvasNode] = []
    links: list[Link] = []
    for node, (node_id, named) in zip(nodes, _ids(nodes), strict=True):
        content, file = _string(node, "text"), _string(node, "file")
        if node.get("type") == "text" and content is not None:
            texts.append(CanvasNode(node_id, content, named))
            links += _text_links(content, node_id)
        elif node.get("type") == "file" and file is not None:
            links.append(_file_link(file, _string(node, "subpath") or "", node_id))
    return Note(
        path=path,
        kind=NoteKind.CANVAS,
        title=PurePosixPath(path).stem,
        content_hash=hashlib.sha256(data).hexdigest(),
        size=len(data),
        lines=tuple(split_lines(text)),
        links=tuple(links),
        canvas_nodes=tuple(texts),
        problems=problems + ((problem,) if problem else ()),
    )


def _nodes(text: str) -> tuple[list[dict[str, Any]], Problem | None]:
    if not text.strip():
        return [], None  # Obsidian opens an empty file as an empty canvas
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        return [], Problem("canvas-invalid", "The canvas is not valid JSON.", _error_line(error))
    nodes = content.get("nodes", []) if isinstance(content, dict) else None
    if not isinstance(nodes, list):
        return [], Problem("canvas-invalid", "The canvas has no list of nodes.")
    return [node for node in nodes if isinstance(node, dict)], None


def _string(node: Mapping[str, Any], key: str) -> str | None:
    value = node.get(key)
    return readable(value) if isinstance(value, str) else None


def _is_id(value: object) -> bool:
    return isinstance(value, str | int | float)


def _ids(nodes: Sequence[Mapping[str, Any]]) -> list[tuple[str, bool]]:
    """An id for each node, and whether it is its own.

    JSON Canvas wants one; a node without, or with that of another, is known by its place.
    """
    given = [node.get("id") for node in nodes]
    written = [readable(str(value)) if _is_id(value) else None for value in given]
    counts = Counter(written)
    ids = []
    for number, node_id in enumerate(written):
        if node_id is not None and counts[node_id] == 1:
            ids.append((node_id, True))
            continue
        place = str(number)
        while place in counts:
            place = f"#{place}"
        ids.append((place, False))
    return ids


def _error_line(error: Exception) -> int | None:
    return error.lineno if isinstance(error, json.JSONDecodeError) else None


def _text_links(text: str, node_id: str) -> list[Link]:
    found = links_in(Stretch(split_lines(text), 1))
    found.sort(key=lambda item: item[0])
    return [
        Link(
            link.source_text,
            link.target,
            link.subpath,
            link.display,
            link.embed,
            link.is_asset,
            LinkKind.CANVAS,
            None,
            node_id,
        )
        for _, link in found
    ]


def _file_link(file: str, subpath: str, node_id: str) -> Link:
    target, subpath = file.strip(), subpath.strip()
    return Link(
        f"![[{target}{subpath}]]",
        target,
        subpath,
        None,
        True,
        is_asset(target),
        LinkKind.CANVAS,
        None,
        node_id,
    )
