"""Which terms does a text consist of, for the index and for queries alike?

A term is a word of any script, an identifier whole and in parts, a canonical date or amount,
two adjacent characters or one character of a script written without spaces, or a word of the
user's own. One function cuts notes and queries; only queries get weights. Scores nothing.

Forms: words are folded (`folding`), in lower case, without white space; pairs and single
characters begin with a private-use character, so they never meet a word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise

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
    OTHER_SCRIPT,
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
        terms = list(chain.from_iterable(map(identifier_terms, IDENTIFIER.findall(folded))))
        terms.extend([term for term, _, _ in canonical_terms(folded)])
        terms.extend([term for term, _, _ in self.user_words.find(folded)])
        if folded.isascii():
            return terms
        runs = CJK_RUN.findall(folded)
        if runs:
            terms.extend(map(_CHARS.__getitem__, "".join(runs)))
            terms.extend(_pairs(" ".join(runs)))
            terms.extend(_han_words(folded))
        if not RARE.search(folded):
            return terms
        terms.extend(KATAKANA_RUN.findall(folded))
        terms.extend(SYMBOL.findall(folded))
        if OTHER_SCRIPT.search(folded):
            for run in (*HANGUL_RUN.findall(folded), *SPACELESS_RUN.findall(folded)):
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


def _pairs(runs: str) -> list[str]:
    """Terms of two adjacent characters of runs that are separated by spaces."""
    return [
        BIGRAM_PREFIX + first + second
        for first, second in pairwise(runs)
        if first != " " and second != " "
    ]


class _CharTerms(dict[str, str]):
    """The term of each character met so far."""

    def __missing__(self, character: str) -> str:
        term = self[character] = CHAR_PREFIX + character
        return term


_CHARS = _CharTerms()


def _han_words(text: str) -> list[str]:
    """Words of two and more characters; single ones are characters already."""
    runs = HAN_RUN.findall(text)
    if not runs:
        return []
    joined = for_segmentation(" ".join(runs))
    words = [word for word in segmenter().words(joined) if len(word) > 1]
    if "著" in joined or "乾" in joined:
        words = [word.translate(_STAYED) for word in words]
    return words


def _signature(user_words: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for part in (DICTIONARY, *user_words, *map("".join, sorted(folded_forms().items()))):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\n")
    return f"terms-{VERSION}-{digest.hexdigest()[:16]}"
