"""Where does an indexed passage stand in a note that has changed since?

The rules of the live citation resolver, from rule 3 on (the file and its bytes are the
business of `query/cite.py`). Every rule prefers no answer to a wrong one. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
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
from sidelight.vault.pieces import Pieces, Text, normalise
from sidelight.vault.rivals import APART, is_another_cards
from sidelight.vault.run_rules import MIN_LETTERS, Found, Lost, Sought, find_run, letters
from sidelight.vault.similar_run import THRESHOLD, TooManyError
from sidelight.vault.similarity import ratio


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


# --------------------------------------------------------------------------- lines


def relocate_lines(before: Text, passage: Passage, after: Text) -> Citation:
    """Rules 3 to 5 for whole lines, and for part of a long line with sentences for lines."""
    if passage.start_line is None or passage.end_line is None:
        return unresolvable(passage, "the index kept no lines of it")
    after.take_over(before)
    old, new = _pieces(before, passage, after)
    sought = Sought(passage, old)
    outcome = find_run(
        sought,
        new,
        lambda piece: before.path_at(old.lines[piece]),
        lambda piece: after.path_at(new.lines[piece]),
        lambda: after.under(sought.path, new),
        lambda: before.under(sought.path, old),
    )
    return _line_citation(sought, passage, outcome, new, after.raw)


def _pieces(before: Text, passage: Passage, after: Text) -> tuple[Pieces, Pieces]:
    """What is compared; a text that is still there needs few lines cut into sentences."""
    if passage.columns is None:
        return before.by_line, after.by_line
    wanted = normalise(passage.text)
    if wanted and wanted in after.by_line.joined:
        old, new = before.cut_near(wanted, passage.start_line or 0), after.cut_near(wanted)
        if Sought(passage, old).find(new):
            return old, new
    return before.by_sentence, after.by_sentence


def _line_citation(
    sought: Sought,
    passage: Passage,
    outcome: Found | Lost,
    new: Pieces,
    raw: Sequence[str],
) -> Citation:
    if isinstance(outcome, Lost):
        return unresolvable(passage, outcome.why)
    start, end = new.lines[outcome.first], new.lines[outcome.last]
    columns = None
    text = "\n".join(raw[start - 1 : end])
    if new.columns is not None and start == end:
        columns = sought.columns(new, outcome, text)
        text = text[slice(*columns)]
    return _changed(passage, outcome.match, outcome.why, (start, end), columns, text=text)


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
        was = "\n".join(before.lines[old.start_line - 1 : old.end_line])
        if normalise(text) == normalise(was):
            return _changed(passage, Match.EXACT, "same key and value", lines, text=text)
        why = "same key and value, written in another way"
        return _changed(passage, Match.SIMILAR, why, lines, text=text)
    if not _alike(_value_text(before, old), _value_text(after, new)):
        return unresolvable(passage, "the value of the property is another")
    if _is_another_keys(before, old, after, new):
        return unresolvable(passage, "the value is that of another property")
    return _changed(passage, Match.SIMILAR, "same key, value changed", lines, text=text)


def _is_another_keys(before: Note, old: Property, after: Note, new: Property) -> bool:
    """Whether a changed value stood under another key, or is more like one that is gone."""
    value = _value_text(after, new)
    score = ratio(_value_text(before, old), value)
    left = {_value_text(after, entry) for entry in after.frontmatter.properties}
    for other in before.frontmatter.properties:
        if other is old:
            continue
        theirs = _value_text(before, other)
        if theirs == value or _same(other.value, new.value):
            return True
        if theirs not in left and ratio(theirs, value) > score:
            return True
    return False


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
    """Finds a card by its id and text, then by unique text, then by its id and like text.

    A card without an id of its own is found by unique text alone. Other cards are to a card what
    the lines outside a passage are to it: their text is not its edited text.
    """
    old = next((node for node in before.canvas_nodes if node.id == passage.node), None)
    if old is None:
        return unresolvable(passage, "the index does not hold the card")
    sought = _sought_in_card(old, passage)
    same = _same_card(old, after)
    if same is not None and sought.find(_card_pieces(passage, same)):
        return _in_card(sought, passage, same)

    def holds(node: CanvasNode) -> bool:
        return bool(sought.find(_card_pieces(passage, node)))

    holders = [node for node in after.canvas_nodes if holds(node)]
    if holders:
        if len(holders) == sum(map(holds, before.canvas_nodes)) == 1:
            return _in_card(sought, passage, holders[0])
        return unresolvable(passage, "several cards hold the text")
    if not old.named:
        return unresolvable(passage, "the card has no id of its own, and its text is gone")
    if same is None:
        return unresolvable(passage, "the card is gone")
    return _edited_card(before, old, passage, after, same)


def _edited_card(
    before: Note, old: CanvasNode, passage: Passage, after: Note, same: CanvasNode
) -> Citation:
    """Rule 5 in a card whose id stayed: not a text that is another card's."""
    others = _pieces_of_cards(passage, [card for card in before.canvas_nodes if card is not old])
    sought = _sought_in_card(old, passage, others.counts)
    edited = _in_card(sought, passage, same)
    if edited.match is None:
        return edited
    text, now = normalise(edited.text), _pieces_of_cards(passage, after.canvas_nodes)
    # As far as rule 5 looks around a run of the length it allows around the passage.
    limit = 2 * (2 * sought.extent + 2) + 2
    try:
        if is_another_cards(text, ratio(sought.text, text), others, now, limit):
            return unresolvable(passage, "what is like the passage was another card's text")
    except TooManyError:
        return unresolvable(passage, "too many cards are like the passage")
    return edited


def _same_card(old: CanvasNode, after: Note) -> CanvasNode | None:
    """The card with the id of another version's; None where that id is only its place."""
    same = (card for card in after.canvas_nodes if card.named and card.id == old.id)
    return next(same, None) if old.named else None


def _sought_in_card(card: CanvasNode, passage: Passage, elsewhere: Container[str] = ()) -> Sought:
    """The passage beside its card: all its lines, or sentences of a card that was cut.

    The columns of a part count from the start of the card, as if it were one line.
    """
    end = 1 if passage.columns is not None else len(split_lines(card.text))
    placed = replace(passage, start_line=1, end_line=end)
    return Sought(placed, _card_pieces(passage, card), elsewhere)


def _card_pieces(passage: Passage, card: CanvasNode) -> Pieces:
    if passage.columns is None:
        return Text(split_lines(card.text), 1, tuple).by_line
    return Text([card.text], 1, tuple).by_sentence


def _pieces_of_cards(passage: Passage, cards: Sequence[CanvasNode]) -> Pieces:
    """Several cards as one text, with a piece between them that keeps runs inside a card."""
    lines: list[str] = []
    for card in cards:
        lines += [APART] if lines else []
        lines += split_lines(card.text) if passage.columns is None else [card.text]
    text = Text(lines, 1, tuple)
    return text.by_line if passage.columns is None else text.by_sentence


def _in_card(sought: Sought, passage: Passage, card: CanvasNode) -> Citation:
    pieces = _card_pieces(passage, card)
    outcome = find_run(
        sought,
        pieces,
        lambda _: sought.path,
        lambda _: sought.path,
        lambda: np.ones(len(pieces.norms), dtype=bool),
        lambda: np.ones(len(sought.old.norms), dtype=bool),
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
