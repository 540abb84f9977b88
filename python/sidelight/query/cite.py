"""The last stage: where does each passage of an answer stand on disk, right now?

Every file is read at most once per answer. The same bytes as indexed: `fresh`. Other bytes:
the rules of `vault/relocate.py`. No file, or none that can be read now: no citation.
Works at query time and again at click time, then with the open editor's unsaved text.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from sidelight.errors import AccessError, NotFoundError
from sidelight.types import Citation, CitationStatus, Match, Note, Passage, PassageKind
from sidelight.vault.files import is_placeholder, read_note_bytes
from sidelight.vault.markdown import parse_note
from sidelight.vault.pieces import Text
from sidelight.vault.relocate import relocate, relocate_lines, unresolvable

# A file that is being written is read again this often before it counts as unreadable.
_READS = 3

Snapshot = Callable[[], Note | bytes]
"""Gives a note as it was indexed: parsed, or its bytes, which is cheaper (parsing is then
left out where lines alone decide)."""


class _Version:
    """A note as it was at one moment; parsed when something needs more than its lines."""

    def __init__(self, path: str, source: Note | bytes) -> None:
        self._path = path
        self._source = source

    @cached_property
    def note(self) -> Note:
        source = self._source
        return parse_note(self._path, source) if isinstance(source, bytes) else source

    @cached_property
    def text(self) -> Text:
        source = self._source
        if isinstance(source, bytes):
            return Text.read(source, lambda: self.note)
        return Text.of(source)


class LiveFile:
    """One file of the vault as it is now.

    Attributes:
        path: its vault path.
        content_hash: SHA-256 of its bytes, hex; None if it could not be read.
        problem: why it could not be read, in words; None if it was.
    """

    def __init__(
        self,
        path: str,
        data: bytes | None,
        problem: str | None = None,
        buffer: str | None = None,
    ) -> None:
        self.path = path
        self.problem = problem
        self.content_hash = None if data is None else _hash(data)
        self._buffer = buffer
        self._version = _Version(path, data or b"")
        self._indexed: dict[str, _Version] = {}

    @property
    def note(self) -> Note:
        """The file parsed."""
        return self._version.note

    @property
    def text(self) -> Text:
        """Its lines, made ready for finding passages in."""
        return self._version.text

    def holds(self, content_hash: str) -> bool:
        """Whether these are the bytes with that hash.

        An editor keeps no byte order mark and only line feeds: its text is the file's if some
        way of writing it gives the file's bytes.
        """
        if self.content_hash == content_hash:
            return True
        return self._buffer is not None and content_hash in self._written_hashes

    @cached_property
    def _written_hashes(self) -> frozenset[str]:
        text = self._buffer or ""
        forms = (text, text.replace("\r\n", "\n").replace("\n", "\r\n"))
        return frozenset(_hash(_encode(mark + form)) for mark in ("", "\ufeff") for form in forms)

    def indexed(self, content_hash: str, snapshot: Snapshot) -> _Version:
        """The note as indexed with that hash; the snapshot is asked once."""
        if content_hash not in self._indexed:
            self._indexed[content_hash] = _Version(self.path, snapshot())
        return self._indexed[content_hash]


class LiveFiles:
    """Reads each file of a vault at most once; make one for every answer.

    Args:
        vault: real path of the vault.
        max_bytes: larger files are not read.
        followed_links: symlinked folders that count as inside (`Settings.followed_links`).
    """

    def __init__(self, vault: Path, max_bytes: int, followed_links: tuple[str, ...] = ()) -> None:
        self._vault = vault
        self._max_bytes = max_bytes
        self._followed_links = followed_links
        self._files: dict[str, LiveFile | None] = {}

    def get(self, path: str) -> LiveFile | None:
        """The file at a vault path; None if there is none. Never raises."""
        if path not in self._files:
            self._files[path] = self._read(path)
        return self._files[path]

    def with_buffer(self, path: str, text: str) -> LiveFiles:
        """Lets the text of an open editor count instead of the file; returns itself."""
        self._files[path] = LiveFile(path, _encode(text), buffer=text)
        return self

    def _read(self, path: str) -> LiveFile | None:
        try:
            full = os.path.join(self._vault, path)
            for _ in range(_READS):
                before = os.stat(full)  # of an outside path too; reading is what refuses it
                if is_placeholder(before):
                    return LiveFile(path, None, "the file lies in the cloud only")
                data = read_note_bytes(self._vault, path, self._max_bytes, self._followed_links)
                after = os.stat(full)
                if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
                    return LiveFile(path, data)
        except (FileNotFoundError, NotADirectoryError, NotFoundError):
            return None
        except AccessError as error:
            return LiveFile(path, None, error.message)
        except OSError as error:
            return LiveFile(path, None, f"the file cannot be read now ({error.strerror})")
        return LiveFile(path, None, "the file is being written")


def cite(
    passage: Passage, indexed_hash: str, snapshot: Snapshot, live: LiveFile | None
) -> Citation:
    """Where one passage stands now.

    Args:
        passage: what the index kept of it.
        indexed_hash: SHA-256 of the note's bytes when it was indexed.
        snapshot: gives the note as it was indexed; asked only if the bytes differ.
        live: the file at the note's path (after a rename that was seen: its new path); None
            if there is none.

    Returns:
        `fresh`, `source_changed` or `unresolvable`; with the hash of the file as read.
    """
    if live is None:
        return unresolvable(passage, "the file is gone")
    if live.content_hash is None:
        return unresolvable(passage, live.problem or "the file cannot be read")
    if live.holds(indexed_hash):
        return _with_wide(_fresh(passage, live.content_hash), live)
    indexed = live.indexed(indexed_hash, snapshot)
    if passage.kind is PassageKind.LINES:
        citation = relocate_lines(indexed.text, passage, live.text)
    else:
        citation = relocate(indexed.note, passage, live.note)
    return _with_wide(replace(citation, file_hash=live.content_hash), live)


def _with_wide(citation: Citation, live: LiveFile) -> Citation:
    """Counts the characters beyond U+FFFF before a part of a line: only its line knows them."""
    if citation.columns is None:
        return citation
    if citation.kind is PassageKind.CANVAS:
        cards = (card.text for card in live.note.canvas_nodes if card.id == citation.node)
        line = next(cards, "")
    else:
        line = "".join(live.text.raw[(citation.start_line or 1) - 1 : citation.start_line])
    before = line[: citation.columns[0]]
    units = len(before.encode("utf-16-le", "surrogatepass")) // 2
    return replace(citation, wide_before=units - len(before))


def _fresh(passage: Passage, file_hash: str) -> Citation:
    return Citation(
        kind=passage.kind,
        status=CitationStatus.FRESH,
        match=Match.EXACT,
        start_line=passage.start_line,
        end_line=passage.end_line,
        columns=passage.columns,
        node=passage.node,
        file_hash=file_hash,
        text=passage.text,
        why="the file has the bytes it was indexed with",
    )


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
