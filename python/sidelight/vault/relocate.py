"""Where does an indexed passage stand in a note that has changed since?

The rules of the live citation resolver, from rule 3 on (the file and its bytes are the
business of `query/cite.py`). Every rule prefers no answer to a wrong one. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sidelight.types import (
    CanvasNode,
    Citation,
    CitationStatus,
    Match,
    Note,
    Passage,
    PassageKind,
    Property,
)
from sidelight.vault.lines import split_lines
from sidelight.vault.pieces import Pieces, Span, Text, normalise, normalise_path, raw_columns
from sidelight.vault.similar_run import THRESHOLD, Mask, Run, TooManyError, similar_places
from sidelight.vault.similarity import ratio

# A text of fewer letters and digits is like too many others to be found by likeness.
MIN_LETTERS = 6


@dataclass(frozen=True, slots=True)
class Found:
    """A run of pieces that is the passage."""

    first: int
    last: int
    match: Match
    why: str
    at: int = 0  # of an exact match: where it starts in `Pieces.joined`


@dataclass(frozen=True, slots=True)
class Lost:
    """Why there is no such run."""

    why: str


def relocate(before: Note, passage: Passage, after: Note) -> Citation:
    """Finds a passage again in a changed note.

    Args:
        before: the note as it was indexed.
        passage: what the index kept of the passage.
        after: the note as it is now, with other bytes.

    Returns:
        `source_changed` with the lines where it stands now, or `unresolvable`; `why` names
        the rule. Never `fresh`: that is decided by the bytes.
    """
    if passage.kind is PassageKind.NOTE:
        return _changed(passage, Match.EXACT, "the note is still there", text=passage.text)
    if passage.kind is PassageKind.PROPERTY:
        return relocate_property(before, passage, after)
    if passage.kind is PassageKind.CANVAS:
        return relocate_node(before, passage, after)
    return relocate_lines(Text.of(before), passage, Text.of(after))


def unresolvable(passage: Passage, why: str) -> Citation:
    """The answer where no place is certain enough to be shown."""
    return Citation(passage.kind, CitationStatus.UNRESOLVABLE, None, None, None, why=why)


def renamed_to(content_hash: str, others: Mapping[str, str]) -> str | None:
    """Where a note that vanished went, if exactly one other path holds the same bytes.

    Args:
        content_hash: of the note as indexed.
        others: path to content hash, without the vanished path.
    """
    paths = [path for path, other in others.items() if other == content_hash]
    return paths[0] if len(paths) == 1 else None


# --------------------------------------------------------------------------- lines


def relocate_lines(before: Text, passage: Passage, after: Text) -> Citation:
    """Rules 3 to 5 for whole lines, and for part of a long line with sentences for lines."""
    if passage.start_line is None or passage.end_line is None:
        return unresolvable(passage, "the index kept no lines of it")
    by_sentence = passage.columns is not None
    old = before.by_sentence if by_sentence else before.by_line
    new = after.by_sentence if by_sentence else after.by_line
    sought = _Sought(passage, old)
    outcome = find_run(
        sought,
        new,
        lambda piece: before.path_at(old.lines[piece]),
        lambda piece: after.path_at(new.lines[piece]),
        lambda: after.under(sought.path, new),
    )
    if isinstance(outcome, Lost):
        return unresolvable(passage, outcome.why)
    start, end = new.lines[outcome.first], new.lines[outcome.last]
    columns = None
    text = "\n".join(after.raw[start - 1 : end])
    if new.columns is not None and start == end:
        columns = sought.columns(new, outcome, text)
        text = text[slice(*columns)]
    return _changed(passage, outcome.match, outcome.why, (start, end), columns, text=text)


class _Sought:
    """A passage beside the pieces of the note it was indexed from."""

    def __init__(self, passage: Passage, old: Pieces) -> None:
        self.old = old
        self.text = normalise(passage.text)
        self.path = normalise_path(passage.heading_path)
        lines = (passage.start_line or 1, passage.end_line or len(old.lines))
        self.first, self.last = old.covering(lines, passage.columns)
        self.extent = lines[1] - lines[0] + 1
        self.open_start = self.open_end = False
        if passage.columns is not None and self.first <= self.last and old.columns is not None:
            # Cut at a size limit, it need not begin and end where sentences do.
            self.extent = self.last - self.first + 1
            self.open_start = old.columns[self.first][0] < passage.columns[0]
            self.open_end = old.columns[self.last][1] > passage.columns[1]

    def find(self, pieces: Pieces) -> list[Span]:
        """Rule 4's candidates."""
        return pieces.find(self.text, self.open_start, self.open_end)

    def columns(self, pieces: Pieces, found: Found, line: str) -> tuple[int, int]:
        """The columns of a run on its one line; inside its pieces where the passage was cut."""
        assert pieces.columns is not None  # only asked for sentences
        start, end = pieces.columns[found.first][0], pieces.columns[found.last][1]
        if found.match is Match.EXACT and (self.open_start or self.open_end):
            skipped = found.at - pieces.starts[found.first]
            start, end = raw_columns(line, start, end, skipped, len(self.text))
        return start, end

    def unaccounted(self, pieces: Pieces) -> list[bool]:
        """Rule 5: the body pieces that were not there, outside the passage, before.

        Blank lines are no pieces, so they neither count as neighbours nor break a run.
        """
        norms = self.old.norms
        inside = set(norms[self.first : self.last + 1])
        accounted = {*norms[: self.first], *norms[self.last + 1 :]} - inside
        free = [norm not in accounted for norm in pieces.norms]
        free[: pieces.body] = [False] * pieces.body
        return free

    def vanished(self, pieces: Pieces) -> list[bool]:
        """The body pieces outside the passage that were there before and no more."""
        then, now = Counter(self.old.norms), Counter(pieces.norms)
        gone = {norm for norm, count in then.items() if now[norm] < count}
        return self._outside([norm in gone for norm in self.old.norms])

    def outside(self) -> list[bool]:
        """The body pieces before and after the passage, as indexed."""
        return self._outside([True] * len(self.old.norms))

    def _outside(self, flags: list[bool]) -> list[bool]:
        flags[: self.old.body] = [False] * self.old.body
        flags[self.first : self.last + 1] = [False] * (self.last + 1 - self.first)
        return flags


_PathOf = Callable[[int], tuple[str, ...]]


def find_run(
    sought: _Sought,
    new: Pieces,
    old_path: _PathOf,
    new_path: _PathOf,
    own: Callable[[], Mask],
) -> Found | Lost:
    """Rules 4 and 5 on any pieces.

    Args:
        sought: the passage.
        new: the pieces of the note as it is now.
        old_path: normalised heading path of a piece as indexed; asked only if it matters.
        new_path: the same of a piece as it is now.
        own: for every piece of `new`, whether its path is the passage's.
    """
    if not sought.text:
        return Lost("the passage has no text")
    if candidates := sought.find(new):
        return _choose_exact(sought, candidates, new, old_path, new_path)
    return _choose_similar(sought, new, own)


def _choose_exact(
    sought: _Sought,
    candidates: list[Span],
    new: Pieces,
    old_path: _PathOf,
    new_path: _PathOf,
) -> Found | Lost:
    """Rule 4: the same text; of several the one under the same heading, with the same ordinal."""
    known = sought.find(sought.old)
    here = [span for span in known if (span.first, span.last) == (sought.first, sought.last)]
    if len(here) != 1:
        return Lost("the index does not hold the passage, once, where it says")
    cited = here[0]
    if len(known) == len(candidates) == 1:  # the general case below, without heading paths
        return _exact(candidates[0], "the text is found once")
    own = [span for span in candidates if new_path(span.first) == sought.path]
    if own:
        known_own = [span for span in known if old_path(span.first) == sought.path]
        if len(own) != len(known_own) or cited not in known_own:
            return Lost("the number of copies under its heading has changed")
        return _exact(own[known_own.index(cited)], "the text is found under its heading")
    others = [span for span in known if span != cited]
    taken = {old_path(span.first) for span in others}
    left = [span for span in candidates if new_path(span.first) not in taken]
    if len(left) != 1:
        return Lost("the text is found, but it may be another copy")
    then = Counter(old_path(span.first) for span in known)
    now = Counter(new_path(span.first) for span in candidates)
    vanished = [span for span in others if now[old_path(span.first)] < then[old_path(span.first)]]
    if vanished and not _stands_like(cited, vanished, sought.old, left[0], new):
        return Lost("the text is found, but another copy has vanished")
    return _exact(left[0], "the only copy that was not there before")


def _exact(span: Span, why: str) -> Found:
    return Found(span.first, span.last, Match.EXACT, why, span.at)


def _stands_like(
    cited: Span,
    vanished: list[Span],
    old: Pieces,
    candidate: Span,
    new: Pieces,
) -> bool:
    """Whether a copy stands between the neighbours of the cited one, and of no other.

    Rule 4 alone would take the last copy left for the cited one, whichever of them it is.
    """
    here = new.neighbours(candidate.first, candidate.last)
    return here == old.neighbours(cited.first, cited.last) and all(
        here != old.neighbours(other.first, other.last) for other in vanished
    )


def _choose_similar(sought: _Sought, new: Pieces, own: Callable[[], Mask]) -> Found | Lost:
    """Rule 5: the most similar text, if no other place is similar too."""
    if letters(sought.text) < MIN_LETTERS:
        return Lost("the text is gone, and too short to be found by likeness")
    try:
        places = similar_places(
            sought.text, new, sought.unaccounted(new), 2 * sought.extent + 2, own
        )
        outcome = _one_place(places, own)
        if isinstance(outcome, Found) and _is_another(outcome, places, sought, new):
            return Lost("what is like the passage is more like another text that changed too")
    except TooManyError:
        return Lost("too many lines are like the passage")
    return outcome


def _one_place(places: list[Run], own: Callable[[], Mask]) -> Found | Lost:
    if not places:
        return Lost("nothing is like the passage")
    if len(places) == 1:
        return Found(places[0].first, places[0].last, Match.SIMILAR, "the text has changed")
    under = own()
    mine = [place for place in places if under[place.first]]
    if len(mine) != 1:
        return Lost("several places are like the passage")
    why = "the text has changed; the only like it under its heading"
    return Found(mine[0].first, mine[0].last, Match.SIMILAR, why)


def _is_another(found: Found, places: list[Run], sought: _Sought, new: Pieces) -> bool:
    """Whether something outside the passage is at least as like the place found.

    Rule 5 alone would take the edited twin of a deleted passage for the passage. Texts that are
    still there count only where the place found has neither neighbour of the passage.
    """
    pairs = zip(
        sought.old.neighbours(sought.first, sought.last),
        new.neighbours(found.first, found.last),
        strict=True,
    )
    anchored = any(was and was == now for was, now in pairs)
    text = new.text(found.first, found.last)
    limit = 2 * new.extent(found.first, found.last) + 2
    free = sought.vanished(new) if anchored else sought.outside()
    nowhere = np.zeros(len(sought.old.norms), dtype=bool)
    rivals = similar_places(text, sought.old, free, limit, lambda: nowhere)
    score = next(p.score for p in places if (p.first, p.last) == (found.first, found.last))
    return bool(rivals) and rivals[0].score >= score


def letters(text: str) -> int:
    """Letters and digits of a text, of any script."""
    return sum(map(str.isalnum, text))


# --------------------------------------------------------------------------- properties


def relocate_property(before: Note, passage: Passage, after: Note) -> Citation:
    """Finds a property by its key and value; a long value may have changed a little."""
    old = _property(before, passage)
    if old is None:
        return unresolvable(passage, "the index does not hold the property")
    new = _property(after, passage)
    if new is None:
        return unresolvable(passage, "the property is gone")
    text = "\n".join(after.lines[new.start_line - 1 : new.end_line])
    lines = (new.start_line, new.end_line)
    if _same(old.value, new.value):
        return _changed(passage, Match.EXACT, "same key and value", lines, text=text)
    values = _value_text(before, old), _value_text(after, new)
    if not _alike(*values):
        return unresolvable(passage, "the value of the property is another")
    return _changed(passage, Match.SIMILAR, "same key, value changed", lines, text=text)


def _property(note: Note, passage: Passage) -> Property | None:
    key = normalise(passage.node or "")
    return next((p for p in note.frontmatter.properties if normalise(p.key) == key), None)


def _same(old: Any, new: Any) -> bool:
    """Whether two YAML values say the same; `1`, `1.0` and `true` do not, as Python thinks."""
    if type(old) is not type(new):
        return False
    if isinstance(old, str):
        return normalise(old) == normalise(new)
    if isinstance(old, Mapping):
        return old.keys() == new.keys() and all(_same(old[key], new[key]) for key in old)
    if isinstance(old, list | tuple):
        return len(old) == len(new) and all(map(_same, old, new))
    return bool(old == new)


def _value_text(note: Note, entry: Property) -> str:
    text = normalise("\n".join(note.lines[entry.start_line - 1 : entry.end_line]))
    return text.partition(":")[2].strip()


def _alike(old: str, new: str) -> bool:
    return letters(old) >= MIN_LETTERS and ratio(old, new) >= THRESHOLD


# --------------------------------------------------------------------------- canvas


def relocate_node(before: Note, passage: Passage, after: Note) -> Citation:
    """Finds a card by its id and text, then by unique text, then by its id and like text."""
    old = next((node for node in before.canvas_nodes if node.id == passage.node), None)
    if old is None:
        return unresolvable(passage, "the index does not hold the card")
    sought = _sought_in_card(old, passage)
    same = next((node for node in after.canvas_nodes if node.id == passage.node), None)
    if same is not None and sought.find(_card_pieces(passage, same)):
        return _in_card(sought, passage, same)

    def holds(node: CanvasNode) -> bool:
        return bool(sought.find(_card_pieces(passage, node)))

    holders = [node for node in after.canvas_nodes if holds(node)]
    if holders:
        if len(holders) == sum(map(holds, before.canvas_nodes)) == 1:
            return _in_card(sought, passage, holders[0])
        return unresolvable(passage, "several cards hold the text")
    if same is None:
        return unresolvable(passage, "the card is gone")
    return _in_card(sought, passage, same)


def _sought_in_card(card: CanvasNode, passage: Passage) -> _Sought:
    """The passage beside its card: all its lines, or sentences of a card that was cut.

    The columns of a part count from the start of the card, as if it were one line.
    """
    end = 1 if passage.columns is not None else len(split_lines(card.text))
    return _Sought(replace(passage, start_line=1, end_line=end), _card_pieces(passage, card))


def _card_pieces(passage: Passage, card: CanvasNode) -> Pieces:
    if passage.columns is None:
        return Text(split_lines(card.text), 1, tuple).by_line
    return Text([card.text], 1, tuple).by_sentence


def _in_card(sought: _Sought, passage: Passage, card: CanvasNode) -> Citation:
    pieces = _card_pieces(passage, card)
    everywhere = np.ones(len(pieces.norms), dtype=bool)
    outcome = find_run(
        sought, pieces, lambda _: sought.path, lambda _: sought.path, lambda: everywhere
    )
    if isinstance(outcome, Lost):
        return unresolvable(passage, outcome.why)
    if passage.columns is None:
        lines = split_lines(card.text)
        text = "\n".join(lines[pieces.lines[outcome.first] - 1 : pieces.lines[outcome.last]])
        return _changed(passage, outcome.match, outcome.why, node=card.id, text=text)
    columns = sought.columns(pieces, outcome, card.text)
    text = card.text[slice(*columns)]
    return _changed(passage, outcome.match, outcome.why, columns=columns, node=card.id, text=text)


def _changed(
    passage: Passage,
    match: Match,
    why: str,
    lines: tuple[int, int] | None = None,
    columns: tuple[int, int] | None = None,
    node: str | None = None,
    text: str = "",
) -> Citation:
    start, end = lines or (None, None)
    return Citation(
        passage.kind,
        CitationStatus.SOURCE_CHANGED,
        match,
        start,
        end,
        columns,
        node if node is not None else passage.node,
        text=text,
        why=why,
    )
