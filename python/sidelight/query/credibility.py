"""How far is a note to be believed? 0..1, from its property, its folder or the site it came from.

The first of these that says something decides: the property `credibility` (or 可信度), the longest
folder with a rule, the site in the property `source` or `url` (来源, 网址); else it is a note of
the person's own. Only the composite order of `query/rerank.py` reads this; never the gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from sidelight.credibility import OWN, Rules, rules_from
from sidelight.store.rows import NoteRow

_BELIEF_KEYS = ("credibility", "可信度")
_SITE_KEYS = ("source", "url", "来源", "网址")  # what web clippers write


@lru_cache(maxsize=8)
def rules_of(entries: tuple[str, ...]) -> Rules:
    """The rules of the settings, parsed once."""
    return rules_from(entries)


def credibility(note: NoteRow | None, rules: Rules) -> float:
    """How far a note is to be believed, 0..1; None is a file that is no note."""
    own = rules.classes[OWN]
    if note is None:
        return own
    properties = {key.casefold(): value for key, value in note.properties}
    for key in _BELIEF_KEYS:
        belief = rules.belief(properties.get(key))
        if belief is not None:
            return belief
    for folder, worth in rules.folders:
        if note.path.startswith(folder):
            return worth
    hosts = [_host(text) for key in _SITE_KEYS for text in _texts(properties.get(key))]
    for site, worth in rules.sites:
        if any(host == site or host.endswith(f".{site}") for host in hosts):
            return worth
    return own


def _texts(value: object) -> Iterable[str]:
    values: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    return (text for text in values if isinstance(text, str))


def _host(address: str) -> str:
    try:
        return (urlsplit(address.strip()).hostname or "").lower()
    except ValueError:  # no address at all
        return ""
