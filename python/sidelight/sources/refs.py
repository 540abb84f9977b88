"""References to passages of other sources: enough to find one again without an index. Pure.

They begin with a character that a reference of the vault's own never has.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import asdict, dataclass

from sidelight.errors import NotFoundError
from sidelight.sources.asking import Found, hash_of

_MARK = "~"
_HASH_CHARS = 16


@dataclass(frozen=True, slots=True)
class OutsideRef:
    """What a reference says.

    Attributes:
        inner: the reference that another vault gave; "" for other kinds.
        content_hash, text_hash: hex prefixes of 16 digits.
    """

    source: str
    path: str = ""
    id: str = ""
    line: int | None = None
    chunk_index: int = -1
    content_hash: str = ""
    text_hash: str = ""
    inner: str = ""


def ref_of(source: str, found: Found) -> str:
    """The reference of a passage of a source."""
    if found.inner is not None:
        return _written(OutsideRef(source, inner=found.inner.ref))
    return _written(
        OutsideRef(
            source=source,
            path=found.path,
            id=found.id,
            line=found.citation.start_line,
            chunk_index=found.chunk_index,
            content_hash=(found.citation.file_hash or "")[:_HASH_CHARS],
            text_hash=hash_of(found.text),
        )
    )


def is_outside(ref: str) -> bool:
    """Whether a reference names a passage of another source."""
    return ref.startswith(_MARK)


def parse(ref: str) -> OutsideRef:
    """Takes a reference apart.

    Raises:
        NotFoundError: it is not one of ours.
    """
    try:
        value = json.loads(base64.urlsafe_b64decode(ref.removeprefix(_MARK).encode("ascii")))
        parsed = OutsideRef(**{_NAMES[key]: item for key, item in value.items()})
    except (ValueError, binascii.Error, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise NotFoundError("This is not a passage reference.", "Search again.") from e
    texts = (parsed.source, parsed.path, parsed.id, parsed.content_hash, parsed.text_hash)
    numbers = (parsed.line, parsed.chunk_index)
    if not all(isinstance(text, str) for text in (*texts, parsed.inner)) or not all(
        number is None or type(number) is int for number in numbers
    ):
        raise NotFoundError("This is not a passage reference.", "Search again.")
    return parsed


_SHORT = {
    "source": "s", "path": "p", "id": "i", "line": "l", "chunk_index": "c",
    "content_hash": "h", "text_hash": "t", "inner": "r",
}  # fmt: skip
_NAMES = {short: name for name, short in _SHORT.items()}


def _written(ref: OutsideRef) -> str:
    default = asdict(OutsideRef(""))
    value = {_SHORT[k]: v for k, v in asdict(ref).items() if v != default[k]}
    raw = json.dumps(value, separators=(",", ":"), sort_keys=True).encode("ascii")
    return _MARK + base64.urlsafe_b64encode(raw).decode("ascii")
