"""How much of one text stands in another: difflib's ratio, to the digit, but affordable.

`difflib.SequenceMatcher` walks every pair of equal characters; here its longest matching
block is found by substring searches that run in C, with the same tie rule (earliest in the
first text, then earliest in the second), so that the result is the same number.
Pure; knows nothing of notes.
"""

from __future__ import annotations

# Below this block length single steps cost less than the search for the next step.
_SKIP_FROM = 16


def ratio(first: str, second: str) -> float:
    """`difflib.SequenceMatcher(None, first, second, autojunk=False).ratio()`, 0 to 1."""
    length = len(first) + len(second)
    if not length:
        return 1.0
    return 2.0 * (matched(first, second) or 0) / length


def matched(first: str, second: str, at_least: int = 0) -> int | None:
    """Characters in difflib's matching blocks of two texts.

    Args:
        first: difflib's first sequence; the measure is not symmetric.
        second: difflib's second sequence.
        at_least: give up as soon as this many can no longer be reached.

    Returns:
        The number, or None if it is below `at_least`.
    """
    total = 0
    hope = min(len(first), len(second))
    pending = [(0, len(first), 0, len(second))]
    while pending:
        if hope < at_least:
            return None
        a_low, a_high, b_low, b_high = pending.pop()
        hope -= min(a_high - a_low, b_high - b_low)
        a, b, size = longest_block(first, a_low, a_high, second, b_low, b_high)
        if not size:
            continue
        total += size
        hope += size
        for part in ((a_low, a, b_low, b), (a + size, a_high, b + size, b_high)):
            if part[0] < part[1] and part[2] < part[3]:
                pending.append(part)
                hope += min(part[1] - part[0], part[3] - part[2])
    return total if total >= at_least else None


def longest_block(
    first: str, a_low: int, a_high: int, second: str, b_low: int, b_high: int
) -> tuple[int, int, int]:
    """The longest text common to two slices: start in `first`, start in `second`, length.

    Of several the one that starts earliest in `first`, of those the earliest in `second`.
    """
    part = second[b_low:b_high]
    best_a, best_b, best = a_low, b_low, 0
    a = a_low
    while a + best < a_high:
        found = part.find(first[a : a + best + 1])
        if found >= 0:
            best = _common_length(first, a, a_high, part, found, best + 1)
            best_a, best_b = a, b_low + found
        elif best < _SKIP_FROM:
            a += 1
        else:
            a = _next_start(first, a, a + best + 1, part)
    return best_a, best_b, best


def _common_length(first: str, a: int, a_high: int, part: str, b: int, known: int) -> int:
    """How far two texts agree from `a` and `b` on; they are known to for `known`."""
    limit = min(a_high - a, len(part) - b)
    low, high = known, limit
    while low < high:  # the longest equal prefix, by halving: slices compare in C
        middle = (low + high + 1) // 2
        if first[a + low : a + middle] == part[b + low : b + middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _next_start(first: str, start: int, end: int, part: str) -> int:
    """The first place after `start` that may begin a match, given that `[start, end)` is none.

    What fails is one small piece, and every needle that holds the piece fails with it.
    """
    low, high = start + 1, end
    while low < high:  # shortest failing prefix
        middle = (low + high) // 2
        if first[start:middle] in part:
            low = middle + 1
        else:
            high = middle
    stop = low
    low, high = start, stop - 1
    while low < high:  # its shortest failing suffix
        middle = (low + high + 1) // 2
        if first[middle:stop] in part:
            high = middle - 1
        else:
            low = middle
    return low + 1
