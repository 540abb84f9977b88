"""What can a round do to find what is missing? Four things, all of them only read the vault.

The model's wishes are checked here as any stranger's would be: unknown tools, wrong types and
numbers of pieces that do not exist are dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sidelight.ask.evidence import Evidence, Piece, lines_piece
from sidelight.errors import SidelightError
from sidelight.models.tokens import estimate

Vault = Callable[[str, Mapping[str, Any]], dict[str, Any]]
"""Asks a method of the bridge, wherever the vault is served."""

MOST_STEPS = 3  # of a round
_QUERY_CHARS = 500
_AROUND = 2  # lines before and after one that grep found
_GREP_LINES = 6
_FURTHER = 30  # lines read before and after a piece
_LINKED = 4  # notes whose first lines are read
_LEAD_LINES = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """What the model said of the evidence."""

    enough: bool
    known: str
    missing: str
    steps: tuple[tuple[str, Any], ...]


def read_plan(reply: str) -> Plan | None:
    """The plan in a model's reply; None where it ignores the form."""
    found = re.search(r"\{.*\}", reply, re.DOTALL)
    try:
        plan = json.loads(found[0]) if found else None
    except ValueError:
        plan = None
    if not isinstance(plan, dict) or not isinstance(plan.get("enough"), bool):
        return None
    steps = plan.get("steps")
    return Plan(
        plan["enough"],
        _words(plan.get("known")),
        _words(plan.get("missing")),
        tuple(_steps(steps if isinstance(steps, list) else [])),
    )


def _steps(steps: list[Any]) -> list[tuple[str, Any]]:
    kept = []
    for step in steps:
        if not isinstance(step, dict) or len(step) != 1:
            continue
        ((tool, value),) = step.items()
        text = tool in ("search", "grep") and isinstance(value, str) and bool(value.strip())
        number = tool in ("read", "links") and isinstance(value, int) and value is not True
        if text or number:
            kept.append((tool, value[:_QUERY_CHARS] if text else value))
    return kept[:MOST_STEPS]


def carry_out(tool: str, value: Any, vault: Vault, evidence: Evidence, budget: int) -> list[Piece]:
    """The pieces a step finds; none where the note or the words are not there.

    Raises:
        CancelledError: the question was given up.
    """
    try:
        if tool == "search":
            return _search(value, vault, budget)
        if tool == "grep":
            return _grep(value, vault, budget)
        piece = evidence.get(value)
        if piece is None:
            return []
        return (_read if tool == "read" else _follow)(piece, vault, budget)
    except SidelightError as error:
        if error.code == "CANCELLED":
            raise
        return []  # a note that went, or an expression that is none: nothing is found there


def _search(query: str, vault: Vault, budget: int) -> list[Piece]:
    params = {"text": query, "budget": budget, "tokenizer": "estimate"}
    return list(vault("query/pack", params)["pieces"])


def _grep(pattern: str, vault: Vault, budget: int) -> list[Piece]:
    params = {"pattern": pattern, "limit": _GREP_LINES}
    pieces = []
    for match in vault("note/grep", params)["matches"]:
        start = max(1, match["line"] - _AROUND)
        pieces.append(_lines(match["path"], start, match["line"] + _AROUND, vault, budget // 2))
    return pieces


def _read(piece: Piece, vault: Vault, budget: int) -> list[Piece]:
    start, end = piece["citation"]["start_line"], piece["citation"]["end_line"]
    if start is None:
        return []
    return [_lines(piece["path"], max(1, start - _FURTHER), end + _FURTHER, vault, budget)]


def _follow(piece: Piece, vault: Vault, budget: int) -> list[Piece]:
    links = vault("note/links", {"path": piece["path"], "direction": "out"})["links"]
    paths = [p for p in dict.fromkeys(link["path"] for link in links) if p and p.endswith(".md")]
    return [
        _lines(path, 1, _LEAD_LINES, vault, budget // 2)
        for path in paths[:_LINKED]
        if path != piece["path"]
    ]


def _lines(path: str, start: int, end: int, vault: Vault, budget: int) -> Piece:
    """Lines of a note, as many from the first on as the budget takes."""
    read = vault("note/read", {"path": path, "start_line": start, "end_line": end})
    lines = str(read["text"]).rstrip("\n").split("\n")
    while len(lines) > 1 and estimate("\n".join(lines)) > budget:
        lines.pop()
    title = path.rsplit("/", 1)[-1].removesuffix(".md")
    return lines_piece(path, title, start, "\n".join(lines))


def _words(value: Any) -> str:
    return " ".join(value.split())[:_QUERY_CHARS] if isinstance(value, str) else ""
