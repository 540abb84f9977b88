"""From candidates to the answer: citations, snippets, reasons, trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from sidelight.query import explain
from sidelight.query.asked import Asked
from sidelight.query.candidates import CHANNELS, Candidate
from sidelight.query.cite import LiveFile, LiveFiles, cite
from sidelight.query.expand import Linked
from sidelight.query.gate import Decision
from sidelight.query.index import Index
from sidelight.query.pool import Pool
from sidelight.query.reasons import lost_reason, no_evidence_reasons, query_view
from sidelight.query.recall import Recalled
from sidelight.query.refs import ref_of
from sidelight.query.renamed import path_now
from sidelight.query.snippet import Snippets
from sidelight.query.typos import Correction
from sidelight.store.rows import ChunkRow
from sidelight.trace import Stopwatch
from sidelight.types import (
    Chunk,
    Citation,
    CitationStatus,
    Degraded,
    GraphProvenance,
    IndexState,
    Match,
    Mode,
    Origin,
    Passage,
    PassageKind,
    QueryView,
    Reason,
    Result,
    SearchResult,
)
from sidelight.vault.files import sync_conflict_original
from sidelight.vault.markup import without_marks

NEAR_MISSES = 5  # contract
_SOURCE = "vault"
_READ_PAST = 50  # candidates beyond the limit that are looked at when passages are gone


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A candidate with where it stands now."""

    candidate: Candidate
    path: str  # now, after a rename that was seen
    citation: Citation
    linked: Linked | None = None


@dataclass(slots=True)
class Cited:
    """What can be shown, and the passages that could not be found on disk."""

    files: LiveFiles
    snapshots: dict[str, bytes]
    shown: list[CitedPassage] = field(default_factory=list)
    linked: list[CitedPassage] = field(default_factory=list)
    lost: list[Candidate] = field(default_factory=list)
    _indexed_as: dict[tuple[object, ...], str] = field(default_factory=dict)

    def is_new(self, passage: CitedPassage) -> bool:
        """False for one that is shown already: while a note is renamed it is indexed twice."""
        now = passage.citation
        place = (passage.path, now.kind, now.start_line, now.end_line, now.columns, now.node)
        path = passage.candidate.chunk.path
        return self._indexed_as.setdefault(place, path) == path

    def standing(self, pool: Pool) -> Pool:
        """The candidates that may count as evidence, in the order given.

        Of a note that lost a passage only what is shown: nobody looked for the rest.
        """
        if not self.lost:
            return pool
        incomplete = {candidate.chunk.path for candidate in self.lost}
        shown = {passage.candidate.chunk.chunk_id for passage in self.shown}
        return pool.take(
            place
            for place, chunk in enumerate(pool.chunks)
            if chunk.path not in incomplete or chunk.chunk_id in shown
        )


class Frame:
    """What an answer holds whatever is found: made while the channels look."""

    def __init__(self, index: Index, asked: Asked) -> None:
        self._index, self._asked = index, asked

    def make(self) -> None:
        """Makes all of it now."""
        _ = self.state, self.query, self.snippets

    @cached_property
    def state(self) -> IndexState:
        """What the index covers."""
        return self._index.state()

    @cached_property
    def query(self) -> QueryView:
        """The query as understood."""
        return query_view(self._asked)

    @cached_property
    def snippets(self) -> Snippets:
        """Make those of its results."""
        return Snippets(self._asked.terms, self._asked.phrases)


def cite_direct(index: Index, asked: Asked, candidates: Iterable[Candidate]) -> Cited:
    """Cites candidates in order until enough stand on disk; each file is read once."""
    settings = index.settings
    cited = Cited(LiveFiles(index.vault, settings.max_note_bytes, settings.followed_links), {})
    for candidate in islice(candidates, asked.limit + _READ_PAST):
        if len(cited.shown) == asked.limit:
            break
        passage = _cite(index, cited, candidate)
        if passage is not None and cited.is_new(passage):
            cited.shown.append(passage)
    return cited


def cite_linked(index: Index, cited: Cited, linked: Sequence[Linked]) -> Cited:
    """Adds the linked passages that stand on disk."""
    for one in linked:
        passage = _cite(index, cited, one.candidate, one)
        if passage is not None and cited.is_new(passage):
            cited.linked.append(passage)
    return cited


def passage_of(chunk: ChunkRow | Chunk, text: str) -> Passage:
    """What the resolver needs of a chunk, indexed or just cut."""
    return Passage(
        kind=chunk.kind,
        heading_path=chunk.heading_path,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        columns=chunk.columns,
        node=chunk.node,
        text=text,
    )


def texts_of(index: Index, chunk_ids: Sequence[str]) -> list[str]:
    """Indexed texts of chunks, in the order asked."""
    texts = index.tables.texts(chunk_ids)
    return [texts.get(i, ("", ""))[0] for i in chunk_ids]


def cite_attachment(vault: Path, path: str) -> Citation | None:
    """An attachment is there or it is not; its content is never read."""
    if not (vault / path).is_file():
        return None
    return Citation(
        PassageKind.NOTE, CitationStatus.FRESH, Match.EXACT, None, None, why="the file is there"
    )


def text_in(live: LiveFile, chunk: ChunkRow) -> str:
    """The text of a chunk in a file that is as it was indexed."""
    if chunk.kind is PassageKind.CANVAS:
        card = next((n.text for n in live.note.canvas_nodes if n.id == chunk.node), "")
        return card[slice(*chunk.columns)] if chunk.columns else card
    if chunk.start_line is None or chunk.end_line is None:
        return ""
    lines = live.text.raw[chunk.start_line - 1 : chunk.end_line]
    return lines[0][slice(*chunk.columns)] if chunk.columns else "\n".join(lines)


def _cite(
    index: Index, cited: Cited, candidate: Candidate, linked: Linked | None = None
) -> CitedPassage | None:
    chunk = candidate.chunk
    if chunk.path in index.catalog.attachments:
        citation = cite_attachment(index.vault, chunk.path)
        if citation is None:
            cited.lost.append(candidate)
            return None
        return CitedPassage(candidate, chunk.path, citation, linked)
    note = index.catalog.notes.head(chunk.path)
    if note is None:  # deleted since it was recalled
        cited.lost.append(candidate)
        return None
    path = path_now(index, note, cited.files)
    if path is None:
        cited.lost.append(candidate)
        return None
    live = cited.files.get(path)

    def snapshot() -> bytes:
        if chunk.path not in cited.snapshots:
            cited.snapshots.update(index.tables.snapshots([chunk.path]))
        return cited.snapshots.get(chunk.path, b"")

    # A file with the bytes that were indexed holds the passage at the indexed lines: only of
    # a changed one is the indexed text fetched (17 ms a look-up).
    same = live is not None and live.content_hash is not None and live.holds(note.content_hash)
    text = (
        text_in(live, chunk) if live is not None and same else texts_of(index, [chunk.chunk_id])[0]
    )
    citation = cite(passage_of(chunk, text), note.content_hash, snapshot, live)
    if citation.status is CitationStatus.UNRESOLVABLE:
        cited.lost.append(candidate)
        return None
    return CitedPassage(candidate, path, citation, linked)


def compose(
    index: Index,
    asked: Asked,
    recalled: Recalled,
    ordered: Sequence[Candidate],
    decision: Decision,
    cited: Cited,
    frame: Frame,
    stopwatch: Stopwatch,
) -> SearchResult:
    """The answer: results that passed the gate, or no evidence with its reasons."""
    state = frame.state
    ok = bool(cited.shown) and (decision.passed or not asked.gate)
    shown = [*cited.shown, *cited.linked] if ok else cited.shown[:NEAR_MISSES]
    results = tuple(
        _result(index, frame.snippets, rank, p, cited) for rank, p in enumerate(shown, 1)
    )
    lost = lost_reason(len(cited.lost))
    if ok:
        reasons = [lost] if lost else []
    else:
        nearest = cited.shown[0].path if cited.shown else None
        reasons = no_evidence_reasons(
            index.vault, asked, ordered, decision, nearest, len(cited.lost), state
        )
    return SearchResult(
        ok=ok,
        reasons=tuple(reasons),
        query=frame.query,
        results=results if ok else (),
        near_misses=() if ok else results,
        degraded=(*recalled.degraded, *_missing_vectors(index, asked, state)),
        index=state,
        timing_ms=_timing(stopwatch, recalled),
        trace=explain.trace(index, asked, recalled, ordered, decision) if asked.explain else None,
        confidence=decision.confidence,
    )


def as_corrected(
    found: SearchResult, typed: SearchResult, meant: Sequence[Correction]
) -> SearchResult:
    """What corrected words found, with the query as it was typed and what was searched instead."""
    said = ", ".join(f"“{one.meant}” instead of “{one.typed}”" for one in meant)
    reason = Reason("corrected", f"Nothing was found as typed; searched for {said}.")
    query = replace(typed.query, terms=found.query.terms)
    return replace(found, reasons=(reason, *found.reasons), query=query)


def listing(index: Index, asked: Asked, stopwatch: Stopwatch) -> SearchResult:
    """Filters alone: the notes they select, newest first, each by its lead passage."""
    with index.catalog.lock:
        heads = [head for p in asked.allowed or () if (head := index.catalog.notes.head(p))]
        heads.sort(key=lambda note: (-note.mtime_ns, note.path))
        found = (index.catalog.by_note.nth(note.path, note.lead) for note in heads)
        leads = [Candidate(chunk, {}, evidence=1.0) for chunk in found if chunk is not None]
    with stopwatch.stage("cite"):
        cited = cite_direct(index, asked, leads)
    decision = Decision(1.0 if leads else 0.0, 0.0, bool(leads), {})
    frame = Frame(index, asked)
    return compose(index, asked, Recalled({}, ()), leads, decision, cited, frame, stopwatch)


def _result(
    index: Index, snippets: Snippets, rank: int, passage: CitedPassage, cited: Cited
) -> Result:
    candidate, chunk = passage.candidate, passage.candidate.chunk
    note = index.catalog.head(chunk.path)
    text = passage.citation.text
    return Result(
        rank=rank,
        ref=ref_of(chunk, note.content_hash if note else ""),
        source=_SOURCE,
        also_in=(),
        path=passage.path,
        title=note.title if note else chunk.path,
        heading_path=chunk.heading_path,
        text=text,
        snippet=snippets.of(without_marks(_below_heading(text, chunk))),
        origin=Origin.LINKED if passage.linked else Origin.DIRECT,
        graph_provenance=_provenance(index, passage.linked, cited) if passage.linked else None,
        channels={name: candidate.hits.get(name) for name in CHANNELS},
        rrf_score=candidate.rrf_score,
        rerank_score=candidate.rerank_score,
        evidence=candidate.evidence,
        citation=passage.citation,
        conflict_of=original_of(index, passage.path),
        credibility=candidate.credibility,
    )


def original_of(index: Index, path: str) -> str | None:
    """The note that `path` is a sync-conflict copy of; None if it is none."""
    original = sync_conflict_original(path, index.catalog.notes.__contains__)
    return original if original in index.catalog.notes else None


def _below_heading(text: str, chunk: ChunkRow) -> str:
    """The passage without its own heading, which every result shows beside the snippet."""
    first, _, rest = text.partition("\n")
    return rest if chunk.heading_path and first.startswith("#") and rest.strip() else text


def _provenance(index: Index, linked: Linked, cited: Cited) -> GraphProvenance:
    seed = next(
        (p for p in cited.shown if p.candidate.chunk.chunk_id == linked.seed.chunk.chunk_id), None
    )
    note = index.catalog.notes.head(linked.seed.chunk.path)
    lines = None
    link_line = linked.link.line
    if seed is not None and seed.citation.start_line is not None:
        lines = (seed.citation.start_line, seed.citation.end_line or seed.citation.start_line)
    live = cited.files.get(seed.path) if seed is not None else None
    if live is None or note is None or not live.holds(note.content_hash):
        link_line = live_link_line(live, linked.link.source_text) if live else None
    return GraphProvenance(
        seed_ref=ref_of(linked.seed.chunk, note.content_hash if note else ""),
        seed_path=seed.path if seed else linked.seed.chunk.path,
        seed_heading_path=linked.seed.chunk.heading_path,
        seed_rank=linked.seed_rank,
        seed_lines=lines,
        link=linked.link.source_text,
        link_line=link_line,
        anchor=linked.anchor,
    )


def live_link_line(live: Any, source_text: str) -> int | None:
    """The line of a link in a changed file, if it is written there exactly once."""
    if live.content_hash is None:
        return None
    lines = [link.line for link in live.note.links if link.source_text == source_text]
    return lines[0] if len(lines) == 1 else None


def _missing_vectors(index: Index, asked: Asked, state: IndexState) -> list[Degraded]:
    if asked.mode is Mode.LEXICAL or asked.filters_only:
        return []
    if index.embedder is None:
        return [Degraded("vector", index.no_vectors, partial=False)]
    if state.embedded_chunks < index.catalog.searchable:
        done, total = state.embedded_chunks, index.catalog.searchable
        return [Degraded("vector", f"{done} of {total} passages are embedded so far", True)]
    if index.catalog.next_vectors is None and index.catalog.unnamed():
        return [Degraded("vector", "the names of some notes are not embedded yet", True)]
    return []


def _timing(stopwatch: Stopwatch, recalled: Recalled) -> dict[str, Any]:
    timing = {"total": 0.0, "parse": 0.0, "recall": {}, "fuse": 0.0, "rerank": 0.0}
    timing |= {"expand": 0.0, "gate": 0.0, "cite": 0.0}
    return timing | stopwatch.timing_ms()
