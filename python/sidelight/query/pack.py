"""What of an answer goes into a model's context? Numbered pieces, never over a token budget.

Search, fold by note, leave out what is there already, fill by evidence, widen from passage to
section while the budget allows, number in reading order, count the whole text once more. The
candidate pool, the passages looked at and the budget are three separate numbers. The evidence
gate is the search's own: no evidence, no context.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sidelight.errors import UsageError
from sidelight.models.tokens import TokenCounter
from sidelight.query.cite import LiveFiles
from sidelight.query.context import SEPARATOR, render_piece
from sidelight.query.similar import Runs, runs, shared
from sidelight.types import (
    Citation,
    LeftOut,
    Mode,
    Pack,
    PackRequest,
    PassageKind,
    Piece,
    Result,
    SearchRequest,
    SearchResult,
)

DEPTH = 40  # passages a pack looks at; the pool behind them is `Settings.pool`
COPY = 0.9  # share of a passage's characters in another from which it says nothing new
# How many times `per_note` the first, second and third note may have: an answer is often in the
# right note, some passages away from the best one (docs/agents.md has the measurement).
BEST_NOTES = (4, 3, 2)
_SMALLEST = 12  # tokens; in less there is no room for a place and a word
_JOIN = 2  # tokens that joining two pieces may add


@dataclass(slots=True)
class Draft:
    """A piece before it has its number."""

    result: Result
    text: str
    citation: Citation
    scope: str
    cost: int  # tokens with heading and joint

    @property
    def lines(self) -> range:
        """The lines it holds; none for a property or a card."""
        start, end = self.citation.start_line, self.citation.end_line
        if self.citation.kind is not PassageKind.LINES or start is None or end is None:
            return range(0)
        return range(start, end + 1)


def search_for(request: PackRequest) -> SearchRequest:
    """The search behind a pack.

    Raises:
        UsageError: a number is out of its range.
    """
    checks = {
        "budget": request.budget >= 0,
        "pieces": request.pieces >= 1,
        "per_note": request.per_note >= 1,
        "diversity": 0 <= request.diversity <= 1,
    }
    for name, right in checks.items():
        if not right:
            raise UsageError(f"'{name}' is out of its range.", "See `sidelight pack --help`.")
    return SearchRequest(
        request.text,
        mode=request.mode,
        limit=max(DEPTH, 2 * request.pieces),
        filters=request.filters,
        rerank=request.rerank,
        gate=request.gate,
        queries=request.queries,
        per_note=request.per_note * (1 if request.mode is Mode.COVERAGE else max(BEST_NOTES)),
    )


def pack(
    found: SearchResult, request: PackRequest, counter: TokenCounter, files: LiveFiles
) -> Pack:
    """Packs what a search found.

    Args:
        found: the search's answer, best first.
        request: budget, number of pieces, and the rest.
        counter: counts tokens.
        files: reads notes for widening.
    """
    started = time.perf_counter()
    packing = _Packing(request, counter, files)
    packing.take(found.results)
    pieces, text, tokens = packing.numbered()
    spent = round((time.perf_counter() - started) * 1000, 3)
    return Pack(
        ok=found.ok,
        reasons=found.reasons,
        text=text,
        tokens=tokens,
        budget=request.budget,
        tokenizer=counter.name,
        pieces=tuple(pieces),
        left_out=tuple(packing.left_out),
        query=found.query,
        queries=request.queries,
        near_misses=found.near_misses,
        degraded=found.degraded,
        index=found.index,
        timing_ms={**found.timing_ms, "pack": spent},
    )


class _Packing:
    """One context on its way."""

    def __init__(self, request: PackRequest, counter: TokenCounter, files: LiveFiles) -> None:
        self.left_out: list[LeftOut] = []
        self._request = request
        self._broad = request.mode is Mode.COVERAGE
        self._count = counter.count
        self._files = files
        self._drafts: list[Draft] = []
        self._used = 0

    def take(self, results: Sequence[Result]) -> None:
        """Chooses and widens."""
        waiting = self._folded(results)
        waiting = self._fill([*self._cut_first(waiting[:1]), *waiting[1:]])
        if not self._drafts:
            waiting = self._cut_first(waiting)
        if self._request.widen:
            for draft in list(self._drafts):
                self._widen(draft)
        for result in waiting:
            if not self._holds(result):
                full = len(self._drafts) >= self._request.pieces
                self._leave_out(result, "pieces" if full else "budget")

    def numbered(self) -> tuple[list[Piece], str, int]:
        """The pieces in reading order, their text, and its tokens, which are within the budget.

        Counts of parts need not add up to the count of the whole: what would still be too long
        goes, last come first.
        """
        while True:
            ordered = list(enumerate(self._in_reading_order(), start=1))
            text = SEPARATOR.join(_rendered(draft, number) for number, draft in ordered)
            tokens = self._count(text) if ordered else 0
            if tokens <= self._request.budget:
                return [_piece(draft, number) for number, draft in ordered], text, tokens
            self._leave_out(self._drafts.pop().result, "budget")

    def _folded(self, results: Sequence[Result]) -> list[Result]:
        """At most `per_note` of a note, and nothing that another already says."""
        kept: list[tuple[Result, Runs]] = []
        of_note: Counter[str] = Counter()
        places = {path: at for at, path in enumerate(dict.fromkeys(r.path for r in results))}
        for result in results:
            if not result.text.strip():
                continue  # a note without text, or an attachment: nothing to read
            place = places[result.path]
            times = BEST_NOTES[place] if place < len(BEST_NOTES) and not self._broad else 1
            if of_note[result.path] >= times * self._request.per_note:
                self._leave_out(result, "note")
                continue
            says = runs(_below_heading(result.text))
            if any(shared(says, other) >= COPY for _, other in kept):
                self._leave_out(result, "duplicate")
                continue
            of_note[result.path] += 1
            kept.append((result, says))
        if self._request.diversity > 0:
            return _diverse(kept, self._request.diversity)
        return [result for result, _ in kept]

    def _fill(self, results: Sequence[Result]) -> list[Result]:
        """Adds what fits, in order; returns the rest."""
        waiting = []
        for at, result in enumerate(results):
            draft = self._measured(result, result.text, result.citation, "passage")
            room = len(self._drafts) < self._request.pieces
            if room and self._used + draft.cost <= self._request.budget:
                self._drafts.append(draft)
                self._used += draft.cost
            else:
                waiting.append(result)
            if not room or self._request.budget - self._used < _SMALLEST:
                waiting += results[at + 1 :]
                break
        return waiting

    def _cut_first(self, results: list[Result]) -> list[Result]:
        """Takes the best lines of the first that is too long but has some that fit; the rest.

        A best passage that is too long would else give way to whatever is short.
        """
        for result in results:
            whole = self._measured(result, result.text, result.citation, "passage")
            draft = None
            if whole.cost > self._request.budget:
                draft = self._part(result, self._request.budget)
            if draft is not None and _below_heading(draft.text).strip("# \n"):
                self._drafts.append(draft)
                self._used += draft.cost
                return [other for other in results if other is not result]
        return results

    def _part(self, result: Result, room: int) -> Draft | None:
        """The lines around the best one, as many as fit."""
        lines = result.text.split("\n")
        start = result.citation.start_line
        if result.citation.kind is not PassageKind.LINES or start is None or len(lines) < 2:
            return None
        first = last = _best_line(lines, result)
        best: Draft | None = None
        while True:
            citation = replace(
                result.citation,
                start_line=start + first,
                end_line=start + last,
                text="\n".join(lines[first : last + 1]),
            )
            draft = self._measured(result, citation.text, citation, "part")
            if draft.cost > room:
                return best
            best = draft
            if last + 1 < len(lines):
                last += 1
            elif first > 0:
                first -= 1
            else:
                return best

    def _widen(self, draft: Draft) -> None:
        """Lets a passage grow to its section, which takes in other pieces of it."""
        if self._request.budget - self._used < _SMALLEST:
            return
        if draft not in self._drafts or len(draft.lines) == 0:
            return
        section = _section(draft, self._files)
        if section is None or len(section.text) > 8 * self._request.budget:
            return
        inside = [d for d in self._drafts if d is not draft and _within(d, draft, section)]
        wide = self._measured(draft.result, section.text, section, "section")
        more = wide.cost - draft.cost - sum(d.cost for d in inside)
        if self._used + more > self._request.budget:
            return
        self._used += more
        self._drafts[self._drafts.index(draft)] = wide
        self._drafts = [d for d in self._drafts if d not in inside]

    def _measured(self, result: Result, text: str, citation: Citation, scope: str) -> Draft:
        draft = Draft(result, text, citation, scope, 0)
        draft.cost = self._count(_rendered(draft, 99)) + _JOIN
        return draft

    def _holds(self, result: Result) -> bool:
        """Whether a widened piece has taken a passage in."""
        start, end = result.citation.start_line, result.citation.end_line
        if result.citation.kind is not PassageKind.LINES or start is None or end is None:
            return False
        return any(
            d.result.path == result.path and start in d.lines and end in d.lines
            for d in self._drafts
        )

    def _in_reading_order(self) -> list[Draft]:
        """Notes by their best piece; within a note as it is written."""
        rank = {id(d): place for place, d in enumerate(self._drafts)}
        best: dict[str, int] = {}
        for draft in self._drafts:
            best.setdefault(draft.result.path, rank[id(draft)])
        return sorted(
            self._drafts,
            key=lambda d: (best[d.result.path], d.citation.start_line or 0, rank[id(d)]),
        )

    def _leave_out(self, result: Result, why: str) -> None:
        citation = result.citation
        self.left_out.append(
            LeftOut(
                result.ref, result.path, result.heading_path,
                citation.start_line, citation.end_line, why,
            )
        )  # fmt: skip


def _diverse(kept: Sequence[tuple[Result, Runs]], diversity: float) -> list[Result]:
    """Maximal marginal relevance (Carbonell & Goldstein 1998), likeness by shared characters."""
    waiting, chosen = list(kept), list[tuple[Result, Runs]]()
    while waiting:
        best = max(
            waiting,
            key=lambda one: (
                (1 - diversity) * one[0].evidence
                - diversity * max((shared(one[1], c[1]) for c in chosen), default=0.0),
                -one[0].rank,
            ),
        )
        waiting.remove(best)
        chosen.append(best)
    return [result for result, _ in chosen]


def _below_heading(text: str) -> str:
    """A passage without its own heading: copies often stand under another one."""
    first, _, rest = text.partition("\n")
    return rest if first.startswith("#") and rest.strip() else text


def _section(draft: Draft, files: LiveFiles) -> Citation | None:
    """The lines from a passage's heading to the next one; None if that is nothing more."""
    live = files.get(draft.result.path)
    if live is None or live.content_hash != draft.citation.file_hash:
        return None  # written since the search: the passage stays as it was read
    lines, first = live.text.raw, draft.lines[0]
    heads = [h.line for h in live.note.headings]
    start = max((h for h in heads if h <= first), default=live.note.frontmatter.body_start_line)
    end = min((h for h in heads if h > draft.lines[-1]), default=len(lines) + 1) - 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    if start > first or end < draft.lines[-1] or (start, end) == (first, draft.lines[-1]):
        return None
    text = "\n".join(lines[start - 1 : end])
    return replace(draft.citation, start_line=start, end_line=end, columns=None, text=text)


def _within(other: Draft, draft: Draft, section: Citation) -> bool:
    if other.result.path != draft.result.path or len(other.lines) == 0:
        return False
    start, end = section.start_line or 0, section.end_line or 0
    return start <= other.lines[0] and other.lines[-1] <= end


def _best_line(lines: Sequence[str], result: Result) -> int:
    """The line that holds most of the words the snippet marks."""
    shown = result.snippet
    words = {shown.text[start:end].casefold() for start, end in shown.highlights}
    held = [sum(word in line.casefold() for word in words) for line in lines]
    return held.index(max(held))


def _rendered(draft: Draft, number: int) -> str:
    result = draft.result
    return render_piece(number, result.path, result.heading_path, draft.citation, draft.text)


def _piece(draft: Draft, number: int) -> Piece:
    result = draft.result
    return Piece(
        number=number,
        ref=result.ref,
        path=result.path,
        title=result.title,
        heading_path=result.heading_path,
        citation=draft.citation,
        text=draft.text,
        tokens=draft.cost - _JOIN,
        scope=draft.scope,
        origin=result.origin,
        evidence=result.evidence,
        queries=result.queries,
    )
