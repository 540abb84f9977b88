"""How much does each term of a query count?

A weight says how much a passage gains by holding the term, before idf. The same weights serve
BM25 and coverage, which is the sum of weight times idf over the terms a passage holds, divided
by that sum over all terms of the query (a term the vault has never seen counts with the
highest idf). For coverage to be a sensible share in 0..1:

- what a word says is counted about once: the forms of one word (with and without accents, its
  stem) share its weight; pairs and characters inside a word of the dictionary, which a passage
  holds anyway when it holds the word, weigh little; pairs across two words, which matter only
  where the segmentation errs, a little more.
- function and question words weigh a tenth, in both languages, unless a query has no other.
- a few Chinese characters alone may be any piece of a text: their pairs weigh as much as words.
- parts of one identifier together weigh no more than a few words.

Measured as BM25 on the shared sets (`scripts/experiment_terms.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sidelight.language.folding import for_segmentation
from sidelight.language.scripts import ALPHABETIC_END, CJK_RUN
from sidelight.language.segmentation import segmenter
from sidelight.language.stop_words import STOP_CHARACTERS, STOP_WORDS
from sidelight.types import TermKind, Token


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term of a query.

    Attributes:
        term: as in the index.
        weight: what holding it is worth before idf, 0..2; see the module's text.
        prefix: it stands for every term that begins with it.
        source: the query's own spelling, for people.
        stop: it says how something is asked, not what about.
    """

    term: str
    kind: TermKind
    weight: float
    prefix: bool
    source: str
    stop: bool = False


_USER = 2.0
_WORD = 1.0
_GUESS = 0.5  # a word that the segmentation made up: elsewhere it may cut another way
_PARTS = 2.5  # all parts of one identifier together, where they are more than that
_NUMBER_PART = 0.5  # `001` of `ERR_001`
_IN_CANONICAL = 0.3  # `2024` and `10` of a date that has its own term
_PAIR_IN_WORD = 0.1
_PAIR_ACROSS = 0.2
_PAIR_UNKNOWN = 0.6  # two words of one character side by side: 拿铁, a word no dictionary has
_PAIR_ALONE = 0.3  # Hangul, Thai, kana: no dictionary knows the words
_CHAR_WORD = 0.5  # a word of one character
_CHAR_IN_WORD = 0.1
_STOP = 0.1
_SHORT = 4  # Chinese characters in all: rather a piece of text than a question
_SHARED = 0.5  # a word and its pair, in such a piece

_Place = tuple[int, int]


def weigh_tokens(text: str, tokens: Sequence[Token], typing: bool) -> list[QueryTerm]:
    """Each term of a query once, with its weight, by first place."""
    weights = _Weights(tokens)
    if len(text.strip()) <= _SHORT and CJK_RUN.fullmatch(text.strip()):
        weights = _ShortWeights(tokens)
    has_content = any(not weights.is_stop(token) for token in tokens)
    factor = _STOP if has_content else 1.0
    best: dict[str, QueryTerm] = {}
    for token in tokens:
        weight = weights.of(token) * (factor if weights.is_stop(token) else 1.0)
        source = text[token.start : token.end]
        stop = _Weights.is_stop(weights, token)
        term = QueryTerm(token.term, token.kind, round(weight, 6), False, source, stop)
        old = best.get(token.term)
        if old is None or old.weight < term.weight:
            best[token.term] = term
    if typing:
        _open_last_word(text, tokens, best)
    return list(best.values())


def _open_last_word(text: str, tokens: Sequence[Token], best: dict[str, QueryTerm]) -> None:
    """Let the last word stand for all that begin with it."""
    for token in tokens:
        at_end = token.end == len(text)
        if at_end and token.kind in (TermKind.WORD, TermKind.PART, TermKind.USER):
            best[token.term] = replace(best[token.term], prefix=True)


class _Weights:
    """Weights of the tokens of one query, which depend on one another's places."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._forms: dict[_Place, list[str]] = defaultdict(list)
        self._parts: dict[_Place, int] = defaultdict(int)
        self._words: list[_Place] = []  # of Han, in the dictionary
        self._guesses: list[_Place] = []  # of Han or kana, not in it
        self._canonical: list[_Place] = []
        self._wholes: list[_Place] = []
        self._stops: list[_Place] = []
        for token in tokens:
            self._note(token)

    def _note(self, token: Token) -> None:
        place = (token.start, token.end)
        if token.kind is TermKind.WORD and CJK_RUN.fullmatch(token.term):
            known = segmenter().knows(for_segmentation(token.term))
            (self._words if known else self._guesses).append(place)
            if token.term in STOP_WORDS:
                self._stops.append(place)
        elif token.kind is TermKind.WORD and token.term in STOP_WORDS:  # don't, it's
            self._stops.append(place)
            self._forms[place].append(token.term)
        elif token.kind in (TermKind.WORD, TermKind.PART):
            self._forms[place].append(token.term)
            if token.kind is TermKind.WORD and _is_canonical(token.term):
                self._canonical.append(place)
            elif token.kind is TermKind.WORD:
                self._wholes.append(place)
            if token.kind is TermKind.PART and not _within(place, self._wholes, strictly=True):
                return
            if token.kind is TermKind.PART and self._forms[place] == [token.term]:
                self._parts[self._whole_of(place)] += 1

    def _whole_of(self, place: _Place) -> _Place:
        return next(whole for whole in self._wholes if _inside(place, whole))

    def of(self, token: Token) -> float:
        """The weight of a token, stop words not regarded."""
        place = (token.start, token.end)
        match token.kind:
            case TermKind.USER:
                return _USER
            case TermKind.CHAR:
                return _CHAR_IN_WORD if _within(place, self._words + self._guesses) else _CHAR_WORD
            case TermKind.BIGRAM:
                if ALPHABETIC_END.match(token.term[-1]) or not CJK_RUN.fullmatch(token.term[1:]):
                    return _PAIR_ALONE
                return self._of_pair(place)
            case _:
                return self._of_word(token, place)

    def _of_pair(self, place: _Place) -> float:
        if _within(place, self._words):
            return _PAIR_IN_WORD
        in_words = any(start < place[1] and place[0] < end for start, end in self._words)
        return _PAIR_ACROSS if in_words else _PAIR_UNKNOWN

    def _of_word(self, token: Token, place: _Place) -> float:
        weight = _GUESS if place in self._guesses else _WORD
        if token.kind is TermKind.PART and _within(place, self._wholes, strictly=True):
            weight = min(weight, _PARTS / max(1, self._parts[self._whole_of(place)]))
            if token.term.isdigit():
                weight = min(weight, _NUMBER_PART)
        if not _is_canonical(token.term) and _within(place, self._canonical):
            return weight * _IN_CANONICAL
        forms = self._forms.get(place, [token.term])
        if len(forms) == 1:
            return weight
        return weight / 2 if token.term == forms[0] else weight / 2 / (len(forms) - 1)

    def is_stop(self, token: Token) -> bool:
        """Whether a token says how a question is asked, not what about."""
        place = (token.start, token.end)
        if token.kind is TermKind.BIGRAM:
            return bool(STOP_CHARACTERS.intersection(token.term[1:])) or _within(place, self._stops)
        if token.kind is TermKind.CHAR:
            character = token.term[1:]
            listed = character in STOP_CHARACTERS or character in STOP_WORDS
            return listed or _within(place, self._stops)
        if token.kind is TermKind.USER:
            return False
        return token.term in STOP_WORDS or _within(place, self._stops)


class _ShortWeights(_Weights):
    """Weights of a few Chinese characters: a substring as much as words, and all of it meant."""

    def of(self, token: Token) -> float:
        """See `_Weights`; words and pairs share."""
        if token.kind in (TermKind.WORD, TermKind.BIGRAM):
            return _SHARED
        return super().of(token)

    def is_stop(self, token: Token) -> bool:
        """None is: who types so few characters means every one of them."""
        return False


def _is_canonical(term: str) -> bool:
    """Dates (2024-10-03, 2024-10, 10-03) and amounts (¥50)."""
    return term[0] in "¥$€£" or (
        len(term) in (5, 7, 10) and "-" in term and term.replace("-", "").isdigit()
    )


def _inside(place: _Place, outer: _Place) -> bool:
    return outer[0] <= place[0] and place[1] <= outer[1]


def _within(place: _Place, outers: Sequence[_Place], strictly: bool = False) -> bool:
    return any(_inside(place, outer) and not (strictly and place == outer) for outer in outers)
