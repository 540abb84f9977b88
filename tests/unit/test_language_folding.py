"""Spellings that are one for search, and the way back to the original."""

from __future__ import annotations

import sys
import threading

import pytest

from sidelight.language import folding
from sidelight.language.folding import fold, fold_case, for_segmentation, strip_accents


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("ＡＢＣ　１２３", "ABC 123"),
        ("圖書館", "图书馆"),
        ("裡裏群羣臺台說説為爲", "里里群群台台说说为为"),
        ("什么 抬头", "什么 抬头"),  # simplified words stay what they are
        ("cafe\u0301", "café"),
        ("ﬁne", "fine"),
        ("ｶﾞｷﾞ", "ガギ"),
        ("각", "각"),
        ("H₂O x²", "H2O x2"),
        ("don’t", "don't"),
        ("Gtk♯", "Gtk#"),
        ("zero\u200bwidth soft\u00adhyphen", "zerowidth softhyphen"),
        ("☑️", "☑"),
        ("Obsidian™", "Obsidian™"),  # the sign is no part of the word
    ],
)
def test_spellings_fold_to_one(written: str, folded: str) -> None:
    assert fold(written).text == folded


@pytest.mark.parametrize("text", ["知識圖譜", "cafe\u0301 ﬁne", "ｶﾞ x", "a\u200bb", "㎡ cafe"])
def test_every_folded_character_leads_back_to_its_source(text: str) -> None:
    result = fold(text)
    for index, character in enumerate(result.text):
        start, end = result.span(index, index + 1)
        assert 0 <= start < end <= len(text)
        assert character in fold(text[start:end]).text


def test_characters_are_met_for_the_first_time_while_the_table_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when a daemon starts: one thread reads notes, another prepares the dictionaries."""
    table = folding._Translation(folding._forms())
    monkeypatch.setattr(folding, "_table", lambda: table)
    met = threading.Event()

    def meet() -> None:
        for code in range(0x20000, 0x2A000):
            chr(code).translate(table)
        met.set()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    reader = threading.Thread(target=meet)
    reader.start()
    try:
        while not met.is_set():
            assert "\u0301" in folding._irregular.__wrapped__()
            assert folding.folded_forms.__wrapped__()
    finally:
        reader.join()
        sys.setswitchinterval(before)


def test_case_and_accents_fold_apart_from_spelling() -> None:
    assert fold_case("Straße ΣΟΦΟΣ") == "strasse σοφοσ"
    assert strip_accents("résumé đường ø") == "resume duong o"
    assert strip_accents("中文") == "中文"


def test_words_of_traditional_and_simplified_text_meet_in_segmentation() -> None:
    assert for_segmentation(fold("著名").text) == "著名"
    assert for_segmentation(fold("看著").text) == "看着"
    assert for_segmentation(fold("乾隆").text) == "乾隆"
    assert for_segmentation(fold("乾淨").text) == "干净"


def test_missing_character_table_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "find_spec", lambda name: None)
    with pytest.raises(folding.SidelightError, match="opencc-python-reimplemented") as caught:
        folding._dictionary_folder()
    assert caught.value.code == "DICTIONARY_MISSING"
