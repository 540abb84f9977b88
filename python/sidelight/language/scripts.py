"""Which runs of one script does a folded text consist of?

Patterns only: words and identifiers of alphabets, Han and kana, Hangul, scripts written
without spaces, and symbols that stand for themselves (emoji, arrows).
"""

from __future__ import annotations

import re

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af"
KANA = "\u3041-\u3096\u309d\u309e\u30a1-\u30fa\u30fc-\u30fe"
_HANGUL = "\uac00-\ud7a3"
# Thai, Lao, Tibetan, Burmese, Khmer with their marks.
_SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3"
)
# Vowel signs and points inside words, which `\w` leaves out.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u0900-\u0903\u093a-\u094f\u0955-\u0957\u0962\u0963\u0981-\u0983"
    "\u09bc-\u09cd\u09d7\u0a01-\u0a51\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03"
    "\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6"
    "\u0d00-\u0d03\u0d3b-\u0d4d\u0d81-\u0d83\u0dca-\u0ddf"
)
_LETTER = rf"[^\W_{HAN}{KANA}{_HANGUL}{_SPACELESS}]"
_ATOM = rf"{_LETTER}+(?:[{_MARKS}]+{_LETTER}*)*"
_JOINER = r"(?:://|::|\.{1,2}/|__+|--|[._\-/\\:@'+&#=?%~,])"

# A word, or words joined to an identifier, path, address, version or number; a leading dot
# (`.NET`) and trailing signs (`C++`, `C#`, `50%`) belong to it.
IDENTIFIER = re.compile(
    rf"(?:(?<![\w.])\.(?=[A-Za-z]))?_*{_ATOM}(?:{_JOINER}{_ATOM})*(?:\+\+|[#+%](?![\w#+]))?"
)
CJK_RUN = re.compile(f"[{HAN}{KANA}]+")
HAN_RUN = re.compile("[\u4e00-\u9fd5]+")  # what jieba takes for Han
NO_HAN = re.compile("[^ \u4e00-\u9fd5]")  # in such runs, separated by spaces
KATAKANA_RUN = re.compile("[\u30a1-\u30fa\u30fc-\u30fe]{2,}")
HANGUL_RUN = re.compile(f"[{_HANGUL}]+")
SPACELESS_RUN = re.compile(f"[{_SPACELESS}]+")
# Regional indicators make a flag in pairs; skin tones (U+1F3FB to U+1F3FF) are no symbols.
_FLAGS = "\U0001f1e6-\U0001f1ff"
_SYMBOLS = (
    "\u00a7\u00a9\u00ae\u2190-\u23ff\u25a0-\u27bf\u2b00-\u2bff"
    "\U0001f000-\U0001f0ff\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
)
SYMBOL = re.compile(f"[{_FLAGS}]{{2}}|[{_SYMBOLS}]")
# Where none of these is, three of the patterns above need not look: one pass for three.
RARE = re.compile(f"[{_HANGUL}{_SPACELESS}{_FLAGS}{_SYMBOLS}]")
ALPHABETIC_END = re.compile(_LETTER)
# A letter of an alphabet beyond ASCII, or a mark on one.
OTHER_LETTER = re.compile(rf"[^\W\x00-\x7f{HAN}{KANA}{_HANGUL}{_SPACELESS}]|[{_MARKS}]")
