"""Which links are missing: names of other notes in this one, and of this one in others?

As in Obsidian's unlinked mentions: a title or an alias that stands in running text, in any
spelling, between two notes of which the first does not link to the second yet. Reads files as
they are now; suggests and never writes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from sidelight.errors import CancelledError
from sidelight.language.folding import fold, fold_case
from sidelight.language.matching import find_spellings, is_whole_word, spelling_pattern
from sidelight.language.stop_words import STOP_WORDS
from sidelight.query.cite import LiveFile, LiveFiles
from sidelight.query.index import Index
from sidelight.types import Mention, Mentions
from sidelight.vault.linkable import linkable_lines
from sidelight.vault.links import path_key, target_keys

# Shorter names stand in too many texts by chance: "it", "AI", 一.
_MIN_LETTERS, _MIN_HAN = 3, 2
# A line is looked through in pieces, so that one of megabytes ends with its request and costs no
# list of its own length. A piece sees this much beside it: more than a name or a word is long.
_PIECE, _BESIDE = 4_096, 256
_HAN = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")

# Lines of notes that match an expression: (path, line, text), by path.
Grep = Callable[[str], Iterable[tuple[str, int, str]]]


def mentions(
    index: Index,
    path: str,
    grep: Grep,
    buffer: str | None,
    limit: int,
    cancelled: Callable[[], bool] = lambda: False,
) -> Mentions:
    """The links that `path` could have, and those that others could have to it.

    Args:
        index: of the vault.
        path: a Markdown note that may be read.
        grep: finds the lines of notes that match an expression.
        buffer: the open editor's text of the note; counts instead of the file.
        limit: of each list; one suggestion for each pair of notes.
        cancelled: whether nobody waits any more; asked for each line and each note.

    Raises:
        CancelledError: `cancelled` said so.
    """
    settings = index.settings
    files = LiveFiles(index.vault, settings.max_note_bytes, settings.followed_links)
    if buffer is not None:
        files.with_buffer(path, buffer)
    live = files.get(path)
    if live is None or live.content_hash is None or not path.lower().endswith(".md"):
        return Mentions((), ())
    return Mentions(
        tuple(islice(_inside(index, path, live, cancelled), limit)),
        tuple(islice(_outside(index, path, files, grep, cancelled), limit)),
    )


def _inside(
    index: Index, path: str, live: LiveFile, cancelled: Callable[[], bool]
) -> Iterator[Mention]:
    """Names of other notes in this one, in order; at one place the longest, of each the first."""
    suggested = {index.resolver.resolve(link.target, path) for link in live.note.links}
    suggested.add(path)
    names = _Names(index, path)
    for number, line in enumerate(linkable_lines("\n".join(live.note.lines)), 1):
        for begin, own, piece in _pieces(line):
            _stop_if(cancelled)
            if next(names.places(_folded(piece)), None) is None:
                continue
            folded, origins = _with_origins(piece)
            for start, end, name, target in names.places(folded):
                first, last = origins[start][0], origins[end - 1][1]
                if target not in suggested and own <= begin + first < own + _PIECE:
                    suggested.add(target)
                    columns = begin + first, begin + last
                    text = live.note.lines[number - 1]
                    yield Mention(path, target, name, number, columns, text)


class _Names:
    """What other notes are called, by the first two characters: one pass over a text finds all."""

    def __init__(self, index: Index, path: str) -> None:
        self._index = index
        self._path = path
        meant: dict[str, tuple[bool, str, str]] = {}  # a title before an alias
        with index.catalog.lock:
            index.metadata.refresh(index.catalog)
            for label, name, target, is_title in index.metadata.names():
                if target != path and _is_telling(label):
                    means = (not is_title, target, name)
                    meant[label] = min(means, meant.get(label, means))
        self._meant = meant
        self._starts: dict[str, list[str]] = defaultdict(list)
        for label in sorted(meant, key=len, reverse=True):
            self._starts[label[:2]].append(label)

    def places(self, folded: str) -> Iterator[tuple[int, int, str, str]]:
        """Start, end, name and note of each place, in order and not overlapping."""
        end = 0
        for start in range(len(folded)):
            labels = self._starts.get(folded[start : start + 2]) if start >= end else None
            for label in labels or ():
                to = start + len(label)
                if folded.startswith(label, start) and is_whole_word(folded, start, to):
                    end = to
                    yield start, end, *self._named(label)
                    break

    def _named(self, label: str) -> tuple[str, str]:
        is_alias, target, name = self._meant[label]
        resolved = None if is_alias else self._index.resolver.resolve(name, self._path)
        return name, resolved or target


def _outside(
    index: Index, path: str, files: LiveFiles, grep: Grep, cancelled: Callable[[], bool]
) -> Iterator[Mention]:
    """Other notes that name this one and do not link to it, each at the first such place."""
    note = index.catalog.notes.get(path)
    names = [] if note is None else [note.title, *note.aliases]
    names = sorted({name for name in names if _is_telling(_folded(name))}, key=len, reverse=True)
    patterns = [pattern.pattern for pattern in map(spelling_pattern, names) if pattern]
    if not patterns:
        return
    for source in dict.fromkeys(where for where, _, _ in grep("|".join(patterns))):
        _stop_if(cancelled)
        if source == path or not source.lower().endswith(".md") or _links(index, source, path):
            continue
        live = files.get(source)
        if live is None or live.content_hash is None:
            continue
        first = _first_place(names, linkable_lines("\n".join(live.note.lines)), cancelled)
        if first is None:
            continue
        line, start, end, name = first
        yield Mention(source, path, name, line, (start, end), live.note.lines[line - 1])


def _links(index: Index, source: str, path: str) -> bool:
    """Whether `source` links to `path`, by the index."""
    note = index.catalog.notes.get(source)
    key = path_key(path)
    return note is not None and any(
        key in target_keys(link.target) and index.resolver.resolve(link.target, source) == path
        for link in note.links
    )


def _first_place(
    names: Sequence[str], lines: Sequence[str], cancelled: Callable[[], bool]
) -> tuple[int, int, int, str] | None:
    """Line (from 1), start, end and name of the first place of any name, there the longest."""
    for number, line in enumerate(lines, 1):
        for begin, own, piece in _pieces(line):
            _stop_if(cancelled)
            found = (
                (begin + start, -(begin + end), name)
                for name in names
                for start, end in find_spellings(name, piece, whole_words=True)
                if own <= begin + start < own + _PIECE
            )
            first = min(found, default=None)
            if first is not None:
                return number, first[0], -first[1], first[2]
    return None


def _pieces(line: str) -> Iterator[tuple[int, int, str]]:
    """Where each piece of a line begins, where what is its own begins, and its text."""
    for own in range(0, len(line), _PIECE):
        begin = max(0, own - _BESIDE)
        yield begin, own, line[begin : own + _PIECE + _BESIDE]


def _is_telling(label: str) -> bool:
    """Whether a folded name says enough for its mention to be more than chance."""
    if label in STOP_WORDS or not any(character.isalpha() for character in label):
        return len(label) >= 8 and label not in STOP_WORDS  # a date, a long number
    return len(label) >= (_MIN_HAN if _HAN.search(label) else _MIN_LETTERS)


def _stop_if(cancelled: Callable[[], bool]) -> None:
    if cancelled():
        raise CancelledError("The request was cancelled.")


def _with_origins(line: str) -> tuple[str, list[tuple[int, int]]]:
    """A line as `_folded` spells it, and which code points each character came from."""
    folded = fold(line)
    characters: list[str] = []
    origins: list[tuple[int, int]] = []
    for place, character in enumerate(folded.text):
        if not character.isspace():
            spelled = fold_case(character)
        elif characters and characters[-1] != " ":
            spelled = " "
        else:
            continue
        characters += spelled
        origins += [folded.span(place, place + 1)] * len(spelled)
    return "".join(characters), origins


def _folded(text: str) -> str:
    return " ".join(fold_case(fold(text).text).split())
