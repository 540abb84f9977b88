"""Terms, language and syntax on real notes and questions."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from sidelight.language.detect import detect
from sidelight.language.folding import fold, for_segmentation
from sidelight.language.scripts import HAN_RUN
from sidelight.language.segmentation import PythonSegmenter, RustSegmenter
from sidelight.language.terms import Terms
from sidelight.query.parse import parse_query
from sidelight.types import TermKind

SETS = (
    "oldwinter-garden",
    "obsidian-tasks",
    "xquad-enzh-dev",
    "squad2-dev",
    "fastapi-enzh-dev",
    "drcd-dev",
    "cmrc2018-dev",
)


def notes(folder: Path) -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))]
    assert texts, folder
    return texts


def topics(shared: Path, name: str) -> list[dict[str, str]]:
    file = shared / "golden" / name / "queries.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def python_segmenter() -> PythonSegmenter:
    return PythonSegmenter()


@pytest.mark.parametrize(
    "folder",
    ["vaults/oldwinter-garden", "vaults/obsidian-tasks", "golden/drcd-dev", "golden/cmrc2018-dev"],
)
def test_rjieba_cuts_the_words_that_jieba_cuts(
    shared: Path, folder: str, python_segmenter: PythonSegmenter
) -> None:
    runs = {run for text in notes(shared / folder) for run in HAN_RUN.findall(fold(text).text)}
    rust, python = RustSegmenter(), python_segmenter
    joined = for_segmentation(" ".join(sorted(runs)))
    assert rust.words(joined) == python.words(joined)
    for run in sorted(runs)[:: max(1, len(runs) // 500)]:
        assert rust.places(run) == python.places(run)
        assert all(rust.knows(w) == python.knows(w) for w, _, _ in rust.places(run))


def test_places_and_index_terms_agree_on_real_notes(shared: Path) -> None:
    terms = Terms(["知识图谱", "数字花园"])
    texts = notes(shared / "vaults" / "oldwinter-garden")
    texts += notes(shared / "vaults" / "obsidian-tasks")
    for text in random.Random(7).sample(texts, 200):
        tokens = terms.tokenize(text)
        assert Counter(token.term for token in tokens) == Counter(terms.index_terms(text))
        for token in tokens:
            if token.kind in (TermKind.BIGRAM, TermKind.CHAR):
                assert fold(text[token.start : token.end]).text == token.term[1:]


def test_any_two_characters_of_a_real_note_find_it(shared: Path) -> None:
    terms, chance = Terms(), random.Random(11)
    texts = notes(shared / "golden" / "drcd-dev") + notes(shared / "golden" / "cmrc2018-dev")
    for text in chance.sample(texts, 100):
        held = set(terms.index_terms(text))
        runs = [run for run in HAN_RUN.findall(text) if len(run) > 1]
        for run in chance.sample(runs, min(10, len(runs))):
            at = chance.randrange(len(run) - 1)
            asked = terms.query_terms(run[at : at + 2])
            total = sum(term.weight for term in asked)
            assert sum(t.weight for t in asked if t.term in held) >= 0.5 * total, run


@pytest.mark.parametrize("name", SETS)
def test_the_language_of_questions_is_known(shared: Path, name: str) -> None:
    wrong = [
        topic["query"]
        for topic in topics(shared, name)
        if detect(topic["query"]) != topic["lang"].partition("-")[0]
    ]
    assert len(wrong) <= 0.01 * len(topics(shared, name)), wrong


@pytest.mark.parametrize("language", ["ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh"])  # fmt: skip
def test_the_language_of_paragraphs_is_known(shared: Path, language: str) -> None:
    file = shared / "language-fit" / f"{language}.jsonl"
    texts = [json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines()]
    assert Counter(map(detect, texts)) == {language: len(texts)}


@pytest.mark.parametrize("name", SETS)
def test_questions_are_plain_words_unless_they_quote(shared: Path, name: str) -> None:
    for topic in topics(shared, name):
        parsed = parse_query(topic["query"])
        assert parsed.filter is None or '"' in topic["query"], topic["query"]


def test_traditional_questions_and_notes_meet_simplified_ones(shared: Path) -> None:
    terms = Terms()
    shares = []
    for topic in topics(shared, "drcd-dev"):
        one = {t.term for t in terms.query_terms(topic["query"])}
        other = {t.term for t in terms.query_terms(topic["query_hans"])}
        shares.append(len(one & other) / len(one | other))
    assert sum(shares) / len(shares) > 0.97
