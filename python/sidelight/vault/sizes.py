"""How large is a text for a model, without any model? One estimate, in units.

A unit is about one letter of English prose. The weights follow how many pieces the tokenizer
of multilingual-e5 makes of prose in each script, of code and of data.
"""

from __future__ import annotations

# About 900 characters of English or 500 of Chinese.
LIMIT = 900
# A block, or a whole section, this large still stays in one piece.
WHOLE = 1_080
# Below this a chunk says too little alone and borrows words.
TINY = 160

# ASCII that costs one unit a character: lower case, blanks, and the dashes of rulers, which
# come in runs. Capitals, digits and punctuation make words short and cost two.
_LIGHT = b"abcdefghijklmnopqrstuvwxyz- \t\n\r\x0b\x0c"
_NOT_ASCII = bytes(range(0x80, 0x100))
# Units a UTF-8 byte of other scripts: 1.2 a Cyrillic or Arabic letter, 1.8 a Chinese
# character, 2.4 an emoji.
_BYTE = 0.6


def size(text: str) -> float:
    """Estimated size of a text in units; adds up over parts."""
    data = text.encode("utf-8", "replace")
    total = len(data)
    if not text.isascii():
        data = data.translate(None, _NOT_ASCII)
    return len(data) + len(data.translate(None, _LIGHT)) + _BYTE * (total - len(data))


def cut_columns(text: str, start: int, end: int, limit: float) -> list[tuple[int, int]]:
    """Cuts a run of characters that has no better place into parts of at most `limit` units.

    Not between a character and what modifies it (combining marks, joined emoji), unless
    hundreds of those pile up.
    """
    parts: list[tuple[int, int]] = []
    while start < end:
        stop = _boundary(text, start, _furthest(text, start, end, limit))
        parts.append((start, stop))
        start = stop
    return parts


def _furthest(text: str, start: int, end: int, limit: float) -> int:
    """The last column up to which a part stays within the limit; at least one character."""
    low, high = start + 1, min(end, start + max(1, int(limit)))  # no character costs below one
    while low < high:
        middle = (low + high + 1) // 2
        if size(text[start:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _boundary(text: str, start: int, stop: int) -> int:
    """The nearest column at or before `stop` where a cut may be; `stop` if there is none."""
    if stop == len(text):
        return stop
    for column in range(stop, start, -1):
        if not _joined(text, column):
            return column
    return stop


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
