"""What is a knowledge base beside the vault? The user's own description of it, checked.

Stands in the settings as `sources`, a list of objects. Checking a description reads no disk: whether a folder is
there is asked when it is searched, checked or newly set (`missing`).
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from sidelight.errors import UsageError

ASKING = "SIDELIGHT_ASKING"  # environment: keys of the vaults whose search runs this program
OWN = "vault"  # the name of the vault itself among the sources of a result
KINDS = ("vault", "markdown", "records", "command")
INPUTS = ("argument", "json")
RECORD_FORMATS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".csv": "csv", ".tsv": "csv",
    ".yaml": "yaml", ".yml": "yaml",
    ".db": "sqlite", ".sqlite": "sqlite", ".sqlite3": "sqlite",
}  # fmt: skip
MAX_SOURCES = 100
MAX_NAME_CHARS = 60
MAX_TEXT_CHARS = 4_096
TIMEOUT_S = (0.1, 300.0)
_ALLOWED = {  # besides name, kind, description and timeout_s
    "vault": ("path", "data_dir"),
    "markdown": ("path",),
    "records": (
        "path", "table", "title_column", "text_columns", "id_column", "link_column", "encoding",
    ),
    "command": ("command", "input"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """One knowledge base; which fields count depends on `kind`."""

    name: str  # shown on every result
    kind: str  # "vault" | "markdown" | "records" | "command"
    description: str = ""  # what is in it; decides who is asked first where there are many
    timeout_s: float = 20.0
    path: str = ""  # folder of a vault or of Markdown files; file of records
    data_dir: str = ""  # vault: where its index lies, if not in the user's data folder
    table: str = ""  # records in SQLite: a table or view
    title_column: str = "title"
    text_columns: tuple[str, ...] = ("text",)
    id_column: str = "id"
    link_column: str = ""  # "": none
    encoding: str = ""  # records in files; "": UTF-8, UTF-16 with a mark, or GB18030
    command: tuple[str, ...] = ()  # program and arguments; "{query}" stands for the words
    input: str = "argument"  # "argument" | "json": the query as an object on standard input


def sources_from(value: Any) -> tuple[SourceSettings, ...]:
    """The sources that a setting describes.

    Raises:
        UsageError: the first thing that is wrong, by the source's name.
    """
    if not isinstance(value, list | tuple):
        raise UsageError("Setting 'sources' must be a list.", "See docs/sources.md.")
    if len(value) > MAX_SOURCES:
        raise UsageError(f"There are more than {MAX_SOURCES} sources.", "Leave some out.")
    sources = tuple(one if isinstance(one, SourceSettings) else _source(one) for one in value)
    seen: dict[str, str] = {}
    for source in sources:
        key = name_key(source.name)
        if key in seen:
            raise UsageError(
                f"Two sources are named '{source.name}'.", "Give each a name of its own."
            )
        seen[key] = source.name
    return sources


def name_key(name: str) -> str:
    """Names that differ only in case or Unicode form are the same."""
    return unicodedata.normalize("NFKC", name).casefold()


def as_given(source: SourceSettings) -> dict[str, Any]:
    """A source as a person would write it: without what stands at its default."""
    given = {f.name: getattr(source, f.name) for f in fields(source)}
    return {
        f.name: list(v) if isinstance(v := given[f.name], tuple) else v
        for f in fields(source)
        if f.name in ("name", "kind") or given[f.name] != f.default
    }


def missing(source: SourceSettings) -> str:
    """What a description names that is not there, in words; "" if all is."""
    if source.kind == "command":
        return ""
    place = Path(os.path.expanduser(source.path))
    if source.kind == "records":
        return "" if place.is_file() else f"there is no file at {place}"
    return "" if place.is_dir() else f"there is no folder at {place}"


def _source(value: Any) -> SourceSettings:
    if not isinstance(value, Mapping):
        raise UsageError("Each of the 'sources' must be an object.", "See docs/sources.md.")
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        raise UsageError("A source has no name.", "Give it a 'name'; every result shows it.")
    _check_name(name)
    kind = value.get("kind")
    if kind not in KINDS:
        raise _wrong(name, f"has no kind '{kind}'", f"Kinds: {', '.join(KINDS)}.")
    values = {key: _typed(name, key, given) for key, given in value.items()}
    source = SourceSettings(**values)
    _check_fields(source, value)
    _CHECKS[source.kind](source)
    return source


def _check_name(name: str) -> None:
    if len(name) > MAX_NAME_CHARS or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"A source's name must be one line of at most {MAX_NAME_CHARS} characters.",
            "Choose a short name without spaces at its ends.",
        )
    if name_key(name) == OWN:
        raise UsageError(
            f"No source can be named '{OWN}': that is the vault itself.", "Choose another name."
        )


def _typed(name: str, key: str, value: Any) -> Any:
    default = {f.name: f for f in fields(SourceSettings)}.get(key)
    if default is None:
        raise _wrong(name, f"has no field '{key}'", "See docs/sources.md for those there are.")
    if key in ("text_columns", "command"):
        if isinstance(value, str) and key == "text_columns":
            value = [value]
        texts = isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
        if not texts or (not value and key == "text_columns"):
            raise _wrong(name, f"needs a list of strings as '{key}'")
        return tuple(value)
    if key == "timeout_s":
        low, high = TIMEOUT_S
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not low <= value <= high:
            raise _wrong(name, f"needs a 'timeout_s' from {low:g} to {high:g}")
        return float(value)
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARS or "\0" in value:
        raise _wrong(name, f"needs a string as '{key}'")
    return value


def _check_fields(source: SourceSettings, given: Mapping[str, Any]) -> None:
    """Refuses what another kind of source has: it would be ignored without a word."""
    shared = ("name", "kind", "description", "timeout_s")
    defaults = asdict(SourceSettings("", ""))
    for key in given:
        foreign = key not in shared and key not in _ALLOWED[source.kind]
        value = getattr(source, key)
        if foreign and value != defaults[key]:
            raise _wrong(
                source.name,
                f"is of kind '{source.kind}', which has no '{key}'",
                f"It has: {', '.join(_ALLOWED[source.kind])}.",
            )


def _check_path(source: SourceSettings) -> None:
    if not source.path:
        raise _wrong(source.name, "has no path", "Give its 'path'.")
    if not Path(os.path.expanduser(source.path)).is_absolute():
        raise _wrong(
            source.name, "has a path that is not whole", "Begin it at the root, or with `~`."
        )


def _check_records(source: SourceSettings) -> None:
    _check_path(source)
    form = RECORD_FORMATS.get(Path(source.path).suffix.lower())
    if form is None:
        known = ", ".join(RECORD_FORMATS)
        raise _wrong(source.name, "is a file of no known form", f"Known endings: {known}.")
    if form == "sqlite" and not source.table:
        raise _wrong(source.name, "names no table", "Give the 'table' or view to search.")
    if form != "sqlite" and source.table:
        raise _wrong(source.name, "names a table, but is no SQLite file", "Leave 'table' out.")
    if source.encoding:
        try:
            "".encode(source.encoding)
        except (LookupError, UnicodeError) as error:
            raise _wrong(
                source.name,
                f"has the unknown encoding '{source.encoding}'",
                "Name one that Python knows, such as gb18030 or cp1252.",
            ) from error


def _check_command(source: SourceSettings) -> None:
    if not source.command or not source.command[0].strip():
        raise _wrong(source.name, "has no command", "Give program and arguments as a list.")
    if source.input not in INPUTS:
        raise _wrong(source.name, f"has no input '{source.input}'", f"One of {', '.join(INPUTS)}.")
    asked = any("{query}" in part for part in source.command[1:])
    if source.input == "argument" and not asked:
        raise _wrong(
            source.name,
            "is never given the query",
            'Put "{query}" among its arguments, or set \'input\' to "json".',
        )


_CHECKS = {
    "vault": _check_path,
    "markdown": _check_path,
    "records": _check_records,
    "command": _check_command,
}


def _wrong(name: str, what: str, remedy: str = "See docs/sources.md.") -> UsageError:
    return UsageError(f"Source '{name}' {what}.", remedy)
