"""Asks again about a passage or a note that an answer named."""

from __future__ import annotations

from dataclasses import dataclass

from sidelight.errors import NotFoundError
from sidelight.query.answer import cite_attachment, passage_of, texts_of
from sidelight.query.cite import LiveFiles, cite
from sidelight.query.index import Index
from sidelight.query.refs import Ref, parse_ref, path_hash
from sidelight.types import Citation, Link, Passage, ResolvedLink
from sidelight.vault.chunker import chunk_note
from sidelight.vault.links import path_key as key_of_path
from sidelight.vault.links import subpath_line, target_keys
from sidelight.vault.markdown import parse_note
from sidelight.vault.relocate import unresolvable


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage of some version of a note.

    Attributes:
        path: of the note now, as far as renames were seen.
        content_hash: of the version the passage is from.
        version_path: the path under which that version was indexed.
        current: whether that version is the one in the index.
    """

    path: str
    passage: Passage
    content_hash: str
    version_path: str
    current: bool


def find(index: Index, ref: str) -> FoundPassage:
    """The passage a reference names, from the index or an earlier version of its note.

    Raises:
        NotFoundError: neither holds it.
    """
    wanted = parse_ref(ref)
    found = _attachment(index, wanted) or _in_index(index, wanted) or _in_history(index, wanted)
    if found is None:
        raise NotFoundError("The index no longer knows this passage.", "Search again.")
    return found


def resolve(index: Index, ref: str, buffer: str | None) -> tuple[str, Citation]:
    """Where the passage stands now; the editor's text counts instead of the file if given.

    Raises:
        NotFoundError: as `find`.
    """
    found = find(index, ref)
    if found.path in index.catalog.attachments:
        there = cite_attachment(index.vault, found.path)
        return found.path, there or unresolvable(found.passage, "the file is gone")
    settings = index.settings
    files = LiveFiles(index.vault, settings.max_note_bytes, settings.followed_links)
    if buffer is not None:
        files.with_buffer(found.path, buffer)
    return found.path, cite(
        found.passage, found.content_hash, lambda: _version(index, found), files.get(found.path)
    )


def _version(index: Index, found: FoundPassage) -> bytes:
    if found.current:
        return index.tables.snapshots([found.version_path]).get(found.version_path, b"")
    earlier = index.tables.earlier_version(found.content_hash)
    return earlier[1] if earlier else b""


def _attachment(index: Index, wanted: Ref) -> FoundPassage | None:
    for path, (row, chunk) in index.catalog.attachments.items():
        if row.content_hash.startswith(wanted.content_hash):
            return FoundPassage(path, passage_of(chunk, ""), row.content_hash, path, True)
    return None


def _in_index(index: Index, wanted: Ref) -> FoundPassage | None:
    with index.catalog.lock:
        paths = [
            p
            for p, n in index.catalog.notes.items()
            if n.content_hash.startswith(wanted.content_hash)
        ]
        if not paths:
            return None
        paths.sort(key=lambda p: (path_hash(p) != wanted.path_hash, p))
        rows = index.catalog.by_note[paths[0]]
        content_hash = index.catalog.notes[paths[0]].content_hash
    if wanted.chunk_index >= len(rows):
        return None
    row = rows[wanted.chunk_index]
    if not row.text_hash.startswith(wanted.text_hash):
        return None
    named = path_hash(paths[0]) == wanted.path_hash
    path = index.current_path(paths[0]) if named else _path_named(index, wanted, paths)
    if path is None:
        return None
    text = texts_of(index, [row.chunk_id])[0]
    return FoundPassage(path, passage_of(row, text), content_hash, paths[0], True)


def _in_history(index: Index, wanted: Ref) -> FoundPassage | None:
    earlier = index.tables.earlier_version(wanted.content_hash)
    if earlier is None:
        return None
    path, data = earlier
    note = parse_note(path, data)
    chunks = chunk_note(note)
    if wanted.chunk_index >= len(chunks):
        return None
    chunk = chunks[wanted.chunk_index]
    passage = Passage(
        kind=chunk.kind,
        heading_path=chunk.heading_path,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        columns=chunk.columns,
        node=chunk.node,
        text=chunk.text,
    )
    return FoundPassage(index.current_path(path), passage, note.content_hash, path, False)


def _path_named(index: Index, wanted: Ref, holders: list[str]) -> str | None:
    """Where the note that the reference named is now, if only others hold its old bytes.

    It may live on with other content, or have been renamed; else its bytes must stand at
    exactly one other path (conformance rule 1).
    """
    with index.catalog.lock:
        same = [p for p in index.catalog.notes if path_hash(p) == wanted.path_hash]
    if same:
        return same[0]
    return holders[0] if len(holders) == 1 else None


def links(index: Index, path: str, direction: str) -> list[ResolvedLink]:
    """Links of a note with where they lead, their lines read from the files as they are now."""
    settings = index.settings
    files = LiveFiles(index.vault, settings.max_note_bytes, settings.followed_links)
    found: list[ResolvedLink] = []
    if direction in ("out", "both"):
        found += [_resolved(index, files, link, path) for link in _links_of(files, path)]
    if direction in ("in", "both"):
        for source in _linking(index, path):
            resolved = (_resolved(index, files, link, source) for link in _links_of(files, source))
            found += [link for link in resolved if link.path == path]
    return found


def _linking(index: Index, path: str) -> list[str]:
    """Other notes with a link whose name could lead to `path`."""
    key = key_of_path(path)
    with index.catalog.lock:
        return sorted(
            note.path
            for note in index.catalog.notes.values()
            if note.path != path and any(key in target_keys(link.target) for link in note.links)
        )


def _links_of(files: LiveFiles, path: str) -> tuple[Link, ...]:
    live = files.get(path)
    return live.note.links if live is not None and live.content_hash is not None else ()


def _resolved(index: Index, files: LiveFiles, link: Link, source: str) -> ResolvedLink:
    target = index.resolver.resolve(link.target, source)
    line = None
    if target is not None and link.subpath and target.lower().endswith(".md"):
        live = files.get(target)
        if live is not None and live.content_hash is not None:
            line = subpath_line(live.note, link.subpath)
    return ResolvedLink(link=link, source_path=source, path=target, line=line)
