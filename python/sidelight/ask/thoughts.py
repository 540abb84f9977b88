"""What of a reply is said, not thought? Some models put their thoughts first, in `<think>` tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_OPEN, _CLOSE = "<think>", "</think>"


def spoken(words: Iterable[str]) -> Iterator[str]:
    """The words without leading thoughts; thoughts that do not end leave nothing."""
    held: str | None = ""
    for piece in words:
        if held is None:
            yield piece
            continue
        held += piece
        start = held.lstrip()
        if start.startswith(_OPEN):
            _, ended, rest = start.partition(_CLOSE)
            if ended:
                held = None
                yield rest
        elif not _OPEN.startswith(start):
            yield held
            held = None
    if held and not held.lstrip().startswith(_OPEN):
        yield held
