"""When are index cards followed, and what comes of it?

A card is an entry that names a source and arguments. It is followed when fewer than three
results are strong, or on request; only to sources of the user's settings or the vault itself,
never further than one step, and nothing but asking is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sidelight.query.gate import PLAIN_THRESHOLDS
from sidelight.source_settings import OWN, SourceSettings, name_key
from sidelight.sources.asking import Card, Found
from sidelight.sources.refs import ref_of
from sidelight.sources.round import Outcome
from sidelight.types import FollowedCard, Result

STRONG = PLAIN_THRESHOLDS["balanced"]  # evidence
ENOUGH_STRONG = 3
MAX_CARDS = 3  # that are followed in one search


@dataclass(frozen=True, slots=True)
class Seen:
    """A card among the results."""

    ref: str
    title: str
    card: Card


@dataclass(frozen=True, slots=True)
class Followed:
    """What following one card gave; `own` are results of the vault itself."""

    shown: FollowedCard
    outcome: Outcome | None = None
    own: Sequence[Result] = ()


def wants_digging(direct: Sequence[Result], dig: bool) -> bool:
    """Whether cards are followed after these results."""
    strong = sum(result.evidence >= STRONG for result in direct)
    return dig or strong < ENOUGH_STRONG


def cards_among(outcomes: Mapping[str, Outcome]) -> list[Seen]:
    """The cards that passed as evidence, best of each source first, each target once."""
    by_rank: list[tuple[int, str, Found]] = []
    for name, outcome in outcomes.items():
        for rank, (found, _) in enumerate(outcome.passed):
            if found.card is not None:
                by_rank.append((rank, name, found))
    by_rank.sort(key=lambda one: one[0])
    seen: dict[str, Seen] = {}
    for _, name, found in by_rank:
        assert found.card is not None
        key = f"{name_key(found.card.source)} {sorted(found.card.arguments.items())}"
        seen.setdefault(key, Seen(ref_of(name, found), found.title, found.card))
    return list(seen.values())[:MAX_CARDS]


def follow(
    cards: Sequence[Seen],
    sources: Sequence[SourceSettings],
    ask: Callable[[SourceSettings, Mapping[str, str]], Outcome],
    ask_own: Callable[[Mapping[str, str]], Sequence[Result]],
    paused: Callable[[str], bool],
) -> list[Followed]:
    """Asks what each card names.

    Args:
        cards: from `cards_among`.
        sources: those of the settings.
        ask: asks one with a card's arguments.
        ask_own: asks the vault.
        paused: whether a source is left alone for now.
    """
    by_name = {name_key(source.name): source for source in sources}
    followed: list[Followed] = []
    for seen in cards:
        target = by_name.get(name_key(seen.card.source))
        if name_key(seen.card.source) == OWN:
            own = ask_own(seen.card.arguments)
            followed.append(Followed(_shown(seen, (), len(own)), own=own))
        elif target is None:
            why = f"There is no source named '{seen.card.source}'."
            followed.append(Followed(_shown(seen, (), 0, why)))
        elif paused(target.name):
            followed.append(Followed(_shown(seen, (), 0, "The source is paused.")))
        else:
            outcome = ask(target, seen.card.arguments)
            why = outcome.error.message if outcome.error else "; ".join(outcome.problems)
            shown = _shown(seen, outcome.ran, len(outcome.passed), why)
            followed.append(Followed(shown, outcome))
    return followed


def _shown(seen: Seen, ran: Sequence[str], found: int, problem: str = "") -> FollowedCard:
    card = seen.card
    return FollowedCard(
        seen.ref, seen.title, card.source, dict(card.arguments), tuple(ran), found, problem
    )
