"""What a query may be, and what no query may do: words of no content, stray marks, unfinished
words, names of files. Words only, with the gate as shipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.types import SearchRequest, SearchResult

NOTES = {
    "Tide.md": "# Tide gauge\n\nThe tide gauge of the harbour is read at noon, and it is logged.\n",
    "Harbour.md": "# Harbour\n\nHarbours of the coast. ![[reverse-proxy.svg]] The reverse-proxy.svg"
    " shows how the reverse proxy of the harbour office stands.\n",
    "Catalogue.md": "# Catalogue\n\nA catalogue of cats, written for the office.\n",
    "Cat.md": "# Whiskers\n\nThe cat sleeps beside the gauge.\n",
    "如何.md": "# 如何\n\n只有一个词的标题。\n",
    "水壶.md": "# 水壶\n\n桂花乌龙配生椰拿铁，水是在铜壶里烧开的，这是奶奶的做法。\n",
    **{f"Filler {n}.md": f"# Filler {n}\n\nSomething about subject {n}.\n" for n in range(20)},
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("rules")
    vault = folder / "vault"
    vault.mkdir()
    for path, text in NOTES.items():
        (vault / path).write_text(text, "utf-8")
    (vault / "reverse-proxy.svg").write_text("<svg/>", "utf-8")
    opened = Engine.open(vault, data_dir=folder / "data", lexical_only=True, settings=Settings())
    opened.sync(lexical_only=True)
    yield opened
    opened.close()


def ask(engine: Engine, text: str, **options: object) -> SearchResult:
    return engine.search(SearchRequest(text, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query", ["the of and", "的 了 是", "OR", "path:", "是什么", "the path: of"]
)
def test_words_that_name_nothing_are_no_evidence(engine: Engine, query: str) -> None:
    result = ask(engine, query)
    assert not result.ok
    assert result.reasons[0].kind == "no_content"


@pytest.mark.parametrize(
    ("query", "first"),
    [("如何", "如何.md"), ('"of the coast"', "Harbour.md"), ('"这是"', "水壶.md")],
)
def test_a_note_of_that_name_or_an_exact_phrase_answers_all_the_same(
    engine: Engine, query: str, first: str
) -> None:
    result = ask(engine, query)
    assert result.ok, result.reasons
    assert result.results[0].path == first


@pytest.mark.parametrize("query", ['-"', '- "', '-""', "-。", "-…"])
def test_a_minus_before_marks_selects_nothing(engine: Engine, query: str) -> None:
    assert not ask(engine, query).ok


@pytest.mark.parametrize("query", ["cat", "tide gauge", "harbour", "水壶", "桂花乌龙"])
def test_a_search_being_typed_finds_at_least_what_the_finished_one_finds(
    engine: Engine, query: str
) -> None:
    finished, typed = ask(engine, query), ask(engine, query, typing=True)
    assert finished.ok
    assert typed.ok
    assert typed.confidence >= finished.confidence
    assert typed.results[0].path == finished.results[0].path


def test_an_unfinished_word_finds_what_begins_with_it(engine: Engine) -> None:
    found = [r.path for r in ask(engine, "catalog", typing=True).results]
    assert found[0] == "Catalogue.md"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("tide gauge", ("tide", "gauge")),
        ("奶奶的做法", ("奶奶", "的", "做法")),
        ("生椰拿铁", ("拿铁",)),
    ],
)
def test_an_answer_names_the_words_it_looked_for(
    engine: Engine, query: str, words: tuple[str, ...]
) -> None:
    named = ask(engine, query).query.terms
    assert all(len(word) > 1 or word in words for word in named)
    assert set(words) - {"的"} <= set(named)
    assert not any(ord(character) in range(0xE000, 0xF900) for word in named for character in word)


def test_the_exact_name_of_an_attachment_comes_first(engine: Engine) -> None:
    found = [r.path for r in ask(engine, "reverse-proxy.svg").results]
    assert found[0] == "reverse-proxy.svg"
    assert "Harbour.md" in found


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("guage", "gauge"),
        ("Harbuor", "harbour"),
        ("whiskrs", "whiskers"),
        ("cataloge", "catalogue"),
        ("katalouge", "catalogue"),  # two slips in a long word
    ],
)
def test_a_mistyped_word_finds_and_the_answer_says_so(
    engine: Engine, typed: str, meant: str
) -> None:
    result = ask(engine, typed)
    right = ask(engine, meant)
    assert result.ok
    assert [r.path for r in result.results] == [r.path for r in right.results]
    assert result.query.text == typed
    assert result.query.unknown_terms == (typed,)
    said = next(r.message for r in result.reasons if r.kind == "corrected")
    assert typed in said
    assert meant in said


@pytest.mark.parametrize(
    "query", ["gaug3x", "ctaa", "zzyzxqqq", "caf", "gauke3", "卡塔", "水糊", "guage zzyzxqqq"]
)
def test_what_is_no_slip_of_a_known_word_is_left_as_typed(engine: Engine, query: str) -> None:
    result = ask(engine, query)
    assert not any(r.kind == "corrected" for r in result.reasons)


def test_a_known_word_is_never_corrected(engine: Engine) -> None:
    assert not any(r.kind == "corrected" for r in ask(engine, "cats").reasons)


@pytest.mark.parametrize(
    "query", ["tag:#nope", "path:没有/", '["status":x]', "after:2099-01-01", "/zz+q/"]
)
def test_a_filter_that_selects_nothing_is_not_told_to_lack_words(
    engine: Engine, query: str
) -> None:
    result = ask(engine, query)
    assert not result.ok
    assert [reason.kind for reason in result.reasons] == ["no_hits"]


@pytest.mark.parametrize(
    ("query", "unknown"),
    [
        ("知识图谱", ("知识", "图谱")),
        ("漏电保护", ("漏电", "保护")),
        ("cat 知识图谱", ("知识", "图谱")),
        ("魍魉", ("魍魉",)),
    ],
)
def test_unknown_words_are_words_and_no_pieces_torn_from_two(
    engine: Engine, query: str, unknown: tuple[str, ...]
) -> None:
    assert ask(engine, query).query.unknown_terms == unknown
