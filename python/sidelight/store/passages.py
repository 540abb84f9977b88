"""Every passage, by id, by note and by what is embedded: those of a kept index are made on demand.

A passage is one object for as long as anyone holds it. Not locked but for the making: the
catalog's lock covers it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from sidelight.store.kept import KeptIndex, strings_of
from sidelight.store.rows import ChunkRow
from sidelight.store.selection import Selection

_REMEMBERED = 16_384  # passages made, about 1 kB each; a query makes some 250


class Passages(Mapping[str, ChunkRow]):
    """The passages of one index, by id."""

    def __init__(self) -> None:
        self.kept: KeptIndex | None = None
        self._live: NDArray[np.bool_] = np.zeros(0, bool)  # by number in the kept index
        self._gone = 0
        self._changed: dict[str, ChunkRow] = {}
        self._made: WeakValueDictionary[int, ChunkRow] = WeakValueDictionary()
        self._recent: deque[ChunkRow] = deque(maxlen=_REMEMBERED)
        self._making = threading.Lock()

    def begin(self, kept: KeptIndex) -> None:
        """Takes in the passages of a kept index; there are none before."""
        self.kept = kept
        self._live = np.ones(len(kept.passage_notes), bool)

    @cached_property
    def _number(self) -> dict[str, int]:
        """Of each kept passage; nobody asks for it by words."""
        ids = self.kept.ids() if self.kept is not None else []
        return dict(zip(ids, range(len(ids)), strict=True))

    def at(self, number: int) -> ChunkRow:
        """A passage of the kept index, also one that has gone since."""
        made = self._made.get(number)
        if made is not None:
            return made
        assert self.kept is not None
        with self._making:
            made = self._made.get(number)
            if made is None:
                made = self._made[number] = self.kept.chunk(number)
                self._recent.append(made)
        return made

    def is_live(self, number: int) -> bool:
        """Whether a passage of the kept index is still there."""
        return bool(self._live[number])

    def are_live(self, numbers: NDArray[np.integer]) -> NDArray[np.bool_]:
        """The same of each."""
        live: NDArray[np.bool_] = self._live[numbers]
        return live

    def add(self, chunk: ChunkRow) -> None:
        """Takes in a new passage."""
        self._changed[chunk.chunk_id] = chunk

    def remove(self, chunk: ChunkRow) -> None:
        """Forgets a passage."""
        if chunk.number < 0:
            self._changed.pop(chunk.chunk_id, None)
        elif self._live[chunk.number]:
            self._live[chunk.number] = False
            self._gone += 1

    def __getitem__(self, chunk_id: str) -> ChunkRow:
        chunk = self._changed.get(chunk_id)
        if chunk is not None:
            return chunk
        number = self._number[chunk_id]
        if not self._live[number]:
            raise KeyError(chunk_id)
        return self.at(number)

    def __contains__(self, chunk_id: object) -> bool:
        if chunk_id in self._changed:
            return True
        number = self._number.get(chunk_id) if isinstance(chunk_id, str) else None
        return number is not None and bool(self._live[number])

    def __iter__(self) -> Iterator[str]:
        yield from (chunk_id for chunk_id, number in self._number.items() if self._live[number])
        yield from self._changed

    def __len__(self) -> int:
        return len(self._live) - self._gone + len(self._changed)


class ByNote(Mapping[str, tuple[ChunkRow, ...]]):
    """The passages of each note, in order."""

    def __init__(self, passages: Passages) -> None:
        self._passages = passages
        self._number: dict[str, int] = {}  # of kept notes whose passages still stand
        self._changed: dict[str, tuple[ChunkRow, ...]] = {}

    def begin(self, kept: KeptIndex) -> None:
        """Takes in a kept index."""
        self._number = dict(zip(kept.paths, range(len(kept.paths)), strict=True))

    def put(self, path: str, chunks: tuple[ChunkRow, ...]) -> None:
        """Puts passages in place of a note's."""
        self._number.pop(path, None)
        self._changed[path] = chunks

    def take_out(self, path: str) -> tuple[ChunkRow, ...]:
        """Forgets a note; the passages it had."""
        chunks = self.get(path, ())
        self._number.pop(path, None)
        self._changed.pop(path, None)
        return chunks

    def nth(self, path: str, place: int | None) -> ChunkRow | None:
        """One passage of a note, from 0; None if it has not so many."""
        number = self._number.get(path)
        kept = self._passages.kept
        if place is None:
            return None
        if number is None or kept is None:
            chunks = self._changed.get(path, ())
            return chunks[place] if place < len(chunks) else None
        first, end = kept.passages_from[number : number + 2].tolist()
        return self._passages.at(first + place) if first + place < end else None

    def select(self, paths: Iterable[str]) -> tuple[Selection, list[int]]:
        """The passages of notes, one note after the other, and at which place each begins."""
        kept = self._passages.kept
        parts, begins, size = [], [], 0
        for path in paths:
            number = self._number.get(path)
            if number is None or kept is None:
                part = Selection.of(None, self._changed.get(path, ()))
            else:
                first, end = kept.passages_from[number : number + 2].tolist()
                part = Selection(kept, np.arange(first, end), {})
            parts.append(part)
            begins.append(size)
            size += len(part)
        return Selection.joined(kept, parts), begins

    def __getitem__(self, path: str) -> tuple[ChunkRow, ...]:
        number = self._number.get(path)
        kept = self._passages.kept
        if number is None or kept is None:
            return self._changed[path]
        first, end = kept.passages_from[number : number + 2].tolist()
        return tuple(map(self._passages.at, range(first, end)))

    def __iter__(self) -> Iterator[str]:
        yield from self._number
        yield from self._changed

    def __len__(self) -> int:
        return len(self._number) + len(self._changed)


class ByEmbedding(Mapping[str, list[ChunkRow]]):
    """The searchable passages of each embedded text."""

    def __init__(self, passages: Passages) -> None:
        self._passages = passages
        self._count: NDArray[np.int64] = np.zeros(0, np.int64)  # live passages of a kept text
        self._changed: dict[str, dict[str, ChunkRow]] = {}  # and those that came since, by id

    def begin(self, kept: KeptIndex) -> None:
        """Takes in a kept index."""
        self._count = np.diff(kept.embedded.starts)

    @cached_property
    def hashes(self) -> dict[str, int]:
        """Of all texts, to the number of a kept one, -1 for none.

        A plain dictionary, as whole matrices are compared with it; nobody needs it by words.
        """
        kept = self._passages.kept
        texts = [] if kept is None else strings_of(kept.embed_hashes)
        return dict(zip(texts, range(len(texts)), strict=True))

    def add(self, chunk: ChunkRow) -> None:
        """Takes in a passage."""
        self.hashes.setdefault(chunk.embed_hash, -1)
        self._changed.setdefault(chunk.embed_hash, {})[chunk.chunk_id] = chunk

    def remove(self, chunk: ChunkRow) -> None:
        """Forgets a passage."""
        text = chunk.embed_hash
        if chunk.number >= 0:
            self._count[self.hashes[text]] -= 1
        elif text in self._changed:
            self._changed[text].pop(chunk.chunk_id, None)
            if not self._changed[text]:
                del self._changed[text]
        if not self.count(text):
            self.hashes.pop(text, None)

    def count(self, embed_hash: str) -> int:
        """How many passages have this text."""
        number = self.hashes.get(embed_hash, -1)
        kept = self._count.item(number) if number >= 0 else 0
        return int(kept) + len(self._changed.get(embed_hash, ()))

    def covered(self, texts: Container[str]) -> int:
        """How many passages have one of these texts."""
        held = [text for text in self.hashes if text in texts]
        numbers = np.array([self.hashes[text] for text in held], np.int64)
        kept = int(self._count[numbers[numbers >= 0]].sum())
        return kept + sum(len(ids) for text, ids in self._changed.items() if text in texts)

    def select(self, texts: Sequence[str]) -> tuple[Selection, NDArray[np.intp]]:
        """The passages of known texts, and which of the texts each has."""
        passages = self._passages
        numbers = np.fromiter(map(self.hashes.get, texts, repeat(-1)), np.intp, len(texts))
        which = np.flatnonzero(numbers >= 0)
        kept = np.zeros(0, np.intp)
        if passages.kept is not None:
            members, of = passages.kept.embedded.gather(numbers[which])
            live = passages.are_live(members)
            kept, which = members[live].astype(np.intp), which[of[live]]
        new = [
            (place, chunk)
            for place, text in enumerate(texts)
            for chunk in self._changed.get(text, {}).values()
        ]
        others = {len(kept) + at: chunk for at, (_, chunk) in enumerate(new)}
        found = Selection(
            passages.kept, np.append(kept, np.full(len(new), -1)), others, passages.at
        )
        return found, np.append(which, np.array([place for place, _ in new], np.intp))

    def __getitem__(self, embed_hash: str) -> list[ChunkRow]:
        number = self.hashes[embed_hash]
        passages = self._passages
        found = list(self._changed.get(embed_hash, {}).values())
        if number >= 0 and passages.kept is not None:
            kept = passages.kept.embedded[number].tolist()
            found += [passages.at(one) for one in kept if passages.is_live(one)]
        return found

    def __contains__(self, embed_hash: object) -> bool:
        return embed_hash in self.hashes

    def __iter__(self) -> Iterator[str]:
        return iter(self.hashes)

    def __len__(self) -> int:
        return len(self.hashes)
