"""Does a passage of another source count as evidence? Its own floor, and the query's filter.

A passage counts if it holds enough of the query; one of another vault, if that vault's own
evidence says so, which includes meaning. A filter of the query is put to the passage's own
text and place. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sidelight.query.conditions import All, Filter, cost, matches
from sidelight.query.gate import PLAIN_THRESHOLDS
from sidelight.sources.asking import Found, whole
from sidelight.sources.scoring import Measured
from sidelight.vault.lines import split_lines

# Of another vault's results: what its evidence must reach.
VAULT_EVIDENCE = PLAIN_THRESHOLDS["balanced"]


def passes(found: Found, measured: Measured, wanted: Filter | None, floor: float) -> bool:
    """Whether a passage is shown."""
    if found.inner is not None:  # it knows the query's syntax, and its gate has let this pass
        return floor == 0.0 or found.inner.evidence >= VAULT_EVIDENCE or measured.coverage >= floor
    return measured.coverage >= floor and fulfils(found, wanted)


def fulfils(found: Found, wanted: Filter | None) -> bool:
    """Whether a passage is what the query's filter lets through."""
    return wanted is None or matches(wanted, _View(found))


def place_fits(path: str, wanted: Filter | None) -> bool:
    """Whether some passage at `path` could fulfil the filter, by its place alone."""
    parts = wanted.parts if isinstance(wanted, All) else (wanted,)
    places = [part for part in parts if part is not None and cost(part) == 0]
    here = _View(Found("", "", path, whole("")))
    return all(matches(part, here) for part in places)


def evidence(found: Found, measured: Measured) -> float:
    """How sure it is that a passage answers, 0..1."""
    return found.inner.evidence if found.inner is not None else measured.evidence


@dataclass(frozen=True, slots=True)
class _View:
    """A passage as a filter sees a note: it has text and a place, no tags and no date."""

    found: Found

    @property
    def path(self) -> str:
        return self.found.path

    @property
    def tags(self) -> Collection[str]:
        return ()

    @property
    def properties(self) -> Mapping[str, Any]:
        return {}

    @property
    def date(self) -> date | None:
        return None

    def text(self) -> str:
        return f"{self.found.title}\n{self.found.text}"

    def lines(self) -> Sequence[str]:
        return split_lines(self.text())

    def sections(self) -> Iterable[str]:
        return (self.text(),)
