"""Which sources are asked first where there are very many? Those that likely know. Pure.

By the share of the question's words in a source's name and description and in the questions it
has answered before. A source that was never asked and says nothing of itself comes after those
that fit and before those that do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sidelight.language.terms import QueryTerm, Terms
from sidelight.source_settings import SourceSettings
from sidelight.sources.health import Record
from sidelight.sources.scoring import coverage

AT_ONCE = 10  # sources that are asked of themselves; more only on request
DESCRIBED = 1.0  # worth of the question's words in a description
ANSWERED = 1.0  # and in questions that were answered before
UNKNOWN = 0.05  # of a source about which nothing is known


def likely(
    sources: Sequence[SourceSettings],
    records: Mapping[str, Record],
    terms: Terms,
    query_terms: Sequence[QueryTerm],
    mass: Mapping[str, float],
    limit: int = AT_ONCE,
) -> list[SourceSettings]:
    """The sources to ask, in the order of the settings."""
    if len(sources) <= limit:
        return list(sources)

    def score(source: SourceSettings) -> float:
        said = set(terms.index_terms(f"{source.name}\n{source.description}"))
        record = records.get(source.name, Record())
        fits = DESCRIBED * coverage(query_terms, mass, said)
        fits += ANSWERED * coverage(query_terms, mass, record.words)
        unknown = not source.description and not record.outcomes
        return fits + (UNKNOWN if unknown else 0.0)

    ranked = sorted(range(len(sources)), key=lambda n: (-score(sources[n]), n))
    return [sources[n] for n in sorted(ranked[:limit])]
