"""What the pages on query syntax promise holds on the sample vault, in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidelight.engine import Engine
from sidelight.sample import sample_vault
from sidelight.types import Origin, SearchRequest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def examples(page: str) -> list[str]:
    text = (DOCS / page).read_text("utf-8")
    return re.findall(r"^\| `([^|]+)` \|", text, re.MULTILINE)


EXAMPLES = [*examples("search.md"), *examples("search.zh.md")]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    data = tmp_path_factory.mktemp("index")
    opened = Engine.open(sample_vault(), data_dir=data, lexical_only=True)
    opened.sync(lexical_only=True)
    yield opened
    opened.close()


def found(engine: Engine, text: str) -> list[str]:
    """Paths of the direct results, best first, whatever the gate thinks."""
    result = engine.search(SearchRequest(text=text, limit=30, gate=False))
    return [r.path for r in result.results if r.origin is Origin.DIRECT]


def test_both_pages_have_examples() -> None:
    assert len(examples("search.md")) == len(examples("search.zh.md")) > 12


@pytest.mark.parametrize("query", EXAMPLES)
def test_every_example_of_the_pages_finds_something(engine: Engine, query: str) -> None:
    assert found(engine, query)


@pytest.mark.parametrize(
    ("query", "only"),
    [
        ('"packet id"', {"Ops/Errors/ERR_MQTT_DUP_011.md"}),
        ('["due"]', {"Inbox/只有属性.md"}),
        ("line:(door relay)", {"Projects/Kiln/Safety.md"}),
        ("line:(继电器 粘住)", {"Projects/Kiln/Firing 2024-12-14.md"}),
        ("before:2024-09", {"旅行/臺南三日.md", "随笔/搬家前夜.md"}),
    ],
)
def test_a_filter_lets_only_its_notes_through(engine: Engine, query: str, only: set[str]) -> None:
    assert set(found(engine, query)) == only


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ('"拉斯变"', "Control/拉普拉斯变换.md"),
        ("oom_kill", "Ops/Errors/ERR_OOM_KILL_001.md"),
        ("台南", "旅行/臺南三日.md"),
        ("2024年10月3日", "Diary/2024-10-03.md"),
        ("2024/10/3", "Diary/2024-10-03.md"),
        ("26元", "Diary/2024-10-03.md"),
    ],
)
def test_spellings_meet(engine: Engine, query: str, first: str) -> None:
    assert found(engine, query)[0] == first


def test_negation_takes_out_and_leaves_the_rest(engine: Engine) -> None:
    assert "Projects/Kiln/Safety.md" in found(engine, "tag:#kiln")
    rest = found(engine, "tag:#kiln -safety")
    assert "Projects/Kiln/Safety.md" not in rest
    assert "Projects/Kiln/釉料配方.md" in rest


@pytest.mark.parametrize("query", ['"', "kiln -", "(unfinished", "：，。", "git rm -r --cached"])
def test_nothing_is_an_error(engine: Engine, query: str) -> None:
    result = engine.search(SearchRequest(text=query))
    assert result.ok or result.reasons


def test_filters_alone_list_all_that_they_select(engine: Engine) -> None:
    listed = found(engine, "path:Diary/")
    assert len(listed) == len(set(listed)) == 16
    assert all(path.startswith("Diary/") for path in listed)
