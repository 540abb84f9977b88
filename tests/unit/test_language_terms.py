"""What a note can be found by. Numbers are those of the field reports."""

from __future__ import annotations

import importlib.util
from collections import Counter

import pytest

from sidelight.language import segmentation
from sidelight.language.segmentation import PythonSegmenter
from sidelight.language.terms import BIGRAM_PREFIX, CHAR_PREFIX, Terms
from sidelight.types import TermKind

TERMS = Terms()


def share(query: str, note: str, terms: Terms = TERMS) -> float:
    """Coverage of a query by a note where every term is equally rare."""
    held = set(terms.index_terms(note))
    asked = terms.query_terms(query)
    total = sum(term.weight for term in asked)
    return sum(term.weight for term in asked if term.term in held) / total if total else 0.0


def check_found(query: str, note: str, at_least: float = 0.5) -> None:
    assert share(query, note) >= at_least, (query, note, TERMS.query_terms(query))


# ------------------------------------------------------------------ Chinese


def test_1_any_words_of_an_unbroken_sentence_are_found() -> None:
    sentence = "我们昨天在图书馆讨论了如何用向量数据库构建个人知识图谱系统并且写了总结"
    assert len(sentence) > 30
    check_found("向量数据", sentence, 0.9)
    check_found("知识图谱", sentence, 0.9)


def test_2_a_shared_last_word_is_a_partial_match() -> None:
    partial = share("折扣优惠券", "学生优惠券怎么领")
    assert 0.0 < partial < share("折扣优惠券", "折扣优惠券怎么领")


def test_4_a_checkbox_does_not_glue_to_the_first_word() -> None:
    check_found("买菜", "- [ ] 买菜和做饭", 0.9)
    check_found("buy", "- [ ] buy food", 0.9)


@pytest.mark.parametrize("query", ["拿铁", "生椰", "乌龙"])
def test_any_two_characters_find_their_note_whatever_the_segmentation(query: str) -> None:
    assert BIGRAM_PREFIX + query in TERMS.index_terms("桂花乌龙生椰拿铁")
    assert share(query, "桂花乌龙生椰拿铁") >= 0.5


def test_one_character_is_a_query() -> None:
    assert [term.term for term in TERMS.query_terms("茶")] == [CHAR_PREFIX + "茶"]
    check_found("茶", "泡茶的水温", 1.0)


def test_traditional_and_simplified_text_have_the_same_terms() -> None:
    traditional = "知識圖譜與資料庫的關係，著名的乾隆皇帝看著臺灣"
    simplified = "知识图谱与资料库的关系，著名的乾隆皇帝看着台湾"
    assert Counter(TERMS.index_terms(traditional)) == Counter(TERMS.index_terms(simplified))


def test_user_words_are_whole_never_lost_and_weigh_most() -> None:
    terms = Terms(["知识图谱", "图谱系统", "Kube Proxy"])
    tokens = [t for t in terms.tokenize("个人知識圖譜系统") if t.kind is TermKind.USER]
    assert [(t.term, t.start, t.end) for t in tokens] == [("知识图谱", 2, 6), ("图谱系统", 4, 8)]
    weights = {t.term: t.weight for t in terms.query_terms("知识图谱是什么")}
    assert max(weights, key=lambda term: weights[term]) == "知识图谱"
    spaced = [t for t in terms.tokenize("a Kube\n proxy, kube proxying") if t.kind is TermKind.USER]
    assert [(t.start, t.end) for t in spaced] == [(2, 13)]
    assert not any(set(token.term) & set(" \n") for token in spaced)


def test_user_words_and_versions_change_the_signature() -> None:
    assert Terms().signature == TERMS.signature
    assert Terms(["知识图谱"]).signature != TERMS.signature
    assert Terms(["b", "a"]).signature == Terms(["a", "b", "a"]).signature


def test_8_places_are_in_order_and_point_at_what_they_name() -> None:
    text = "中华人民共和国成立了"
    tokens = TERMS.tokenize(text)
    assert [t.start for t in tokens] == sorted(t.start for t in tokens)
    for token in tokens:
        assert text[token.start : token.end] == token.term.lstrip(CHAR_PREFIX + BIGRAM_PREFIX)


def test_10_line_breaks_and_runs_of_spaces_are_no_terms() -> None:
    found = TERMS.index_terms("知识 \n\n\t 图谱\u3000\u2028  end\r\n")
    assert found
    assert not any(character.isspace() for term in found for character in term)


def test_10_a_missing_dictionary_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    jieba = pytest.importorskip("jieba")

    def broken(self: object, dictionary: object = None) -> None:
        raise FileNotFoundError("dict.txt")

    monkeypatch.setattr(jieba.Tokenizer, "initialize", broken)
    with pytest.raises(segmentation.SidelightError, match="pip install") as caught:
        PythonSegmenter()
    assert caught.value.code == "DICTIONARY_MISSING"


def test_16_a_character_outside_the_basic_plane_is_found_and_placed_whole() -> None:
    text = "姓𠮷的人𠀀𠀁"
    places = {t.term: (t.start, t.end) for t in TERMS.tokenize(text)}
    assert places[CHAR_PREFIX + "𠮷"] == (1, 2)
    check_found("𠀀𠀁", text, 0.9)


def test_20_preparing_loads_the_dictionaries_once() -> None:
    TERMS.prepare()
    assert segmentation._segmenter.cache_info().currsize == 1


def test_jieba_alone_gives_the_same_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "著名的乾隆皇帝在下江南时研究知识图谱，MIT OpenCourseWare指什么？王金璐是谁的弟子"
    with_rust = Counter(TERMS.index_terms(text))
    monkeypatch.setattr(segmentation, "find_spec", lambda name: None)
    segmentation._segmenter.cache_clear()
    try:
        assert isinstance(segmentation.segmenter(), PythonSegmenter)
        assert Counter(TERMS.index_terms(text)) == with_rust
        assert Counter(t.term for t in TERMS.tokenize(text)) == with_rust
    finally:
        segmentation._segmenter.cache_clear()
    assert importlib.util.find_spec("rjieba") is not None, "without rjieba this compared nothing"


# ------------------------------------------------------------------ identifiers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ERR_OOM_KILL_001", {"err_oom_kill_001", "err", "oom", "kill", "001"}),
        ("getTransactionHistory()", {"gettransactionhistory", "get", "transaction", "history"}),
        ("XMLHttpRequest", {"xmlhttprequest", "xml", "http", "request"}),
        ("v3.2.1-beta", {"v3.2.1-beta", "3.2.1-beta", "v3.2", "beta"}),
        ("C++ and C# and .NET", {"c++", "c#", ".net", "net"}),
        ("Ｃ＋＋ 与 Gtk♯", {"c++", "gtk#", "gtk"}),
        ("192.168.1.1:8080", {"192.168.1.1", "168.1.1", "8080"}),
        ("/usr/local/bin/side-light.py", {"usr", "side-light.py", "side-light", "sidelight", "py"}),
        ("C:\\Users\\me", {"c", "users", "me"}),
        ("https://portal.azure.com/a?b=c", {"portal.azure.com", "azure.com", "azure"}),
        ("me@mail.example.org", {"me@mail.example.org", "mail.example.org", "example.org"}),
        ("e-mail wi-fi", {"e-mail", "email", "mail", "wifi"}),
        ("std::vector", {"std::vector", "std", "vector"}),
        ("kube-proxy 的 nftables 模式", {"kube-proxy", "kube", "proxy", "nftables", "模式"}),
        ("1,000,000 50%", {"1,000,000", "1000000", "50%", "50"}),
        ("Café Ångström", {"café", "cafe", "ångström", "angstrom"}),
        ("Straße", {"strasse"}),
        ("tasks studies configured", {"tasks", "task", "studies", "configured", "configur"}),
        ("📅 2024 ✅", {"📅", "✅"}),
        ("🇨🇳🇺🇸", {"🇨🇳", "🇺🇸"}),
    ],
)
def test_identifiers_are_found_whole_and_in_parts(text: str, expected: set[str]) -> None:
    assert expected <= set(TERMS.index_terms(text))


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("DEC-0054", "see DEC-0054 for why"),  # 23
        ("Book - Some Book", "Book - Some Book"),  # 25
        ("azure.com", "https://portal.azure.com/foo"),  # 26
        ("don't", "we don’t know"),  # 29
        ("a'b", "a'b"),
        ("a-b", "a-b"),
        ("Downloads/x", "~/Downloads/x"),
        ("@nasa", "follow @nasa"),  # 31
        ("#tag", "a #tag here"),
        ("50%", "50 % of 50%"),
        ("state-of-the-art", "a state-of-the-art model"),  # 32
        ("word(word)", "word(word)"),  # 34
        ("getTransactionHistory", "getTransactionHistory(id)"),
        ("transaction history", "getTransactionHistory(id)"),
        ("３．２．１", "v3.2.1"),
    ],
)
def test_23_to_34_what_looks_like_syntax_is_found(query: str, note: str) -> None:
    check_found(query, note)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2024年10月3日", "2024-10-03"),
        ("2024/10/3", "2024-10-03"),
        ("2024.10.3", "20241003"),
        ("二〇二四年十月三日", "October 3rd, 2024"),
        ("2024年10月3日", "3 Oct 2024"),
        ("10月3日", "2024-10-03"),
        ("2024年10月", "2024-10"),
        ("50元", "¥50"),
        ("50 RMB", "￥ 50"),
        ("3.5万元", "35,000元"),
        ("100美元", "$100"),
    ],
)
def test_dates_and_amounts_meet_across_spellings(one: str, other: str) -> None:
    def canonical(text: str) -> set[str]:
        return {t for t in TERMS.index_terms(text) if "-" in t or t[0] in "¥$"}

    assert canonical(one) & canonical(other)
    heaviest = max(TERMS.query_terms(one), key=lambda term: term.weight)
    assert heaviest.weight >= 0.3


@pytest.mark.parametrize("text", ["2024-13-01", "13月3日", "12345678", "1234", "5月", "元50"])
def test_what_is_no_date_or_amount_gets_no_canonical_term(text: str) -> None:
    found = {t for t in TERMS.index_terms(text) if t != text and ("-" in t or t[0] in "¥$")}
    assert not found


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("東京タワー", "昨日は東京タワーに行った"),
        ("食べ", "ご飯を食べます"),
        ("한국어", "나는 한국어를 공부한다"),
        ("ภาษาไทย", "ฉันเรียนภาษาไทยทุกวัน"),
        ("москва", "Столица — Москва."),
        ("مدرسة", "هذه مدرسة كبيرة"),
        ("हिन्दी", "यह हिन्दी है"),
        ("Ελλάδα", "η ΕΛΛΆΔΑ"),
    ],
)
def test_other_scripts_are_found(query: str, note: str) -> None:
    check_found(query, note, 0.3)


# ------------------------------------------------------------------ queries


def test_37_function_and_question_words_weigh_little_in_both_languages() -> None:
    for query, stops in (
        ("how do I configure the watcher", ("how", "do", "i", "the")),
        ("怎么配置好监听器的呢", ("怎么", CHAR_PREFIX + "的", CHAR_PREFIX + "呢")),
    ):
        weights = {t.term: t.weight for t in TERMS.query_terms(query)}
        assert all(weights[stop] <= 0.1 for stop in stops)
        assert sum(weights[stop] for stop in stops) < 0.2 * sum(weights.values())


@pytest.mark.parametrize("query", ["what is that", "什么是什么", "to be or not to be"])
def test_a_query_of_function_words_alone_still_asks_for_them(query: str) -> None:
    assert max(term.weight for term in TERMS.query_terms(query)) == 1.0


def test_14_no_query_of_another_script_becomes_empty() -> None:
    for query in ("的", "そして", "그리고", "и", "และ", "ὁ"):
        assert TERMS.query_terms(query), query


def test_coverage_is_a_share() -> None:
    for query in ("知识图谱怎么构建", "how are tasks sorted by urgency", "ERR_OOM_KILL_001 是什么"):
        assert share(query, query) == pytest.approx(1.0)
        assert share(query, "完全 unrelated 内容") < 0.2


def test_a_term_stands_once_in_a_query_with_the_spelling_of_the_person() -> None:
    asked = TERMS.query_terms("知識圖譜 知识图谱 Café")
    assert len({t.term for t in asked}) == len(asked)
    assert {t.term: t.source for t in asked}["知识"] == "知識"
    assert {t.term: t.source for t in asked}["cafe"] == "Café"


def test_typing_opens_the_last_word_only() -> None:
    open_terms = {t.term for t in TERMS.query_terms("docker kuber", typing=True) if t.prefix}
    assert "kuber" in open_terms
    assert "docker" not in open_terms
    assert not any(t.prefix for t in TERMS.query_terms("docker kuber ", typing=True))
    assert not any(t.prefix for t in TERMS.query_terms("docker kuber"))
    assert {t.term for t in TERMS.query_terms("构建知识", typing=True) if t.prefix} == {"知识"}


def test_the_empty_query_has_no_terms() -> None:
    for text in ("", "   ", "?!…，。"):
        assert TERMS.query_terms(text) == []
        assert TERMS.index_terms(text) == []
