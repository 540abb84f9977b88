"""Asks again about a passage or a note that an answer named."""

from __future__ import annotations

from dataclasses import dataclass

from sidelight.errors import NotFoundError
from sidelight.query.answer import cite_attachment, passage_of, texts_of
from sidelight.query.cite import LiveFiles, cite
from sidelight.query.index import Index
from sidelight.query.refs import Ref, parse_ref, path_hash
from sidelight.query.renamed import path_after, path_now
from sidelight.store.rows import EarlierVersion, NoteHead
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
        path: of the note now, as far as renames were seen; None if it is gone.
        content_hash: of the version the passage is from.
        version_path: a path under which that version was indexed.
        snapshot: that version's bytes; None if it is the one in the index.
    """

    path: str | None
    passage: Passage
    content_hash: str
    version_path: str
    snapshot: bytes | None = None


def find(index: Index, ref: str) -> FoundPassage:
    """The passage a reference names, from the index or an earlier version of its note.

    Raises:
        NotFoundError: neither holds it.
    """
    return _find(index, ref, _files(index))


def _find(index: Index, ref: str, files: LiveFiles) -> FoundPassage:
    wanted = parse_ref(ref)
    found = _attachment(index, wanted) or _in_a_note(index, wanted, files)
    if found is None:
        raise NotFoundError("The index no longer knows this passage.", "Search again.")
    return found


def resolve(index: Index, ref: str, buffer: str | None) -> tuple[str, Citation]:
    """Where the passage stands now; the editor's text counts instead of the file if given.

    Raises:
        NotFoundError: as `find`.
    """
    files = _files(index)
    found = _find(index, ref, files)
    if found.path is None:
        return found.version_path, unresolvable(found.passage, "the file is gone")
    if found.path in index.catalog.attachments:
        there = cite_attachment(index.vault, found.path)
        return found.path, there or unresolvable(found.passage, "the file is gone")
    if buffer is not None:
        files.with_buffer(found.path, buffer)
    return found.path, cite(
        found.passage, found.content_hash, lambda: _version(index, found), files.get(found.path)
    )


def _files(index: Index) -> LiveFiles:
    settings = index.settings
    return LiveFiles(index.vault, settings.max_note_bytes, settings.followed_links)


def _version(index: Index, found: FoundPassage) -> bytes:
    if found.snapshot is not None:
        return found.snapshot
    return index.tables.snapshots([found.version_path]).get(found.version_path, b"")


def _attachment(index: Index, wanted: Ref) -> FoundPassage | None:
    for path, (row, chunk) in index.catalog.attachments.items():
        if row.content_hash.startswith(wanted.content_hash):
            return FoundPassage(path, passage_of(chunk, ""), row.content_hash, path)
    return None


def _in_a_note(index: Index, wanted: Ref, files: LiveFiles) -> FoundPassage | None:
    """The passage from any version with the bytes, the note by the path that the ref names."""
    with index.catalog.lock:
        notes = index.catalog.notes.heads()
        holders = [n for n in notes if n.content_hash.startswith(wanted.content_hash)]
    own = next((n for n in holders if path_hash(n.path) == wanted.path_hash), None)
    if own is not None:
        return _indexed(index, wanted, own, path_now(index, own, files))
    earlier = index.tables.earlier_versions(wanted.content_hash)
    path = path_after(index, wanted, holders, earlier)
    own_earlier = [one for one in earlier if path_hash(one.path) == wanted.path_hash]
    if path is None and not own_earlier:
        return None  # nothing tells which note it was
    if own_earlier:
        return _earlier(wanted, own_earlier[-1], path)
    if holders:
        return _indexed(index, wanted, holders[0], path)
    return _earlier(wanted, earlier[-1], path) if earlier else None


def _indexed(index: Index, wanted: Ref, note: NoteHead, path: str | None) -> FoundPassage | None:
    rows = index.catalog.by_note.get(note.path, ())
    if wanted.chunk_index >= len(rows):
        return None
    row = rows[wanted.chunk_index]
    if not row.text_hash.startswith(wanted.text_hash):
        return None
    text = texts_of(index, [row.chunk_id])[0]
    return FoundPassage(path, passage_of(row, text), note.content_hash, note.path)


def _earlier(wanted: Ref, version: EarlierVersion, path: str | None) -> FoundPassage | None:
    note = parse_note(version.path, version.snapshot)
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
    return FoundPassage(path, passage, note.content_hash, version.path, version.snapshot)


def links(index: Index, path: str, direction: str) -> list[ResolvedLink]:
    """Links of a note with where they lead, their lines read from the files as they are now."""
    files = _files(index)
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
        notes = index.catalog.notes
        changed = (
            note.path
            for note in notes.changed.values()
            if any(key in target_keys(link.target) for link in note.links)
        )
        return sorted({*notes.linking(key), *changed} - {path})


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
