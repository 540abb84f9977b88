"""How alike are two passages? By the runs of characters they share; no model.

For leaving out what a context already says, not for ranking.
"""

from __future__ import annotations

_RUN = 5  # characters: a word in English, a phrase in Chinese
_FEWEST = 8  # runs; below it two texts are alike only if they are equal

Runs = frozenset[str]


def runs(text: str) -> Runs:
    """The distinct runs of a text, white space and case aside; a short text is one run."""
    squeezed = "".join(text.split()).casefold()
    if len(squeezed) < _RUN + _FEWEST:
        return frozenset([squeezed])
    return frozenset(squeezed[at : at + _RUN] for at in range(len(squeezed) - _RUN + 1))


def shared(one: Runs, other: Runs) -> float:
    """Share of the shorter text's runs that the other holds, 0..1: 1 if it is contained."""
    fewer = min(len(one), len(other))
    return len(one & other) / fewer if fewer else 0.0
