"""Which terms does a text consist of, for the index and for queries alike?

A term is a word of any script, an identifier whole and in parts, a canonical date or amount,
two adjacent characters or one character of a script written without spaces, or a word of the
user's own. One function cuts notes and queries; only queries get weights. Scores nothing.

Forms: words are folded (`folding`), in lower case, without white space; pairs and single
characters begin with a private-use character, so they never meet a word.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import add

from sidelight.language.canonical import canonical_terms
from sidelight.language.folding import fold, folded_forms, for_segmentation
from sidelight.language.identifiers import identifier_terms, split_identifier
from sidelight.language.matching import spelling_pattern
from sidelight.language.query_terms import QueryTerm, weigh_tokens
from sidelight.language.scripts import (
    CJK_RUN,
    HAN_RUN,
    HANGUL_RUN,
    IDENTIFIER,
    KATAKANA_RUN,
    NO_HAN,
    RARE,
    SPACELESS_RUN,
    SYMBOL,
)
from sidelight.language.segmentation import DICTIONARY, segmenter
from sidelight.language.user_words import UserWords
from sidelight.types import TermKind, Token

__all__ = ["BIGRAM_PREFIX", "CHAR_PREFIX", "QueryTerm", "Terms"]

VERSION = 2  # of the cutting itself; a change asks for a new index
CHAR_PREFIX = "\ue001"
BIGRAM_PREFIX = "\ue002"
_CJK_RUNS = re.compile(f"({CJK_RUN.pattern})")
_SOME_CJK = "一"  # stands for a run of letters: what is next to one asks no more of it
_STAYED = str.maketrans({"著": "着", "乾": "干"})  # back from `for_segmentation`

_Found = tuple[str, int, int, TermKind]


class Terms:
    """Cuts text into terms, the same way for the index and for queries. Thread-safe."""

    def __init__(self, user_words: Sequence[str] = ()) -> None:
        self.user_words = UserWords(user_words)
        self.signature = _signature(self.user_words.words)
        # Headings, tags and folders come again in many notes.
        self.distinct = lru_cache(maxsize=16_384)(self._distinct)

    def prepare(self) -> None:
        """Load the dictionaries now (up to 2 s), so that no query waits for them."""
        self.query_terms("准备")
        spelling_pattern("准备")

    def tokenize(self, text: str) -> list[Token]:
        """Every term with its place in `text`: by start, a longer one first.

        A place holds what the term was made of and nothing else, through all folding.
        """
        folded = fold(text)
        tokens = [
            Token(term, *folded.span(start, end), kind)
            for term, start, end, kind in self._scan(folded.text)
        ]
        tokens.sort(key=lambda token: (token.start, -token.end))
        return tokens

    def index_terms(self, text: str) -> list[str]:
        """The terms of `tokenize` with repeats, in no order that means anything. 2 MB/s."""
        folded = fold(text).text
        terms = [term for term, _, _ in canonical_terms(folded)]
        terms.extend([term for term, _, _ in self.user_words.find(folded)])
        if folded.isascii():
            terms.extend(chain.from_iterable(map(_word_terms, folded.split())))
            return terms
        parts, characters = _CJK_RUNS.split(folded), ""  # what is no run and what is one, in turn
        if len(parts) > 1:
            runs, characters = " ".join(parts[1::2]), "".join(parts[1::2])
            terms.extend(map(_CHARS.__getitem__, characters))
            terms.extend(_pairs(runs))
            terms.extend(_han_words(runs))
        others = _SOME_CJK.join(parts[::2]) if characters.isalnum() else folded
        terms.extend(chain.from_iterable(map(_word_terms, others.split())))
        if RARE.search(others):
            terms.extend(SYMBOL.findall(others))
            for run in (*HANGUL_RUN.findall(others), *SPACELESS_RUN.findall(others)):
                terms.append(run)
                terms.extend(_pairs(run))
        return terms

    def _distinct(self, text: str) -> tuple[str, ...]:
        """The terms of a name or label, each once, sorted."""
        return tuple(sorted(set(self.index_terms(text))))

    def query_terms(self, text: str, typing: bool = False) -> list[QueryTerm]:
        """The terms of a query with weights, each once, by first place.

        Args:
            text: the words to rank by, without query syntax.
            typing: the last word may be unfinished; its term then stands for all that begin
                with it (`prefix`).
        """
        return weigh_tokens(text, self.tokenize(text), typing)

    def _scan(self, text: str) -> Iterator[_Found]:
        """Every term of a folded text with its place in it."""
        for term, start, end in self.user_words.find(text):
            yield term, start, end, TermKind.USER
        for match in IDENTIFIER.finditer(text):
            at = match.start()
            for term, start, end, kind in split_identifier(match.group()):
                yield term, at + start, at + end, kind
        for term, start, end in canonical_terms(text):
            yield term, start, end, TermKind.WORD
        if text.isascii():
            return
        yield from _scan_cjk(text)
        for match in SYMBOL.finditer(text):
            yield match.group(), *match.span(), TermKind.WORD
        for pattern in (HANGUL_RUN, SPACELESS_RUN):
            for match in pattern.finditer(text):
                yield match.group(), *match.span(), TermKind.WORD
                yield from _scan_pairs(match.group(), match.start())


def _scan_cjk(text: str) -> Iterator[_Found]:
    for match in CJK_RUN.finditer(text):
        run, at = match.group(), match.start()
        for index, character in enumerate(run, at):
            yield CHAR_PREFIX + character, index, index + 1, TermKind.CHAR
        yield from _scan_pairs(run, at)
    for match in HAN_RUN.finditer(text):
        run, at = match.group(), match.start()
        for _, start, end in segmenter().places(for_segmentation(run)):
            if end - start > 1:
                yield run[start:end], at + start, at + end, TermKind.WORD
    for match in KATAKANA_RUN.finditer(text):
        yield match.group(), *match.span(), TermKind.WORD


def _scan_pairs(run: str, at: int) -> Iterator[_Found]:
    for index, pair in enumerate(_pairs(run), at):
        yield pair, index, index + 2, TermKind.BIGRAM


@lru_cache(maxsize=65_536)  # by Zipf's law nearly all come again, with a comma or without
def _word_terms(text: str) -> tuple[str, ...]:
    """Terms of the identifiers in what stands between two blanks."""
    return tuple(chain.from_iterable(map(identifier_terms, IDENTIFIER.findall(text))))


class _Prefixed(dict[str, str]):
    """Each character met so far after a prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __missing__(self, character: str) -> str:
        term = self[character] = self._prefix + character
        return term


_CHARS = _Prefixed(CHAR_PREFIX)
_FIRST_OF_PAIRS = _Prefixed(BIGRAM_PREFIX)


def _pairs(runs: str) -> list[str]:
    """Terms of two adjacent characters of runs that are separated by spaces."""
    pairs = map(add, map(_FIRST_OF_PAIRS.__getitem__, runs), runs[1:])
    return [pair for pair in pairs if " " not in pair]


def _han_words(runs: str) -> list[str]:
    """Words of two and more characters, of CJK runs that are separated by spaces.

    Single ones are terms already. A run of katakana is a word of its own.
    """
    katakana: list[str] = []
    if NO_HAN.search(runs):
        katakana = KATAKANA_RUN.findall(runs)
        runs = " ".join(HAN_RUN.findall(runs))
    if not runs:
        return katakana
    joined = for_segmentation(runs)
    words = [word for word in segmenter().words(joined) if len(word) > 1]
    if "著" in joined or "乾" in joined:
        words = [word.translate(_STAYED) for word in words]
    return words + katakana


def _signature(user_words: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for part in (DICTIONARY, *user_words, *map("".join, sorted(folded_forms().items()))):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\n")
    return f"terms-{VERSION}-{digest.hexdigest()[:16]}"
