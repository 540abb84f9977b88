"""What was the index made with, and what does a difference ask for?

Schema, chunker and tokenizer stand in `facts.json` beside the tables, the model in the name of
its vectors' table. Each difference leads to the smallest rebuild that is enough.
"""

from __future__ import annotations

from collections.abc import Mapping

from sidelight.indexing.draft import DRAFT_VERSION
from sidelight.language import entities
from sidelight.language.terms import Terms
from sidelight.store.schema import SCHEMA_VERSION

Facts = dict[str, str]

_CHANGED = {
    "schema": "the form of the index changed",
    "drafts": "the way notes are cut into passages changed",
    "entities": "the way things are recognised changed",
    "terms": "the way words are cut, or your own words, changed",
}


def current_facts(terms: Terms) -> Facts:
    """What an index made now is made with."""
    return {
        "schema": str(SCHEMA_VERSION),
        "drafts": DRAFT_VERSION,
        "entities": str(entities.VERSION),
        "terms": terms.signature,
    }


def difference(stored: Mapping[str, str], current: Mapping[str, str], *, graph: bool = True) -> str:
    """Why every note is to be read again, for people; "" if it is not.

    Without the graph nobody asks what notes speak of, and an old form of that may stay.
    """
    return " and ".join(_CHANGED[name] for name in differing(stored, current, graph=graph))


def differing(
    stored: Mapping[str, str], current: Mapping[str, str], *, graph: bool = True
) -> list[str]:
    """The names of the facts that ask for every note to be read again, as `difference`."""
    asked = [name for name in _CHANGED if graph or name != "entities"]
    return [name for name in asked if stored.get(name) != current[name]]


def is_other_schema(stored: Mapping[str, str], current: Mapping[str, str]) -> bool:
    """Whether the tables cannot be read by this version."""
    return stored.get("schema", current["schema"]) != current["schema"]
