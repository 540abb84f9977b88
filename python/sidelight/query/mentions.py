"""Which links are missing: names of other notes in this one, and of this one in others?

As in Obsidian's unlinked mentions: a title or an alias that stands in running text, in any
spelling, between two notes of which the first does not link to the second yet. Reads files as
they are now; suggests and never writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from sidelight.language.folding import fold, fold_case
from sidelight.language.matching import find_spellings, spelling_pattern
from sidelight.language.stop_words import STOP_WORDS
from sidelight.query.cite import LiveFile, LiveFiles
from sidelight.query.index import Index
from sidelight.types import Mention, Mentions
from sidelight.vault.linkable import linkable_lines
from sidelight.vault.links import path_key, target_keys

# Shorter names stand in too many texts by chance: "it", "AI", 一.
_MIN_LETTERS, _MIN_HAN = 3, 2
_HAN = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")

# Lines of notes that match an expression: (path, line, text), by path.
Grep = Callable[[str], Iterable[tuple[str, int, str]]]


def mentions(index: Index, path: str, grep: Grep, buffer: str | None, limit: int) -> Mentions:
    """The links that `path` could have, and those that others could have to it.

    Args:
        index: of the vault.
        path: a Markdown note that may be read.
        grep: finds the lines of notes that match an expression.
        buffer: the open editor's text of the note; counts instead of the file.
        limit: of each list; one suggestion for each pair of notes.
    """
    settings = index.settings
    files = LiveFiles(index.vault, settings.max_note_bytes, settings.followed_links)
    if buffer is not None:
        files.with_buffer(path, buffer)
    live = files.get(path)
    if live is None or live.content_hash is None or not path.lower().endswith(".md"):
        return Mentions((), ())
    return Mentions(
        tuple(_inside(index, path, live, limit)),
        tuple(_outside(index, path, files, grep, limit)),
    )


def _inside(index: Index, path: str, live: LiveFile, limit: int) -> list[Mention]:
    """Names of other notes in this one; at one place the longest, of each note the first."""
    lines = linkable_lines("\n".join(live.note.lines))
    linked = {index.resolver.resolve(link.target, path) for link in live.note.links}
    named = _named_in(index, _folded("\n".join(lines)), path)
    found: list[Mention] = []
    taken: list[tuple[int, int, int]] = []
    for name, target in sorted(named, key=lambda one: (-len(one[0]), one)):
        for line, start, end in _places(name, lines):
            if any(line == other and start < to and end > at for other, at, to in taken):
                continue
            taken.append((line, start, end))
            if target not in linked:
                linked.add(target)
                text = live.note.lines[line - 1]
                found.append(Mention(path, target, name, line, (start, end), text))
    found.sort(key=lambda mention: (mention.line, mention.columns))
    return found[:limit]


def _named_in(index: Index, folded: str, path: str) -> Iterator[tuple[str, str]]:
    """Names in a folded text, each with the note that it means."""
    with index.catalog.lock:
        index.metadata.refresh(index.catalog)
        meant: dict[str, tuple[bool, str, str]] = {}  # a title before an alias
        for label, name, target, is_title in index.metadata.names():
            if target != path and label in folded and _is_telling(label):
                meant[label] = min(meant.get(label, (True, "~", "")), (not is_title, target, name))
        for is_alias, target, name in meant.values():
            resolved = None if is_alias else index.resolver.resolve(name, path)
            if (resolved or target) != path:
                yield name, resolved or target


def _outside(
    index: Index, path: str, files: LiveFiles, grep: Grep, limit: int
) -> Iterator[Mention]:
    """Other notes that name this one and do not link to it, each at the first such place."""
    note = index.catalog.notes.get(path)
    names = [] if note is None else [note.title, *note.aliases]
    names = sorted({name for name in names if _is_telling(_folded(name))}, key=len, reverse=True)
    patterns = [pattern.pattern for pattern in map(spelling_pattern, names) if pattern]
    if not patterns:
        return
    count = 0
    for source in dict.fromkeys(where for where, _, _ in grep("|".join(patterns))):
        if source == path or not source.lower().endswith(".md") or _links(index, source, path):
            continue
        live = files.get(source)
        if live is None or live.content_hash is None:
            continue
        lines = linkable_lines("\n".join(live.note.lines))
        places = ((place, name) for name in names for place in _places(name, lines))
        first = min(places, default=None)
        if first is None:
            continue
        (line, start, end), name = first
        yield Mention(source, path, name, line, (start, end), live.note.lines[line - 1])
        count += 1
        if count == limit:
            return


def _links(index: Index, source: str, path: str) -> bool:
    """Whether `source` links to `path`, by the index."""
    note = index.catalog.notes.get(source)
    key = path_key(path)
    return note is not None and any(
        key in target_keys(link.target) and index.resolver.resolve(link.target, source) == path
        for link in note.links
    )


def _places(name: str, lines: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Line (from 1), start and end of every place of a name."""
    for number, line in enumerate(lines, 1):
        for start, end in find_spellings(name, line, whole_words=True):
            yield number, start, end


def _is_telling(label: str) -> bool:
    """Whether a folded name says enough for its mention to be more than chance."""
    if label in STOP_WORDS or not any(character.isalpha() for character in label):
        return len(label) >= 8 and label not in STOP_WORDS  # a date, a long number
    return len(label) >= (_MIN_HAN if _HAN.search(label) else _MIN_LETTERS)


def _folded(text: str) -> str:
    return " ".join(fold_case(fold(text).text).split())
