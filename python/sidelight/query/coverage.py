"""Which notes together cover a question? Notes as units, and the topics that hold them together.

A note is worth its best passage. A note about the question that links to several others is a map
of a topic (a map of content, an overview): what it lists belongs to the topic as far as the map
and the best of the listed notes are about the question, so a note that answers one aspect in
words of its own comes along with its siblings. The formula is a noisy-or of two absolute numbers:
`1 - (1 - own) (1 - WORTH * map * mean of the listed notes' best)`.

Measured on the 13 questions of the two real vaults that many notes answer together, and tried
beside it: the mean of a note's vectors, all terms of a note, folders as topics
(docs/ranking.md). The gate never sees these numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from sidelight.query.candidates import Candidate
from sidelight.query.evidence import Scale
from sidelight.query.index import Index
from sidelight.store.rows import ChunkRow

MAPS = 8  # best notes that are looked at as maps of a topic
FEWEST_LISTED = 3  # links to other notes that make a note a map
MOST_LISTED = 300  # of a map that are looked at: more is an index of everything, not a topic
BEST_LISTED = 5  # listed notes that say how far a map's topic is the question's
WORTH = 0.4  # among the values that lose on no question (docs/ranking.md)


def cover(
    candidates: Sequence[Candidate],
    scale: Scale,
    allowed: set[str] | None,
    index: Index,
) -> list[Candidate]:
    """Orders passages so that as many notes about the question as can be come first.

    Args:
        candidates: by evidence, as recalled.
        scale: what evidence is measured against.
        allowed: notes that may answer; None for all.
        index: the open vault.

    Returns:
        The best passage of every note by the note's worth, then the second of each, and so on.
        `evidence` is the note's worth.
    """
    passages: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in sorted(candidates, key=lambda c: (-c.evidence, c.chunk.order)):
        passages[candidate.chunk.path].append(candidate)
    best = sorted(passages, key=lambda path: (-passages[path][0].evidence, path))
    maps = {path: _listed(path, allowed, index) for path in best[:MAPS]}
    for listed in maps.values():
        _add_missing(listed, passages, scale, index)
    own = {path: found[0].evidence for path, found in passages.items()}
    boost = _boosts(maps, own)
    worth = {path: round(1 - (1 - own[path]) * (1 - boost.get(path, 0.0)), 9) for path in passages}
    order = [
        (place, -worth[path], -candidate.evidence, candidate.chunk.order, candidate)
        for path, found in passages.items()
        for place, candidate in enumerate(found)
    ]
    order.sort(key=lambda row: row[:4])
    return [row[4]._replace(evidence=worth[row[4].chunk.path]) for row in order]


def _listed(path: str, allowed: set[str] | None, index: Index) -> list[str]:
    """The notes a note links to, in order, if they are enough to make it a map."""
    with index.catalog.lock:
        note = index.catalog.notes.get(path)
        links = [link.target for link in note.links if not link.is_asset] if note else []
        found = dict.fromkeys(index.resolver.resolve(target, path) for target in links)
        listed = [
            p
            for p in found
            if p is not None
            and p != path
            and p in index.catalog.notes
            and (allowed is None or p in allowed)
        ]
    return listed if FEWEST_LISTED <= len(listed) <= MOST_LISTED else []


def _add_missing(
    listed: Sequence[str],
    passages: dict[str, list[Candidate]],
    scale: Scale,
    index: Index,
) -> None:
    """Weighs the listed notes that no channel recalled, each by its best passage."""
    with index.catalog.lock:
        chunks: list[ChunkRow] = [
            chunk
            for path in listed
            if path not in passages
            for chunk in index.catalog.by_note.get(path, ())
            if chunk.searchable
        ]
    if not chunks:
        return
    measured = scale.measure_chunks(chunks)
    for place, chunk in enumerate(chunks):
        cosine, title, coverage, value = measured.of(place)
        found = passages[chunk.path]
        if not found or value > found[0].evidence:
            passages[chunk.path] = [
                Candidate(chunk, {}, cosine=cosine, title=title, coverage=coverage, evidence=value)
            ]


def _boosts(maps: Mapping[str, Sequence[str]], own: Mapping[str, float]) -> dict[str, float]:
    boosts: dict[str, float] = {}
    for path, listed in maps.items():
        members = [p for p in listed if p in own]
        if not members:
            continue
        nearest = sorted((own[p] for p in members), reverse=True)[:BEST_LISTED]
        shared = WORTH * own[path] * float(np.mean(nearest))
        for member in members:
            boosts[member] = max(shared, boosts.get(member, 0.0))
    return boosts
