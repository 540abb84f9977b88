"""The inverted index against reading every passage, over any history of saved and deleted notes."""

from __future__ import annotations

import random
from itertools import count

import numpy as np
import pytest

from sidelight.language.query_terms import QueryTerm
from sidelight.query.lexical import LexicalQuery
from sidelight.query.recall import recall_bm25
from sidelight.store import postings
from sidelight.store.catalog import Catalog
from sidelight.store.columns import columns_of
from sidelight.store.kept import KeptIndex
from sidelight.store.rows import ChunkRow, NoteRow
from sidelight.store.selection import Selection
from sidelight.types import PassageKind, TermKind

WORDS = ["拿铁", "拿", "error", "errors", "errand", "苹果", "walk", "树", "nothing"]
POOL = 5


def chunk(catalog: Catalog, path: str, index: int, words: list[str]) -> ChunkRow:
    held = {word: words.count(word) for word in sorted(set(words))}
    return ChunkRow(
        chunk_id=f"{path}#{index}", path=path, kind=PassageKind.LINES, heading_path=(),
        section_index=0, chunk_index=index, start_line=1, end_line=1, columns=None, node=None,
        searchable=index != 3, language="zh", embed_hash="-".join(words).encode().hex(), text_hash="00",
        length=len(words),
        codes=np.array([catalog.vocabulary.code(word) for word in held], np.int32),
        counts=np.array(list(held.values()), np.int32),
    )  # fmt: skip


def term(word: str, *, prefix: bool = False) -> QueryTerm:
    return QueryTerm(word, TermKind.WORD, 1.0, False, word, prefix)


def save(catalog: Catalog, dice: random.Random, path: str, stamp: int) -> None:
    texts = [dice.choices(WORDS[:-1], k=dice.randint(1, 6)) for _ in range(dice.randint(0, 5))]
    rows = [chunk(catalog, path, index, words) for index, words in enumerate(texts)]
    catalog.replace(NoteRow(path, "markdown", path, str(stamp), 1, 1), rows)


def check_recall(catalog: Catalog, terms: list[QueryTerm], allowed: set[str] | None) -> None:
    def query() -> LexicalQuery:
        return LexicalQuery(terms, catalog, 1.2, 0.75)

    tables = None  # must not be asked
    found = recall_bm25(query(), catalog, tables, allowed, POOL)  # type: ignore[arg-type]
    chunks = list(catalog.chunks.values())  # also those that are in no postings
    held = query().coverages(Selection.of(catalog.notes.kept, chunks))
    assert held.tolist() == query().scores(chunks)[1].tolist()
    every = [c for c in chunks if c.searchable]
    every = [c for c in every if allowed is None or c.path in allowed]
    scores = query().scores(every)[0].tolist()
    wanted = [(s, c) for s, c in zip(scores, every, strict=True) if s > 0]
    wanted.sort(key=lambda pair: (-pair[0], pair[1].order))
    assert [(hit.chunk.chunk_id, hit.score) for hit in found] == [
        (c.chunk_id, score) for score, c in wanted[:POOL]
    ]


def started_again(catalog: Catalog) -> Catalog:
    columns = columns_of(catalog, lambda: False)
    assert columns is not None
    again = Catalog()
    again.begin(KeptIndex(columns))
    return again


@pytest.mark.parametrize("seed", range(20))
def test_the_best_passages_are_those_that_reading_all_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "TAIL", 6)
    monkeypatch.setattr(postings, "_FAN", 2)
    monkeypatch.setattr(postings, "_SAMPLED", 2 + seed % 3)
    dice, catalog = random.Random(seed), Catalog()
    queries = (
        [term("拿铁")],
        [term("error"), term("苹果"), term("never")],
        [term("err", prefix=True), term("树")],
        [term("error", prefix=True)],
        [term("nothing")],
    )
    for stamp in range(80):
        path = f"{dice.randrange(9)}.md"
        if dice.random() < 0.25:
            catalog.remove(path)
        else:
            save(catalog, dice, path, stamp)
        if dice.random() < 0.5:
            catalog.settle()
        if dice.random() < 0.03 * (seed % 3):
            catalog = started_again(catalog)
        allowed = None if dice.random() < 0.6 else {f"{n}.md" for n in range(0, 9, 2)}
        check_recall(catalog, list(dice.choice(queries)), allowed)
    assert len(catalog.postings._segments) > 1 or catalog.postings._sorted


@pytest.mark.parametrize("kept", [False, True])
def test_a_day_of_saves_leaves_no_more_rows_than_twice_what_is_there(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "TAIL", 20)
    dice, catalog = random.Random(1), Catalog()
    for number in range(9):
        save(catalog, dice, f"{number}.md", 0)
    if kept:
        catalog = started_again(catalog)
    for stamp in range(1, 400):
        save(catalog, dice, f"{dice.randrange(9)}.md", stamp)
        catalog.settle()
    live = catalog.searchable
    assert len(catalog.postings._chunks) <= 2 * live + 2 * 20
    held = sum(len(c.codes) for c in catalog.chunks.values() if c.searchable)
    assert catalog.postings.size == held
    check_recall(catalog, [term("拿铁"), term("error")], None)


def test_a_vault_of_too_many_postings_is_recalled_by_its_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postings, "MOST_POSTINGS", 3)
    catalog, asked = Catalog(), count()

    class OnDisk:
        indexes_words = True

        def match(self, groups: object, *_: object) -> list[str]:
            next(asked)
            assert groups == [(["拿铁"], 1.0)]
            return ["a.md#0"]

    row = chunk(catalog, "a.md", 0, ["拿铁", "error", "树", "苹果"])
    catalog.replace(NoteRow("a.md", "markdown", "a", "1", 1, 1), [row])
    found = recall_bm25(
        LexicalQuery([term("拿铁")], catalog, 1.2, 0.75),
        catalog, OnDisk(), None, POOL,  # type: ignore[arg-type]
    )  # fmt: skip
    assert [hit.chunk.chunk_id for hit in found] == ["a.md#0"]
    assert next(asked) == 1
