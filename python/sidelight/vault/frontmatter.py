"""What does the YAML block of a note say? Values by YAML 1.2, with the lines they stand on.

PyYAML parses; this module decides what a plain scalar means (YAML 1.2 core schema: `yes`,
`12:30` and dates stay strings), refuses duplicate keys, and keeps line numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_not
from typing import Any

import yaml
from yaml._yaml import CParser

from sidelight.types import Frontmatter, Link, LinkKind, Problem, Property
from sidelight.vault.tags import valid_tag
from sidelight.vault.wikilinks import whole_wikilink, wikilink

_FENCE = re.compile(r"---[ \t]*")
# More values than this come only from aliases that multiply (a "YAML bomb").
MAX_VALUES = 20_000
MAX_DEPTH = 60

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_CORE_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(?:inf|Inf|INF)")
_NAN = frozenset((".nan", ".NaN", ".NAN"))
_MAX_DIGITS = 300  # longer integers are identifiers, not numbers
# libyaml ends lines at these too; YAML 1.2 and Obsidian do not.
_FOREIGN_BREAKS = "\x85\u2028\u2029"


@dataclass(frozen=True, slots=True)
class ReadFrontmatter:
    """The block, the links in its values, and what is wrong with it."""

    frontmatter: Frontmatter
    links: tuple[Link, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_frontmatter(lines: Sequence[str]) -> ReadFrontmatter:
    """Reads the block that opens a note; never raises on its content.

    Args:
        lines: the whole note.
    """
    end = _closing_fence(lines)
    if end is None:
        return ReadFrontmatter(Frontmatter())
    body_start = end + 2
    try:
        return _read(lines[1:end], body_start)
    except (yaml.YAMLError, _InvalidBlockError) as error:
        problem = Problem("yaml-invalid", _message(error), _error_line(error))
        return ReadFrontmatter(Frontmatter(True, False, None, body_start), (), (problem,))


def frontmatter_tags(data: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Tags of the property `tags` (any case): a list, or one string as a list of one."""
    tags: list[str] = []
    for value in _values(data, "tags"):
        items = value if isinstance(value, list) else [value]
        names = [item.strip().removeprefix("#") for item in items if isinstance(item, str)]
        tags += [name for name in names if valid_tag(name)]
    return tuple(tags)


def frontmatter_aliases(data: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Other names of the note, from the property `aliases` (any case)."""
    names: list[str] = []
    for value in _values(data, "aliases"):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str | int | float) and not isinstance(item, bool):
                names.append(str(item).strip())
    return tuple(name for name in names if name)


def _values(data: Mapping[str, Any] | None, key: str) -> Iterator[Any]:
    for name, value in (data or {}).items():
        if name.lower() == key:
            yield value


def body_start_line(lines: Sequence[str]) -> int:
    """The line after the closing `---`, or 1; reads no YAML."""
    end = _closing_fence(lines)
    return 1 if end is None else end + 2


def _closing_fence(lines: Sequence[str]) -> int | None:
    if not lines or not lines[0].startswith("---") or not _FENCE.fullmatch(lines[0]):
        return None
    for index in range(1, len(lines)):
        if lines[index].startswith("---") and _FENCE.fullmatch(lines[index]):
            return index
    return None


# ------------------------------------------------------------------ YAML to values


class _InvalidBlockError(Exception):
    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class _Composer(CParser):
    """libyaml's composer. A scalar's style says whether it is plain, so nothing is resolved.

    The composer calls these three for every node; builtins that do nothing of use take half
    the time of Python functions that do nothing.
    """

    descend_resolver = staticmethod(is_not)  # (parent, index)
    ascend_resolver = staticmethod(tuple)  # ()
    resolve = staticmethod(slice)  # (node class, value, implicit); stands where a tag would


def _read(lines: Sequence[str], body_start: int) -> ReadFrontmatter:
    text, back = _without_foreign_breaks("\n".join(lines) + "\n")
    root = _Composer(text).get_single_node()
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value and not root.style):
        return ReadFrontmatter(Frontmatter(True, True, {}, body_start))
    if not isinstance(root, yaml.MappingNode):
        raise _InvalidBlockError("The block is not a list of properties.", 2)
    maker = _Maker(back)
    data = maker.mapping(root, 0)
    properties = _properties(root, data, lines)
    return ReadFrontmatter(
        Frontmatter(True, True, data, body_start, properties), tuple(maker.links)
    )


class _Maker:
    """Makes values from nodes, counting them so that aliases cannot multiply for ever."""

    def __init__(self, back: Mapping[int, str]) -> None:
        self._back = back
        self._made = 0
        self.links: list[Link] = []  # values that are one whole wikilink, in file order

    def value(self, node: yaml.Node, depth: int) -> Any:
        self._made += 1
        if self._made > MAX_VALUES or depth > MAX_DEPTH:
            raise _InvalidBlockError("The block is too large or refers to itself.", _line(node))
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
                raise _InvalidBlockError(f"The property '{key}' occurs twice.", _line(key_node))
            data[key] = self.value(value_node, depth + 1)
        return data

    def key(self, node: yaml.Node, depth: int) -> str:
        if isinstance(node, yaml.ScalarNode):
            return self._text(node)
        return str(self.value(node, depth + 1))

    def scalar(self, node: Any) -> Any:
        text = self._text(node) if self._back else node.value
        tag = node.tag
        if tag.__class__ is str:  # written in the note: "!!str 12"
            return core_value(text) if tag in _CORE_TAGS else text
        if not node.style:
            return core_value(text)
        if text.startswith("[["):
            self._add_link(text, node)
        return text

    def _add_link(self, text: str, node: yaml.Node) -> None:
        inner = whole_wikilink(text)
        if inner is not None:
            line = _line(node)
            link = wikilink(text, inner, embed=False, line=line, kind=LinkKind.FRONTMATTER)
            if link is not None:
                self.links.append(link)

    def _text(self, node: yaml.Node) -> str:
        text: str = node.value
        return text.translate(self._back) if self._back else text


def core_value(text: str) -> str | int | float | bool | None:
    """What a plain scalar means in the YAML 1.2 core schema."""
    if not text:
        return None
    first = text[0]
    if first.isalpha():
        return _WORDS.get(text, text)
    if text == "~":
        return None
    if first not in "+-.0123456789" or len(text) > _MAX_DIGITS:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    infinite = _INFINITE.fullmatch(text)
    if infinite:
        return float(infinite.group(1) + "inf")
    return float("nan") if text in _NAN else text


def _properties(
    root: yaml.MappingNode, data: Mapping[str, Any], lines: Sequence[str]
) -> tuple[Property, ...]:
    starts = [key.start_mark.line for key, _ in root.value]
    properties = []
    for index, ((_, value), (key, made)) in enumerate(zip(root.value, data.items(), strict=True)):
        first = starts[index]
        if root.flow_style:
            last = value.end_mark.line
        else:
            last = (starts[index + 1] if index + 1 < len(starts) else len(lines)) - 1
        while last > first and (not lines[last].strip() or lines[last].startswith("#")):
            last -= 1
        properties.append(Property(key, made, first + 2, last + 2))  # line 1 is the fence
    return tuple(properties)


def _without_foreign_breaks(text: str) -> tuple[str, dict[int, str]]:
    if text.isascii() or not any(char in text for char in _FOREIGN_BREAKS):
        return text, {}
    unused = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    there = dict(zip(_FOREIGN_BREAKS, unused, strict=False))
    return text.translate({ord(k): v for k, v in there.items()}), {
        ord(v): k for k, v in there.items()
    }


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 2


def _error_line(error: Exception) -> int | None:
    if isinstance(error, _InvalidBlockError):
        return error.line
    mark = getattr(error, "problem_mark", None)
    return mark.line + 2 if mark is not None else None


def _message(error: Exception) -> str:
    if isinstance(error, _InvalidBlockError):
        return str(error)
    return f"The block is not valid YAML: {getattr(error, 'problem', None) or 'unreadable'}."
