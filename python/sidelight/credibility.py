"""What may a person set about how far a source is to be believed? Classes, and rules in settings.

A rule is `PLACE = BELIEF`. The place is a folder (ends with `/`), a site (a host name, with all
below it), another knowledge base (`source:NAME`) or a class; the belief is a class or a number in
0..1. Looks at no note (`query/credibility.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sidelight.errors import UsageError

OWN = "own-notes"
# Worth of each class as the issue that asked for them set it; none is fitted.
CLASSES: Mapping[str, float] = {
    "official-docs": 1.0,
    "product-docs": 0.9,
    "official-blog": 0.8,
    "community-docs": 0.6,
    "forum": 0.4,
    OWN: 0.3,
}
CHINESE_CLASSES: Mapping[str, str] = {
    "官方文档": "official-docs",
    "产品文档": "product-docs",
    "官方博客": "official-blog",
    "社区文档": "community-docs",
    "论坛": "forum",
    "个人笔记": OWN,
}
_SITE = re.compile(r"[\w-]+(\.[\w-]+)+")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the settings say, folders and sites from the longest to the shortest."""

    classes: Mapping[str, float] = field(default_factory=lambda: dict(CLASSES))
    folders: tuple[tuple[str, float], ...] = ()
    sites: tuple[tuple[str, float], ...] = ()
    sources: Mapping[str, float] = field(default_factory=dict)  # by folded name

    def source(self, name: str) -> float:
        """How far another knowledge base is to be believed; without a rule as notes of one's own."""
        return self.sources.get(_folded(name), self.classes[OWN])

    def belief(self, value: object) -> float | None:
        """A class's worth, or a number in 0..1 itself; None for anything else."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        name = str(value).strip().lower()
        name = CHINESE_CLASSES.get(name, name)
        if name in self.classes:
            return self.classes[name]
        try:
            number = float(name)
        except ValueError:
            return None
        return number if 0 <= number <= 1 else None


def rules_from(entries: Sequence[str]) -> Rules:
    """The rules of the setting `credibility`, over the defaults; of two for one place the later.

    Raises:
        UsageError: an entry is no rule; the message names it.
    """
    classes = dict(CLASSES)
    places: list[tuple[str, str, str]] = []
    for entry in entries:
        written = entry if "=" in entry else entry.replace("\uff1d", "=")  # Chinese keyboards' sign
        place, _, value = (part.strip() for part in written.rpartition("="))
        name = CHINESE_CLASSES.get(place.lower(), place.lower())
        if name in CLASSES:
            classes[name] = _number(entry, Rules(classes), value)
        else:
            places.append((entry, place, value))
    rules = Rules(classes)
    folders: dict[str, float] = {}
    sites: dict[str, float] = {}
    sources: dict[str, float] = {}
    for entry, place, value in places:
        belief = _number(entry, rules, value)
        if (source := _source(place)) is not None:
            sources[source] = belief
        elif _is_folder(place):
            folders[place] = belief
        elif _SITE.fullmatch(place):
            sites[place.lower()] = belief
        else:
            raise _wrong(entry)
    by_length = lambda pair: (-len(pair[0]), pair[0])  # noqa: E731 - two words beat a nested def
    return Rules(
        classes,
        tuple(sorted(folders.items(), key=by_length)),
        tuple(sorted(sites.items(), key=by_length)),
        sources,
    )


def _is_folder(place: str) -> bool:
    """Whether it is written as paths in a vault are: a rule that no note can match helps nobody."""
    *parts, last = place.split("/")
    plain = all(part not in ("", ".", "..") for part in parts) and "\\" not in place
    return bool(parts) and not last and plain


def _source(place: str) -> str | None:
    """The folded name in `source:NAME` (来源：名称); None if the place is none."""
    head, colon, name = unicodedata.normalize("NFKC", place).partition(":")
    is_source = colon and head.strip().lower() in ("source", "来源") and name.strip()
    return _folded(name) if is_source else None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).strip().casefold()


def _number(entry: str, rules: Rules, value: str) -> float:
    belief = rules.belief(value)
    if belief is None:
        raise _wrong(entry)
    return belief


def _wrong(entry: str) -> UsageError:
    return UsageError(
        f"Setting 'credibility' does not understand '{entry}'.",
        "Write 'Folder/ = forum', 'docs.example.org = official-docs', 'source:Team wiki = 0.8' or "
        "'forum = 0.2'; classes: " + ", ".join(CLASSES) + ".",
    )
