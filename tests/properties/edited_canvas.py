"""Random canvases and random edits that remember where every card went."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace

from citation_judge import Tally, n
from edited_note import closed, sentence, small_change

from sidelight.types import Match, Note, Passage, PassageKind
from sidelight.vault.chunker import chunk_note
from sidelight.vault.markdown import parse_note
from sidelight.vault.relocate import relocate_node


@dataclass(frozen=True)
class Card:
    id: str
    text: str
    origin: int | None
    changed: bool = False


def judge_canvases(seed: int, scripts: int, edits: int) -> Tally:
    """Edits canvases step by step and judges every card after every edit."""
    tally = Tally()
    for number in range(scripts):
        rng = random.Random(seed * 3_000_017 + number)
        cards = _cards(rng)
        before = _parsed(cards)
        passages = [
            Passage(c.kind, c.heading_path, None, None, c.columns, c.node, c.text)
            for c in chunk_note(before)
            if c.kind is PassageKind.CANVAS
        ]
        now = list(cards)
        for _ in range(rng.randint(1, edits)):
            now = _edited(rng, now, cards)
            tally.add("edits")
            after = _parsed(now)
            for passage in passages:
                _judge(cards, now, before, after, passage, tally)
    return tally


def _cards(rng: random.Random) -> list[Card]:
    cards: list[Card] = []
    for number in range(rng.randint(2, 8)):
        text = "\n".join(sentence(rng, 5, 20) for _ in range(rng.randint(1, 3)))
        if cards and rng.random() < 0.35:
            text = rng.choice(cards).text
            if rng.random() < 0.5:
                text = small_change(rng, text)
        elif rng.random() < 0.15:
            chinese = rng.random() < 0.5
            parts = [closed(sentence(rng, 8, 20, chinese), chinese) for _ in range(30)]
            text = ("" if chinese else " ").join(parts)
        cards.append(Card(f"c{number}", text, number))
    return cards


ACTIONS = [
    "change", "change", "rewrite", "delete", "copy", "order", "id", "add", "take", "swap",
]  # fmt: skip


def _edited(rng: random.Random, cards: list[Card], before: list[Card]) -> list[Card]:
    cards = list(cards)
    action = rng.choice(ACTIONS)
    fresh = f"n{rng.randrange(10**6)}"
    at = rng.randrange(len(cards)) if cards else 0
    if action == "add" or not cards:
        cards.append(Card(fresh, sentence(rng, 5, 20), None))
    elif action == "change":
        cards[at] = replace(cards[at], text=small_change(rng, cards[at].text), changed=True)
    elif action == "rewrite":
        cards[at] = replace(cards[at], text=sentence(rng, 5, 20), origin=None)
    elif action == "delete":
        del cards[at]
    elif action == "copy":
        cards.append(replace(cards[at], id=fresh, origin=None))
    elif action == "take":
        cards = _with_text_of_another(rng, cards, at, before)
    elif action == "swap":
        _swap(rng, cards, at)
    elif action == "order":
        rng.shuffle(cards)
    else:
        cards[at] = replace(cards[at], id=fresh)
    return cards


def _with_text_of_another(
    rng: random.Random, cards: list[Card], at: int, before: list[Card]
) -> list[Card]:
    """A card gets the text that another one had; that one may be gone for it."""
    held = n(cards[at].text)
    givers = [card for card in before if card.id != cards[at].id and n(card.text) != held]
    if not givers:
        return cards
    giver = rng.choice(givers)
    taken = replace(cards[at], text=giver.text, origin=None)
    gone = giver.id if rng.random() < 0.5 else None
    rest = [taken if i == at else card for i, card in enumerate(cards)]
    return [card for card in rest if card is taken or card.id != gone]


def _swap(rng: random.Random, cards: list[Card], at: int) -> None:
    """Two cards trade their texts; what is cited goes with its text."""
    to = rng.randrange(len(cards))
    if n(cards[at].text) != n(cards[to].text):
        ids = cards[at].id, cards[to].id
        cards[at], cards[to] = replace(cards[to], id=ids[0]), replace(cards[at], id=ids[1])


def _parsed(cards: list[Card]) -> Note:
    nodes = [{"id": c.id, "type": "text", "text": c.text, "x": 0, "y": 0} for c in cards]
    return parse_note("Board.canvas", json.dumps({"nodes": nodes, "edges": []}).encode())


def _traded(cards: list[Card], shown: Card, passage: Passage) -> bool:
    """Whether the card with the passage's id has the text of another that held the passage too.

    Two histories lead to the same file; the id tells which one the answer goes by.
    """
    if shown.id != passage.node or shown.origin is None:
        return False
    was = cards[shown.origin]
    return was.id != passage.node and n(passage.text) in n(was.text)


def _judge(
    cards: list[Card],
    now: list[Card],
    before: Note,
    after: Note,
    passage: Passage,
    tally: Tally,
) -> None:
    old = next(card for card in cards if card.id == passage.node)
    here = [card for card in now if card.origin == old.origin]
    answer = relocate_node(before, passage, after)
    show = f"{passage}\n-> {answer}\n{cards}\n{now}"
    tally.add("asked")
    if answer.match is not None:
        shown = next(card for card in now if card.id == answer.node)
        exact = answer.match is Match.EXACT
        tally.add("exact" if exact else "similar")
        tally.add("same text" if n(answer.text) == n(passage.text) else "other text", show)
        if exact and n(answer.text) != n(passage.text):
            tally.add("exact wrong", show)
        elif _traded(cards, shown, passage):
            tally.add("equal texts traded places")
        # A copy pasted by an edit stands for a card that lost its text.
        elif here and shown not in here and (not exact or n(here[0].text) == n(old.text)):
            tally.add("exact wrong" if exact else "similar wrong", show)
        elif not here and not exact:
            tally.add("similar wrong", show)
    if here and passage.columns is None:
        kept = n(here[0].text) == n(old.text)
        twins = sum(n(c.text) == n(old.text) for c in now) + sum(
            n(c.text) == n(old.text) for c in cards
        )
        if kept and (twins == 2 or here[0].id == old.id):
            tally.add("unique")
            tally.add("unique, found" if answer.match else "unique, missed", show)
