"""The pieces an answer may cite: numbered once, shown to the model in order, within a budget.

A number keeps its meaning for the whole question. Where the budget is full, the weakest pieces of
the first retrieval are set aside for what was looked for on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sidelight.models.tokens import estimate
from sidelight.query.context import SEPARATOR, render_piece
from sidelight.query.similar import Runs, runs, shared
from sidelight.types import Citation, CitationStatus, Match, PassageKind

Piece = dict[str, Any]
_COPY = 0.9  # as in query/pack.py
_KEPT = 3  # best pieces of the first retrieval that are never set aside
_GROWN = 1.5  # times its length that a copy must have to take the place of the shorter one


class Evidence:
    """A growing list of pieces.

    Args:
        budget: tokens (estimated) of the text for the model.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._pieces: list[Piece] = []
        self._says: list[Runs] = []
        self._aside: set[int] = set()

    @property
    def pieces(self) -> list[Piece]:
        """All, also those set aside, by number."""
        return list(self._pieces)

    def shown(self) -> list[Piece]:
        """Those the model sees, by number."""
        return [p for p in self._pieces if p["number"] not in self._aside]

    def text(self) -> str:
        """What the model reads; never over the budget."""
        return SEPARATOR.join(render(piece) for piece in self.shown())

    def get(self, number: int) -> Piece | None:
        """The piece of a number."""
        return self._pieces[number - 1] if 0 < number <= len(self._pieces) else None

    def add(self, pieces: Sequence[Mapping[str, Any]], *, first: bool = False) -> int:
        """Adds what is new; returns how many pieces that were.

        Args:
            pieces: in the JSON of `query/pack`.
            first: of the first retrieval: nothing is set aside for them.
        """
        added = 0
        for given in pieces:
            says = runs(given["text"])
            if self._known(given, says):
                continue
            piece = {**given, "number": len(self._pieces) + 1, "first": first}
            self._pieces.append(piece)
            self._says.append(says)
            if not self._fits(first):
                self._pieces.pop()
                self._says.pop()
                continue
            added += 1
        return added

    def _known(self, given: Mapping[str, Any], says: Runs) -> bool:
        for piece, other in zip(self._pieces, self._says, strict=True):
            if piece["number"] in self._aside:
                continue
            if shared(says, other) >= _COPY and len(says) < _GROWN * len(other):
                return True
        return False

    def _fits(self, first: bool) -> bool:
        """Whether the text is within the budget, after setting aside what may be."""
        aside = set(self._aside)
        while estimate(self.text()) > self._budget:
            weakest = [] if first else [p for p in self.shown() if p["first"]][_KEPT:]
            if not weakest:
                self._aside = aside
                return False
            self._aside.add(weakest[-1]["number"])
        return True


def render(piece: Mapping[str, Any]) -> str:
    """A piece as the model reads it."""
    where = piece["citation"]
    citation = Citation(
        PassageKind(where["kind"]),
        CitationStatus(where["status"]),
        Match.EXACT,
        where["start_line"],
        where["end_line"],
        node=where["node"],
    )
    return render_piece(
        piece["number"], piece["path"], piece["heading_path"], citation, piece["text"]
    )


def lines_piece(path: str, title: str, start: int, text: str) -> Piece:
    """A piece that was not searched but read: some lines of a note as they are now."""
    end = start + text.count("\n")
    return {
        "ref": "",
        "path": path,
        "title": title,
        "heading_path": [],
        "citation": {
            "kind": "lines", "status": "fresh", "match": "exact", "start_line": start,
            "end_line": end, "columns": None, "node": None, "file_hash": None,
        },
        "text": text,
        "tokens": estimate(text),
        "scope": "part",
        "origin": "direct",
        "evidence": 0.0,
        "queries": [],
    }  # fmt: skip
