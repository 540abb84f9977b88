"""What must hold for any text: places, terms, spellings, queries, snippets."""

from __future__ import annotations

import unicodedata
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidelight.language import folding, occurrences
from sidelight.language.detect import detect
from sidelight.language.folding import fold, fold_case
from sidelight.language.matching import find_spellings, holds
from sidelight.language.occurrences import find_terms
from sidelight.language.stemming import stem
from sidelight.language.terms import BIGRAM_PREFIX, CHAR_PREFIX, Terms
from sidelight.query import snippet as snippets
from sidelight.query.parse import matches, parse_query
from sidelight.query.snippet import snippet
from sidelight.types import TermKind

TERMS = Terms(["知识图谱", "kube proxy", "ﬁne"])
HAN = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5)
_PLAIN = (
    "知識 图谱 的 著名 看著 乾隆 𠮷 ー 「 … ERR_OOM getTx v3.2.1 C++ .NET a.b.c don’t 1,000 １２３ x² ㎡ ß İ é ﬁ ｶﾞ "
    '2024-10-03 2024年10月3日 50元 ¥50 한국어 ไทย 📅 🇨🇳 -x " ( ) /re/ OR tag:#a [p:v]'
)
_HIDDEN = ["cafe\u0301", "\u1100\u1161\u11a8", "👨\u200d👩", "\u200b", "\ufe0f", "\u0301"]
_BLANK = ["\n", "\u2028", "\u3000", "Kube\nProxy"]
PIECES = st.sampled_from([*_PLAIN.split(), *_HIDDEN, *_BLANK])
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=12).map("".join),
    st.lists(PIECES, max_size=12).map(" ".join),
)
QUICK = settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


@QUICK
@given(TEXTS)
def test_every_token_is_made_of_what_stands_at_its_place(text: str) -> None:
    for token in TERMS.tokenize(text):
        assert 0 <= token.start < token.end <= len(text)
        surface = text[token.start : token.end]
        if token.kind in (TermKind.BIGRAM, TermKind.CHAR):
            spelled = fold(surface).text  # one character of several (U+32C0) is one place
            assert spelled == token.term[1:] or (
                len(surface) < len(spelled) and token.term[1:] in spelled
            )
        again = TERMS.index_terms(surface)
        if token.kind is not TermKind.WORD or len(token.term) > 1:
            assert token.term in again or _is_part_of(token.term, surface), (token, surface)


def _is_part_of(term: str, surface: str) -> bool:
    """A piece that is no term alone (a camel-case part, a word only its context made)."""
    spelled = term.lstrip(CHAR_PREFIX + BIGRAM_PREFIX)
    folded = fold_case(fold(surface).text)
    bare = unicodedata.normalize("NFD", folded)
    return spelled in folded or all(character in bare for character in spelled)


@QUICK
@given(TEXTS)
def test_index_and_places_have_the_same_terms(text: str) -> None:
    assert Counter(TERMS.index_terms(text)) == Counter(t.term for t in TERMS.tokenize(text))


@QUICK
@given(TEXTS)
def test_no_term_contains_white_space_or_nothing(text: str) -> None:
    for term in TERMS.index_terms(text):
        assert term.strip(CHAR_PREFIX + BIGRAM_PREFIX)
        assert not any(character.isspace() for character in term)
        assert "\x00" not in term


@QUICK
@given(TEXTS)
def test_the_terms_of_a_query_are_terms_of_the_same_text(text: str) -> None:
    held = set(TERMS.index_terms(text))
    for typing in (False, True):
        asked = TERMS.query_terms(text, typing)
        assert {term.term for term in asked} == held
        assert len(asked) == len(held)
        assert all(0 < term.weight <= 2 for term in asked)


@QUICK
@given(st.text(HAN, min_size=2, max_size=12), st.data())
def test_any_two_han_characters_find_their_text(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 2))
    query = text[at : at + 2]
    held = set(TERMS.index_terms(text))
    asked = TERMS.query_terms(query)
    pair = [term for term in asked if term.kind is TermKind.BIGRAM]
    assert len(pair) == 1
    assert pair[0].term in held


@QUICK
@given(TEXTS)
def test_folding_keeps_places_in_order_and_folds_once(text: str) -> None:
    folded = fold(text)
    places = [folded.span(i, i + 1) for i in range(len(folded.text))]
    assert places == sorted(places)
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert fold(folded.text).text == folded.text


@QUICK
@given(TEXTS, TEXTS)
def test_a_text_holds_a_phrase_when_its_folded_form_does(text: str, phrase: str) -> None:
    words = fold(phrase).text.split()
    if len(words) == 1 and words[0].isascii() and text.isascii():
        assert holds(phrase, text) == (words[0].lower() in text.lower())
    if words:
        assert holds(phrase, f"{text} {phrase} {text}")
    for start, end in find_spellings(phrase, text):
        assert 0 <= start < end <= len(text)


@QUICK
@given(TEXTS)
def test_found_terms_stand_where_the_tokens_stand(text: str) -> None:
    asked = TERMS.query_terms(text)
    found = {(place.start, place.end, place.term.term) for place in find_terms(text, asked)}
    for token in TERMS.tokenize(text):
        if token.kind is not TermKind.USER:
            assert (token.start, token.end, token.term) in found or any(
                start <= token.start and token.end <= end and term == token.term
                for start, end, term in found
            )


class _EmptyNote:
    path = "a/b.md"
    tags = ()
    properties: dict[str, object] = {}  # noqa: RUF012 - never written
    date = None

    def text(self) -> str:
        return "text"

    def lines(self) -> list[str]:
        return ["text"]

    sections = lines


@QUICK
@given(st.one_of(TEXTS, st.text('()[]"/-: ORabtag\\', max_size=40)))
def test_no_query_is_an_error(text: str) -> None:
    parsed = parse_query(text)
    if parsed.filter is None:
        words = [word for word in text.replace("(", " ").replace(")", " ").split() if word != "OR"]
        assert all(word in parsed.text_for_ranking for word in words)
    else:
        assert isinstance(matches(parsed.filter, _EmptyNote()), bool)
        assert parsed.describe()["expression"]


@QUICK
@given(TEXTS, TEXTS, st.integers(20, 200))
def test_snippets_are_one_line_with_marks_in_order(text: str, query: str, width: int) -> None:
    shown = snippet(text, TERMS.query_terms(query), (query,), width)
    assert not any(c in shown.text for c in "\r\n\t\u2028\u2029\x00")
    assert len(shown.text) <= width + 60
    last = -1
    for start, end in shown.highlights:
        assert last < start < end <= len(shown.text)
        last = end
    squeezed = " ".join(shown.text.strip("…").split())
    original = " ".join("".join(" " if _is_blank(c) else c for c in text).split())
    assert squeezed in original or shown.text.startswith("…") or "…" in text


def _is_blank(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) in ("Cc", "Cs")


@QUICK
@given(TEXTS)
def test_a_language_is_a_code(text: str) -> None:
    code = detect(text)
    assert code == "und" or (len(code) == 2 and code.isalpha())


_SPELLED = (
    "ties ty happy Happier parties running kilns glazes state-of-the-art kube_proxy 1,000 v1.2.3 "
    "getTxHash portal.azure.com a-b aB café naïve-kiln 2024-10-03 flies matching y i"
)
_WORDS = st.sampled_from(_SPELLED.split())


@QUICK
@given(st.text("中文，（）：“”⁻−苧薴ａé 「」。、；aB/", max_size=60))
def test_replacing_one_after_the_other_folds_as_a_translation_does(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "_REPLACED_SINGLY", -1)
        translated = fold(text)
    assert fold(text) == translated


@QUICK
@given(st.text("ab中 \n\t\0\x1c\x7f\x85\ud800\u3000\u2028\u200b", max_size=30), st.data())
def test_a_line_has_one_space_for_each_run_of_blanks(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    line = snippets._on_one_line(text, 0, len(text), [(start, end)], (False, False))
    assert line.text == snippets._BLANKS.sub(" ", text).strip(" ")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snippets, "_SHORTENED_SPACES", snippets._SHORTENED)
        assert line == snippets._on_one_line(text, 0, len(text), [(start, end)], (False, False))


_SCATTERED = st.lists(st.one_of(_WORDS, st.text("aB中é_.#+-'/:,1 \n\t", max_size=6)), max_size=12)


@QUICK
@given(
    _SCATTERED,
    st.sampled_from((" ", "\n", "，", "-", ", ")),
    st.lists(_WORDS, min_size=1, max_size=4),
)
def test_what_is_left_out_early_holds_no_term(
    words: list[str], between: str, asked: list[str]
) -> None:
    text = between.join(words)
    for typing in (False, True):
        wanted = [*asked, asked[-1][:2]] if typing else asked  # the last one as while it is typed
        terms = TERMS.query_terms(" ".join(wanted), typing=typing)
        early = find_terms(text, terms)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(occurrences._Words, "_may_hold", lambda _, identifier: True)
            patch.setattr(occurrences._Words, "places", lambda _, text: [(0, len(text))])
            assert Counter(early) == Counter(find_terms(text, terms))


def test_a_stem_is_how_its_word_begins() -> None:
    for word in ("ties", "happy", "parties", "running", "flies", "matches", "agreed", "used"):
        assert occurrences._beginning(stem(word)) in word
