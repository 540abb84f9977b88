"""What do the lines of a YAML mapping mean? Values by YAML 1.2, and where each entry stands.

PyYAML's C parser reads; this module decides what a plain scalar means (YAML 1.2 core schema:
`yes`, `12:30` and dates stay strings), refuses duplicate keys, and keeps line numbers.
`plain_yaml` reads the simple blocks faster, to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_not
from typing import Any

import yaml
from yaml._yaml import CParser

from sidelight.vault.lines import readable

# More values than this come only from aliases that multiply (a "YAML bomb").
MAX_VALUES = 20_000
MAX_DEPTH = 60

_CORE_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_CORE_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
_NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NAN = frozenset((".nan", ".NaN", ".NAN"))
_MAX_DIGITS = 300  # longer integers are identifiers, not numbers
# libyaml ends lines at these too; YAML 1.2 and Obsidian do not.
_FOREIGN_BREAKS = "\x85\u2028\u2029"
# Half a surrogate pair as an escape, two of which are an emoji in JSON: libyaml refuses it.
_HALF = r"(?:u|U0000)([dD][89a-fA-F][0-9a-fA-F]{2})"
_ESCAPED_HALF = re.compile(rf"(?<!\\)((?:\\\\)*)\\(?={_HALF})")


class InvalidYamlError(Exception):
    """The lines are no YAML mapping; `line` counts from 0 within them."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class YamlBlock:
    """A mapping as read; lines count from 0 within the block, both ends included."""

    data: dict[str, Any] = field(default_factory=dict)
    spans: list[tuple[int, int]] = field(default_factory=list)  # of each entry, in order
    bracketed: list[tuple[str, int]] = field(default_factory=list)  # quoted "[[…" and its line


def read_block(lines: Sequence[str]) -> YamlBlock:
    """Reads any YAML mapping.

    Raises:
        InvalidYamlError: it is not YAML, not a mapping, or has a key twice.
    """
    text, back, half = _with_stand_ins("\n".join(lines) + "\n")
    try:
        root = _Composer(text).get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "unreadable"
        message = f"The block is not valid YAML: {problem}."
        raise InvalidYamlError(message, mark.line if mark else None) from error
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value and not root.style):
        return YamlBlock()
    if not isinstance(root, yaml.MappingNode):
        raise InvalidYamlError("The block is not a list of properties.", 0)
    maker = _Maker(back, half)
    data = maker.mapping(root, 0)
    return YamlBlock(data, _spans(root, lines), maker.bracketed)


class _Composer(CParser):
    """libyaml's composer. A scalar's style says whether it is plain, so nothing is resolved.

    The composer calls these three for every node; builtins that do nothing of use take half
    the time of Python functions that do nothing.
    """

    descend_resolver = staticmethod(is_not)  # (parent, index)
    ascend_resolver = staticmethod(tuple)  # ()
    resolve = staticmethod(slice)  # (node class, value, implicit); stands where a tag would


class _Maker:
    """Makes values from nodes, counting them so that aliases cannot multiply for ever."""

    def __init__(self, back: Mapping[int, str], half: re.Pattern[str] | None) -> None:
        self._back = back
        self._half = half
        self._made = 0
        self.bracketed: list[tuple[str, int]] = []

    def value(self, node: yaml.Node, depth: int) -> Any:
        self._made += 1
        if self._made > MAX_VALUES or depth > MAX_DEPTH:
            raise InvalidYamlError("The block is too large or refers to itself.", _line(node))
        if node.__class__ is yaml.ScalarNode:
            return self.scalar(node)
        if node.__class__ is yaml.SequenceNode:
            return [self.value(item, depth + 1) for item in node.value]
        return self.mapping(node, depth)

    def mapping(self, node: yaml.Node, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.key(key_node, depth)
            if key in data:
                raise InvalidYamlError(f"The property '{key}' occurs twice.", _line(key_node))
            data[key] = self.value(value_node, depth + 1)
        return data

    def key(self, node: yaml.Node, depth: int) -> str:
        if isinstance(node, yaml.ScalarNode):
            return self._text(node)
        return str(self.value(node, depth + 1))

    def scalar(self, node: Any) -> Any:
        text = self._text(node) if self._back or node.style == '"' else node.value
        tag = node.tag
        if tag.__class__ is str:  # written in the note: "!!str 12"
            return core_value(text) if tag in _CORE_TAGS else text
        if not node.style:
            return core_value(text)
        if text.startswith("[["):
            self.bracketed.append((text, _line(node)))
        return text

    def _text(self, node: Any) -> str:
        text: str = node.value
        if node.style == '"':  # the only kind with escapes
            if self._half is not None:
                text = _with_halves(text, self._half)
            text = readable(text)
        return text.translate(self._back) if self._back else text


def core_value(text: str) -> str | int | float | bool | None:
    """What a plain scalar means in the YAML 1.2 core schema."""
    if not text or text == "~":
        return None
    first = text[0]
    if first.isalpha():
        return _CORE_WORDS.get(text, text)
    if first not in "+-.0123456789" or len(text) > _MAX_DIGITS:
        return text
    number = _NUMBER.fullmatch(text)
    if number:
        whole = number.group(1) is None and number.group(2) is None and "." not in text
        return int(text) if whole else float(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    infinite = _INFINITE.fullmatch(text)
    if infinite:
        return float(infinite.group(1) + "inf")
    return float("nan") if text in _NAN else text


def _spans(root: yaml.MappingNode, lines: Sequence[str]) -> list[tuple[int, int]]:
    starts = [key.start_mark.line for key, _ in root.value]
    spans = []
    for index, (_, value) in enumerate(root.value):
        first = starts[index]
        if root.flow_style:
            last = value.end_mark.line
        else:
            last = (starts[index + 1] if index + 1 < len(starts) else len(lines)) - 1
        while last > first and (not lines[last].strip() or lines[last].startswith("#")):
            last -= 1
        spans.append((first, last))
    return spans


def _with_stand_ins(text: str) -> tuple[str, dict[int, str], re.Pattern[str] | None]:
    """Puts unused characters where libyaml stumbles.

    Returns:
        The text, what each stand-in stands for, and how an escaped half of a pair looks now.
    """
    breaks = [char for char in _FOREIGN_BREAKS if char in text]
    escapes = "\\" in text and _ESCAPED_HALF.search(text) is not None
    if not breaks and not escapes:
        return text, {}, None
    unused = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    there = dict(zip([*breaks, "\\"] if escapes else breaks, unused, strict=False))
    backslash = there.pop("\\", None)
    text = text.translate({ord(char): stand_in for char, stand_in in there.items()})
    back = {ord(stand_in): char for char, stand_in in there.items()}
    if backslash is None:
        return text, back, None
    back[ord(backslash)] = "\\"
    text = _ESCAPED_HALF.sub(lambda found: found[1] + backslash, text)
    return text, back, re.compile(backslash + _HALF)


def _with_halves(text: str, half: re.Pattern[str]) -> str:
    """Two halves of a pair in a row are one character; one alone is U+FFFD."""
    text = half.sub(lambda found: chr(int(found[1], 16)), text)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line)
