"""How far notes are to be believed, and what the composite order makes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sidelight.config import settings_from
from sidelight.credibility import CHINESE_CLASSES, CLASSES, rules_from
from sidelight.errors import CancelledError, ModelError, UsageError
from sidelight.models.session import Array
from sidelight.query.candidates import Candidate
from sidelight.query.credibility import credibility
from sidelight.query.rerank import rerank
from sidelight.store.rows import ChunkRow, NoteRow
from sidelight.types import PassageKind

RULES = (
    "Clippings/ = forum",
    "Clippings/Vendor/ = official-docs",
    "docs.example.org = product-docs",
)


def check_belief(
    expected: float, path: str = "A.md", rules: Sequence[str] = RULES, **properties: object
) -> None:
    note = NoteRow(path, "markdown", "A", "h", 1, 1, properties=tuple(properties.items()))
    assert credibility(note, rules_from(rules)) == expected


def test_a_property_stands_before_a_folder_and_a_folder_before_a_site() -> None:
    check_belief(
        0.8, "Clippings/A.md", credibility="official-blog", source="https://docs.example.org/x"
    )
    check_belief(0.4, "Clippings/A.md", source="https://docs.example.org/x")
    check_belief(1.0, "Clippings/Vendor/A.md")
    check_belief(0.9, source="https://v2.docs.example.org/x")
    check_belief(0.3, source="https://notdocs.example.org.evil/x")
    check_belief(0.3)


@pytest.mark.parametrize("chinese", CHINESE_CLASSES)
def test_classes_have_chinese_names_and_properties_too(chinese: str) -> None:
    check_belief(CLASSES[CHINESE_CLASSES[chinese]], 可信度=chinese)
    check_belief(0.9, 来源=["https://docs.example.org/页"])


@pytest.mark.parametrize(
    "value", [True, None, "很好", 2, -1, "nan", ["forum"], "http://[", {"a": 1}]
)
def test_what_is_no_belief_says_nothing(value: object) -> None:
    check_belief(0.3, credibility=value, source=value)


def test_a_number_and_another_worth_of_a_class_count() -> None:
    check_belief(0.75, credibility=0.75)
    check_belief(0.2, "Clippings/A.md", rules=["forum = 0.2", "Clippings/ = 论坛"])
    check_belief(0.1, rules=["own-notes = 0.1"])


def test_of_two_rules_for_one_place_the_later_counts() -> None:
    check_belief(0.9, "A/B.md", rules=["A/ = 0.2", "A/ = 0.9"])
    check_belief(0.1, rules=["a.example = 0.9", "a.example = 0.1"], source="https://a.example/")


def test_the_wide_sign_of_chinese_keyboards_is_an_equals_sign() -> None:
    check_belief(0.4, "剪藏/A.md", rules=["剪藏/＝论坛"])
    assert rules_from(["来源：团队＝百科 = 0.8"]).source("团队＝百科") == 0.8


@pytest.mark.parametrize("place", ["source:Team wiki", "Source: team WIKI", "来源：Team Wiki"])
def test_other_knowledge_bases_are_believed_by_name(place: str) -> None:
    rules = rules_from([f"{place} = product-docs", "来源:论坛精华 = 论坛", "forum = 0.2"])
    assert rules.source("Team wiki") == 0.9
    assert rules.source("论坛精华") == 0.2
    assert rules.source("another") == CLASSES["own-notes"]


@pytest.mark.parametrize(
    "entry",
    [
        "Clippings = forum",
        "forum",
        "A/ = good",
        "a.b = 1.5",
        "/ = 1",
        "= 1",
        "source: = 1",
        "source:Wiki = best",
        "来源： = 1",
        "old.notes\\ = forum",  # written as Windows does
        "剪藏\\旧/ = 论坛",
        "/Clippings/ = forum",
        "./Clippings/ = forum",
        "A//B/ = forum",
        "https://docs.example.org/ = forum",
        "docs.example.org:8080 = forum",
        "*.example.org = forum",
        "sourc:Team.wiki = forum",
        ". = forum",
    ],
)
def test_a_setting_that_is_no_rule_is_refused_with_a_remedy(entry: str) -> None:
    with pytest.raises(UsageError) as refused:
        settings_from({"credibility": [entry]})
    assert refused.value.message.endswith(f"does not understand '{entry}'.")
    assert "official-docs" in (refused.value.remedy or "")


# --------------------------------------------------------------------------- the composite


class Fake:
    """A reranker that does as told."""

    name = "fake"

    def __init__(self, score: Callable[[Sequence[str]], Sequence[float]]) -> None:
        self._score = score

    def score(
        self, query: str, passages: Sequence[str], cancelled: Callable[[], bool] | None = None
    ) -> Array:
        del query, cancelled
        return np.array(self._score(passages), np.float32)


def chunk(path: str) -> ChunkRow:
    none = np.zeros(0, np.int32)
    return ChunkRow(
        chunk_id=path, path=path, kind=PassageKind.LINES, heading_path=(), section_index=0,
        chunk_index=0, start_line=1, end_line=1, columns=None, node=None, searchable=True,
        language="zh", embed_hash="h", text_hash="t", length=1, codes=none, counts=none,
    )  # fmt: skip


# The forum note's wording is a little nearer to the question than the official one's.
ORDERED = [
    Candidate(chunk("forum.md"), {}, evidence=0.82),
    Candidate(chunk("official.md"), {}, evidence=0.80),
    Candidate(chunk("own.md"), {}, evidence=0.20),
]
BELIEFS = {"forum.md": 0.4, "official.md": 1.0, "own.md": 0.3}


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def order(
    reranker: Fake | None, workers: ThreadPoolExecutor, timeout_ms: int = 60_000
) -> tuple[list[str], str]:
    found, degraded = rerank(
        "q", ORDERED, lambda ids: list(ids), BELIEFS.__getitem__, reranker, workers, timeout_ms
    )
    return [c.chunk.path for c in found], degraded.reason if degraded else ""


def test_a_forum_note_that_imitates_an_official_one_stands_below_it(
    workers: ThreadPoolExecutor,
) -> None:
    same = Fake(lambda passages: [0.9, 0.9, 0.1])
    assert order(same, workers) == (["official.md", "forum.md", "own.md"], "")


def test_the_model_weighs_most(workers: ThreadPoolExecutor) -> None:
    assert order(Fake(lambda passages: [0.1, 0.1, 0.9]), workers)[0][0] == "own.md"


def test_without_a_model_the_other_two_carry_on(workers: ThreadPoolExecutor) -> None:
    def fail(passages: Sequence[str]) -> Sequence[float]:
        raise ModelError("broken", "")

    def gives_up(passages: Sequence[str]) -> Sequence[float]:
        raise CancelledError("late")

    expected = ["official.md", "forum.md", "own.md"]
    assert order(None, workers) == (expected, "no reranker is loaded")
    assert order(Fake(fail), workers) == (expected, "failed (ModelError)")
    assert order(Fake(gives_up), workers) == (expected, "failed (CancelledError)")


def test_a_late_model_is_not_waited_for(workers: ThreadPoolExecutor) -> None:
    def slow(passages: Sequence[str]) -> Sequence[float]:
        time.sleep(0.3)
        return [0.0] * len(passages)

    found, reason = order(Fake(slow), workers, timeout_ms=10)
    assert found == ["official.md", "forum.md", "own.md"]
    assert reason == "no answer within 10 ms"
