"""Which records stand in a JSONL, CSV or YAML file, and on which lines?

Reads line by line within bounds; a broken line or an open quote costs that record, never the
ones after it, and is told. Encodings: UTF-8, UTF-16 with its mark, GB18030, or the one named.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sidelight.sources.asking import SourceError

MAX_FILE_BYTES = 256_000_000  # read of one file; what lies behind is told of
MAX_YAML_BYTES = 8_000_000  # YAML is read as a whole, at about 1 MB a second
MAX_LINE_CHARS = 1_000_000
MAX_QUOTED_LINES = 500  # a quoted field that runs on further was never closed
_PART = 1 << 20  # bytes read at a time
_MAX_DEPTH = 20  # of a YAML field
_MAX_VALUES = 10_000  # of a YAML field; more come only from aliases that multiply

Row = tuple[Mapping[str, Any], int, int]  # fields by name, first and last line
Problems = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What one pass over the bytes shows."""

    encoding: str
    digest: str  # SHA-256 of what was read
    size: int
    truncated: bool


def examine(path: Path, encoding: str, stopped: Callable[[], bool]) -> FileFacts:
    """Finds out how a file is encoded; reads at most `MAX_FILE_BYTES`.

    Raises:
        SourceError: it is in no encoding we know, or `stopped` said so.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(4)
        candidates = [encoding] if encoding else _candidates(head)
        decoders = {name: codecs.getincrementaldecoder(name)("strict") for name in candidates}
        file.seek(0)
        digest, size = hashlib.sha256(), 0
        while size < MAX_FILE_BYTES and (part := file.read(min(_PART, MAX_FILE_BYTES - size))):
            if stopped():
                raise SourceError("Reading the file took too long.", "Raise its 'timeout_s'.")
            digest.update(part)
            size += len(part)
            for name in list(decoders):
                try:
                    decoders[name].decode(part)
                except UnicodeDecodeError:
                    del decoders[name]
            if not decoders:
                break
        truncated = size == MAX_FILE_BYTES and bool(file.read(1))
    if not decoders:
        tried = " nor ".join(candidates)
        raise SourceError(
            f"The file is not in {encoding}." if encoding else f"The file is neither {tried}.",
            "Name its encoding with 'encoding', or save it as UTF-8.",
        )
    return FileFacts(next(iter(decoders)), digest.hexdigest(), size, truncated)


def _candidates(head: bytes) -> list[str]:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ["utf-16"]
    return ["utf-8-sig", "gb18030"]


def rows(path: Path, form: str, facts: FileFacts, problem: Problems) -> Iterator[Row]:
    """The records of a file in order; what cannot be read is told and left out.

    Args:
        path: the file.
        form: "jsonl", "csv" or "yaml".
        facts: from `examine`.
        problem: told what is wrong, in words.

    Raises:
        SourceError: the file as a whole is not what it should be.
    """
    if facts.truncated:
        problem(f"only its first {MAX_FILE_BYTES // 1_000_000} MB were read")
    readers = {"jsonl": _json_rows, "csv": _csv_rows, "yaml": _yaml_rows}
    with path.open("rb") as binary:
        text = io.TextIOWrapper(binary, facts.encoding, "replace", newline="")
        try:
            yield from readers[form](_Lines(text, facts, problem), path, problem)
        finally:
            text.detach()


class _Lines:
    """Numbered lines without their endings; `\\n`, `\\r\\n` and `\\r` end one."""

    def __init__(self, text: io.TextIOWrapper, facts: FileFacts, problem: Problems) -> None:
        self._text = text
        self._problem = problem
        self._left = facts.size  # characters never outnumber bytes
        self.facts = facts

    def __iter__(self) -> Iterator[tuple[int, str]]:
        number = 0
        while self._left > 0 and (line := self._text.readline(MAX_LINE_CHARS)):
            number += 1
            self._left -= len(line)
            if number == 1:
                line = line.removeprefix("\ufeff")  # stays where the encoding was named
            if len(line) == MAX_LINE_CHARS and not line.endswith(("\n", "\r")):
                self._problem(f"line {number} is too long")
                while (rest := self._text.readline(MAX_LINE_CHARS)) and self._left > 0:
                    self._left -= len(rest)
                    if rest.endswith(("\n", "\r")):
                        break
                continue
            yield number, line.rstrip("\r\n")


# --------------------------------------------------------------------------- JSON lines


def _json_rows(lines: _Lines, path: Path, problem: Problems) -> Iterator[Row]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            problem(f"line {number} is not JSON")
            continue
        if isinstance(value, dict):
            yield value, number, number
        else:
            problem(f"line {number} is no JSON object")


# --------------------------------------------------------------------------- CSV


def _csv_rows(lines: _Lines, path: Path, problem: Problems) -> Iterator[Row]:
    records = _csv_records(iter(lines), path.suffix.lower() == ".tsv", problem)
    header = next(records, None)
    if header is None:
        raise SourceError("The file is empty.", "Its first line must name the columns.")
    names = [name.strip() for name in header[0]]
    for fields, first, last in records:
        if not any(field.strip() for field in fields):
            continue
        if len(fields) != len(names):
            problem(f"line {first} has {len(fields)} fields instead of {len(names)}")
        missing = [""] * (len(names) - len(fields))
        yield dict(zip(names, [*fields, *missing], strict=False)), first, last


def _csv_records(
    lines: Iterator[tuple[int, str]], tabs: bool, problem: Problems
) -> Iterator[tuple[list[str], int, int]]:
    """Fields with their lines; a quote that is never closed costs its own line only."""
    delimiter = "\t" if tabs else ""
    waiting: list[tuple[int, str]] = []  # lines to be read again
    held: list[tuple[int, str]] = []  # of the record that is being read
    state = _Quotes()
    while True:
        entry = waiting.pop(0) if waiting else next(lines, None)
        if entry is not None:
            if not held and not entry[1].strip():
                continue
            delimiter = delimiter or _delimiter(entry[1])
            held.append(entry)
            state.read(entry[1], delimiter)
            if state.inside and len(held) <= MAX_QUOTED_LINES:
                continue
        if not held:
            return
        first, last = held[0][0], held[-1][0]
        if state.inside:
            problem(f"line {first}: a quote is never closed")
            yield held[0][1].replace('"', "").split(delimiter), first, first
            waiting[:0] = held[1:]
        else:
            text = "\n".join(line for _, line in held)
            yield next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)), first, last
        held, state = [], _Quotes()
        if entry is None and not waiting:
            return


class _Quotes:
    """Whether the text so far ends inside a quoted field: a quote opens only where one begins."""

    def __init__(self) -> None:
        self.inside = False

    def read(self, line: str, delimiter: str) -> None:
        if '"' not in line:
            return
        at_start = not self.inside
        index = 0
        while index < len(line):
            character = line[index]
            if self.inside:
                if character == '"' and line[index + 1 : index + 2] == '"':
                    index += 1
                elif character == '"':
                    self.inside = False
            elif character == '"' and at_start:
                self.inside = True
            at_start = character == delimiter and not self.inside
            index += 1


def _delimiter(header: str) -> str:
    return max(",;\t|", key=header.count)


csv.field_size_limit(MAX_QUOTED_LINES * MAX_LINE_CHARS)


# --------------------------------------------------------------------------- YAML


def _yaml_rows(lines: _Lines, path: Path, problem: Problems) -> Iterator[Row]:
    if lines.facts.size > MAX_YAML_BYTES:
        raise SourceError(
            f"A YAML file of more than {MAX_YAML_BYTES // 1_000_000} MB is not read.",
            "Save it as JSON lines, which is read line by line.",
        )
    text = "\n".join(line for _, line in lines).translate(_FOREIGN_BREAKS)
    try:
        documents = list(yaml.compose_all(text, yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise SourceError(f"The file is not YAML{where}.", "Correct it.") from error
    for document in documents:
        items = document.value if isinstance(document, yaml.SequenceNode) else [document]
        for item in items:
            first = item.start_mark.line + 1
            if not isinstance(item, yaml.MappingNode):
                problem(f"line {first} is no mapping")
                continue
            last = max(first, item.end_mark.line + (1 if item.end_mark.column else 0))
            fields = {str(key.value): _Plain().value(value) for key, value in item.value}
            yield fields, first, last


# libyaml ends lines at these too, which would shift every line below.
_FOREIGN_BREAKS = {0x85: " ", 0x2028: " ", 0x2029: " "}


class _Plain:
    """A field as plain values, scalars as they are written; what is too much is left out."""

    def __init__(self) -> None:
        self._left = _MAX_VALUES

    def value(self, node: yaml.Node, depth: int = 0) -> Any:
        self._left -= 1
        if depth > _MAX_DEPTH or self._left < 0:
            return ""
        if isinstance(node, yaml.MappingNode):
            return {str(self.value(k, depth + 1)): self.value(v, depth + 1) for k, v in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return node.value
