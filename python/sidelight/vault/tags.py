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
_QUOTE_PREFIX = re.compile(r"[ \t>]*")


def valid_tag(name: str) -> bool:
    """True for a whole tag name without its hash: allowed characters, not digits alone."""
    return bool(TAG_NAME.fullmatch(name)) and not (name.isascii() and name.isdigit())


def tag_at(before: str, after: str) -> str | None:
    """The tag that a hash opens, without the hash; None if it opens none.

    Args:
        before: the line up to the hash.
        after: the line behind it.
    """
    if before and not _SPACES.match(before[-1]) and not _QUOTE_PREFIX.fullmatch(before):
        return None
    match = TAG_NAME.match(after)
    return match.group() if match and valid_tag(match.group()) else None
