"""Which terms does a text consist of, for the index and for queries alike?"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sidelight.language.folding import fold, fold_case, for_segmentation
from sidelight.language.identifiers import split_identifier
from sidelight.language.segmentation import DICTIONARY, cut
from sidelight.language.stop_words import STOP_CHARACTERS, STOP_WORDS
from sidelight.types import TermKind, Token

VERSION = 1
BIGRAM_PREFIX = "\ue002"
CHAR_PREFIX = "\ue001"

_HAN = "\u3007\u3005\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af"
_KANA = "\u3041-\u3096\u309d\u309e\u30a1-\u30fa\u30fc-\u30fe"
_HANGUL = "\uac00-\ud7a3"
_SPACELESS = "\u0e01-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17dd\u0f40-\u0fbc"
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0903\u093a-\u094f\u0955-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a51\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0cbc-\u0cd6\u0d3b-\u0d4d\u0dca-\u0ddf"
_ATOM = rf"[^\W_{_HAN}{_KANA}{_HANGUL}{_SPACELESS}]+(?:[{_MARKS}]+[^\W_{_HAN}{_KANA}{_HANGUL}{_SPACELESS}]*)*"
_IDENTIFIER = re.compile(
    rf"(?:(?<![\w.])\.(?=[A-Za-z]))?_*{_ATOM}(?:(?:://|::|\.{{1,2}}/|[._\-/\\:@'+&#=?%~,]|__+|--){_ATOM})*"
    rf"(?:\+\+|[#+%](?![\w#+]))?"
)
_CJK_RUN = re.compile(rf"[{_HAN}{_KANA}]+")
_HAN_RUN = re.compile("[\u4e00-\u9fd5]+")
_KATAKANA_RUN = re.compile("[\u30a1-\u30fa\u30fc-\u30fe]{2,}")
_HANGUL_RUN = re.compile(f"[{_HANGUL}]+")
_SPACELESS_RUN = re.compile(f"[{_SPACELESS}]+")
_SYMBOL = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}|[\u00a7\u00a9\u00ae\u2190-\u23ff\u25a0-\u27bf\u2b00-\u2bff"
    "\U0001f000-\U0001f0ff\U0001f300-\U0001f3fa\U0001f400-\U0001faff]"
)


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term of a query."""

    term: str
    kind: TermKind
    weight: float
    prefix: bool
    source: str


WEIGHTS = {
    TermKind.WORD: 1.0,
    TermKind.USER: 2.0,
    TermKind.PART: 0.5,
    TermKind.BIGRAM: 0.3,
    TermKind.CHAR: 0.3,
}


class Terms:
    """Cuts text into terms, the same way for the index and for queries."""

    def __init__(self, user_words: Sequence[str] = ()) -> None:
        self._user = _UserWords(user_words)
        words = "\n".join(self._user.words)
        digest = hashlib.sha256(f"{DICTIONARY}\n{words}".encode()).hexdigest()[:16]
        self.signature = f"terms-{VERSION}-{digest}"

    def tokenize(self, text: str) -> list[Token]:
        """Terms with their places in `text`, by place, a longer one first."""
        folded = fold(text)
        tokens = [
            Token(term, *folded.span(start, end), kind)
            for term, start, end, kind in self._scan(folded.text)
        ]
        tokens.sort(key=lambda token: (token.start, -token.end))
        return tokens

    def index_terms(self, text: str) -> list[str]:
        """Terms with repeats, in no order that means anything."""
        return [term for term, _, _, _ in self._scan(fold(text).text)]

    def query_terms(self, text: str, typing: bool = False) -> list[QueryTerm]:
        """Terms of a query with weights."""
        best: dict[str, QueryTerm] = {}
        for token in self.tokenize(text):
            source = text[token.start : token.end]
            weight = WEIGHTS[token.kind]
            if token.term in STOP_WORDS or (
                token.kind in (TermKind.BIGRAM, TermKind.CHAR)
                and set(token.term[1:]) & STOP_CHARACTERS
            ):
                weight *= 0.1
            old = best.get(token.term)
            if old is None or old.weight < weight:
                best[token.term] = QueryTerm(token.term, token.kind, weight, False, source)
        return list(best.values())

    def _scan(self, text: str) -> Iterator[tuple[str, int, int, TermKind]]:
        yield from self._user.find(text)
        for match in _IDENTIFIER.finditer(text):
            at = match.start()
            for term, start, end, kind in split_identifier(match.group()):
                yield term, at + start, at + end, kind
        if text.isascii():
            return
        yield from _scan_cjk(text)
        for match in _HANGUL_RUN.finditer(text):
            yield match.group(), match.start(), match.end(), TermKind.WORD
            yield from _bigrams(match.group(), match.start())
        for match in _SPACELESS_RUN.finditer(text):
            yield match.group(), match.start(), match.end(), TermKind.WORD
            yield from _bigrams(match.group(), match.start())
        for match in _SYMBOL.finditer(text):
            yield match.group(), match.start(), match.end(), TermKind.WORD


def _scan_cjk(text: str) -> Iterator[tuple[str, int, int, TermKind]]:
    for match in _CJK_RUN.finditer(text):
        run, at = match.group(), match.start()
        yield from _bigrams(run, at)
        for index, character in enumerate(run):
            yield CHAR_PREFIX + character, at + index, at + index + 1, TermKind.CHAR
    for match in _HAN_RUN.finditer(text):
        at = match.start()
        for _, start, end in cut(for_segmentation(match.group())):
            if end - start > 1:
                yield text[at + start : at + end], at + start, at + end, TermKind.WORD
    for match in _KATAKANA_RUN.finditer(text):
        yield match.group(), match.start(), match.end(), TermKind.WORD


def _bigrams(run: str, at: int) -> Iterator[tuple[str, int, int, TermKind]]:
    for index in range(len(run) - 1):
        yield BIGRAM_PREFIX + run[index : index + 2], at + index, at + index + 2, TermKind.BIGRAM


class _UserWords:
    """The user's own words, found wherever they stand."""

    def __init__(self, words: Iterable[str]) -> None:
        folded = {" ".join(fold_case(fold(word).text).split()) for word in words}
        self.words = tuple(sorted(folded - {""}, key=lambda word: (-len(word), word)))
        self._patterns = [(word.replace(" ", "\u2423"), _pattern(word)) for word in self.words]

    def find(self, text: str) -> Iterator[tuple[str, int, int, TermKind]]:
        for term, pattern in self._patterns:
            for match in pattern.finditer(text):
                yield term, match.start(), match.end(), TermKind.USER


def _pattern(word: str) -> re.Pattern[str]:
    body = r"\s+".join(re.escape(part) for part in word.split(" "))
    before = r"(?<![^\W_])" if re.match(rf"{_ATOM}", word) else ""
    after = r"(?![^\W_])" if re.search(rf"{_ATOM}\Z", word) else ""
    return re.compile(before + body + after, re.IGNORECASE)
