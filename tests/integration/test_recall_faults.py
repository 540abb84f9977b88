"""Field reports 38, 40 and 59: filters choose before the cut, and length is no relevance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.types import Origin, SearchRequest

POOL = 10  # far fewer than the notes that match loosely


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("sixty")
    (folder / "A").mkdir()
    (folder / "B").mkdir()
    for number in range(60):
        text = "The valve of the boiler, and again a boiler and a valve.\n\n锅炉上有阀门，阀门连着锅炉。\n"
        (folder / "A" / f"{number:02}.md").write_text(f"# {number}\n\n{text}", "utf-8")
    exact = "Once, in a long report about pumps and pipes, the boiler valve was named. 报告里提到锅炉阀门一次。\n"
    (folder / "A" / "55.md").write_text(f"# 55\n\n{exact}", "utf-8")
    (folder / "B" / "only.md").write_text("# Only\n\nOne boiler among pumps. 一台锅炉。\n", "utf-8")
    settings = Settings(pool=POOL, gate_strictness="off", channel_timeout_ms=60_000)
    data = tmp_path_factory.mktemp("index")
    opened = Engine.open(folder, data_dir=data, lexical_only=True, settings=settings)
    opened.sync(lexical_only=True)
    yield opened
    opened.close()


def found(engine: Engine, text: str) -> set[str]:
    result = engine.search(SearchRequest(text))
    return {r.path for r in result.results if r.origin is Origin.DIRECT}


@pytest.mark.parametrize("query", ['"boiler valve"', '"锅炉阀门"'])
def test_38_an_exact_phrase_is_found_behind_sixty_loose_matches(engine: Engine, query: str) -> None:
    assert found(engine, query) == {"A/55.md"}


@pytest.mark.parametrize("query", ["boiler valve path:B/", "锅炉 阀门 path:B/"])
def test_40_the_only_note_of_a_folder_is_found_behind_sixty_of_another(
    engine: Engine, query: str
) -> None:
    assert found(engine, query) == {"B/only.md"}


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("how does a quokka keep water through the dry season", "English.md"),
        ("短尾矮袋鼠在旱季怎样保存水分", "中文.md"),
    ],
)
def test_59_a_paragraph_that_answers_comes_before_a_line_with_one_rare_word(
    tmp_path: Path, query: str, answer: str
) -> None:
    notes = {
        "Rare.md": "quokka\n",
        "罕见.md": "短尾矮袋鼠\n",
        "English.md": "In the dry season a quokka lives on little: it keeps water by eating "
        "succulent leaves, resting through the heat and moving at night.\n",
        "中文.md": "旱季里短尾矮袋鼠靠多汁的叶子保存水分，白天休息，夜里才出来走动。\n",
    }
    for number in range(20):
        notes[f"{number}.md"] = (
            f"The season was dry, water is kept in tank {number}. 旱季的水箱。\n"
        )
    vault = tmp_path / "vault"
    vault.mkdir()
    for path, text in notes.items():
        (vault / path).write_text(text, "utf-8")
    with closing(Engine.open(vault, data_dir=tmp_path / "data", lexical_only=True)) as engine:
        engine.sync(lexical_only=True)
        result = engine.search(SearchRequest(query, gate=False))
    assert result.results[0].path == answer
