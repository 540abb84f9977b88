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
_PLAIN = r"[\w/\u0080-\U0010ffff](?:[^#:\t]|:(?=[^ ]))*(?<! )"
_QUOTED = r"\"[^\"\\]*\"|'[^']*'"
_VALUE = rf"(?:(?P<plain>{_PLAIN})|(?P<quoted>{_QUOTED}))"
_KEY = r"(?P<key>[^\W\d](?:[\w.\-]| (?=\w))*):"
_ENTRY = re.compile(rf"{_KEY}(?: +(?:{_VALUE}|(?P<none>\[\])))? *")
_ITEM = re.compile(rf"(?P<indent> *)- +{_VALUE} *")
_MAX_LINE = 1_000  # libyaml refuses longer keys


def read_plain(lines: Sequence[str]) -> YamlBlock | None:
    """The entries of a simple block, or None where a full parser must look."""
    block = YamlBlock()
    data, spans = block.data, block.spans
    items: list[object] | None = None  # of the list that may go on
    key, indent = "", ""
    for number, line in enumerate(lines):
        if not line:
            continue
        if len(line) > _MAX_LINE or not line.isprintable():
            return None
        match = _ENTRY.fullmatch(line)
        if match:
            key, plain, quoted, none = match.group("key", "plain", "quoted", "none")
            if key in data:
                return None
            empty = plain is None and quoted is None and none is None
            items = [] if empty else None
            data[key] = [] if none else _scalar(block, plain, quoted, number)
            spans.append((number, number))
            continue
        match = _ITEM.fullmatch(line) if items is not None else None
        if match is None or items is None:
            return None
        margin, plain, quoted = match.group("indent", "plain", "quoted")
        if not items:
            data[key], indent = items, margin
        elif margin != indent:
            return None
        items.append(_scalar(block, plain, quoted, number))
        spans[-1] = (spans[-1][0], number)
    return block


def _scalar(block: YamlBlock, plain: str | None, quoted: str | None, number: int) -> object:
    if plain is not None:
        return core_value(plain)
    if quoted is None:
        return None
    text = quoted[1:-1]
    if text.startswith("[["):
        block.bracketed.append((text, number))
    return text
