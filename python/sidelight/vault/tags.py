"""What is a tag? Obsidian's characters by exclusion (obsidian-help 816)."""

from __future__ import annotations

import re

# What JavaScript's \s matches, for Obsidian's own test.
_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NAME = r"[^" + _SPACE + r"'!\"#$%&()*+,.:;<=>?@^{|}~\[\]\\`\u2000-\u206f\u2e00-\u2e7f]+"
TAG_NAME = re.compile(_NAME)
_BEFORE = re.compile(r"[" + _SPACE + r"]")
# A hash that may open a tag: at the start, or after white space, the last byte of a
# multi-byte space, or a quote marker. `tag_at` decides.
TAG_CANDIDATE_BYTES = re.compile(rb"(?:^|(?<=[\s>\x80-\xbf]))#(?=[^\s#])", re.MULTILINE)
_QUOTE_PREFIX = re.compile(r"[ \t>]*")


def valid_tag(name: str) -> bool:
    """True for a whole tag name without its hash: allowed characters, not digits alone."""
    return bool(TAG_NAME.fullmatch(name)) and not (name.isascii() and name.isdigit())


def tag_at(line: str, column: int) -> str | None:
    """The tag whose hash stands at `column` of `line`, without the hash; None if none does."""
    before = line[column - 1 : column]
    if before and not _BEFORE.match(before) and not _QUOTE_PREFIX.fullmatch(line[:column]):
        return None
    match = TAG_NAME.match(line, column + 1)
    return match.group() if match and valid_tag(match.group()) else None
