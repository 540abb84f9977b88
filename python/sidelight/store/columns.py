"""How do the notes of an index become the arrays of a kept one (`store/kept.py`)?

Reads the catalog; touches no file.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.store.catalog import Catalog
from sidelight.store.kept import NONE, OF_PASSAGES, Groups
from sidelight.store.mapped import Dictionary, Strings
from sidelight.store.postings import segment_of
from sidelight.store.rows import ChunkRow, NoteRow, checksums_of_names, name_hash
from sidelight.vault.links import target_keys

Columns = dict[str, NDArray[Any]]


def columns_of(catalog: Catalog, interrupted: Callable[[], bool]) -> Columns | None:
    """All of them; takes some 60 µs a passage.

    Args:
        catalog: not changed meanwhile, so whoever would change it waits.
        interrupted: whether someone does; looked at after each note.

    Returns:
        None if it was interrupted.
    """
    paths = sorted(catalog.notes)
    passages, notes = _Passages(), _Notes()
    for path in paths:
        if interrupted():
            return None
        for chunk in catalog.by_note[path]:
            passages.add(chunk, note=len(notes.rows["size"]))
        notes.add(catalog.notes.read(path))
    digest = np.frombuffer(catalog.digest_of_notes().to_bytes(32, "big"), np.uint8)
    return {
        "digest": digest,
        **Strings.of(paths).named("path"),
        **passages.columns(catalog.vocabulary.all_terms(), len(paths)),
        **notes.columns(),
    }


class _Codes:
    """Numbers for values that come again."""

    def __init__(self) -> None:
        self._code: dict[str, int] = {}

    def __getitem__(self, value: str) -> int:
        return self._code.setdefault(value, len(self._code))

    def named(self, name: str) -> Columns:
        return Strings.of(self._code).named(name)

    def ordered(self) -> tuple[list[str], NDArray[np.int32]]:
        """The values, ascending, and the place of each code among them."""
        values = sorted(self._code)
        place = np.zeros(len(values), np.int32)
        place[[self._code[value] for value in values]] = np.arange(len(values), dtype=np.int32)
        return values, place


class _Passages:
    """The columns of passages, one row after the other."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {
            name: array("i")
            for name in (
                "passage_note", "passage_kind_code", "heading_code", "section_index",
                "chunk_index", "start_line", "end_line", "start_column", "end_column",
                "node_code", "language_code", "searchable", "lengths", "held",
            )
        }  # fmt: skip
        self._hashes: dict[str, list[bytes]] = {
            "chunk_id": [], "passage_embed_hash": [], "text_hash": [],
        }  # fmt: skip
        self._codes = {
            name: _Codes() for name in ("passage_kind", "heading_path", "node", "language")
        }
        self._terms: list[NDArray[np.int32]] = []
        self._counts: list[NDArray[np.uint16]] = []

    def add(self, chunk: ChunkRow, note: int) -> None:
        codes = self._codes
        start, end = chunk.columns or (NONE, NONE)
        heading_path = json.dumps(chunk.heading_path, ensure_ascii=False)
        values = {
            "passage_note": note,
            "passage_kind_code": codes["passage_kind"][chunk.kind.value],
            "heading_code": codes["heading_path"][heading_path],
            "section_index": chunk.section_index,
            "chunk_index": chunk.chunk_index,
            "start_line": _or_none(chunk.start_line),
            "end_line": _or_none(chunk.end_line),
            "start_column": start,
            "end_column": end,
            "node_code": NONE if chunk.node is None else codes["node"][chunk.node],
            "language_code": codes["language"][chunk.language],
            "searchable": chunk.searchable,
            "lengths": chunk.length,
            "held": len(chunk.codes),
        }
        for name, value in values.items():
            self._rows[name].append(value)
        self._hashes["chunk_id"].append(chunk.chunk_id.encode())
        self._hashes["passage_embed_hash"].append(chunk.embed_hash.encode())
        self._hashes["text_hash"].append(chunk.text_hash.encode())
        self._terms.append(chunk.codes)
        self._counts.append(chunk.counts)

    def columns(self, terms: Sequence[str], notes: int) -> Columns:
        """The arrays; `terms` are the vocabulary, of which what no passage holds is left out."""
        rows = {name: np.array(values, np.int32) for name, values in self._rows.items()}
        hashes = {name: np.array(values, np.bytes_) for name, values in self._hashes.items()}
        searchable = rows.pop("searchable").astype(bool)
        held = rows.pop("held")
        codes, held_terms = _renumbered(_joined(self._terms, np.int32), terms)
        counts = _joined(self._counts, np.uint16)
        there = np.repeat(searchable, held)
        row = np.cumsum(searchable, dtype=np.int32) - 1  # in postings
        segment = segment_of(
            codes[there], np.repeat(row, held)[there],
            np.minimum(counts[there], 255).astype(np.uint8), size=len(held_terms),
        )  # fmt: skip
        numbers = np.flatnonzero(searchable)
        texts, text = np.unique(hashes["passage_embed_hash"][searchable], return_inverse=True)
        columns = {**rows, **hashes, "searchable": searchable}
        table = np.zeros(len(held), [(name, columns[name].dtype) for name in OF_PASSAGES])
        for name in OF_PASSAGES:
            table[name] = columns[name]
        return {
            "passages": table,
            **{k: v for name, one in self._codes.items() for k, v in one.named(name).items()},
            "passages_from": np.searchsorted(rows["passage_note"], np.arange(notes + 1)),
            "bounds": np.concatenate([[0], np.cumsum(held, dtype=np.int64)]),
            "codes": codes,
            "counts": counts,
            "starts": segment.starts,
            "rows": segment.rows,
            "row_counts": segment.counts,
            **Dictionary.of(held_terms).named("term"),
            "embed_hash": texts,
            **Groups.of(text, numbers, len(texts)).named("embedded"),
        }


class _Notes:
    """The columns of notes, of their names and of what their links are compared by."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {
            name: []
            for name in (
                "size", "mtime_ns", "note_chunks", "indexed_at", "lead", "has_entities",
                "content_hash", "name_hash", "kind", "title", "error", "date", "tags",
                "properties", "record",
            )
        }  # fmt: skip
        self._kinds, self._terms, self._keys = _Codes(), _Codes(), _Codes()
        self._labels: list[str] = []
        self._called: list[str] = []  # the same as `name_in` has them
        self._names = {name: array("i") for name in ("note", "kind", "target", "size")}
        self._holding = array("i"), array("i")  # term, name
        self._linking = array("i"), array("i")  # key, note

    def add(self, note: NoteRow) -> None:
        number = len(self.rows["size"])
        values = {
            "size": note.size, "mtime_ns": note.mtime_ns, "note_chunks": note.chunks,
            "indexed_at": note.indexed_at, "lead": _or_none(note.lead),
            "has_entities": note.has_entities, "content_hash": note.content_hash.encode(),
            "name_hash": name_hash(note.title) if note.error is None else "", "kind": note.kind,
            "title": note.title, "error": note.error or "", "date": note.date or "",
            "tags": json.dumps(note.tags, ensure_ascii=False),
            "properties": json.dumps(note.properties, ensure_ascii=False, default=str),
            "record": note.record(),
        }  # fmt: skip
        for name, value in values.items():
            self.rows[name].append(value)
        for field in note.fields:
            for term in field.terms:
                _put(self._holding, self._terms[term], len(self._labels))
            named = {"note": number, "kind": self._kinds[field.kind], "target": field.target}
            for name, one in (*named.items(), ("size", len(field.terms))):
                self._names[name].append(one)
            self._labels.append(field.label)
            self._called.append(field.name)
        for key in {key for link in note.links for key in target_keys(link.target)}:
            _put(self._linking, self._keys[key], number)

    def columns(self) -> Columns:
        rows = self.rows
        forms = {
            "size": np.int64, "mtime_ns": np.int64, "note_chunks": np.int32,
            "indexed_at": np.float64, "lead": np.int32, "has_entities": np.bool_,
            "content_hash": np.bytes_,
        }  # fmt: skip
        columns: Columns = {name: np.array(rows[name], form) for name, form in forms.items()}
        for name in rows.keys() - forms.keys():
            columns |= Strings.of(rows[name]).named(name)
        failed = np.flatnonzero([bool(error) for error in rows["error"]])
        names = {name: np.array(values, np.int32) for name, values in self._names.items()}
        return {
            **columns,
            "failed": failed,
            "name_note": names["note"],
            "name_kind": names["kind"].astype(np.uint8),
            "name_target": names["target"],
            "name_size": names["size"],
            "first_name": np.searchsorted(names["note"], np.arange(len(rows["size"]) + 1)),
            **self._kinds.named("name_kinds"),
            "name_checksum": checksums_of_names(self._called).astype(np.uint32),
            **Strings.of(self._labels).named("label"),
            **_grouped(self._terms, self._holding, "name_term", "holding"),
            **_grouped(self._keys, self._linking, "link_key", "linking"),
        }


def _grouped(keys: _Codes, pairs: tuple[array[int], array[int]], key: str, members: str) -> Columns:
    """Keys, ascending, and what belongs to each."""
    values, place = keys.ordered()
    code, member = (np.array(one, np.int32) for one in pairs)
    groups = Groups.of(place[code], member, len(values))
    return {**Dictionary.of(values).named(key), **groups.named(members)}


def _put(pairs: tuple[array[int], array[int]], key: int, member: int) -> None:
    pairs[0].append(key)
    pairs[1].append(member)


def _renumbered(
    codes: NDArray[np.int32], terms: Sequence[str]
) -> tuple[NDArray[np.int32], list[str]]:
    """Codes by the order of the terms that stand there, and those terms."""
    used = np.unique(codes).tolist()
    used.sort(key=terms.__getitem__)
    place = np.zeros(len(terms), np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return place[codes], [terms[code] for code in used]


def _joined(parts: Iterable[NDArray[Any]], form: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, form), *parts])


def _or_none(number: int | None) -> int:
    return NONE if number is None else number
