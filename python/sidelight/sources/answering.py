"""From what each source gave to one answer in the contract's form. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sidelight.language.terms import QueryTerm
from sidelight.query.snippet import snippet
from sidelight.source_settings import OWN, SourceSettings
from sidelight.sources.asking import Found
from sidelight.sources.deep import Followed
from sidelight.sources.fusion import Listed, direct_of, fuse_sources, shown_of, with_linked
from sidelight.sources.judging import evidence
from sidelight.sources.refs import ref_of
from sidelight.sources.round import Outcome
from sidelight.sources.scoring import Measured
from sidelight.types import (
    Degraded,
    Entry,
    FollowedCard,
    Origin,
    Reason,
    Result,
    SearchResult,
    SourceState,
)
from sidelight.vault.markup import without_marks

CHANNEL = "source:"  # begins the name of a source in `degraded`


@dataclass(frozen=True, slots=True)
class Facts:
    """What of the question and the settings the answer needs."""

    rrf_k: int
    limit: int
    terms: Sequence[QueryTerm]
    phrases: Sequence[str]
    gate: bool
    believed: Callable[[Result], float] | None = None  # where the composite orders


def compose(
    own: SearchResult,
    wants_own: bool,
    outcomes: Mapping[str, Outcome],
    late: Sequence[SourceState],
    others: Sequence[SourceState],
    followed: Sequence[Followed],
    facts: Facts,
) -> SearchResult:
    """One answer.

    Args:
        own: the vault's.
        wants_own: whether its results are to be shown.
        outcomes: of the sources that have answered or failed, by name.
        late: those that have not.
        others: those that were not asked.
        followed: cards, with what they led to.
        facts: about the question.
    """
    own_direct = direct_of(own) if wants_own else []
    lists = [Listed(OWN, own_direct)]
    lists += [Listed(n, _results(o.source, o.passed, facts)) for n, o in outcomes.items()]
    lists += [_deeper(one, facts) for one in followed]
    direct, explained = fuse_sources(
        [one for one in lists if one.results], facts.rrf_k, facts.limit, facts.believed
    )
    linked = [r for r in own.results if r.origin is Origin.LINKED] if wants_own else []
    results = with_linked(direct, linked)
    ok = bool(direct)
    return replace(
        own,
        ok=ok,
        reasons=_reasons(own, wants_own, ok, direct, outcomes),
        results=tuple(results),
        near_misses=() if ok else own.near_misses,
        degraded=(*own.degraded, *_degraded(outcomes, late, others)),
        timing_ms={**own.timing_ms, "sources": {n: o.spent_ms for n, o in outcomes.items()}},
        trace=None if own.trace is None else {**own.trace, "sources": explained},
        sources=_states(wants_own, outcomes, late, others, direct),
        cards=tuple(one.shown for one in followed),
    )


def _results(
    source: SourceSettings,
    passed: Sequence[tuple[Found, Measured]],
    facts: Facts,
    card: FollowedCard | None = None,
) -> list[Result]:
    return [_result(source, found, measured, facts, card) for found, measured in passed]


def _result(
    source: SourceSettings,
    found: Found,
    measured: Measured,
    facts: Facts,
    card: FollowedCard | None,
) -> Result:
    entry = Entry(source.kind, found.id, found.link)
    ref = ref_of(source.name, found)
    if found.inner is not None:
        return replace(
            found.inner, ref=ref, source=source.name, also_in=(), entry=entry, via_card=card
        )
    return Result(
        rank=0,
        ref=ref,
        source=source.name,
        also_in=(),
        path=found.path,
        title=found.title,
        heading_path=tuple(found.heading_path),
        text=found.text,
        snippet=snippet(without_marks(found.text), facts.terms, facts.phrases),
        origin=Origin.DIRECT,
        graph_provenance=None,
        channels={"metadata": None, "bm25": None, "vector": None},
        rrf_score=0.0,
        rerank_score=None,
        evidence=evidence(found, measured),
        citation=found.citation,
        entry=entry,
        via_card=card,
    )


def _deeper(followed: Followed, facts: Facts) -> Listed:
    """What a card led to, as a list of its own."""
    if followed.outcome is None:
        own = [replace(result, via_card=followed.shown) for result in followed.own]
        return Listed(OWN, own)
    outcome = followed.outcome
    return Listed(
        outcome.source.name, _results(outcome.source, outcome.passed, facts, followed.shown)
    )


def _reasons(
    own: SearchResult,
    wants_own: bool,
    ok: bool,
    direct: Sequence[Result],
    outcomes: Mapping[str, Outcome],
) -> tuple[Reason, ...]:
    reasons = list(own.reasons) if wants_own else []
    if ok and wants_own and not own.ok:
        reasons = [r for r in own.reasons if r.kind in ("index_incomplete", "vault_missing")]
        if not any(result.source == OWN for result in direct):
            what = "The vault itself has no evidence; what is shown comes from other sources."
            reasons.append(Reason("vault_no_evidence", what))
    held = sum(outcome.held_back for outcome in outcomes.values())
    if not ok and held:
        what = "1 passage" if held == 1 else f"{held} passages"
        reasons.append(
            Reason(
                "sources_below_threshold",
                f"{what} of other sources held too little of the query to count.",
            )
        )
    if not ok and not reasons:
        reasons.append(Reason("no_hits", "None of the sources that were asked has an answer."))
    return tuple(reasons)


def _degraded(
    outcomes: Mapping[str, Outcome], late: Sequence[SourceState], others: Sequence[SourceState]
) -> list[Degraded]:
    degraded = []
    for name, outcome in outcomes.items():
        if outcome.error is not None:
            degraded.append(Degraded(CHANNEL + name, str(outcome.error), False))
        elif outcome.problems:
            degraded.append(Degraded(CHANNEL + name, "; ".join(outcome.problems), True))
    degraded += [Degraded(CHANNEL + state.name, state.reason, True) for state in late]
    degraded += [
        Degraded(CHANNEL + state.name, state.reason, False)
        for state in others
        if state.state == "paused"
    ]
    return degraded


def _states(
    wants_own: bool,
    outcomes: Mapping[str, Outcome],
    late: Sequence[SourceState],
    others: Sequence[SourceState],
    direct: Sequence[Result],
) -> tuple[SourceState, ...]:
    shown: Mapping[str, Any] = shown_of(direct)
    own = SourceState(OWN, "vault", "answered" if wants_own else "not_asked", shown.get(OWN, 0))
    states = [own]
    for name, outcome in outcomes.items():
        state = "answered" if outcome.error is None else "failed"
        reason = str(outcome.error) if outcome.error else "; ".join(outcome.problems)
        states.append(SourceState(name, outcome.source.kind, state, shown.get(name, 0), reason))
    return (*states, *late, *others)
