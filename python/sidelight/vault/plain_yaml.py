"""The YAML that nearly every note has, read line by line; anything else is left to libyaml.

Most frontmatter is `key: value` and lists of plain words; reading just that takes a fraction
of a full parser's time. `read_plain` answers only where the meaning is beyond doubt; a
property test holds it to `yaml_block.read_block`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sidelight.vault.yaml_block import YamlBlock, core_value

# A plain scalar that YAML cannot take for anything else: no comment, no mapping inside.
_PLAIN = r"[\w/\u0080-\U0010ffff](?:[^#:\t ]++|:(?=[^ ])| ++(?=[^ ]))*+"
_QUOTED = r"\"[^\"\\]*\"|'[^']*'"
_VALUE = rf"(?:({_PLAIN})|({_QUOTED}))"
_KEY = r"([^\W\d](?:[\w.\-]| (?=\w))*):"
# Groups: key, plain, quoted, empty list; and indentation, plain, quoted.
_ENTRY = re.compile(rf"{_KEY}(?: +(?:{_VALUE}|(\[\])))? *")
_ITEM = re.compile(rf"( *)- +{_VALUE} *")
_MAX_LINE = 1_000  # libyaml refuses longer keys


def read_plain(lines: Sequence[str]) -> YamlBlock | None:
    """The entries of a simple block, or None where a full parser must look."""
    text = "".join(lines)
    if not text.isprintable() or (len(text) > _MAX_LINE and len(max(lines, key=len)) > _MAX_LINE):
        return None
    block = YamlBlock()
    data, spans = block.data, block.spans
    items: list[object] | None = None  # of the list that may go on
    key, indent = "", ""
    for number, line in enumerate(lines):
        match = _ENTRY.fullmatch(line)
        if match:
            key, plain, quoted, none = match.groups()
            if key in data:
                return None
            items = None
            if plain is not None:
                data[key] = core_value(plain)
            elif quoted is not None:
                data[key] = _unquoted(block, quoted, number)
            elif none is not None:
                data[key] = []
            else:
                data[key], items = None, []
            spans.append((number, number))
            continue
        if not line:
            continue
        match = _ITEM.fullmatch(line) if items is not None else None
        if match is None or items is None:
            return None
        margin, plain, quoted = match.groups()
        if not items:
            data[key], indent = items, margin
        elif margin != indent:
            return None
        items.append(_unquoted(block, quoted, number) if plain is None else core_value(plain))
        spans[-1] = (spans[-1][0], number)
    return block


def _unquoted(block: YamlBlock, quoted: str, number: int) -> str:
    text = quoted[1:-1]
    if text.startswith("[["):
        block.bracketed.append((text, number))
    return text
