"""The default model's tokenizer gives the library's ids, on every text, in a fifth of its memory."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tokenizers import Regex, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Library

from sidelight.models.build import default_folder
from sidelight.models.tokenizer import (
    Tokenizer,
    UnigramTokenizer,
    library_tokenizer,
    load_tokenizer,
)

FILE = default_folder() / "tokenizer.json"
SAMPLE = Path(__file__).resolve().parents[2] / "python" / "sidelight" / "sample" / "vault"

TEXTS = [
    "",
    " ",
    " \n\t ",
    "\0",
    "\x7f",
    "\ufeff\u200b",
    "passage:",
    "passage: The cat sleeps on the sofa.",
    "passage: 猫在沙发上睡觉。  ",
    "query: 如何撤销 git commit?",
    "  two  spaces  around  ",
    "句子以换行结尾。\n",
    "<s>",
    "</s><s><mask><pad><unk>",
    "a <mask> b, 丙<unk>丁\ua000<unk>",
    "\u2581already\u2581written \u2581 ",
    "def f(x: int) -> str:\n    return f'{x!r}'  # 注释\r\n",
    "| --- | ----------------------------------------------- |\n" * 3,
    "=" * 999 + "哈" * 999,
    "👨\u200d👩\u200d👧\u200d👦 🇩🇪 ❤\ufe0f 👍🏽",
    "Ｆｕｌｌ　ｗｉｄｔｈ！１２３",
    "cafe\u0301 caf\u00e9 e\u0302\u0301 o\u031b\u0300 U\u0300\u0324",
    "か\u3099 ﾊﾟ 한국어 \u1112\u1161\u11ab ㍿ ① ½",
    "\ud800 half a pair \udfff",
    "𠀀𪚥 \ue000 \U000f0000",
    "The weather is fine. 天气很好,大家去公园散步。" * 1_000,
    "字" * 5_000,
]

EDGES = ["<s>", "</s>", "<mask>", "\0", "\u200d", "\u0301", "\u0324", "  ", "\u3000", "\xa0", "😀"]
EDGES += ["\r\n", "\x1b", "\ufe0f", "\u2581", "\U00020000", "\u0e33", "\u1161", "\ufffd", "\u2028"]


@pytest.fixture(scope="module")
def ours() -> Tokenizer:
    return load_tokenizer(FILE)


@pytest.fixture(scope="module")
def librarys() -> Tokenizer:
    return library_tokenizer(FILE)


def check_same(ours: Tokenizer, librarys: Tokenizer, texts: Sequence[str]) -> None:
    for text, got, expected in zip(texts, ours.rows(texts), librarys.rows(texts), strict=True):
        assert got == expected, ascii(text[:200])


def test_default_model_needs_no_vocabulary_of_the_librarys(ours: Tokenizer) -> None:
    assert isinstance(ours, UnigramTokenizer)


def test_texts_have_the_librarys_ids(ours: Tokenizer, librarys: Tokenizer) -> None:
    check_same(ours, librarys, TEXTS)


def test_notes_in_every_unicode_form_have_the_librarys_ids(
    ours: Tokenizer, librarys: Tokenizer
) -> None:
    notes = [file.read_text("utf-8") for file in sorted(SAMPLE.rglob("*.md"))]
    assert any("的" in note for note in notes)
    assert any(" the " in note for note in notes)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        check_same(ours, librarys, [unicodedata.normalize(form, note) for note in notes])


def test_broken_and_random_text_has_the_librarys_ids(ours: Tokenizer, librarys: Tokenizer) -> None:
    check_same(ours, librarys, list(_random_texts(random.Random(5), 2_000)))


def _random_texts(source: random.Random, count: int) -> Iterator[str]:
    lines = [line for text in TEXTS for line in text[:300].splitlines()]
    for _ in range(count):
        letters = list(source.choice(lines)[:100])
        for _ in range(source.randrange(1, 8)):
            code = source.choice([source.randrange(1, 0x3000), source.randrange(0xE000, 0x20000)])
            new = source.choice([source.choice(EDGES), chr(code)])
            letters.insert(source.randrange(len(letters) + 1), new)
        yield "".join(letters)


def test_special_tokens_stand_where_the_library_puts_them(
    ours: Tokenizer, librarys: Tokenizer
) -> None:
    assert (ours.frame, ours.pair_frame) == (librarys.frame, librarys.pair_frame)
    assert ours.unknown == librarys.unknown


@pytest.mark.soak
def test_every_line_and_note_of_the_shared_material_has_the_librarys_ids(
    ours: Tokenizer, librarys: Tokenizer, shared: Path
) -> None:
    texts: dict[str, None] = {}
    for file in sorted(f for f in shared.rglob("*") if f.suffix in (".md", ".jsonl", ".canvas")):
        text = file.read_text("utf-8", "replace")
        texts.update(dict.fromkeys(text.splitlines()))
        texts.update(dict.fromkeys(text.split("\n\n")))
        if file.suffix == ".md":
            texts[text] = None
    print(f"{len(texts)} texts")
    assert len(texts) > 20_000
    check_same(ours, librarys, list(texts))


# ------------------------------------------------------------------ a vocabulary of a few pieces


def test_ties_and_runs_of_the_unknown_fall_as_in_the_library(tmp_path: Path) -> None:
    file = _tiny_unigram(tmp_path)
    source = random.Random(3)
    texts = [
        "".join(source.choices("ab-猫狗 \ua000", k=source.randrange(24))) for _ in range(3_000)
    ]
    check_same(UnigramTokenizer.read(file), library_tokenizer(file), [*texts, "<unk>\ua000<unk>"])


def test_a_model_that_a_person_names_keeps_the_library(tmp_path: Path) -> None:
    assert not isinstance(load_tokenizer(_tiny_unigram(tmp_path)), UnigramTokenizer)


def test_default_tokenizer_with_another_byte_is_not_taken_for_it(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    raw = json.loads(FILE.read_bytes())
    raw["model"]["vocab"][100][1] -= 1e-9
    file.write_text(json.dumps(raw), "utf-8")
    assert not isinstance(load_tokenizer(file), UnigramTokenizer)


def _tiny_unigram(folder: Path) -> Path:
    """Pieces whose scores add up alike in several orders."""
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("\u2581", -2.1)]
    pieces += [("a", -3.1), ("b", -3.3), ("ab", -6.4), ("ba", -5.9), ("aba", -9.5), ("\u2581a", -5)]
    pieces += [("-", -4.1), ("---", -7.3), ("-----", -8.7), ("猫", -7.7), ("猫猫", -15.4)]
    tokenizer = Library(models.Unigram(pieces, 3, False))
    tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)]
    )
    file = folder / "tokenizer.json"
    tokenizer.save(str(file))
    return file
