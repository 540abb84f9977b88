"""Columns of many passages against asking each, over any history of notes, starts and vectors."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from sidelight.store.catalog import Catalog
from sidelight.store.columns import columns_of
from sidelight.store.kept import KeptIndex
from sidelight.store.rows import ChunkRow, NoteRow, name_hash
from sidelight.store.selection import Selection
from sidelight.store.vectors import VectorMatrix
from sidelight.types import PassageKind

QUERY = np.array([0.6, 0.8, 0.0], np.float32)


def chunk(catalog: Catalog, path: str, index: int, words: Sequence[str], language: str) -> ChunkRow:
    held = sorted(set(words))
    return ChunkRow(
        chunk_id=f"{path.encode().hex()}{index}", path=path, kind=PassageKind.LINES, heading_path=(),
        section_index=0, chunk_index=index, start_line=1, end_line=1, columns=None, node=None,
        searchable=index != 2, language=language, embed_hash="".join(words).encode().hex(),
        text_hash="00", length=len(words),
        codes=np.array([catalog.vocabulary.code(word) for word in held], np.int32),
        counts=np.array([words.count(word) for word in held], np.int32),
    )  # fmt: skip


def save(catalog: Catalog, dice: random.Random, path: str) -> None:
    rows = [
        chunk(catalog, path, index, dice.choices("苹果树ab", k=dice.randint(0, 3)), language)
        for index, language in enumerate(dice.choices(["zh", "en", "und"], k=dice.randint(0, 4)))
    ]
    catalog.replace(NoteRow(path, "markdown", path[:2], str(dice.random()), 1, 1), rows)


def embed_some(vectors: VectorMatrix, dice: random.Random, hashes: Sequence[str]) -> None:
    chosen = sorted({h for h in hashes if dice.random() < 0.5} - {""})
    rows = np.array([[dice.random() + 0.1 for _ in range(3)] for _ in chosen], np.float32)
    if chosen:
        vectors.add(
            chosen, rows / np.linalg.norm(rows, axis=1, keepdims=True), ["zh"] * len(chosen)
        )


def check_columns(catalog: Catalog, dice: random.Random) -> None:
    chunks = list(catalog.chunks.values())
    dice.shuffle(chunks)
    passages = Selection.of(catalog.notes.kept, chunks, catalog.chunks.at)
    assert list(passages) == chunks
    assert passages.paths() == [c.path for c in chunks]
    twice = Selection.of(catalog.notes.kept, chunks + chunks[::2], catalog.chunks.at)
    once, places = twice.once_each()
    assert list(once) == chunks
    assert [once[place] for place in places.tolist()] == list(twice)
    first, second = (np.array([float(dice.randrange(3)) for _ in chunks]) for _ in "12")
    ranked = passages.by_rank(first, second).tolist()
    assert ranked == sorted(
        range(len(chunks)), key=lambda p: (-first[p], -second[p], chunks[p].order)
    )
    some = np.array(ranked[::2], np.intp)
    assert list(passages.take(some)) == [chunks[place] for place in some.tolist()]
    texts = [*dict.fromkeys(c.embed_hash for c in chunks if c.searchable)]
    found, which = catalog.by_embedding.select(texts)
    held = [(texts[w], c.chunk_id) for w, c in zip(which.tolist(), found, strict=True)]
    assert sorted(held) == sorted(
        (text, c.chunk_id) for text in texts for c in catalog.by_embedding[text]
    )
    assert passages.lengths().tolist() == [c.length for c in chunks]
    other = passages.other_languages(("zh", "und"))
    assert other.tolist() == [c.language not in ("zh", "und") for c in chunks]
    assert [passages.codes(place).tolist() for place in range(len(chunks))] == [
        c.codes.tolist() for c in chunks
    ]
    assert catalog.vectors.names is not None
    each = catalog.vectors.similarity(QUERY, [c.embed_hash for c in chunks])
    np.testing.assert_array_equal(catalog.cosines(QUERY, passages), each)
    names = [catalog.names.get(c.path, "") for c in chunks]
    each = catalog.vectors.names.similarity(QUERY, names)
    np.testing.assert_array_equal(catalog.name_cosines(QUERY, passages), each)


@pytest.mark.parametrize("seed", range(20))
def test_columns_say_of_each_passage_what_it_says_itself(seed: int) -> None:
    dice = random.Random(seed)
    paths = [f"笔记 {i % 3} note {i}.md" for i in range(12)]
    catalog = Catalog()
    vectors = VectorMatrix(3)
    vectors.names = VectorMatrix(3)
    for step in range(12):
        if step % 4 == 3:  # a start with what was kept
            columns = columns_of(catalog, lambda: False)
            assert columns is not None
            catalog = Catalog()
            catalog.begin(KeptIndex(columns))
        catalog.vectors = vectors
        if dice.random() < 0.2:
            catalog.remove(dice.choice(paths))
        save(catalog, dice, dice.choice(paths))
        embed_some(vectors, dice, [c.embed_hash for c in catalog.chunks.values()])
        embed_some(vectors.names, dice, [name_hash(path[:2]) for path in paths])
        if dice.random() < 0.2:  # a clean-up moves rows
            vectors.forget(set(dice.sample(sorted(vectors._slot), len(vectors) // 3)))
        check_columns(catalog, dice)
