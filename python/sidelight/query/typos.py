"""Which words of the vault did a person mean who mistyped?

Only Latin words that the vault does not know are looked at, and only after the query as typed
found nothing. Chinese is left as it is: its characters are chosen, not spelt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import process
from rapidfuzz.distance import OSA

from sidelight.query.lexical import LexicalQuery
from sidelight.store.catalog import Catalog
from sidelight.types import TermKind

_LATIN = re.compile("[a-z\u00df-\u024f][a-z\u00df-\u024f'-]+")
_SHORTEST = 4  # letters; in shorter words every slip is another word
_TWO_SLIPS = 8  # letters from which two are allowed
_MOST_WORDS = 8  # of a query; a longer text was not typed by hand


@dataclass(frozen=True, slots=True)
class Correction:
    """A word as typed and the vault's word that is searched instead."""

    typed: str
    meant: str


def corrections(query: LexicalQuery, catalog: Catalog) -> tuple[Correction, ...]:
    """The nearest known word for each unknown Latin one; none unless every one has such a word.

    One slip (a letter too many, missing, other, or two exchanged) in words of 4 to 7 letters,
    two in longer ones (optimal string alignment). Of equally near words the longest, as stems
    stand beside their words, then the most frequent.
    """
    unknown = [
        t.query for t in query.unknown() if t.query.kind is TermKind.WORD and not t.query.stop
    ]
    words = list(dict.fromkeys(t.term for t in unknown if _LATIN.fullmatch(t.term)))
    if not words or len(words) > _MOST_WORDS:
        return ()
    spelled = catalog.vocabulary.spelled(_LATIN)
    found = [_nearest(word, spelled, catalog) for word in words]
    sources = {t.term: t.source for t in reversed(unknown)}
    pairs = zip(words, found, strict=True)
    meant = tuple(Correction(sources[word], near) for word, near in pairs if near is not None)
    return meant if len(meant) == len(words) else ()


def corrected(text: str, meant: Sequence[Correction]) -> str:
    """`text` with each mistyped word replaced wherever it stands as a word."""
    for one in meant:
        text = re.sub(rf"(?<![\w:/]){re.escape(one.typed)}(?!\w)", one.meant, text)
    return text


def _nearest(word: str, vocabulary: Sequence[str], catalog: Catalog) -> str | None:
    if len(word) < _SHORTEST:
        return None
    slips = 1 if len(word) < _TWO_SLIPS else 2
    near = process.extract(
        word, vocabulary, scorer=OSA.distance, processor=None, score_cutoff=slips, limit=None
    )

    known = [
        (distance, -len(term), -catalog.vocabulary.df(code), term)
        for term, distance, _ in near
        if (code := catalog.vocabulary.find(term)) is not None
    ]
    return min(known)[3] if known else None
