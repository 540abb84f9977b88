"""What was asked and what answers it: reading files of queries with judgements.

The form is one JSON object a line. Only `query` and, for answerable ones, `relevant` are needed;
unknown keys are ignored. Does no searching.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidelight.errors import QueriesError

UNANSWERABLE = "no-answer"  # the kind of a question the vault does not answer


@dataclass(frozen=True, slots=True)
class Topic:
    """One question with its judgements; every path is a vault path."""

    id: str
    query: str
    language: str
    kind: str
    answerable: bool
    relevant: frozenset[str]  # notes that hold (part of) the answer
    also: frozenset[str] = frozenset()  # notes where a hit is neither right nor wrong
    answers: tuple[str, ...] = ()  # strings that stand in the relevant notes
    via: frozenset[str] = frozenset()  # multi-hop: notes whose link leads to a relevant one


def read_topics(path: Path, query_field: str = "query") -> tuple[Topic, ...]:
    """Reads a file of queries, in file order.

    Args:
        path: a JSON Lines file, UTF-8.
        query_field: the key whose text is asked (`query_hans` asks in simplified characters).

    Raises:
        QueriesError: the file cannot be read, or a line is not what it should be; the message
            names the line.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise QueriesError(
            f"The query file {path} cannot be read ({error}).",
            "Name a file with one JSON object a line, in UTF-8.",
        ) from error
    topics: list[Topic] = []
    seen: dict[str, int] = {}
    # Only line feeds end a line: JSON strings may hold U+2028 and the like as they are.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        topic = _topic(_Row(path, number, line), query_field)
        if topic.id in seen:
            raise QueriesError(
                f"{path}, line {number}: the id '{topic.id}' stands on line {seen[topic.id]} too.",
                "Give each query an id of its own, or none.",
            )
        seen[topic.id] = number
        topics.append(topic)
    if not topics:
        raise QueriesError(
            f"The query file {path} holds no queries.",
            'Write one object a line, such as {"query": "...", "relevant": [{"path": "a.md"}]}.',
        )
    return tuple(topics)


def unknown_notes(topics: Sequence[Topic], known: Callable[[str], bool]) -> list[str]:
    """Notes that the judgements name and the vault does not hold: no search can find them.

    Args:
        topics: the questions.
        known: whether a path is indexed.
    """
    named = dict.fromkeys(path for topic in topics for path in sorted(topic.relevant))
    return [p for p in named if not known(p) and not known(unicodedata.normalize("NFC", p))]


class _Row:
    """One line of a query file, checked as it is read."""

    def __init__(self, path: Path, number: int, line: str) -> None:
        self._where = f"{path}, line {number}"
        self.number = number
        try:
            data = json.loads(line)
        except ValueError as error:
            raise self.error(f"not valid JSON ({error})") from error
        if not isinstance(data, dict):
            raise self.error("not a JSON object")
        self.data: Mapping[str, Any] = data

    def error(self, what: str) -> QueriesError:
        return QueriesError(f"{self._where}: {what}.", "Correct the line or take it out.")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.error(f"'{key}' must be a string that is not empty")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        value = self.data.get(key) or []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(f"'{key}' must be a list of strings")
        return tuple(value)

    def paths(self, key: str) -> frozenset[str]:
        value = self.data.get(key) or []
        if not isinstance(value, list):
            raise self.error(f"'{key}' must be a list of objects with a 'path'")
        found = []
        for item in value:
            path = item.get("path") if isinstance(item, dict) else item
            if not isinstance(path, str) or not path:
                raise self.error(f"'{key}' must be a list of objects with a 'path'")
            found.append(path.replace("\\", "/"))  # as Windows shows it; no note's name has one
        return frozenset(found)

    def flag(self, key: str, default: bool) -> bool:
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"'{key}' must be true or false")
        return value


def _topic(row: _Row, query_field: str) -> Topic:
    relevant = row.paths("relevant")
    answerable = row.flag("answerable", bool(relevant))
    if answerable and not relevant:
        raise row.error("an answerable query needs at least one note in 'relevant'")
    number = row.data.get("id", row.number)
    return Topic(
        id=str(number),
        query=row.text(query_field),
        language=row.text("lang", "und"),
        kind=row.text("kind", "question" if answerable else UNANSWERABLE),
        answerable=answerable,
        relevant=relevant if answerable else frozenset(),
        also=row.paths("also") - relevant,
        answers=row.strings("answers"),
        via=row.paths("via"),
    )
