"""What is a tag? Obsidian's characters by exclusion (obsidian-help 816)."""

from __future__ import annotations

import re

# What JavaScript's \s matches, for Obsidian's own test.
_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NAME = r"[^" + _SPACE + r"'!\"#$%&()*+,.:;<=>?@^{|}~\[\]\\`\u2000-\u206f\u2e00-\u2e7f]+"
TAG_NAME = re.compile(_NAME)
_SPACES = re.compile(r"[" + _SPACE + r"]")
# A hash that may open a tag; what stands before it decides too.
TAG_CANDIDATE_BYTES = re.compile(rb"#(?=[^\s#])")
_QUOTE = 0x3E  # >


def valid_tag(name: str) -> bool:
    """True for a whole tag name without its hash: allowed characters, not digits alone."""
    return bool(TAG_NAME.fullmatch(name)) and not (name.isascii() and name.isdigit())


def may_open_tag(data: bytes, offset: int) -> bool:
    """True if what stands before the hash at `offset` allows a tag.

    Args:
        data: UTF-8, lines end at line feeds.
        offset: in bytes.
    """
    if offset == 0 or data[offset - 1] <= 0x20:
        return True
    if data[offset - 1] == _QUOTE:
        start = data.rfind(b"\n", 0, offset) + 1
        return not data[start:offset].strip(b" \t>")
    if data[offset - 1] < 0x80:
        return False
    return bool(_SPACES.match(data[max(0, offset - 4) : offset].decode("utf-8", "ignore")[-1:]))


def tag_after(data: bytes, offset: int) -> str | None:
    """The tag whose hash stands at `offset`, without the hash; None if it names none."""
    window = 200  # bytes; a longer name is read in a second attempt
    text = data[offset + 1 : offset + 1 + window].decode("utf-8", "ignore")
    match = TAG_NAME.match(text)
    if match and match.end() == len(text):
        match = TAG_NAME.match(data[offset + 1 :].decode())
    return match.group() if match and valid_tag(match.group()) else None
