"""What does every kind of source take and give? The values between adapters and federation.

Pure. An adapter gets an `Ask`, gives an `Answer`, and fails with a `SourceError`; it never
decides what is shown.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sidelight.errors import SidelightError
from sidelight.language.terms import QueryTerm
from sidelight.query.conditions import Filter
from sidelight.types import Citation, CitationStatus, Match, PassageKind, Result, SearchRequest
from sidelight.vault.lines import readable

PER_SOURCE = 5  # results of an outside source in an answer, at most
PER_ANSWER = 25  # passages an adapter gives at most: some will not pass the floor
MAX_TEXT_CHARS = 8_000  # of one passage; a longer entry is cut for showing and scoring
MAX_FIELD_CHARS = 500  # of a title, id or link


class SourceError(SidelightError):
    """A source cannot answer: where it is, what it needs, or that it took too long."""

    code = "SOURCE_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class Card:
    """An index card: where the full entry is to be found."""

    source: str
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """One passage of an outside source, best first in an answer.

    Attributes:
        path: where it stands, inside the source: file path, table, or what a program says.
        id: of a record, "" for none.
        link: an address that leads to it, "" for none.
        chunk_index: of a Markdown passage in its file, for asking again; -1 for others.
        card: what it points to, if it is an index card.
        inner: the result of another vault as that vault gave it.
    """

    text: str
    title: str
    path: str
    citation: Citation
    heading_path: tuple[str, ...] = ()
    id: str = ""
    link: str = ""
    chunk_index: int = -1
    card: Card | None = None
    inner: Result | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a source gave.

    Attributes:
        found: best first, at most `PER_ANSWER`.
        problems: what kept it from answering fully, in words; empty if nothing did.
        ran: the command line that was run, for showing; () where none was.
        echo: what the source repeats whatever it is asked; does not count as its own words.
    """

    found: Sequence[Found]
    problems: Sequence[str] = ()
    ran: Sequence[str] = ()
    echo: str = ""


@dataclass(frozen=True)
class Ask:
    """One question to one source.

    Attributes:
        text: the words to rank by, without query syntax.
        terms: its weighted terms.
        mass: what holding a term is worth, by term; shares sum to 1.
        request: as the vault was asked.
        arguments: of an index card; empty for a plain question.
        filter: what every passage must fulfil, see `judging.fulfils`.
        deadline: `time.monotonic` at which the answer is no longer waited for.
        cancelled: whether nobody waits.
    """

    text: str
    terms: Sequence[QueryTerm]
    mass: Mapping[str, float]
    request: SearchRequest
    deadline: float
    cancelled: Callable[[], bool]
    arguments: Mapping[str, str] = field(default_factory=dict)
    filter: Filter | None = None

    def must_stop(self) -> bool:
        """Whether time is up or nobody waits."""
        return time.monotonic() > self.deadline or self.cancelled()

    @property
    def seconds_left(self) -> float:
        """Until the deadline; never negative."""
        return max(0.0, self.deadline - time.monotonic())


class Adapter(Protocol):
    """One source, ready to be asked; thread-safe."""

    def ask(self, ask: Ask) -> Answer:
        """Its answer.

        Raises:
            SourceError: it cannot answer; message and remedy say why.
        """

    def check(self, ask: Ask) -> None:
        """Whether it could answer; as cheap as it can be.

        Raises:
            SourceError: it could not.
        """

    def has_target(self, arguments: Mapping[str, str], ask: Ask) -> bool:
        """Whether what a card names is there."""

    def close(self) -> None:
        """Lets go of what it holds."""


def cut(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """The beginning of a text."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def hash_of(text: str) -> str:
    """A short name of a text, 16 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def one_line(value: Any) -> str:
    """A short field of an entry in one line."""
    return cut(" ".join(readable(str(value)).split()), MAX_FIELD_CHARS) if value is not None else ""


def whole(text: str, citation_kind: PassageKind = PassageKind.NOTE) -> Citation:
    """The citation of an entry that has no lines: it is as the source gave it just now."""
    return Citation(
        kind=citation_kind,
        status=CitationStatus.FRESH,
        match=Match.EXACT,
        start_line=None,
        end_line=None,
        text=text,
        why="the source gave it just now",
    )
