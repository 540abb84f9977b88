"""What does the vault say to a query? The stages in order, one call each.

parse, recall, fuse, order by evidence, rerank, diversify, cite, gate, expand. Stages are
functions over frozen values; this file only hands one's result to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sidelight.errors import CancelledError
from sidelight.models.tokens import TokenCounter
from sidelight.query import answer
from sidelight.query import pack as packing
from sidelight.query.asked import Asked, understand, understand_passage
from sidelight.query.candidates import Candidate
from sidelight.query.cite import LiveFiles
from sidelight.query.compound import parts_of
from sidelight.query.coverage import cover
from sidelight.query.credibility import credibility, rules_of
from sidelight.query.diversify import diversify
from sidelight.query.evidence import Scale, weigh
from sidelight.query.expand import expand
from sidelight.query.fuse import join
from sidelight.query.gate import features
from sidelight.query.index import Index
from sidelight.query.pool import Pool
from sidelight.query.recall import recall
from sidelight.query.recipes import order_by, weights_by
from sidelight.query.rerank import rerank
from sidelight.query.subqueries import merge
from sidelight.query.typos import corrected, corrections
from sidelight.trace import Stopwatch
from sidelight.types import Degraded, Mode, Pack, PackRequest, SearchRequest, SearchResult


def search(
    index: Index, request: SearchRequest, cancelled: Callable[[], bool] = lambda: False
) -> SearchResult:
    """Answers one search.

    Args:
        index: the open vault.
        request: what is asked.
        cancelled: looked at between stages.

    Raises:
        CancelledError: `cancelled` said so.
    """
    parts = request.queries
    if request.mode is Mode.COVERAGE and not parts:
        parts = parts_of(request.text)
    texts = list(dict.fromkeys((request.text, *(p for p in parts if p.strip()))))
    answers = []
    for text in texts:
        asked, found = _ask(index, replace(request, text=text), cancelled)
        answers.append((text, found))
    if len(answers) == 1:
        return answers[0][1]
    return merge(
        answers, max(1, request.limit), asked.per_note(index.settings), index.settings.rrf_k
    )


def _ask(
    index: Index, request: SearchRequest, cancelled: Callable[[], bool]
) -> tuple[Asked, SearchResult]:
    """One question as typed and, where that finds nothing, with its slips of the pen mended."""
    stopwatch = Stopwatch()
    with stopwatch.stage("parse"):
        asked = understand(request, index)
    found = _answer(index, asked, stopwatch, cancelled)
    if found.ok or asked.lexical is None:
        return asked, found
    meant = corrections(asked.lexical, index.catalog)
    if not meant:
        return asked, found
    with stopwatch.stage("parse"):
        mended = understand(replace(request, text=corrected(request.text, meant)), index)
    again = _answer(index, mended, stopwatch, cancelled)
    return (mended, answer.as_corrected(again, found, meant)) if again.ok else (asked, found)


def pack(
    index: Index,
    request: PackRequest,
    counter: TokenCounter,
    cancelled: Callable[[], bool] = lambda: False,
) -> Pack:
    """Searches and packs what was found into a context.

    Raises:
        UsageError: a number is out of its range.
        CancelledError: `cancelled` said so.
    """
    found = search(index, packing.search_for(request), cancelled)
    _go_on(cancelled)
    settings = index.settings
    files = LiveFiles(index.vault, settings.max_note_bytes, settings.followed_links)
    return packing.pack(found, request, counter, files)


def related(
    index: Index,
    path: str,
    line: int | None,
    limit: int,
    cancelled: Callable[[], bool] = lambda: False,
) -> SearchResult:
    """Passages of other notes about what a note, or the section at a line, is about.

    Raises:
        NotFoundError: the note is not indexed.
        CancelledError: `cancelled` said so.
    """
    stopwatch = Stopwatch()
    with stopwatch.stage("parse"):
        asked = understand_passage(path, line, limit, index)
    return _answer(index, asked, stopwatch, cancelled)


@dataclass(frozen=True, slots=True)
class _Ordered:
    candidates: Sequence[Candidate]
    degraded: tuple[Degraded, ...]


def _answer(
    index: Index, asked: Asked, stopwatch: Stopwatch, cancelled: Callable[[], bool]
) -> SearchResult:
    settings = index.settings
    if asked.filters_only:
        return answer.listing(index, asked, stopwatch)
    frame = answer.Frame(index, asked)
    limit_ms = settings.channel_timeout_ms
    recalled = recall(asked.channels(index), index.workers, limit_ms, stopwatch, frame.make)
    _go_on(cancelled)
    scale = Scale(asked.lexical, asked.vector, asked.language, index.catalog, settings)
    with stopwatch.stage("fuse"):
        weights = weights_by(settings.fusion, recalled.hits, asked.weights(recalled.hits))
        pool = join(recalled.hits, weights, settings.rrf_k)
        pool = weigh(asked.admitted(pool, index), scale)
    _go_on(cancelled)
    ordered: Sequence[Candidate] = pool
    with stopwatch.stage("rerank"):
        reranked = _reranked(index, asked, order_by(settings.fusion, pool))
        if asked.rerank:  # still in the order of evidence, now with what the model says
            read = {c.chunk.chunk_id: c for c in reranked.candidates}
            ordered = [read[chunk.chunk_id] for chunk in pool.chunks]
    _go_on(cancelled)
    with stopwatch.stage("cite"):
        shown = reranked.candidates
        if asked.mode is Mode.COVERAGE:
            shown = cover(shown, scale, asked.allowed, index)
        diverse = diversify(
            shown,
            asked.per_note(settings),
            lambda path: answer.original_of(index, path),
        )
        direct = answer.cite_direct(index, asked, diverse)
    with stopwatch.stage("gate"):  # what is no longer on disk is no evidence
        left = direct.standing(pool)
        decision = index.gate.decide(features(left, asked.lexical), recalled.hits)
        if not asked.has_content:
            decision = index.gate.without_content(decision)
    _go_on(cancelled)
    with stopwatch.stage("expand"):
        seeds = [passage.candidate for passage in direct.shown]
        linked = expand(seeds, scale, index.resolver)
    with stopwatch.stage("cite"):
        cited = answer.cite_linked(index, direct, linked)
    degraded = recalled.degraded + reranked.degraded
    recalled = replace(recalled, degraded=degraded)
    return answer.compose(index, asked, recalled, ordered, decision, cited, frame, stopwatch)


def _reranked(index: Index, asked: Asked, ordered: Pool) -> _Ordered:
    if not asked.rerank or not ordered:
        return _Ordered(ordered, ())
    rules = rules_of(index.settings.credibility)
    candidates, degraded = rerank(
        asked.text,
        ordered,
        lambda ids: answer.texts_of(index, ids),
        lambda path: credibility(index.catalog.notes.get(path), rules),
        index.reranker,
        index.workers,
        index.settings.rerank_timeout_ms,
    )
    return _Ordered(candidates, (degraded,) if degraded else ())


def _go_on(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise CancelledError("The search was cancelled.")
