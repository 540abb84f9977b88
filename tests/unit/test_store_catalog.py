"""Exact statistics in memory, whatever the order of changes."""

from __future__ import annotations

import math
import random
import re
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidelight.store import rounded
from sidelight.store.catalog import Catalog, Vocabulary
from sidelight.store.prefixes import PrefixIndex
from sidelight.store.rounded import Rounded
from sidelight.store.rows import ChunkRow, NoteRow, checksums_of_names, folded_names
from sidelight.store.vectors import VectorMatrix
from sidelight.types import PassageKind


def chunk(catalog: Catalog, path: str, index: int, words: list[str]) -> ChunkRow:
    counts = {w: words.count(w) for w in sorted(set(words))}
    return ChunkRow(
        chunk_id=f"{path}#{index}", path=path, kind=PassageKind.LINES, heading_path=(),
        section_index=0, chunk_index=index, start_line=1, end_line=1, columns=None, node=None,
        searchable=True, language="zh", embed_hash="-".join(words), text_hash="00",
        length=len(words),
        codes=np.array([catalog.vocabulary.code(w) for w in counts], np.int32),
        counts=np.array(list(counts.values()), np.uint16),
    )  # fmt: skip


def note(path: str, content: str) -> NoteRow:
    return NoteRow(path, "markdown", path, content, 1, 1)


def statistics(catalog: Catalog) -> dict[str, object]:
    words = sorted(catalog.vocabulary.live_terms())
    return {
        "df": {w: catalog.vocabulary.df(catalog.vocabulary.code(w)) for w in words},
        "length": catalog.total_length,
        "searchable": catalog.searchable,
        "snapshot": catalog.snapshot("c"),
        "embeddings": {
            h: sorted(c.chunk_id for c in chunks) for h, chunks in catalog.by_embedding.items()
        },
    }


@pytest.mark.parametrize("seed", range(20))
def test_statistics_equal_those_of_a_fresh_catalog(seed: int) -> None:
    dice = random.Random(seed)
    words = ["拿铁", "error", "苹果", "walk", "树"]
    catalog = Catalog()
    kept: dict[str, list[list[str]]] = {}
    for _ in range(40):
        path = f"{dice.randrange(6)}.md"
        if dice.random() < 0.3:
            catalog.remove(path)
            kept.pop(path, None)
            continue
        texts = [dice.choices(words, k=dice.randint(1, 4)) for _ in range(dice.randint(0, 3))]
        kept[path] = texts
        rows = [chunk(catalog, path, i, text) for i, text in enumerate(texts)]
        catalog.replace(note(path, str(texts)), rows)
    fresh = Catalog()
    for path, texts in sorted(kept.items()):
        rows = [chunk(fresh, path, i, text) for i, text in enumerate(texts)]
        fresh.replace(note(path, str(texts)), rows)
    filled = Catalog()
    filled.fill(
        (note(path, str(texts)), [chunk(filled, path, i, text) for i, text in enumerate(texts)])
        for path, texts in kept.items()
    )
    assert statistics(catalog) == statistics(fresh) == statistics(filled)


def test_unfinished_word_stands_for_the_terms_that_begin_with_it() -> None:
    catalog = Catalog()
    rows = [chunk(catalog, "a.md", 0, ["error", "errand", "拿铁", "拿手"])]
    catalog.replace(note("a.md", "x"), rows)
    assert catalog.vocabulary.starting_with("err") == ["errand", "error"]
    assert catalog.vocabulary.starting_with("拿") == ["拿手", "拿铁"]
    catalog.remove("a.md")
    assert catalog.vocabulary.starting_with("err") == []


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_nearest_equals_the_naive_order_wherever_rows_lie() -> None:
    dice = np.random.default_rng(7)
    vectors = unit(dice.normal(size=(500, 16)))
    names = [f"h{i:03}" for i in range(500)]
    query = unit(dice.normal(size=(1, 16)))[0]
    exact = vectors.astype(np.float64) @ query.astype(np.float64)
    wanted = [names[i] for i in np.argsort(-exact)[:60]]
    answers = []
    for order in (np.arange(500), dice.permutation(500)):
        matrix = VectorMatrix(16)
        for part in np.array_split(order, 7):
            matrix.add([names[i] for i in part], vectors[part], ["en"] * len(part))
        answers.append(matrix.nearest(query, 60, None))
    assert [name for name, _ in answers[0]] == wanted
    assert answers[0] == answers[1], "scores do not depend on where a row lies"


def exactly(rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    return np.round(rows.astype(np.float64) @ query.astype(np.float64), 9)


@pytest.mark.parametrize("spread", [1.0, 0.1, 0.01])
def test_rounded_vectors_leave_none_of_the_nearest_out(spread: float) -> None:
    """Also where texts are nearly the same, and after any history of the vault."""
    dice = np.random.default_rng(11)
    middles = unit(dice.normal(size=(40, 96)))
    rows = unit(middles[dice.integers(40, size=6_000)] + spread * dice.normal(size=(6_000, 96)) / 9)
    names = np.array([f"笔记{i:04}" for i in range(6_000)])
    matrix, used = VectorMatrix(96), np.zeros(6_000, bool)
    for revision, part in enumerate(np.array_split(dice.permutation(6_000), 5)):
        matrix.add(names[part].tolist(), rows[part], ["zh"] * len(part))
        used[part] = True
        used[dice.integers(6_000, size=300)] = False
        matrix.keep_to(set(names[used].tolist()), revision)
        if revision == 3:
            matrix.forget(set(names[~used].tolist()))
            matrix.keep_to(set(names[used].tolist()), revision + 10)
        for query in (rows[dice.integers(6_000)], unit(dice.normal(size=(1, 96)))[0]):
            exact = exactly(rows, query)
            wanted = sorted(zip(-exact[used], names[used], strict=True))[:150]
            assert matrix.nearest(query, 150, None) == [(name, -score) for score, name in wanted]
            fresh = VectorMatrix(96)
            fresh.add(names[used].tolist(), rows[used], ["zh"] * int(used.sum()))
            assert matrix.chance(query) == pytest.approx(fresh.chance(query), abs=1.1e-4)


def test_filter_applies_before_the_cut() -> None:
    matrix = VectorMatrix(2)
    matrix.add(["far", "near"], unit(np.array([[1.0, 1.0], [1.0, 0.0]])), ["en", "en"])
    query = np.array([1.0, 0.0], np.float32)
    assert [n for n, _ in matrix.nearest(query, 1, {"far"})] == ["far"]


def test_known_texts_are_not_added_again() -> None:
    matrix = VectorMatrix(2)
    vectors = unit(np.array([[1.0, 0.0], [0.0, 1.0]]))
    matrix.add(["a", "b"], vectors, ["en", "zh"])
    matrix.add(["b", "b", "c"], vectors[[0, 0, 1]], ["zh", "zh", "zh"])
    assert matrix.similarity(np.array([0.0, 1.0], np.float32), ["b"])[0] == pytest.approx(1.0)
    assert np.isnan(matrix.similarity(np.array([0.0, 1.0], np.float32), ["unknown"])[0])
    nearest = matrix.nearest(np.array([0.0, 1.0], np.float32), 10, None)
    assert sorted(n for n, _ in nearest) == ["a", "b", "c"]


@given(
    st.lists(st.sets(st.text("ab笔记é", max_size=4)), max_size=4),
    st.text("ab笔", max_size=2),
    st.integers(0, 700),
)
def test_terms_that_come_in_later_are_found_by_their_beginning_as_if_they_had_always_been_there(
    batches: list[set[str]], prefix: str, many: int
) -> None:
    index = PrefixIndex()
    known: set[str] = set()
    for batch in [*batches, {f"a{number}" for number in range(many)}, {"a记", "笔记本"}]:
        for term in sorted(batch - known, reverse=True):
            index.add(term)
        known |= batch
        expected = sorted(term for term in known if term.startswith(prefix))
        assert list(index.starting_with(prefix)) == expected


def test_chance_is_higher_where_all_texts_are_alike_and_does_not_depend_on_their_place() -> None:
    dice = np.random.default_rng(3)
    query = unit(dice.normal(size=(1, 16)))[0]
    apart = unit(dice.normal(size=(400, 16)))
    alike = unit(apart + 2 * query)
    names = [f"h{i:03}" for i in range(400)]
    found = []
    for rows in (apart, alike, alike[::-1].copy()):
        matrix = VectorMatrix(16)
        matrix.add(names, rows, ["en"] * 400)
        found.append(matrix.chance(query))
    assert found[0] < found[1]
    assert found[1] == found[2]


def test_chance_in_a_vault_of_few_texts_is_that_of_unrelated_ones() -> None:
    query = np.array([1.0, 0.0], np.float32)
    few = VectorMatrix(2)
    nothing = few.chance(query)
    few.add(["a"], unit(np.array([[1.0, 0.1]])), ["en"])
    assert nothing < few.chance(query) < nothing + 0.3, "one near text is not the vault's chance"


def test_vectors_of_replaced_texts_change_no_answer() -> None:
    """A vault answers the same before and after the clean-up that drops them."""
    dice = np.random.default_rng(5)
    query = unit(dice.normal(size=(1, 16)))[0]
    rows = unit(dice.normal(size=(300, 16)) + query)
    names = [f"笔记{i:03}" for i in range(300)]
    fresh = VectorMatrix(16)
    fresh.add(names[:200], rows[:200], ["zh"] * 200)
    used = set(names[:200])
    fresh.keep_to(used, 1)
    aged = VectorMatrix(16)
    aged.add(names[::-1], rows[::-1].copy(), ["zh"] * 300)
    assert aged.chance(query) != fresh.chance(query)
    aged.keep_to(used, 1)
    assert aged.chance(query) == fresh.chance(query)
    assert aged.nearest(query, 150, None) == fresh.nearest(query, 150, None)
    aged.keep_to(set(names), 2)
    assert aged.nearest(query, 150, None) != fresh.nearest(query, 150, None)
    more = unit(np.array([query]))
    aged.add(["new 新"], more, ["en"])
    assert aged.nearest(query, 1, None)[0][0] != "new 新", "it counts from the next `keep_to` on"
    aged.keep_to({*names, "new 新"}, 2)
    assert aged.nearest(query, 1, None)[0][0] == "new 新"


def test_words_are_looked_up_while_notes_are_being_saved() -> None:
    """A search that walked all terms failed when a saved note brought a new one."""
    vocabulary = Vocabulary()
    latin = re.compile("[a-z]+")
    for number in range(20_000):
        vocabulary.code(f"term{number}")
    done = threading.Event()

    def save() -> None:
        number = 0
        while not done.is_set():
            vocabulary.code("new" + "abcdefghij"[number % 10] * (number % 50 + 1))
            vocabulary.count(np.array([vocabulary.code(f"笔记{number}")], np.int32), 1)
            number += 1

    saving = threading.Thread(target=save)
    saving.start()
    try:
        for _ in range(30):
            live = list(vocabulary.live_terms())
            assert all(term.startswith("笔记") for term in live)
            words = vocabulary.spelled(latin)
            assert all(word.startswith("new") for word in words)
            assert len(words) == len(set(words))
            assert isinstance(vocabulary.starting_with("笔记"), list)
    finally:
        done.set()
        saving.join()
    assert vocabulary.spelled(latin)


def check_chance(scores: list[float], expected: float) -> None:
    """What the matrix says of chance where its texts have these cosines to a query."""
    matrix = VectorMatrix(2)
    rows = np.array([[s, math.sqrt(1 - s * s)] for s in scores], np.float32).reshape(-1, 2)
    matrix.add([f"h{n}" for n in range(len(rows))], rows, ["en"] * len(rows))
    assert matrix.chance(np.array([1, 0], np.float32)) == pytest.approx(expected, abs=2e-4)


def test_chance_is_the_largest_cosine_to_expect_of_so_many_texts() -> None:
    check_chance([], 0.1 + 0.08 * math.sqrt(2 * math.log(10)))
    # 970 texts around .4 outweigh the 30 unrelated ones: mean .391, variance .97 x .01 + .03 x .0064
    alike = [0.3, 0.5] * 485
    expected = 0.391 + math.sqrt((0.0097 + 0.03 * 0.0064) * 2 * math.log(970))
    check_chance(alike, expected)
    check_chance(alike[::-1], expected)
    check_chance([0.1] * 970, 0.1 + 0.08 * math.sqrt(0.03 * 2 * math.log(970)))


@given(
    st.lists(st.text(st.sampled_from("aß ，\n\r\u3000臺台e\u0301\u200bﬁＡ\ud800カﾞ\0")), max_size=6)
)
def test_names_fold_together_as_they_do_alone(names: list[str]) -> None:
    alone = [folded_names([name])[0] for name in names]
    assert folded_names(names) == alone
    sums = checksums_of_names(names).tolist()
    assert len(set(zip(alone, sums, strict=True))) == len(set(alone))
    assert all(sums)


def test_names_are_equal_whatever_their_case_spelling_and_white_space() -> None:
    same = ["Straße  in 臺北", " STRASSE\nin 台北", "strasse in\u3000台北"]
    assert len(set(folded_names(same))) == 1
    assert len(set(checksums_of_names(same).tolist())) == 1


def test_two_threads_find_the_cosines_that_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(4).normal(size=(500, 24)).astype(np.float32)
    vectors = Rounded(24)
    vectors.add(rows[:300])
    vectors.add(rows[300:])
    alone = vectors.cosines(rows[7], 437)  # in one part
    monkeypatch.setattr(rounded, "_COMPARED", 10)
    for _ in range(20):
        assert np.array_equal(vectors.cosines(rows[7], 437), alone)
    assert np.abs(alone - rows[:437] @ rows[7]).max() < vectors.doubt(rows[7])
