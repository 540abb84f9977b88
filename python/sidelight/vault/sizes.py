"""How large is a text for a model, without any model? One estimate, in units.

A unit is about one letter of English prose. Weights per character class come from counting
the pieces of multilingual-e5's tokenizer on prose of each script, on code and on data.
"""

from __future__ import annotations

# About 900 characters of English or 500 of Chinese.
LIMIT = 900.0
# A block, or a whole section, this large still stays in one piece.
WHOLE = 1.2 * LIMIT
# Below this a chunk says too little alone and borrows words.
TINY = 160.0

_SCALE = 10  # weights are tenths of a unit, so that they fit in a byte


def _weights() -> bytes:
    table = bytearray(256)
    for byte in range(0x80):
        char = chr(byte)
        if char.islower():
            weight = 1.0
        elif char.isupper() or char.isdigit():
            weight = 1.8
        else:
            weight = 0.8 if char.isspace() else 2.2
        table[byte] = round(weight * _SCALE)
    for lead in range(0xC0, 0x100):  # the first byte of a character decides, the rest are 0
        if lead < 0xE0:
            weight = 1.6  # Latin with marks, Greek, Cyrillic, Arabic, Hebrew
        elif lead < 0xE3:
            weight = 2.4  # Indic, Thai, Georgian, general punctuation
        elif lead < 0xF0:
            weight = 1.8  # Han, kana, Hangul, full width
        else:
            weight = 4.0  # emoji, rare Han
        table[lead] = round(weight * _SCALE)
    return bytes(table)


_WEIGHTS = _weights()


def size(text: str) -> float:
    """Estimated size of a text in units; adds up over parts."""
    return sum(text.encode("utf-8", "replace").translate(_WEIGHTS)) / _SCALE


def cut_columns(text: str, start: int, end: int, limit: float) -> list[tuple[int, int]]:
    """Cuts a run of characters that has no better place into parts of at most `limit` units.

    Never between a character and what modifies it (combining marks, joined emoji).
    """
    parts: list[tuple[int, int]] = []
    part_start, spent = start, 0.0
    for column in range(start, end):
        weight = size(text[column])
        if spent + weight > limit and column > part_start and not _joined(text, column):
            parts.append((part_start, column))
            part_start, spent = column, 0.0
        spent += weight
    if part_start < end:
        parts.append((part_start, end))
    return parts


_JOINER = "\u200d"


def _joined(text: str, column: int) -> bool:
    """True if the character at `column` must stay with the one before it."""
    char, before = text[column], text[column - 1]
    if char.isascii():
        return False
    return (
        before == _JOINER
        or char == _JOINER
        or "\ufe00" <= char <= "\ufe0f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\u0300" <= char <= "\u036f"
    )
