"""References to passages: short, opaque, the same for the same content wherever it is asked.

A reference names a version of a note (by content hash) and a passage in it, so it can be
asked about after the note changed, was indexed again or was renamed: the version is looked
up in the index or among earlier versions, and the passage found again from there.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass

from sidelight.errors import NotFoundError
from sidelight.store.rows import ChunkRow

_PATH, _CONTENT, _INDEX, _TEXT = 6, 8, 3, 4  # bytes each; 21 make 28 characters


@dataclass(frozen=True, slots=True)
class Ref:
    """A parsed reference; hashes are hex prefixes."""

    path_hash: str
    content_hash: str
    chunk_index: int
    text_hash: str


def ref_of(chunk: ChunkRow, content_hash: str) -> str:
    """The reference of a passage of the note version with this content hash."""
    raw = (
        hashlib.sha256(chunk.path.encode("utf-8", "surrogatepass")).digest()[:_PATH]
        + bytes.fromhex(content_hash)[:_CONTENT]
        + chunk.chunk_index.to_bytes(_INDEX, "big")
        + bytes.fromhex(chunk.text_hash)[:_TEXT]
    )
    return base64.urlsafe_b64encode(raw).decode("ascii")


def parse_ref(ref: str) -> Ref:
    """Takes a reference apart.

    Raises:
        NotFoundError: it is not one of ours.
    """
    try:
        raw = base64.urlsafe_b64decode(ref.encode("ascii"))
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != _PATH + _CONTENT + _INDEX + _TEXT:
        raise NotFoundError("This is not a passage reference.", "Search again.")
    content = _PATH + _CONTENT
    return Ref(
        path_hash=raw[:_PATH].hex(),
        content_hash=raw[_PATH:content].hex(),
        chunk_index=int.from_bytes(raw[content : content + _INDEX], "big"),
        text_hash=raw[content + _INDEX :].hex(),
    )


def path_hash(path: str) -> str:
    """The prefix by which a reference names a path."""
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).digest()[:_PATH].hex()
