"""The sample vault holds what its questions ask for, and the oddities a lived-in vault has."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from sidelight.sample import sample_multi_hop, sample_queries, sample_vault

VAULT = sample_vault()
FILES = sorted(p.relative_to(VAULT).as_posix() for p in VAULT.rglob("*") if p.is_file())
NOTES = [p for p in FILES if p.endswith((".md", ".canvas"))]
TEXTS = {p: (VAULT / p).read_bytes().decode("utf-8") for p in NOTES}
QUERIES: list[dict[str, Any]] = [
    json.loads(line) for line in sample_queries().read_text("utf-8").splitlines()
]
HOPS: list[dict[str, Any]] = [
    json.loads(line) for line in sample_multi_hop().read_text("utf-8").splitlines()
]
KINDS = {"exact-symbol", "paraphrase", "cross-lingual", "multi-hop", "aggregation", "no-answer"}
WIKILINK = re.compile(r"(?<!!)\[\[([^\]|#]*)(#[^\]|]*)?(?:\\?\|[^\]]*)?\]\]")
HAN = re.compile(r"[\u4e00-\u9fff]")


def squeezed(text: str) -> str:
    return "".join(text.split())


def headings(path: str) -> set[str]:
    return {m[1].strip() for m in re.finditer(r"^#{1,6} (.+)$", TEXTS[path], re.MULTILINE)}


def links(path: str) -> list[tuple[str, str]]:
    return [(m[1].strip(), m[2] or "") for m in WIKILINK.finditer(TEXTS[path])]


def notes_named(target: str) -> list[str]:
    """Notes a link target may mean: by vault path, else by file name without extension."""
    stem = target.removesuffix(".md").casefold()
    return [
        p
        for p in NOTES
        if (name := p.removesuffix(".md").casefold()) == stem or name.rpartition("/")[2] == stem
    ]


def named_paths(query: dict[str, Any]) -> Iterator[str]:
    for key in ("relevant", "via", "near", "also"):
        for entry in query.get(key, ()):
            yield entry["path"]


# --------------------------------------------------------------------------- the questions


def test_there_are_forty_questions_with_unique_ids() -> None:
    assert len(QUERIES) == 40
    assert len({q["id"] for q in QUERIES}) == 40
    assert len({q["query"] for q in QUERIES}) == 40


def test_kinds_and_languages_are_balanced() -> None:
    kinds = Counter(q["kind"] for q in QUERIES)
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 4
    assert kinds["no-answer"] >= 8
    languages = Counter(q["lang"] for q in QUERIES)
    assert set(languages) == {"zh", "en"}
    assert min(languages.values()) >= 15


@pytest.mark.parametrize("query", QUERIES + HOPS, ids=lambda q: q["id"])
def test_question_agrees_with_the_notes(query: dict[str, Any]) -> None:
    for path in named_paths(query):
        assert path in TEXTS, f"{path} is not in the vault"
    for entry in query["relevant"]:
        assert entry.get("heading") in {None, *headings(entry["path"])}
    relevant = [squeezed(TEXTS[entry["path"]]) for entry in query["relevant"]]
    for answer in query.get("answers", ()):
        assert any(squeezed(answer) in text for text in relevant), answer
    assert not {e["path"] for e in query["relevant"]} & {e["path"] for e in query.get("also", ())}


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q["id"])
def test_question_has_the_keys_of_its_kind(query: dict[str, Any]) -> None:
    assert query["answerable"] is (query["kind"] != "no-answer")
    assert bool(query["relevant"]) is query["answerable"]
    assert bool(query.get("answers")) is query["answerable"]
    assert bool(query.get("near")) is (query["kind"] == "no-answer")
    assert bool(query.get("via")) is (query["kind"] == "multi-hop")


def test_every_relevant_note_of_an_aggregation_holds_an_answer() -> None:
    for query in (q for q in QUERIES if q["kind"] == "aggregation"):
        for entry in query["relevant"]:
            text = squeezed(TEXTS[entry["path"]])
            assert any(squeezed(a) in text for a in query["answers"]), entry["path"]
    assert max(len(q["relevant"]) for q in QUERIES if q["kind"] == "aggregation") >= 6


def test_a_multi_hop_seed_links_to_the_relevant_note() -> None:
    for query in (q for q in QUERIES if q["kind"] == "multi-hop"):
        wanted = {(e["path"], e.get("heading")) for e in query["relevant"]}
        seed = query["via"][0]["path"]
        reached = {
            (path, anchor)
            for target, subpath in links(seed)
            for path in notes_named(target)
            for anchor in (subpath[1:] or None, None)
        }
        assert {path for path, _ in wanted} <= {path for path, _ in reached}, query["id"]


def test_cross_lingual_questions_are_answered_in_the_other_language_both_ways() -> None:
    ways: Counter[str] = Counter()
    for query in (q for q in QUERIES if q["kind"] == "cross-lingual"):
        for entry in query["relevant"]:
            chinese_note = len(HAN.findall(TEXTS[entry["path"]])) > 60
            assert chinese_note is (query["lang"] == "en"), entry["path"]
        ways[query["lang"]] += 1
    assert ways["zh"] >= 4
    assert ways["en"] >= 4


# --------------------------------------------------------------------------- the chains


def sections(path: str) -> list[str]:
    return re.split(r"^#+ .+$", TEXTS[path], flags=re.MULTILINE)


def test_chains_are_many_and_in_both_languages() -> None:
    assert len(HOPS) >= 30
    assert len({q["query"] for q in HOPS}) == len({q["id"] for q in HOPS}) == len(HOPS)
    languages = Counter(q["lang"] for q in HOPS)
    assert min(languages["zh"], languages["en"]) >= 13
    assert Counter(len(q["chain"]) for q in HOPS)[3] >= 15


@pytest.mark.parametrize("query", HOPS, ids=lambda q: q["id"])
def test_only_the_chain_leads_from_question_to_answer(query: dict[str, Any]) -> None:
    first, *others = query["chain"]
    asked = query["query"].casefold()
    assert first.casefold() in asked
    assert not [name for name in others if name.casefold() in asked]
    told = [s for entry in query["via"] for s in sections(entry["path"])]
    for name, following in pairwise(query["chain"]):
        assert len([s for s in told if name in s and following in s]) >= 2, (name, following)
    for entry in query["relevant"]:
        assert others[-1] in TEXTS[entry["path"]]
        assert first not in TEXTS[entry["path"]]
        stem = entry["path"].rpartition("/")[2].removesuffix(".md")
        assert not [p for p in NOTES if any(target == stem for target, _ in links(p))]


def test_one_word_with_two_meanings_leads_two_ways() -> None:
    ways = {q["chain"][1] for q in HOPS if q["chain"][0] == "苹果"}
    assert ways == {"蓝湾电子", "红玉"}


def test_a_forum_note_imitates_an_official_one() -> None:
    official = TEXTS["往来/Lumen L3 说明书.md"]
    forum = TEXTS["往来/Lumen L3 使用说明（转帖）.md"]
    assert "credibility: official-docs" in official
    assert "credibility: forum" in forum
    assert official.split("10 秒")[1] == forum.split("3 秒再拔电源")[1]


# --------------------------------------------------------------------------- the vault


def test_vault_is_as_large_as_promised_and_bilingual() -> None:
    assert len(NOTES) >= 60
    chinese = [p for p in NOTES if len(HAN.findall(TEXTS[p])) > 60]
    english = [p for p in NOTES if TEXTS[p] and len(HAN.findall(TEXTS[p])) < 20]
    assert len(chinese) >= 25
    assert len(english) >= 20


def test_lines_end_in_line_feeds_only() -> None:
    assert [p for p in FILES if b"\r" in (VAULT / p).read_bytes()] == []


def test_file_names_are_allowed_on_every_system() -> None:
    assert [p for p in FILES if re.search(r'[<>:"|?*\\\x00-\x1f]|[. ]$|[. ]/', p)] == []


def test_the_receipt_is_the_only_note_with_that_drink() -> None:
    receipt = "Diary/2024-10-03.md"
    assert [p for p in NOTES if "拿铁" in TEXTS[p]] == [receipt]
    assert "桂花乌龙生椰拿铁" in TEXTS[receipt]
    walk = TEXTS["随笔/桂花树下散步.md"]
    assert "桂花" in walk
    assert "心里像空了一块" in walk


def test_the_control_note_links_to_the_heading() -> None:
    assert ("拉普拉斯变换", "#终值定理") in links("Control/闭环控制系统.md")
    assert "终值定理" in headings("Control/拉普拉斯变换.md")


def test_map_of_content_links_to_more_than_forty_notes() -> None:
    assert len({target for target, _ in links("首页.md")}) > 40


def test_some_links_lead_nowhere() -> None:
    broken = {t for p in NOTES for t, _ in links(p) if t and not notes_named(t)}
    assert {"令牌泄露处置", "窑炉接线图 v1", "堆肥箱"} <= broken


def test_names_are_shared_copied_and_unusual() -> None:
    names = Counter(p.rpartition("/")[2] for p in NOTES)
    assert names["README.md"] == 2
    assert names["会议记录.md"] == 2
    assert any("sync-conflict" in p for p in NOTES)
    assert any(ord(p[0]) > 0xFFFF for p in NOTES), "no emoji name"


FEATURES = {
    "callout": r"^> \[!\w+\]",
    "table": r"^\| --- ",
    "escaped pipe in a table link": r"\[\[[^\]]*\\\|",
    "open task": r"^\s*- \[ \] ",
    "done task": r"^\s*- \[x\] ",
    "cancelled task": r"^\s*- \[-\] ",
    "nested task": r"^ {4}- \[ \] ",
    "code fence": r"^```\w+$",
    "maths": r"^\$\$$",
    "footnote": r"^\[\^\w+\]:",
    "block id": r" ?\^[a-z-]+$",
    "embedded section": r"!\[\[[^\]]+#[^\]]+\]\]",
    "embedded image": r"!\[\[[^\]]+\.svg\]\]",
    "Markdown link": r"\]\([^)]+\.md\)",
    "comment": r"^%% .+ %%$",
    "nested tag": r"#\w+/\w+",
    "Traditional characters": r"臺南",
    "unclosed quote in the properties": r'^title: "[^"]*$',
    "one-string aliases": r"^aliases: \S",
    "title that YAML 1.1 reads as a truth value": r"^title: yes$",
}


@pytest.mark.parametrize("feature", FEATURES)
def test_feature_is_present(feature: str) -> None:
    pattern = re.compile(FEATURES[feature], re.MULTILINE)
    assert any(pattern.search(text) for text in TEXTS.values())


def test_odd_notes_are_present() -> None:
    assert TEXTS["Inbox/空白.md"] == ""
    assert re.fullmatch(r"---\n(?:\w+: .+\n)+---\n", TEXTS["Inbox/只有属性.md"])
    assert TEXTS["Inbox/three dashes.md"].startswith("--- not")
    keys = re.findall(r"^(\w+):", TEXTS["Inbox/重复的键.md"], re.MULTILINE)
    assert max(Counter(keys).values()) == 2
    canvas = json.loads(TEXTS["Projects/Lantern/架构.canvas"])
    assert {node["type"] for node in canvas["nodes"]} == {"text", "file", "group"}
    assert len(TEXTS["笔记/搜索引擎是怎么排序的.md"]) > 3_000
    assert max(len(line) for line in TEXTS["笔记/搜索引擎是怎么排序的.md"].split("\n")) > 500


def test_each_error_code_has_a_note_of_its_own() -> None:
    codes = [p for p in NOTES if p.startswith("Ops/Errors/")]
    assert len(codes) >= 7
    for path in codes:
        code = path.rpartition("/")[2].removesuffix(".md")
        assert f"\ncode: {code}\n" in TEXTS[path]
