"""Which spellings of a text are one spelling for search?

Full and half width, composed and decomposed accents, compatibility forms and invisible
characters fold to one form, and so do traditional and simplified Chinese, character by
character. Case is kept here (identifiers are cut at their capitals first) and folded by
`fold_case`. Every character of the folded text knows the place it came from.

Cuts nothing into words and knows no language.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

from sidelight.errors import SidelightError

# Blocks where NFKC changes single characters in a way that search wants. Left out on
# purpose: spacing accents (U+00A8 and the like become a space and a mark) and the trade
# mark signs, which would glue letters to the word before them.
_COMPATIBILITY_BLOCKS = (
    (0x00AA, 0x00AA), (0x00B2, 0x00BA), (0x0132, 0x0133), (0x017F, 0x017F),
    (0x01C4, 0x01CC), (0x01F1, 0x01F3), (0x0340, 0x0387), (0x0958, 0x09DF),
    (0x1F71, 0x1FFC), (0x2000, 0x200A), (0x2070, 0x209C), (0x2100, 0x211F),
    (0x2123, 0x2138), (0x2150, 0x2188), (0x2460, 0x2473), (0x24B6, 0x24EA),
    (0x2E80, 0x2FD5), (0x3000, 0x3000), (0x309F, 0x309F), (0x30FF, 0x318E),
    (0x3200, 0x33FF), (0xF900, 0xFB17), (0xFF01, 0xFFEE), (0x1D400, 0x1D7FF),
    (0x1F100, 0x1F189), (0x2F800, 0x2FA1D),
)  # fmt: skip
# Characters nobody sees: soft hyphen, zero-width space and joiners, direction marks, word
# joiner, variation selectors, byte order mark, Mongolian separator.
_INVISIBLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xE0100, 0xE01EF),
)
INVISIBLE = "".join(f"{chr(first)}-{chr(last)}" for first, last in _INVISIBLE)  # in a class
# Look-alikes that people type for one another.
_ALIKE = {
    "’": "'",
    "‘": "'",
    "ʼ": "'",
    "‐": "-",
    "‑": "-",
    "‒": "-",
    "–": "-",
    "−": "-",
    "♯": "#",
    "⁄": "/",
    "￥": "¥",
    "，": ",",
}
# Traditional characters of Hong Kong and Taiwan that OpenCC reaches only through its own
# standard forms, folded like those.
_VARIANT_FILES = ("HKVariants.txt", "TWVariants.txt")
# OpenCC's table holds these as traditional, but simplified text uses them in other words too:
# 哪吒 is no 咤. (著 and 乾 are folded, and unfolded for segmentation: `for_segmentation`.)
_NOT_TRADITIONAL = ("吒",)
# OpenCC leaves these to its phrase tables.
_ALSO_TRADITIONAL = {"著": "着", "擡": "抬"}
# Words in which 著 and 乾 stay themselves in simplified text: 著名, 名著, 乾隆, 乾坤.
_STAY = re.compile(
    r"(?<=[名原巨专论合编土显遗拙昭卓撰新])着|着(?=[名作称述录书者有译])|干(?=[隆坤清嘉陵县])|(?<=承)干(?=宫)"
)
# What composes onto the character before it: marks of every script, the vowel and final of a
# Hangul syllable, half-width voicing marks.
_COMPOSING = (
    (0x0300, 0x036F), (0x0483, 0x0487), (0x0591, 0x05BD), (0x0610, 0x061A), (0x064B, 0x065F),
    (0x0670, 0x0670), (0x093C, 0x093C), (0x09BC, 0x09BC), (0x09BE, 0x09BE), (0x09D7, 0x09D7),
    (0x0A3C, 0x0A3C), (0x0B3C, 0x0B3E), (0x0B56, 0x0B57), (0x0BBE, 0x0BBE), (0x0BD7, 0x0BD7),
    (0x0C56, 0x0C56), (0x0CC2, 0x0CC2), (0x0CD5, 0x0CD6), (0x0D3E, 0x0D3E), (0x0D57, 0x0D57),
    (0x0DCA, 0x0DCF), (0x0DDF, 0x0DDF), (0x0F71, 0x0F84), (0x102E, 0x102E), (0x1161, 0x1175),
    (0x11A8, 0x11C2), (0x1AB0, 0x1AFF), (0x1B35, 0x1B35), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0),
    (0x302A, 0x302F), (0x3099, 0x309A), (0xFE20, 0xFE2F), (0xFF9E, 0xFF9F), (0x11000, 0x11FFF),
    (0x1D165, 0x1D1AD),
)  # fmt: skip
_REPLACED_SINGLY = 16  # distinct characters of a text; above, a translation is as quick
_ACCENTS = re.compile(r"[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed]+")
_UNACCENTED = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ı": "i", "ŧ": "t", "æ": "ae", "œ": "oe"}
)


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text with the way back.

    `starts[i]` and `ends[i]` are the code points of the original that folded character `i`
    came from; both are None where nothing moved.
    """

    text: str
    starts: array[int] | None = None
    ends: array[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Original code points of folded characters `start` to `end` (exclusive, not empty)."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def fold(text: str) -> Folded:
    """`text` with every spelling folded but case; linear in its length, pure."""
    if text.isascii():
        return Folded(text)
    table = _table()
    characters = frozenset(text)
    irregular = characters & _irregular()
    if not irregular:
        return Folded(_fold_regular(text, characters))
    return _fold_by_cluster(text, table, _clusters(irregular))


def fold_case(word: str) -> str:
    """`word` in lower case, by full Unicode case folding (`ß` is `ss`)."""
    return word.lower() if word.isascii() else word.casefold()


def strip_accents(word: str) -> str:
    """`word` (case folded) without accents, points and vowel signs that people leave out."""
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word.translate(_UNACCENTED)))
    return unicodedata.normalize("NFC", bare)


def fold_character(character: str) -> str:
    """The folded, lower-case form of one character."""
    return fold_case(character.translate(_table()))


@cache
def folded_forms() -> dict[str, str]:
    """Every character that folding changes, with its form; invisible ones have the form ""."""
    return {chr(code): "" if form is None else str(form) for code, form in _forms().items()}


def for_segmentation(run: str) -> str:
    """A folded Han run as a dictionary of simplified words spells it; same length."""
    if "着" in run or "干" in run:
        return _STAY.sub(lambda match: "著" if match.group() == "着" else "乾", run)
    return run


def _fold_regular(text: str, characters: frozenset[str]) -> str:
    """Fold a text of which each character folds to one character.

    Where few change, as the commas and brackets of Chinese do, replacing one after the other
    takes a fifth of the time of a translation.
    """
    forms = folded_forms()
    changing = forms.keys() & characters
    if len(changing) > _REPLACED_SINGLY or any(forms[one] in changing for one in changing):
        return text.translate(_table())
    for character in changing:
        text = text.replace(character, forms[character])
    return text


def _fold_by_cluster(text: str, table: _Translation, clusters: re.Pattern[str]) -> Folded:
    """Fold where characters compose, expand or vanish, keeping both ends of each."""
    pieces: list[str] = []
    starts: array[int] = array("L")
    ends: array[int] = array("L")
    composing = composing_characters()
    place = 0
    for match in clusters.finditer(text):
        start, end = match.span()
        if start > place and text[start] in composing:
            start -= 1  # the character it composes onto
        _keep(text, place, start, table, pieces, starts, ends)
        piece = unicodedata.normalize("NFC", text[start:end]).translate(table)
        piece = unicodedata.normalize("NFC", piece)
        pieces.append(piece)
        starts.extend([start] * len(piece))
        ends.extend([end] * len(piece))
        place = end
    _keep(text, place, len(text), table, pieces, starts, ends)
    return Folded("".join(pieces), starts, ends)


def _keep(
    text: str,
    start: int,
    end: int,
    table: _Translation,
    pieces: list[str],
    starts: array[int],
    ends: array[int],
) -> None:
    """Append a stretch in which every character folds to one character."""
    if start < end:
        pieces.append(text[start:end].translate(table))
        starts.extend(range(start, end))
        ends.extend(range(start + 1, end + 1))


@cache
def composing_characters() -> frozenset[str]:
    """Marks, vowels and finals that compose onto the character before them."""
    return frozenset(map(chr, _codes(_COMPOSING)))


@cache
def _irregular() -> frozenset[str]:
    """Characters that compose onto another one or whose folded form is not one character."""
    changing = (
        chr(code)
        for code, form in _forms().items()
        if form is None or (isinstance(form, str) and len(form) != 1)
    )
    return composing_characters().union(changing)


@lru_cache(maxsize=256)
def _clusters(irregular: frozenset[str]) -> re.Pattern[str]:
    """Matches an irregular character with all that composes onto it.

    Compiled for the few such characters a text has: a class of all of them scans at 1 MB/s.
    """
    composing = "".join(sorted(irregular & composing_characters()))
    tail = f"[{re.escape(composing)}]*" if composing else ""
    return re.compile(f"[{re.escape(''.join(sorted(irregular)))}]{tail}")


class _Translation(dict[int, "int | str | None"]):
    """A table for `str.translate` that learns the characters it leaves alone.

    `str.translate` raises and catches an error for each character a plain dictionary lacks,
    which makes it ten times as slow.
    """

    def __missing__(self, code: int) -> int:
        self[code] = code
        return code


@cache
def _table() -> _Translation:
    """Translation of one character to its folded form; learns, so nothing may walk over it."""
    return _Translation(_forms())


@cache
def _forms() -> dict[int, str | None]:
    """The folded form of each character that folding changes; None deletes it."""
    chinese = _simplified()
    table: dict[int, str | None] = {}
    for code in _codes(_COMPATIBILITY_BLOCKS):
        form = unicodedata.normalize("NFKC", chr(code))
        if form != chr(code) and (form == " " or " " not in form):
            table[code] = "".join(chinese.get(character, character) for character in form)
    table.update({ord(old): new for old, new in chinese.items()})
    table.update({ord(old): new for old, new in _ALIKE.items()})
    table.update(dict.fromkeys(_codes(_INVISIBLE)))
    return table


def _codes(blocks: Iterable[tuple[int, int]]) -> Iterator[int]:
    for first, last in blocks:
        yield from range(first, last + 1)


@cache
def _simplified() -> dict[str, str]:
    """Traditional (and variant) character to simplified one, from OpenCC's dictionaries."""
    folder = _dictionary_folder()
    to_simplified = _characters(folder / "TSCharacters.txt")
    to_simplified.update(_ALSO_TRADITIONAL)
    for character in _NOT_TRADITIONAL:
        to_simplified.pop(character, None)
    simplified = set(to_simplified.values())
    for name in _VARIANT_FILES:
        for standard, variant in _characters(folder / name).items():
            if standard in to_simplified and variant not in simplified:
                to_simplified.setdefault(variant, to_simplified[standard])
    return {old: new for old, new in to_simplified.items() if old != new}


def _characters(path: Path) -> dict[str, str]:
    """First choice of each single character in one of OpenCC's tables."""
    table = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        source, _, choices = line.partition("\t")
        choice = choices.split(" ")[0]
        if len(source) == 1 and len(choice) == 1:
            table[source] = choice
    return table


def _dictionary_folder() -> Path:
    spec = find_spec("opencc")
    places = list(spec.submodule_search_locations or ()) if spec else []
    folder = Path(places[0]) / "dictionary" if places else None
    if folder is None or not (folder / "TSCharacters.txt").is_file():
        raise SidelightError(
            "The table of traditional and simplified characters is missing.",
            "Install it again: pip install --force-reinstall opencc-python-reimplemented==0.1.7",
            code="DICTIONARY_MISSING",
        )
    return folder
