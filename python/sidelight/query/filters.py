"""Which notes may answer: filters apply before any channel cuts its list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from typing import Any

from sidelight.language.matching import holds
from sidelight.query.conditions import All, Filter, Scope, Within, matches
from sidelight.store.catalog import Catalog
from sidelight.store.rows import NoteHead
from sidelight.store.tables import Tables
from sidelight.types import Note
from sidelight.vault.markdown import parse_note


def allowed_notes(wanted: Filter | None, catalog: Catalog, tables: Tables) -> set[str] | None:
    """Paths of the notes a filter selects; None where there is no filter."""
    if wanted is None:
        return None
    with catalog.lock:
        rows = [row for row in catalog.notes.heads() if row.error is None]
    texts = _Texts(tables)
    return {row.path for row in rows if matches(wanted, StoredNote(row, texts))}


def is_scoped(wanted: Filter | None) -> bool:
    """Whether a filter keeps to one file or folder, so that all its passages may show."""
    match wanted:
        case All(parts):
            return any(is_scoped(part) for part in parts)
        case Within(scope):
            return scope in (Scope.PATH, Scope.FILE)
        case _:
            return False


def holds_phrase(text: str, phrases: Sequence[str]) -> bool:
    """Whether a text holds one of the phrases, in any spelling, character by character."""
    return any(holds(phrase, text) for phrase in phrases)


class _Texts:
    """Every note's bytes as indexed, read at the first look: one pass beats many look-ups."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @cached_property
    def _all(self) -> dict[str, bytes]:
        return dict(self._tables.all_snapshots())

    def note(self, path: str) -> Note:
        """A note, parsed as indexed."""
        return parse_note(path, self._all.get(path, b""))


class StoredNote:
    """A note as filters see it (`conditions.NoteView`): its row, its text when asked for."""

    def __init__(self, row: NoteHead, texts: _Texts) -> None:
        self._row = row
        self._texts = texts

    @property
    def path(self) -> str:
        """Vault path."""
        return self._row.path

    @property
    def tags(self) -> Sequence[str]:
        """Tags of frontmatter and body, without `#`."""
        return self._row.tags

    @property
    def properties(self) -> Mapping[str, Any]:
        """Frontmatter values by key."""
        return dict(self._row.properties)

    @property
    def date(self) -> date | None:
        """By a date property, else a date in the file name, else modification time."""
        if self._row.date is not None:
            return date.fromisoformat(self._row.date)
        return datetime.fromtimestamp(self._row.mtime_ns / 1e9).date()

    @cached_property
    def _note(self) -> Note:
        return self._texts.note(self._row.path)

    def text(self) -> str:
        """The whole note as indexed."""
        return "\n".join(self._note.lines)

    def lines(self) -> Sequence[str]:
        """Its lines."""
        return self._note.lines

    def sections(self) -> Iterable[str]:
        """The text of each section: a heading with what stands before the next."""
        starts = [1, *(h.line for h in self._note.headings if h.line > 1)]
        ends = [*(start - 1 for start in starts[1:]), len(self._note.lines)]
        for start, end in zip(starts, ends, strict=True):
            yield "\n".join(self._note.lines[start - 1 : end])
