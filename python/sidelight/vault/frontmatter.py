"""What does the YAML block of a note say: properties, tags, aliases, links?

How YAML is read is the business of `yaml_block` and `plain_yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sidelight.types import Frontmatter, Link, LinkKind, Problem, Property
from sidelight.vault.plain_yaml import read_plain
from sidelight.vault.tags import valid_tag
from sidelight.vault.wikilinks import whole_wikilink, wikilink
from sidelight.vault.yaml_block import InvalidYamlError, YamlBlock, read_block

_FENCE = re.compile(r"---[ \t]*")
# Line numbers within the block count from 0; the fence is line 1 of the note.
_OFFSET = 2


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
    inner, body_start = lines[1:end], end + 2
    try:
        block = read_plain(inner) or read_block(inner)
    except InvalidYamlError as error:
        line = None if error.line is None else error.line + _OFFSET
        problem = Problem("yaml-invalid", str(error), line)
        return ReadFrontmatter(Frontmatter(True, False, None, body_start), (), (problem,))
    properties = tuple(
        [
            Property(key, value, first + _OFFSET, last + _OFFSET)
            for (key, value), (first, last) in zip(block.data.items(), block.spans, strict=True)
        ]
    )
    links = tuple(_links(block)) if block.bracketed else ()
    return ReadFrontmatter(Frontmatter(True, True, block.data, body_start, properties), links)


def _links(block: YamlBlock) -> Iterator[Link]:
    """Values that are one whole quoted wikilink, in file order."""
    for text, line in block.bracketed:
        inner = whole_wikilink(text)
        if inner is not None:
            link = wikilink(
                text, inner, embed=False, line=line + _OFFSET, kind=LinkKind.FRONTMATTER
            )
            if link is not None:
                yield link


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
        if len(name) == len(key) and name.lower() == key:
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
