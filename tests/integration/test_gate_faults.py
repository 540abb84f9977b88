"""Field reports 124 to 140: a gate that reads absolute evidence, in both languages.

Twenty short notes and the default model; every kind of fault has an English and a Chinese case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.query.evidence import ACROSS
from sidelight.types import Mode, Origin, SearchRequest, SearchResult

NOTES = {
    "Bread.md": "# Bread\n\nLet the dough rest overnight in the fridge, then bake it at 230 degrees.\n",
    "Bees.md": "# Bees\n\nThe hive swarmed in May; the queen was caught under the apple tree.\n",
    "Router.md": "# Router\n\nThe guest network is reset by holding the button for ten seconds.\n",
    "Tax.md": "# Tax\n\nThe declaration is due at the end of July.\n",
    "Piano.md": "# Piano\n\nPractise the left hand slowly with the metronome at sixty.\n",
    "Passport.md": "# Passport\n\nIt expires in 2031; the office asks for two photographs.\n",
    "Compost.md": "# Compost\n\nTurn the heap every two weeks and keep it moist.\n",
    "Bicycle.md": "# Bicycle\n\nThe chain is oiled after every ride in the rain.\n",
    "Codes.md": "# Codes\n\nQX7-4419-B opens the cabinet.\n",
    "Sleep.md": "# Sleep\n\nA cooler bedroom makes it easier to fall asleep.\n",
    "面包.md": "# 面包\n\n面团在冰箱里放一夜，第二天用二百三十度烤。\n",
    "养蜂.md": "# 养蜂\n\n五月分蜂，蜂王是在苹果树下抓到的。\n",
    "租房.md": "# 租房\n\n押金两个月，退租要提前三十天说。\n",
    "体检.md": "# 体检\n\n抽血前八小时不能吃东西。\n",
    "钢琴.md": "# 钢琴\n\n左手跟着节拍器慢慢练。\n",
    "护照.md": "# 护照\n\n二〇三一年到期，换证要两张照片。\n",
    "堆肥.md": "# 堆肥\n\n每两周翻一次，保持湿润。\n",
    "单车.md": "# 单车\n\n雨天骑完要给链条上油。\n",
    "编号.md": "# 编号\n\n丙寅号柜的钥匙牌是 KP-88031。\n",
    "搬家.md": "# 搬家\n\n书先装箱，碗碟用报纸包好。\n",
}
ABSENT = (
    "how do black holes evaporate",
    "goals scored in the 1998 world cup final",
    "side effects of chemotherapy",
    "SQL index for a join of three tables",
    "罗马帝国是怎样灭亡的",
    "怎么申请去日本读博士",
    "量子计算机的纠错码",
    "股票期权怎么定价",
)
CONTROLS = (
    ("when is the tax declaration due", "Tax.md"),
    ("what makes falling asleep easier", "Sleep.md"),
    ("抽血之前多久不能吃东西", "体检.md"),
    ("退租要提前多少天", "租房.md"),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("twenty")
    for path, text in NOTES.items():
        (folder / path).write_text(text, "utf-8")
    opened = Engine.open(
        folder,
        data_dir=tmp_path_factory.mktemp("index"),
        settings=Settings(channel_timeout_ms=60_000),
    )
    assert opened.no_vectors == "", opened.no_vectors
    opened.sync()
    yield opened
    opened.close()


def ask(engine: Engine, text: str, mode: Mode = Mode.HYBRID) -> SearchResult:
    return engine.search(SearchRequest(text, mode=mode, explain=True))


@pytest.mark.parametrize("query", ["xqzvb wwplok", "blorf snarg zint", "魑魅赑屃饕餮齑粉"])
def test_124_nonsense_is_no_evidence_however_high_it_is_fused(engine: Engine, query: str) -> None:
    result = ask(engine, query)
    assert (result.ok, result.results) == (False, ())
    assert result.trace is not None
    assert all(n["rrf_score"] < 1 for n in result.trace["candidates"])


@pytest.mark.parametrize("query", ABSENT)
def test_125_127_an_absent_subject_is_refused_and_its_nearest_note_is_not_sure(
    engine: Engine, query: str
) -> None:
    result = ask(engine, query)
    assert not result.ok, (result.confidence, [r.path for r in result.results])
    assert result.confidence < 0.9  # not 1.0 for being the best of its list


@pytest.mark.parametrize(("query", "path"), CONTROLS)
def test_127_a_control_question_is_answered(engine: Engine, query: str, path: str) -> None:
    result = ask(engine, query)
    assert result.ok, result.reasons
    assert result.results[0].path == path


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("报税的截止日期是哪一天", "Tax.md"),
        ("怎样更容易睡着", "Sleep.md"),
        ("how long before a blood test must I not eat", "体检.md"),
        ("how many days before moving out must the landlord be told", "租房.md"),
    ],
)
def test_a_question_in_the_other_language_is_answered(
    engine: Engine, query: str, path: str
) -> None:
    result = ask(engine, query)
    assert result.ok, (result.confidence, [r.path for r in result.near_misses])
    assert result.results[0].path == path


@pytest.mark.parametrize("query", ["when is the tax declaration due", "报税的截止日期是哪一天"])
def test_a_cosine_counts_more_across_languages_alone(engine: Engine, query: str) -> None:
    trace = ask(engine, query).trace
    assert trace is not None
    measured = {hit["chunk_id"]: hit["score"] for hit in trace["channels"]["vector"]}
    asked_in_chinese = not query.isascii()
    for one in trace["candidates"]:
        note_in_chinese = not one["path"].isascii()
        if note_in_chinese or "Codes" not in one["path"]:  # a bare code has no language
            raised = ACROSS if note_in_chinese != asked_in_chinese else 0.0
            assert one["cosine"] == pytest.approx(measured[one["chunk_id"]] + raised)


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.SEMANTIC, Mode.LEXICAL])
@pytest.mark.parametrize("query", ["the hive swarmed near the station", "冰箱里还有什么菜"])
def test_128_the_threshold_acts_in_every_mode(engine: Engine, query: str, mode: Mode) -> None:
    as_set = engine.settings
    try:
        thresholds = []
        for strictness in ("off", "lenient", "balanced", "strict"):
            engine.settings = replace(as_set, gate_strictness=strictness)
            engine._models_changed()  # the gate is made anew
            result = ask(engine, query, mode)
            assert result.trace is not None
            thresholds.append(result.trace["gate"]["threshold"])
            assert result.ok == (result.confidence >= thresholds[-1])
    finally:
        engine.settings = as_set
        engine._models_changed()
    assert thresholds[0] == 0
    assert thresholds == sorted(set(thresholds))


@pytest.mark.parametrize(
    ("query", "path"), [("QX7-4419-B", "Codes.md"), ("钥匙牌 KP-88031", "编号.md")]
)
def test_130_what_one_channel_alone_is_sure_of_passes_the_gate(
    engine: Engine, query: str, path: str
) -> None:
    result = ask(engine, query)
    assert result.ok, result.reasons
    assert result.results[0].path == path


@pytest.mark.parametrize("query", [*ABSENT, *(query for query, _ in CONTROLS), "面包", "Tax"])
def test_131_every_score_that_is_shown_is_in_its_range(engine: Engine, query: str) -> None:
    result = engine.search(SearchRequest(query, gate=False))
    assert 0 <= result.confidence <= 1
    for one in result.results:
        assert 0 <= one.evidence <= 1
        assert one.origin is not Origin.DIRECT or 0 < one.rrf_score < 1


@pytest.mark.parametrize("query", ["how do black holes evaporate", "罗马帝国是怎样灭亡的"])
def test_140_a_passage_about_something_else_is_near_nothing(engine: Engine, query: str) -> None:
    result = ask(engine, query, Mode.SEMANTIC)
    assert result.trace is not None
    cosines = sorted(c["cosine"] for c in result.trace["candidates"])
    assert abs(cosines[len(cosines) // 2]) < 0.3
