"""What does a person ask for with this text?

Obsidian's own search syntax where it has one: words, "phrases", -negation, OR, brackets,
/regex/, path: file: tag: line: section: after: before: and ["property":value]. Whatever does
not parse is plain words; no text is an error. Ranks nothing and reads nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sidelight.query.conditions import (
    All,
    Compare,
    Dated,
    Either,
    Filter,
    Has,
    Not,
    NoteView,
    Pattern,
    Scope,
    Tag,
    Text,
    Within,
    compiled,
    expression,
    matches,
    read_day,
    with_slashes,
)

__all__ = ["Filter", "NoteView", "ParsedQuery", "matches", "parse_query"]

_MAX_DEPTH = 20  # brackets in brackets; deeper ones are plain text
_MAX_LENGTH = 10_000  # characters; a longer text was pasted, not written as a query
_SCOPES = {scope.value: scope for scope in Scope if scope is not Scope.NOTE}

_OPERATOR = re.compile(r"(path|file|tag|line|section|after|before):", re.IGNORECASE)
_PHRASE = re.compile(r'"([^"]*)"(?=\s|\)|\]|$)')
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)+)/(?=\s|\)|\]|$)")
_PROPERTY = re.compile(
    r'\[(?:"([^"\]]+)"|([^\s"\[\]:][^"\[\]:]*)(?=:))(?::((?:"[^"]*"|[^\[\]"])*))?\]'
    r"(?=\s|\)|$)"
)
# `git rm -r --cached`: beside a long option, a minus negates nothing.
_LONG_OPTION = re.compile(r"(?:^|\s)--[A-Za-z]")
_WORD = re.compile(r"[^\s()]+(?:\([^\s()]*\)[^\s()]*)*")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query as understood.

    Attributes:
        text: as typed.
        text_for_ranking: the words (and phrases) to rank by; the text itself where it has no
            syntax; "" for a query of filters alone.
        phrases: exact phrases that are asked for, for marking and for choosing the passage.
        filter: what a note must fulfil, or None.
    """

    text: str
    text_for_ranking: str
    phrases: tuple[str, ...] = ()
    filter: Filter | None = None

    @property
    def filters_only(self) -> bool:
        """Whether nothing is left to rank by: list what the filter selects, newest first."""
        return self.filter is not None and not self.text_for_ranking

    def describe(self) -> dict[str, Any]:
        """The filter for people and JSON: `{}` without one."""
        if self.filter is None:
            return {}
        described: dict[str, Any] = {"expression": expression(self.filter)}
        if self.phrases:
            described["phrases"] = list(self.phrases)
        return described


@dataclass(frozen=True, slots=True)
class _Word:
    """A plain word: ranked, never required."""

    text: str


@dataclass(frozen=True, slots=True)
class _Group:
    """Items of which all (`joiner` AND) or one (OR) are asked for."""

    joiner: str
    items: tuple[_Item, ...]


@dataclass(frozen=True, slots=True)
class _Negated:
    item: _Item


_Item = _Word | _Group | _Negated | Filter


def parse_query(text: str) -> ParsedQuery:
    """`text` as a query; pure, raises nothing."""
    if len(text) > _MAX_LENGTH:
        return ParsedQuery(text, text.strip())
    try:
        root = _Parser(text).parse()
    except _TooDeepError:
        return ParsedQuery(text, text.strip())
    wanted = _condition(root, required=False)
    words = list(_ranked(root))
    plain = wanted is None and not _has_syntax(root)
    ranking = text.strip() if plain else " ".join(word for word, _ in words)
    phrases = tuple(dict.fromkeys(word for word, is_phrase in words if is_phrase))
    return ParsedQuery(text, ranking, phrases, wanted)


class _TooDeepError(Exception):
    """More brackets in brackets than any person writes."""


class _Parser:
    """Recursive descent over the text itself; brackets that have no partner are plain."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._partner = _bracket_partners(text)
        self._is_command = _LONG_OPTION.search(text) is not None
        self._at = 0

    def parse(self) -> _Group:
        return self._either(len(self._text), 0)

    def _either(self, end: int, depth: int) -> _Group:
        """Items up to `end`, split at OR."""
        if depth > _MAX_DEPTH:
            raise _TooDeepError
        branches: list[list[_Item]] = [[]]
        pending_or = False
        while (item := self._item(end, depth)) is not None:
            if item == _Word("OR") and branches[-1] and not pending_or:
                pending_or = True
                continue
            if pending_or:
                branches.append([])
                pending_or = False
            branches[-1].append(item)
        if pending_or:
            branches[-1].append(_Word("OR"))
        groups = tuple(_Group("AND", tuple(items)) for items in branches)
        return groups[0] if len(groups) == 1 else _Group("OR", groups)

    def _item(self, end: int, depth: int) -> _Item | None:
        """The next item before `end`, or None."""
        while self._at < end and (self._text[self._at].isspace() or self._is_stray()):
            self._at += 1
        if self._at >= end:
            return None
        if self._negates(end):
            start = self._at
            self._at += 1
            item = self._operand(end, depth)
            if item is not None and not _is_marks(item):
                return _Negated(item)
            self._at = start
        return self._operand(end, depth) or self._word(end)

    def _is_stray(self) -> bool:
        """Whether a bracket without partner stands here."""
        return self._text[self._at] in "()" and self._at not in self._partner

    def _negates(self, end: int) -> bool:
        """A minus directly before something: no dash, and no option of a command line."""
        if self._text[self._at] != "-" or self._is_command:
            return False
        following = self._text[self._at + 1 : min(self._at + 3, end)]
        if not following or following[0].isspace() or following[0] in "-)":
            return False
        return not (following[0].isascii() and following[0].isalnum() and not following[1:].strip())

    def _operand(self, end: int, depth: int) -> _Item | None:
        """A bracket, phrase, regex, property, operator or word; None if none stands here."""
        character = self._text[self._at] if self._at < end else ""
        if character == "(" and self._at in self._partner:
            return self._bracket(depth)
        if character == '"':
            return self._phrase(end) or self._word(end)
        if character == "/":
            return self._regex(end) or self._word(end)
        if character == "[":
            return self._property(end, depth) or self._word(end)
        return self._operator(end, depth) or self._word(end)

    def _bracket(self, depth: int) -> _Item:
        close = self._partner[self._at]
        self._at += 1
        group = self._either(close, depth + 1)
        self._at = close + 1
        return group

    def _phrase(self, end: int) -> _Item | None:
        match = _PHRASE.match(self._text, self._at, end)
        if match is None or not match[1].strip():
            return None
        self._at = match.end()
        return Text(match[1])

    def _regex(self, end: int) -> _Item | None:
        match = _REGEX.match(self._text, self._at, end)
        if match is None or compiled(match[1]) is None:
            return None
        self._at = match.end()
        return Pattern(match[1])

    def _property(self, end: int, depth: int) -> _Item | None:
        match = _PROPERTY.match(self._text, self._at, end)
        if match is None:
            return None
        self._at = match.end()
        name, value = (match[1] or match[2]).strip(), (match[3] or "").strip()
        return Has(name, _value_condition(value, depth + 1) if value else None)

    def _operator(self, end: int, depth: int) -> _Item | None:
        start = self._at
        match = _OPERATOR.match(self._text, start, end)
        if match is None:
            return None
        self._at = match.end()
        name = match[1].lower()
        operand = self._argument(end, depth)
        condition = _operator_condition(name, operand) if operand is not None else None
        if condition is None:
            self._at = start
        return condition

    def _argument(self, end: int, depth: int) -> _Item | None:
        """What an operator applies to; it follows without a space."""
        if self._at >= end or self._text[self._at].isspace():
            return None
        character = self._text[self._at]
        if character == "(" and self._at in self._partner:
            return self._bracket(depth)
        special = {'"': self._phrase, "/": self._regex}.get(character)
        return (special and special(end)) or self._word(end)

    def _word(self, end: int) -> _Item | None:
        match = _WORD.match(self._text, self._at, end)
        if match is None:
            return None
        self._at = match.end()
        return _Word(match.group())


def _is_marks(item: _Item) -> bool:
    """Whether a word is punctuation alone: `-"` leaves nothing out."""
    return isinstance(item, _Word) and all(unicodedata.category(c)[0] in "PZC" for c in item.text)


def _bracket_partners(text: str) -> dict[int, int]:
    """Place of the closing bracket by the place of its opening one, and the other way round.

    Brackets inside phrases and inside words (`word(word)`) are neither.
    """
    partners: dict[int, int] = {}
    stack: list[int] = []
    at, fresh = 0, True  # fresh: an item may begin here
    while at < len(text):
        character = text[at]
        match = _PHRASE.match(text, at) or _REGEX.match(text, at) if fresh else None
        if match is not None:
            at, fresh = match.end(), False
            continue
        if character == "(" and (fresh or text[at - 1] == ":"):
            stack.append(at)
        elif character == "(":
            skip = re.compile(r"\([^\s()]*\)").match(text, at)
            at = skip.end() - 1 if skip else at
        elif character == ")" and stack:
            start = stack.pop()
            partners[start], partners[at] = at, start
        fresh = character.isspace() or character == "(" or (character == "-" and fresh)
        at += 1
    return partners


def _operator_condition(name: str, operand: _Item) -> Filter | None:
    """The condition of `name:operand`; None where the operand makes no sense for it."""
    if name in ("after", "before"):
        day = read_day(operand.text.strip()) if isinstance(operand, _Word | Text) else None
        if day is None:
            return None
        return Dated(since=day) if name == "after" else Dated(until=day)
    if name == "tag":
        return _tag_condition(operand)
    inner = _condition(operand, required=True, whole_words=False)
    if inner is None:
        return None
    return Within(_SCOPES[name], with_slashes(inner) if name == "path" else inner)


def _tag_condition(operand: _Item) -> Filter | None:
    """Tags by name, also several in brackets."""
    match operand:
        case _Word(text) | Text(text):
            return Tag(text.strip()) if text.strip("#/ ") else None
        case _Negated(item):
            inner = _tag_condition(item)
            return Not(inner) if inner is not None else None
        case _Group(joiner, items):
            parts = tuple(part for item in items if (part := _tag_condition(item)) is not None)
            return _joined(joiner, parts)
        case _:
            return None


_COMPARE = re.compile(r"\s*([<>])\s*(\S+)\s*")


def _value_condition(value: str, depth: int) -> Filter | None:
    """The condition on a property's value: text, phrase, regex, `<5`, `(a OR b)`."""
    compare = _COMPARE.fullmatch(value)
    if compare is not None:
        return Compare(compare[1], compare[2])
    parser = _Parser(value)
    return _condition(parser._either(len(value), depth), required=True, whole_words=False)


def _condition(item: _Item, required: bool, whole_words: bool = True) -> Filter | None:
    """What `item` asks of a note; plain words ask nothing unless `required`."""
    match item:
        case _Word(text):
            return Text(text, whole_words) if required else None
        case _Negated(inner):
            condition = _condition(inner, required=True, whole_words=whole_words)
            return Not(condition) if condition is not None else None
        case _Group("OR", items):
            # Beside a filter, a word is one of the ways to fulfil the OR.
            required = required or any(_asks(branch) for branch in items)
            parts = (_condition(branch, required, whole_words) for branch in items)
            return _joined("OR", tuple(part for part in parts if part is not None))
        case _Group(_, items):
            parts = (_condition(inner, required, whole_words) for inner in items)
            return _joined("AND", tuple(part for part in parts if part is not None))
        case _:
            return item


def _asks(item: _Item) -> bool:
    """Whether `item` holds anything but plain words."""
    match item:
        case _Word():
            return False
        case _Group(_, items):
            return any(_asks(inner) for inner in items)
        case _:
            return True


def _has_syntax(item: _Item) -> bool:
    """Whether the words must be taken out of the text to be ranked."""
    match item:
        case _Word():
            return False
        case _Group("AND", items):
            return any(_has_syntax(inner) for inner in items)
        case _:
            return True


def _joined(joiner: str, parts: tuple[Filter, ...]) -> Filter | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return Either(parts) if joiner == "OR" else All(parts)


def _ranked(item: _Item) -> Iterator[tuple[str, bool]]:
    """Words and phrases to rank by, in order, each with whether it is a phrase."""
    match item:
        case _Word(text):
            yield text, False
        case Text(text):
            yield text.strip(), not item.whole_words
        case _Group(_, items) | All(items) | Either(items):
            for inner in items:
                yield from _ranked(inner)
        case Within(Scope.LINE | Scope.SECTION, condition):
            for word, _ in _ranked(condition):
                yield word, False
        case _:
            return
