"""Mode coverage: many notes for one question, sub-queries, spans of time; words only."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.errors import UsageError
from sidelight.types import Mode, PackRequest, SearchRequest, SearchResult

GLAZES = ["Celadon", "Tenmoku", "Shino", "Chun", "Ash"]
NOTES = {
    "Glazes.md": "# Glaze recipes\n\nEvery glaze recipe of the workshop: "
    + ", ".join(f"[[{name}]]" for name in GLAZES) + "\n",
    **{f"{name}.md": f"# {name}\n\nFeldspar and silica, fired slowly for {name} alone: no word of the question, but a recipe.\n" for name in GLAZES},
    "饮食.md": "# 减脂饮食法\n\n各种减脂饮食法：[[生酮]]、[[轻断食]]、[[碳水循环]]。\n",
    "生酮.md": "# 生酮\n\n几乎不吃主食，减脂快。\n",
    "轻断食.md": "# 轻断食\n\n八小时之内吃完两餐，减脂慢。\n",
    "碳水循环.md": "# 碳水循环\n\n高低交替的减脂法。\n",
    **{f"Log {n}.md": f"# Log {n}\n\nThe glaze of day {n} was soup, hot as can be.\n"
              for n in range(6)},
    f"{date.today() - timedelta(days=20)} review.md": "# Review\n\nThe kiln is to be relined.\n",
    f"{date.today() - timedelta(days=900)} review.md": "# Old review\n\nThe kiln is to be sold.\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    vault = tmp_path_factory.mktemp("coverage") / "vault"
    vault.mkdir()
    for path, text in NOTES.items():
        (vault / path).write_text(text, "utf-8")
    opened = Engine.open(
        vault,
        data_dir=tmp_path_factory.mktemp("data"),
        lexical_only=True,
        settings=Settings(gate_strictness="lenient"),
    )
    opened.sync(lexical_only=True)
    yield opened
    opened.close()


def search(
    engine: Engine, text: str, mode: Mode = Mode.COVERAGE, **options: object
) -> SearchResult:
    return engine.search(SearchRequest(text, mode=mode, **options))  # type: ignore[arg-type]


def notes(result: SearchResult) -> list[str]:
    return [r.path for r in result.results if r.origin == "direct"]


@pytest.mark.parametrize(
    ("query", "members"),
    [("glaze recipe", {f"{name}.md" for name in GLAZES}),
     ("减脂饮食法", {"生酮.md", "轻断食.md", "碳水循环.md"})],
)  # fmt: skip
def test_notes_that_a_map_lists_come_with_it(engine: Engine, query: str, members: set[str]) -> None:
    covered = notes(search(engine, query, limit=6))
    assert members <= set(covered)
    assert len(covered) == len(set(covered))


def test_order_is_by_the_note_and_evidence_says_so(engine: Engine) -> None:
    evidence = [r.evidence for r in search(engine, "glaze recipe").results if r.origin == "direct"]
    assert evidence == sorted(evidence, reverse=True)


def test_sub_queries_are_named_and_a_part_without_evidence_too(engine: Engine) -> None:
    result = search(engine, "workshop", queries=("生酮 主食", "kiln relined", "quantum lattice"))
    found = {r.path: r.queries for r in result.results}
    assert found["生酮.md"] == ("生酮 主食",)
    assert any("kiln relined" in queries for queries in found.values())
    assert [r.message for r in result.reasons if r.kind == "uncovered"] == [
        "Nothing in the vault answers: quantum lattice"
    ]


def test_a_compound_question_asks_its_parts(engine: Engine) -> None:
    result = search(engine, "Celadon vs. Tenmoku")
    assert {q for r in result.results for q in r.queries} >= {"Celadon", "Tenmoku"}
    assert not any(r.queries for r in search(engine, "Celadon vs. Tenmoku", Mode.HYBRID).results)


@pytest.mark.parametrize("query", ["kiln in the last half year", "最近半年 kiln"])
def test_spans_of_time_choose_notes_by_their_names(engine: Engine, query: str) -> None:
    result = search(engine, query)
    assert "Old review" not in [r.title for r in result.results]
    assert any("review" in path for path in notes(result))
    assert result.query.filters


def test_nothing_about_any_part_is_no_evidence(engine: Engine) -> None:
    result = search(engine, "quantum lattice", queries=("量子色动力学",))
    assert not result.ok
    assert result.results == ()
    assert result.reasons


def test_a_broad_context_holds_many_notes(engine: Engine) -> None:
    request = PackRequest("glaze recipe", mode=Mode.COVERAGE, tokenizer="estimate", budget=600)
    pack = engine.pack(request)
    assert len({p.path for p in pack.pieces}) >= 6
    assert pack.tokens <= 600


def test_a_wrong_filter_is_refused(engine: Engine) -> None:
    with pytest.raises(UsageError):
        search(engine, "kiln", filters={"colour": "red"})
