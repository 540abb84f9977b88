"""Where do the user's own words stand in a text?

Found on the text itself, whatever the segmentation makes of it, so that none is ever lost,
also where two of them overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sidelight.language.folding import fold, fold_case
from sidelight.language.scripts import ALPHABETIC_END

# Stands for the white space inside a term: terms never contain any.
_SPACE = "\u2423"


class UserWords:
    """A user's own dictionary.

    Attributes:
        words: folded, without repeats, sorted.
    """

    def __init__(self, words: Sequence[str]) -> None:
        folded = {" ".join(fold_case(fold(word).text).split()) for word in words}
        self.words = tuple(sorted(folded - {""}))
        self._patterns: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        for word in self.words:
            entry = (word.replace(" ", _SPACE), _pattern(word))
            self._patterns.setdefault(word[0], []).append(entry)

    def find(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Every place of every word in a folded text."""
        if not self._patterns:
            return
        lower = text.lower()
        if len(lower) != len(text):  # a capital whose small letter is two characters
            lower = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
        present = set(lower)
        for first, patterns in self._patterns.items():
            if first in present:
                for term, pattern in patterns:
                    for match in pattern.finditer(lower):
                        yield term, match.start(), match.end()


def _pattern(word: str) -> re.Pattern[str]:
    """Matches a word; where it ends with a letter of an alphabet, only where that word ends."""
    body = r"\s+".join(map(re.escape, word.split(" ")))
    before = r"(?<![^\W_\u2e80-\U000323af])" if ALPHABETIC_END.match(word[0]) else ""
    after = r"(?![^\W_\u2e80-\U000323af])" if ALPHABETIC_END.match(word[-1]) else ""
    return re.compile(before + body + after)
