"""What is asked: the query taken apart, ready for every channel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.config import Settings
from sidelight.errors import NotFoundError, UsageError
from sidelight.language.detect import detect
from sidelight.language.terms import QueryTerm, Terms
from sidelight.query.candidates import Ranked
from sidelight.query.chains import recall_chains, reliable
from sidelight.query.compound import since
from sidelight.query.filters import allowed_notes, holds_phrase, is_scoped
from sidelight.query.fuse import Weights
from sidelight.query.index import Index
from sidelight.query.lexical import LexicalQuery
from sidelight.query.parse import parse_query
from sidelight.query.pool import Pool
from sidelight.query.recall import Channel, recall_bm25, recall_vectors
from sidelight.store.rows import ChunkRow
from sidelight.types import Mode, PassageKind, SearchRequest, TermKind

_RELATED_TERMS = 24  # the most telling words of a passage; more only add noise
_MOST_TEXT = 2_000  # characters that are ranked by: the start of a pasted page says what it is
_BARE_OPERATOR = re.compile(
    r"(?<!\S)(?:path|file|tag|line|section|after|before):(?!\S)", re.IGNORECASE
)
FILTER_NAMES = ("path", "file", "tag", "property", "line", "section", "after", "before", "query")


@dataclass(slots=True)
class Asked:
    """A query as understood.

    Attributes:
        text: the words, for ranking; "" where only filters were given.
        allowed: paths of the notes that may answer; None for all.
        lexical: its weighted terms; None where words are not asked.
        encoded: its vector as the model gives it, which is made meanwhile; None where no model
            is asked.
        vector: its centred unit vector, shape (d,), once the vector channel made it.
        limit: direct passages wanted.
        scoped: to one note or folder, so that all its passages may show.
        has_content: some word says what the query is about, not only how it is asked.
    """

    text: str
    shown_text: str
    language: str
    mode: Mode
    limit: int
    terms: Sequence[QueryTerm]
    allowed: set[str] | None
    filters: Mapping[str, Any]
    filters_only: bool
    phrases: Sequence[str]
    scoped: bool
    rerank: bool
    explain: bool
    gate: bool
    lexical: LexicalQuery | None
    encoded: Future[NDArray[np.float32]] | None = None
    vector: NDArray[np.float32] | None = None
    own_vector: NDArray[np.float32] | None = None  # of a passage that is asked about
    own_path: str | None = None  # its note, which is no answer
    asked_per_note: int | None = None  # instead of the setting
    has_content: bool = True

    def per_note(self, settings: Settings) -> int | None:
        """How many passages one note may have among the direct results; None for all."""
        if self.scoped:
            return None
        if self.asked_per_note is not None:
            return self.asked_per_note
        return 1 if self.mode is Mode.COVERAGE else settings.results_per_note

    def channels(self, index: Index) -> dict[str, Channel]:
        """The channels to run, by name."""
        pool, channels = index.settings.pool, dict[str, Channel]()
        if self.lexical is not None and self.lexical.terms:
            if self.own_vector is None:
                channels["metadata"] = partial(self._recall_names, index)
            channels["bm25"] = partial(
                recall_bm25, self.lexical, index.catalog, index.tables, self.allowed, pool
            )
        wants = self.encoded is not None or self.own_vector is not None
        if wants and index.embedder is not None and len(index.catalog.vectors):
            channels["vector"] = partial(self._recall_meaning, index)
        both = self.mode in (Mode.HYBRID, Mode.COVERAGE) and self.own_vector is None
        if both and self.text.strip() and reliable(index.catalog, index.settings):
            channels["graph"] = partial(
                recall_chains, self.text, index.catalog, self.allowed, index.settings, pool
            )
        return channels

    def weights(self, hits: Mapping[str, Ranked]) -> Weights:
        """How far each channel's hits are trusted, 0..1, for the fusion."""
        weights: dict[str, Sequence[float] | NDArray[np.float64]] = {}
        if self.lexical is not None and "bm25" in hits:
            held = self.lexical.coverages(hits["bm25"].passages)
            weights["bm25"] = [v**2 for v in held.tolist()]
        for channel in ("metadata", "graph"):  # their scores are such numbers already
            if channel in hits:
                weights[channel] = hits[channel].scores
        return weights

    def admitted(self, pool: Pool, index: Index) -> Pool:
        """Without the note that is asked about; of an exact phrase the passages that hold it.

        The filter already chose notes that hold the phrase; one that runs over two passages
        leaves the list as it is.
        """
        if self.own_path is not None:
            pool = pool.take(p for p, c in enumerate(pool.chunks) if c.path != self.own_path)
        if not self.phrases or not pool:
            return pool
        texts = index.tables.texts([c.chunk_id for c in pool.chunks])
        held = [
            place
            for place, c in enumerate(pool.chunks)
            if holds_phrase(texts.get(c.chunk_id, ("", ""))[0], self.phrases)
        ]
        return pool.take(held) if held else pool

    def _recall_names(self, index: Index) -> Ranked:
        assert self.lexical is not None
        return index.metadata.search(
            self.text, self.lexical, index.catalog, self.allowed, index.settings.pool
        )

    def _recall_meaning(self, index: Index) -> Ranked:
        assert index.embedder is not None
        vector = self.own_vector
        if vector is None:
            assert self.encoded is not None
            try:
                encoded = self.encoded.result(index.settings.channel_timeout_ms / 1000)
            except TimeoutError:
                self.encoded.cancel()  # perhaps it has not begun
                raise
            vector = index.embedder.centre_query(encoded, self.language)
        hits = recall_vectors(vector, index.catalog, self.allowed, index.settings.pool)
        self.vector = vector
        return hits


def understand(request: SearchRequest, index: Index) -> Asked:
    """Takes a search request apart; no input is an error.

    Raises:
        UsageError: `filters` holds a name or value that is no filter.
    """
    text, day = since(request.text) if request.mode is Mode.COVERAGE else (request.text, None)
    written = as_syntax(request.filters) + ([f"after:{day.isoformat()}"] if day else [])
    parsed = parse_query(" ".join([text, *written]).strip())
    text = parsed.text_for_ranking[:_MOST_TEXT]
    encoded = None
    wants = request.mode is not Mode.LEXICAL and text.strip() and len(index.catalog.vectors)
    if wants and index.embedder is not None:
        # The longest part of all begins first: most of it needs no lock of the interpreter's.
        encoded = index.encoders.submit(index.embedder.embed_query, text)
    terms = index.terms.query_terms(text, typing=request.typing) if text else []
    lexical = None
    if request.mode is not Mode.SEMANTIC:
        with index.catalog.lock:
            settings = index.settings
            index.metadata.refresh(index.catalog)
            lexical = LexicalQuery(
                terms,
                index.catalog,
                settings.bm25_k1,
                settings.bm25_b,
                index.metadata.knows,
            )
    return Asked(
        text=text,
        shown_text=request.text,
        language=detect(text),
        mode=request.mode,
        limit=max(1, request.limit),
        terms=terms,
        allowed=allowed_notes(parsed.filter, index.catalog, index.tables),
        filters=parsed.describe(),
        filters_only=parsed.filters_only,
        phrases=parsed.phrases,
        scoped=is_scoped(parsed.filter),
        rerank=request.rerank or index.settings.rerank,
        explain=request.explain,
        gate=request.gate,
        lexical=lexical,
        encoded=encoded,
        asked_per_note=request.per_note,
        has_content=bool(parsed.phrases) or _has_content(text, terms, index.terms),
    )


def _has_content(text: str, terms: Sequence[QueryTerm], cutter: Terms) -> bool:
    """Whether a word is left beside function words and operators of nothing (`path:`)."""
    bare = _BARE_OPERATOR.sub(" ", text)
    left = terms if bare == text else cutter.query_terms(bare)
    return any(not term.stop for term in left)


def understand_passage(path: str, line: int | None, limit: int, index: Index) -> Asked:
    """A note, or its section at a line, as a query: its most telling words and its vector.

    Raises:
        NotFoundError: the note is not indexed.
    """
    with index.catalog.lock:
        chunks = _section(index.catalog.by_note.get(path, ()), line)
        if not chunks:
            raise NotFoundError("This note is not indexed.", "See `index/status` for the reason.")
        terms = _telling_terms(chunks, index)
        settings = index.settings
        lexical = LexicalQuery(terms, index.catalog, settings.bm25_k1, settings.bm25_b)
        title = index.catalog.notes[path].title
    return Asked(
        text="",
        shown_text=title,
        language=chunks[0].language,
        mode=Mode.HYBRID,
        limit=max(1, limit),
        terms=terms,
        allowed=None,
        filters={},
        filters_only=False,
        phrases=(),
        scoped=False,
        rerank=False,
        explain=False,
        gate=True,
        lexical=lexical,
        own_vector=_middle(chunks, index),
        own_path=path,
    )


def _section(chunks: Sequence[ChunkRow], line: int | None) -> list[ChunkRow]:
    found = [c for c in chunks if c.searchable and c.kind is not PassageKind.PROPERTY]
    if line is None:
        return found or list(chunks)
    here = [c for c in found if c.start_line is not None and c.start_line <= line]
    return [c for c in found if c.heading_path == here[-1].heading_path] if here else found


def _telling_terms(chunks: Sequence[ChunkRow], index: Index) -> list[QueryTerm]:
    """Words by frequency times rarity, the best few, all of one weight."""
    vocabulary = index.catalog.vocabulary
    total: dict[int, int] = {}
    for chunk in chunks:
        for code, count in zip(chunk.codes.tolist(), chunk.counts.tolist(), strict=True):
            total[code] = total.get(code, 0) + count
    known = {t.term for t in index.terms.query_terms(" ".join(map(vocabulary.term, total)))}
    rare = LexicalQuery(
        [
            QueryTerm(vocabulary.term(code), TermKind.WORD, 1.0, False, vocabulary.term(code))
            for code in total
            if vocabulary.term(code) in known and vocabulary.term(code).isprintable()
        ],
        index.catalog,
        index.settings.bm25_k1,
        index.settings.bm25_b,
    )
    scored = [(t.idf * (1 + np.log(total[t.codes[0]])), t.query) for t in rare.terms if t.codes]
    scored.sort(key=lambda pair: (-pair[0], pair[1].term))
    return [term for _, term in scored[:_RELATED_TERMS]]


def _middle(chunks: Sequence[ChunkRow], index: Index) -> NDArray[np.float32] | None:
    with index.catalog.lock:  # a clean-up may move rows meanwhile
        rows = index.catalog.vectors.rows(c.embed_hash for c in chunks)
    if not len(rows):
        return None
    middle = rows.mean(axis=0)
    norm = float(np.linalg.norm(middle))
    return (middle / norm).astype(np.float32) if norm else None


def as_syntax(filters: Mapping[str, Any]) -> list[str]:
    """Filters given apart from the text, in the words of the query syntax."""
    written = []
    for name, value in filters.items():
        if name not in FILTER_NAMES:
            raise UsageError(
                f"There is no filter named '{name}'.", f"Filters: {', '.join(FILTER_NAMES)}."
            )
        for one in value if isinstance(value, list | tuple) else [value]:
            if not isinstance(one, str):
                raise UsageError(f"Filter '{name}' must be a string or a list of strings.")
            if name == "query":
                written.append(one)
            elif name == "property":
                key, _, wanted = one.partition(":")
                written.append(f'["{key}":"{wanted}"]' if wanted else f'["{key}"]')
            else:
                written.append(f'{name}:"{one}"')
    return written
