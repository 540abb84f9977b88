"""Is what is like a passage the passage, or another text that changed too?

Rule 5 of the live-citation rules asks only what is like the passage. These are stricter: where
something else that is gone explains the place found at least as well, there is no answer. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel

from sidelight.vault.pieces import Pieces
from sidelight.vault.similar_run import THRESHOLD, Mask, Run, TooManyError, similar_places

# About half: the larger part tells what a place is.
_MUCH = 0.45
APART = "\0"  # a piece that is in no text: NUL is replaced where files are read
_PAIRS = 20_000  # of pieces compared, about 3 ms on the reference machine


def is_another(
    found: Run,
    cited: tuple[int, int],
    old: Pieces,
    new: Pieces,
    own: Callable[[], Mask],
    old_own: Callable[[], Mask],
) -> bool:
    """Whether the place found may as well be another text than the passage.

    Args:
        found: the place in `new`.
        cited: first and last piece of the passage in `old`.
        old: the pieces as indexed.
        new: the pieces as they are now.
        own: for every piece of `new`, whether its heading path is the passage's.
        old_own: the same of `old`.

    Raises:
        TooManyError: telling would take too long.
    """
    text = new.text(found.first, found.last)
    beside = new.neighbours(found.first, found.last)
    anchors = _shared(old.neighbours(*cited), beside)
    then = [s for s in old.find(text) if s.last < cited[0] or s.first > cited[1]]
    now = [s for s in new.find(text) if s.last < found.first or s.first > found.last]
    likest = max((_shared(old.neighbours(s.first, s.last), beside) for s in then), default=0)
    if len(now) < len(then) or likest >= max(1, anchors):  # a copy that stood elsewhere
        return True
    anchored = anchors > 0
    limit = 2 * new.extent(found.first, found.last) + 2
    rivals = similar_places(text, old, _rival_pieces(cited, old, new, anchored), limit, old_own)
    if rivals and rivals[0].score >= found.score:
        return _is_nearer(rivals, found, own, old_own)
    alone = found.first == found.last and cited[0] == cited[1]
    return not anchored and not alone and _is_patchwork(found, cited, old, new)


def is_another_cards(text: str, score: float, others: Pieces, now: Pieces, limit: int) -> bool:
    """Whether a text of a card was another card's, or is more like one that lost some of its.

    Args:
        text: N of the place found.
        score: how like the passage it is, 0 to 1.
        others: the other cards of the canvas as indexed, `APART` between them.
        now: all its cards as they are now.
        limit: longest text of another card to compare with, in `Pieces.extent`.

    Raises:
        TooManyError: telling would take too long.
    """
    if others.find(text):
        return True
    gone = others.fewer_in(now)
    free: list[bool] = []
    for apart, group in groupby(others.norms, key=lambda norm: norm == APART):
        card = list(group)
        free += [not apart and not gone.isdisjoint(card)] * len(card)
    rivals = similar_places(text, others, free, limit, lambda: np.ones(len(free), dtype=bool))
    return bool(rivals) and rivals[0].score > score


def _shared(one: tuple[str, str], other: tuple[str, str]) -> int:
    """How many of two neighbours are the same text."""
    return sum(was != "" and was == now for was, now in zip(one, other, strict=True))


def _rival_pieces(cited: tuple[int, int], old: Pieces, new: Pieces, anchored: bool) -> list[bool]:
    """The body pieces outside the passage; beside one of its neighbours only those now gone."""
    flags = [True] * len(old.norms)
    if anchored:
        gone = old.fewer_in(new)
        flags = [norm in gone for norm in old.norms]
    flags[: old.body] = [False] * old.body
    flags[cited[0] : cited[1] + 1] = [False] * (cited[1] + 1 - cited[0])
    return flags


def _is_nearer(
    rivals: Sequence[Run], found: Run, own: Callable[[], Mask], old_own: Callable[[], Mask]
) -> bool:
    """Whether one of the best rivals counts.

    One that is just as like does not where the place is under the passage's heading, and it
    was not.
    """
    if rivals[0].score > found.score or not own()[found.first]:
        return True
    under = old_own()
    return any(under[rival.first] and rival.score == found.score for rival in rivals)


def _is_patchwork(found: Run, cited: tuple[int, int], old: Pieces, new: Pieces) -> bool:
    """Whether much of a place between strangers came from elsewhere, or stands elsewhere too.

    Compared as a whole, a few pieces that stayed make it alike. Not where one of these stood
    and stands nowhere else.
    """
    was = Counter(old.norms[cited[0] : cited[1] + 1])
    here = Counter(new.norms[found.first : found.last + 1])
    beside = {piece: old.counts[piece] - count for piece, count in was.items()}
    elsewhere = {piece: new.counts[piece] - here[piece] for piece in was}
    if any(here[piece] and not beside[piece] and not elsewhere[piece] for piece in was):
        return False
    strayed = sum(
        len(piece) * min(count, max(0, elsewhere[piece] - beside[piece]))
        for piece, count in was.items()
    )
    if strayed > _MUCH * sum(len(piece) * count for piece, count in was.items()):
        return True
    gone = [piece for piece in old.fewer_in(new) if old.counts[piece] > was[piece]]
    alien = _closer_to(gone, was - here, here - was)
    return alien > _MUCH * sum(len(piece) * count for piece, count in here.items())


def _closer_to(others: Sequence[str], lost: Iterable[str], changed: Counter[str]) -> int:
    """Characters of changed pieces that are as like one of `others` as any that was lost."""
    mine = list(lost)
    if len(others) * len(changed) > _PAIRS:
        raise TooManyError
    scorer = Indel.normalized_similarity
    alien = 0
    for piece, count in changed.items():
        own = max((scorer(piece, each) for each in mine), default=0.0)
        least = max(own, THRESHOLD)
        likest = process.extractOne(piece, others, scorer=scorer, score_cutoff=least - 0.01)
        if likest and likest[1] >= least:
            alien += len(piece) * count
    return alien
