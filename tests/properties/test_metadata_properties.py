"""The index of names against looking at every name, over any history of saved and deleted notes."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sidelight.language.query_terms import QueryTerm
from sidelight.query import metadata
from sidelight.query.lexical import LexicalQuery
from sidelight.query.metadata import EQUAL, FIELD_WORTH, MetadataIndex
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow, Field, NoteRow
from sidelight.types import PassageKind, TermKind

WORDS = ("拿铁", "苹果", "kiln", "kilns", "kitchen", "glaze", "树")
KINDS = tuple(FIELD_WORTH)
POOL = 4
SEEDS = 15


def note(catalog: Catalog, dice: random.Random, path: str) -> tuple[NoteRow, list[ChunkRow]]:
    chunks = [
        ChunkRow(
            chunk_id=f"{path}#{i}", path=path, kind=PassageKind.LINES, heading_path=(),
            section_index=0, chunk_index=i, start_line=1, end_line=1, columns=None, node=None,
            searchable=True, language="zh", embed_hash=f"{path}{i}", text_hash="", length=1,
            codes=catalog.vocabulary.codes([dice.choice(WORDS)]), counts=np.ones(1, np.uint16),
        )
        for i in range(2)
    ]  # fmt: skip
    fields = []
    for _ in range(dice.randint(0, 4)):
        words = dice.sample(WORDS, dice.randint(1, 3))
        label = "  ".join(words).upper()
        kind = dice.choice(KINDS)
        label = f"key: {label}" if kind == "property" else label
        fields.append(Field(kind, label, dice.randrange(3), tuple(sorted(words))))
    return NoteRow(path, "markdown", path, "", 1, 1, fields=tuple(fields)), chunks


def score(field: Field, text: str, query: LexicalQuery) -> float:
    """What a name scores, word by word."""
    held, mass = 0, 0.0
    for term in query.terms:
        stands_for = [w for w in field.terms if w.startswith(term.query.term)]
        if not term.query.prefix:
            stands_for = [w for w in stands_for if w == term.query.term]
        held += len(stands_for)
        mass += max((query.mass_of(term, w) for w in stands_for), default=0.0)
    name = field.label.removeprefix("key: ") if field.kind == "property" else field.label
    if held and name.lower().split() == text.split() and field.kind != "folder":
        return 1.0 if field.kind == "attachment" else max(FIELD_WORTH[field.kind], EQUAL)
    explained = 0.3 + 0.7 * min(1.0, mass / (query.total_mass or 1.0))
    return round(0.98 * FIELD_WORTH[field.kind] * min(1.0, held / len(field.terms)) * explained, 9)


def check_search(index: MetadataIndex, catalog: Catalog, words: list[str], *, prefix: bool) -> None:
    text = " ".join(words)
    last = len(words) - 1
    terms = [
        QueryTerm(word, TermKind.WORD, 1.0, False, word, prefix and i == last)
        for i, word in enumerate(words)
    ]
    query = LexicalQuery(terms, catalog, 1.2, 0.75)
    for allowed in (None, set(list(catalog.notes)[::2])):
        best: dict[str, list[tuple[float, int, str]]] = {}
        for path, row in catalog.notes.items():
            if allowed is None or path in allowed:
                scored = [(-score(f, text, query), f.target, f.label) for f in row.fields]
                best[path] = sorted(one for one in scored if one[0] < 0)
        ranked = sorted((fields[0][0], path) for path, fields in best.items() if fields)[:POOL]
        wanted = [(f"{p}#{best[p][0][1]}", -s) for s, p in ranked if best[p][0][1] < 2]
        found = index.search(text, query, catalog, allowed, POOL)
        assert [(hit.chunk.chunk_id, hit.score) for hit in found] == wanted


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_best_names_are_those_that_looking_at_all_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "_SPARE", 3)
    dice, catalog, index = random.Random(seed), Catalog(), MetadataIndex()
    for _ in range(30):
        path = f"{dice.randrange(12)}.md"
        if dice.random() < 0.2:
            catalog.remove(path)
        else:
            catalog.replace(*note(catalog, dice, path))
        index.refresh(catalog)
        words = dice.sample(WORDS, dice.randint(1, 3))
        check_search(index, catalog, words, prefix=False)
        check_search(index, catalog, [*words[:-1], words[-1][:2]], prefix=True)
        held = {w for row in catalog.notes.values() for f in row.fields for w in f.terms}
        assert {word for word in WORDS if index.knows(word)} == held


def test_numbers_of_changed_notes_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "_SPARE", 3)
    dice, catalog, index = random.Random(1), Catalog(), MetadataIndex()
    for _ in range(200):
        catalog.replace(*note(catalog, dice, "笔记.md"))
        index.refresh(catalog)
    assert len(index._rows) <= 6
