"""How do the ranked lists of all sources become one? By rank alone; scores never meet.

The same text in several sources is one result at its best rank, naming them all, and counts
once: copies are no second opinion. Reciprocal rank fusion (Cormack, Clarke, Buettcher 2009)
over the sources' ranks; at most five results of each outside source; ties by evidence (where
the composite orders: with how far each is to be believed), then the vault first, then the order of
the settings. Pure.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sidelight.query.rerank import without_model
from sidelight.source_settings import OWN
from sidelight.sources.asking import PER_SOURCE
from sidelight.types import Origin, Result, SearchResult


@dataclass(frozen=True, slots=True)
class Listed:
    """What one source brings, best first; every result has passed its floor."""

    source: str
    results: Sequence[Result]


@dataclass(slots=True)
class _Merged:
    result: Result
    rank: int  # the best it has in any source, from 1
    holders: list[str]
    place: int  # of its list
    contributions: dict[str, int] = field(default_factory=dict)  # rank by source


def fuse_sources(
    lists: Sequence[Listed],
    k: int,
    limit: int,
    believed: Callable[[Result], float] | None = None,
) -> tuple[list[Result], list[Any]]:
    """One list of direct results, ranked from 1, and how each came to its place.

    Args:
        lists: the vault's own first.
        k: the constant of reciprocal rank fusion.
        limit: results in all.
        believed: how far a result is to be believed, 0..1; None where that is not asked.
    """

    def sure(result: Result) -> float:
        sure = result.evidence
        return sure if believed is None else without_model(sure, believed(result))

    merged = _merge(lists)
    score = {id(one): 1.0 / (k + one.rank) for one in merged}
    merged.sort(key=lambda m: (-score[id(m)], -sure(m.result), m.place, m.rank))
    shown: list[_Merged] = []
    count: dict[str, int] = {}
    for one in merged:
        source = one.result.source
        if source != OWN and count.get(source, 0) == PER_SOURCE:
            continue
        count[source] = count.get(source, 0) + 1
        shown.append(one)
    shown = shown[:limit]
    results = [_placed(one, rank, score[id(one)]) for rank, one in enumerate(shown, 1)]
    return results, [_explained(one, score[id(one)]) for one in shown]


def content_key(text: str) -> str:
    """The same for texts that differ only in white space or Unicode form."""
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def with_linked(direct: Sequence[Result], linked: Sequence[Result]) -> list[Result]:
    """The linked results whose seed is still shown, after the direct ones, ranks renewed."""
    rank_of = {result.ref: result.rank for result in direct}
    kept: list[Result] = []
    for result in linked:
        link = result.graph_provenance
        if link is None or link.seed_ref not in rank_of:
            continue
        link = replace(link, seed_rank=rank_of[link.seed_ref])
        rank = len(direct) + len(kept) + 1
        kept.append(replace(result, rank=rank, graph_provenance=link))
    return [*direct, *kept]


def shown_of(results: Sequence[Result]) -> Mapping[str, int]:
    """How many results each source has, also those it shares."""
    count: dict[str, int] = {}
    for result in results:
        for source in (result.source, *result.also_in):
            count[source] = count.get(source, 0) + 1
    return count


def direct_of(result: SearchResult) -> list[Result]:
    """The direct results of the vault's own answer."""
    return [one for one in result.results if one.origin is Origin.DIRECT]


def _merge(lists: Sequence[Listed]) -> list[_Merged]:
    by_text: dict[str, _Merged] = {}
    merged: list[_Merged] = []
    for place, listed in enumerate(lists):
        for rank, result in enumerate(listed.results, 1):
            key = content_key(result.text) if result.text.strip() else ""
            same = by_text.get(key) if key else None
            # Two notes of the vault with the same text are two places to know of.
            if same is None or (listed.source == OWN and OWN in same.holders):
                one = _Merged(result, rank, [listed.source], place, {listed.source: rank})
                merged.append(one)
                if key:
                    by_text.setdefault(key, one)
            elif listed.source not in same.holders:
                same.holders.append(listed.source)
                same.contributions[listed.source] = rank
                same.rank = min(same.rank, rank)
    return merged


def _placed(one: _Merged, rank: int, score: float) -> Result:
    others = tuple(name for name in one.holders if name != one.result.source)
    also_in = tuple(dict.fromkeys((*one.result.also_in, *others)))
    # The vault's own results keep the score that its trace adds up to.
    rrf_score = one.result.rrf_score if one.result.source == OWN else score
    return replace(one.result, rank=rank, also_in=also_in, rrf_score=rrf_score)


def _explained(one: _Merged, score: float) -> dict[str, Any]:
    return {
        "ref": one.result.ref,
        "source": one.result.source,
        "ranks": dict(one.contributions),
        "rank": one.rank,
        "score": score,
    }
