"""Which known terms begin like this? Sorted once, then kept in order as terms come in.

A saved note brings a few new words; sorting a hundred thousand terms for them would hold up
the next key that a person types by a tenth of a second.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

_MOST_INSERTED = 500  # new terms at a time; for more, sorting all at once is quicker


class PrefixIndex:
    """Distinct terms in code-point order. One thread may add while one, under a lock, reads."""

    def __init__(self) -> None:
        self._sorted: list[str] = []
        self._new: list[str] = []

    def add(self, *terms: str) -> None:
        """Takes in terms that are not known yet."""
        self._new += terms

    def starting_with(self, prefix: str) -> Iterator[str]:
        """The terms that begin with `prefix`, in order; all of them for an empty one."""
        self._take_in()
        for place in range(bisect_left(self._sorted, prefix), len(self._sorted)):
            if not self._sorted[place].startswith(prefix):
                return
            yield self._sorted[place]

    def _take_in(self) -> None:
        count = len(self._new)  # the writer may add one more at any moment
        new = self._new[:count]
        del self._new[:count]
        if count > _MOST_INSERTED:
            self._sorted = sorted(self._sorted + new)
        else:
            for term in new:
                insort(self._sorted, term)
