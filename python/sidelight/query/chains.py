"""The graph channel: what do notes mention together with what was asked about?

    things in the question -> at most two hops along the strongest edges -> passages that speak of
    what was reached and of nothing that was asked

A chain's weight is the geometric mean of its edges' strengths, a second hop counting `HOP_WORTH`
of a first. Of two things with the same edges the one that also stands beside the other words of
the question weighs more: that tells the fruit from the company. The whole list is weighted by how
well the question's things were recognised and how dense the graph is around them, so a score is a
number in 0..1 that means the same for every query. Says nothing of words or meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sidelight.config import Settings
from sidelight.language.entities import entity_key, spans_of
from sidelight.language.folding import fold
from sidelight.language.generic_words import GENERIC
from sidelight.language.stop_words import STOP_WORDS
from sidelight.query.candidates import Hit, Ranked
from sidelight.store.catalog import Catalog
from sidelight.store.graph import Edge, EntityGraph
from sidelight.store.rows import ChunkRow

MOST_THINGS = 4  # of a question that chains start from, the rarest; more are a pasted page
FIRST_HOP, SECOND_HOP = 12, 6  # strongest edges that are followed from each thing
MOST_MIDDLES = 5  # of the first that are followed further
MOST_FOLLOWED = 12  # of them in all: each is one look at what stands beside a thing
MOST_HELD = 60  # passages of a thing that a chain may end at: more tell nothing about each
MOST_REACHED = 40  # things whose passages are looked at
WEAKEST = 0.15  # strength: two things that meet by chance stay below it
HOP_WORTH = 0.85
TITLE_WORTH = 0.6  # of a middle that is only the name of the note: the ends share it, not a passage
OFF_SENSE_WORTH = 0.5  # of standing beside none of those that stand beside its own start
CONTEXT_WORTH = 0.5  # of standing beside another thing of the question
MENTION_WORTH = 0.8  # a passage that only mentions what a chain reached, beside its own note
FEWEST_TELLING = 0.2  # rarity of a thing that is worth starting from
ONE_EDGE = 0.7  # density around a thing with a single edge
MOST_LOOKED_AT = 300  # passages, of the strongest chains; more would cost and never be shown
MOST_HITS = 50  # passages; evidence lets fewer count
MOST_TOLD = 3  # reached things that count for one passage


class Chain(NamedTuple):
    """A way from a thing that was asked about to another."""

    keys: tuple[str, ...]
    weight: float  # 0..1


def reliable(catalog: Catalog, settings: Settings) -> bool:
    """Whether the vault is large enough for its counts to mean anything."""
    return settings.graph and len(catalog.graph) >= settings.graph_least_passages


def recall_chains(
    text: str, catalog: Catalog, allowed: set[str] | None, settings: Settings, pool: int
) -> Ranked:
    """Passages at the end of chains, best first; `matched` is the chain as the notes spell it.

    Args:
        text: the words of the query.
        catalog: holds the graph.
        allowed: notes that may answer; None for all.
        settings: how often two things must meet.
        pool: most hits.
    """
    with catalog.lock:
        graph = catalog.graph
        least = settings.graph_least_together
        asked = things_in(text, graph, least)
        reached, sure = chains_from(asked, catalog, least)
        ends = _ends(reached, asked, allowed, catalog)
        hits = [_hit(chunk, chains, sure, catalog) for chunk, chains in ends.items()]
        hits.sort(key=lambda hit: (-hit.score, hit.chunk.order))
        best = hits[: min(pool, MOST_HITS)]
        told = [hit._replace(matched=tuple(map(graph.spelling, hit.matched))) for hit in best]
        return Ranked.of(told, catalog)


def _ends(
    reached: Iterable[Chain], asked: Iterable[str], allowed: set[str] | None, catalog: Catalog
) -> dict[ChunkRow, list[Chain]]:
    """The passages that chains lead to and that hold nothing asked, each with its chains."""
    graph, chunks = catalog.graph, catalog.chunks
    held = graph.marked(asked)
    told: dict[ChunkRow, list[Chain]] = {}
    for chain in reached:
        passages = graph.slots(chain.keys[-1])
        if len(passages) > MOST_HELD:
            continue
        for chunk_id in graph.named(passages[~held[passages]]):
            if allowed is None or chunks[chunk_id].path in allowed:
                told.setdefault(chunks[chunk_id], []).append(chain)
        if len(told) >= MOST_LOOKED_AT:
            break
    return told


def things_in(text: str, graph: EntityGraph, least: int) -> dict[str, float]:
    """The things a question names, each with how much it tells (0..1), the most telling first.

    A name inside a longer one counts only where the longer leads nowhere (`least` as below).
    """
    found: dict[str, float] = {}

    def leads(longer: str) -> bool:  # asked only of a name around another: a look-up costs
        return bool(graph.edges(longer, least, WEAKEST, FIRST_HOP))

    for key in spans_of(text):
        if key in STOP_WORDS or key in GENERIC or not graph.holds(key) or graph.is_hub(key):
            continue
        rarity = graph.rarity(key)
        if rarity < FEWEST_TELLING or any(key in one and leads(one) for one in found):
            continue
        found[key] = rarity
    best = sorted(found, key=lambda key: (-found[key], key))[:MOST_THINGS]
    return {key: found[key] for key in best}


def chains_from(
    asked: Mapping[str, float], catalog: Catalog, least: int
) -> tuple[list[Chain], float]:
    """The best chains to other things, strongest first, and how far they can be trusted, 0..1.

    Args:
        asked: things with how much each tells.
        catalog: holds the graph.
        least: passages that must speak of both ends of an edge.
    """
    graph = catalog.graph
    best: dict[str, Chain] = {}
    middles: list[Chain] = []
    trust = 0.0
    for key, telling in asked.items():
        first = graph.edges(key, least, WEAKEST, FIRST_HOP)
        if not first:
            continue
        trust = max(trust, telling * (1 - (1 - ONE_EDGE) / len(first)))
        weights = _in_context(first, key, [other for other in asked if other != key], graph)
        near = [Chain((key, edge.key), w) for edge, w in zip(first, weights, strict=True)]
        for chain in near:
            _keep(best, chain, asked)
        middles += near[:MOST_MIDDLES]
    middles.sort(key=lambda chain: (-chain.weight, chain.keys))
    for key_and_middle, weight in middles[:MOST_FOLLOWED]:
        key, middle = key_and_middle
        if _by_title_alone(key, middle, catalog):
            weight *= TITLE_WORTH
        for far in graph.edges(middle, least, WEAKEST, SECOND_HOP):
            keys = (key, middle, far.key)
            _keep(best, Chain(keys, HOP_WORTH * (weight * far.strength) ** 0.5), asked)
    ordered = sorted(best.values(), key=lambda chain: (-chain.weight, chain.keys))
    return ordered[:MOST_REACHED], trust


def _by_title_alone(key: str, other: str, catalog: Catalog) -> bool:
    """Whether a thing stands beside another only in notes that have the other in their title."""
    graph = catalog.graph
    both = graph.slots(key)[graph.marked([other])[graph.slots(key)]]
    return all(
        other in _title_key(catalog.notes[catalog.chunks[c].path].title) for c in graph.named(both)
    )


@lru_cache(maxsize=50_000)
def _title_key(title: str) -> str:
    return entity_key(" ".join(fold(title).text.split()))


def _in_context(
    edges: Sequence[Edge], key: str, others: Sequence[str], graph: EntityGraph
) -> list[float]:
    """The weights of edges of `key`, seen beside the other things of the question.

    More where an edge's far end stands beside one of them; less where only `key` itself does:
    that is the other meaning of the word.
    """
    ends = [edge.key for edge in edges]
    found = [graph.strengths(other, ends) for other in others]
    beside = np.max(found, axis=0) if found else np.zeros(len(edges))
    told_apart = bool(graph.together(key, others).any())
    return [
        edge.strength * OFF_SENSE_WORTH
        if near == 0 and told_apart
        else 1 - (1 - edge.strength) * (1 - CONTEXT_WORTH * near)
        for edge, near in zip(edges, beside.tolist(), strict=True)
    ]


def _keep(best: dict[str, Chain], chain: Chain, asked: Mapping[str, float]) -> None:
    end = chain.keys[-1]
    if end in asked or end in chain.keys[:-1]:
        return
    if end not in best or best[end].weight < chain.weight:
        best[end] = chain


def _hit(chunk: ChunkRow, chains: list[Chain], sure: float, catalog: Catalog) -> Hit:
    title = _title_key(catalog.notes[chunk.path].title)
    weighed = [(c.weight * (1 if c.keys[-1] == title else MENTION_WORTH), c) for c in chains]
    weighed.sort(key=lambda pair: (-pair[0], pair[1].keys))
    missing = 1.0
    for weight, _ in weighed[:MOST_TOLD]:
        missing *= 1 - weight
    return Hit(chunk, round(sure * (1 - missing), 9), weighed[0][1].keys)
