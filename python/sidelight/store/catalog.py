"""What the index holds, in memory: notes, chunk places, exact term statistics, vectors.

The tables are the copy that survives; this is what queries read. One writer changes it
under `lock`, readers hold the lock for as long as they walk it. Knows no LanceDB.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Sequence
from copy import copy
from heapq import merge
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sidelight.store.graph import EntityGraph, of_passages
from sidelight.store.kept import KeptIndex
from sidelight.store.mapped import Dictionary
from sidelight.store.notes import Notes
from sidelight.store.passages import ByEmbedding, ByNote, Passages
from sidelight.store.postings import Postings
from sidelight.store.prefixes import PrefixIndex
from sidelight.store.rows import ChunkRow, NoteHead, NoteRow, name_hash
from sidelight.store.selection import Selection
from sidelight.store.slots import Slots
from sidelight.store.vectors import VectorMatrix

_PREFIX_EXPANSIONS = 50  # terms an unfinished word may stand for; more would be noise
_PREFIX_LOOKED_AT = 2000  # terms with a prefix that are looked at; a single letter begins many


class Vocabulary:
    """Terms by code, with exact document frequencies over searchable chunks."""

    def __init__(self) -> None:
        self._kept = Dictionary.of(())  # codes from 0 on
        self._code: dict[str, int] = {}  # of the others
        self._terms: list[str] = []  # of codes from `len(self._kept)` on
        self._df: NDArray[np.int32] = np.zeros(1024, np.int32)
        self._prefixes = PrefixIndex()
        self._spelled: dict[re.Pattern[str], tuple[list[str], int]] = {}

    def __len__(self) -> int:
        return len(self._kept) + len(self._terms)

    def begin(self, kept: Dictionary, df: NDArray[np.integer]) -> None:
        """Takes kept terms with their document frequencies into an empty vocabulary."""
        self._kept = kept
        self._df = np.zeros(len(kept) + 1024, np.int32)
        self._df[: len(df)] = df

    def code(self, term: str) -> int:
        """The term's code, new if it was never seen."""
        return int(self.codes([term])[0])

    def codes(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """The codes of distinct terms, new for those that were never seen."""
        found = self._kept.find_all(terms) if len(self._kept) else np.full(len(terms), -1, np.int32)
        others = [terms[place] for place in np.flatnonzero(found < 0).tolist()]
        codes = list(map(self._code.get, others))
        first, new = len(self), [t for t, code in zip(others, codes, strict=True) if code is None]
        short = first + len(new) - len(self._df)
        if short > 0:  # first, as a reader may ask for the term at any moment
            self._df = np.concatenate([self._df, np.zeros(short + len(self._df), np.int32)])
        self._terms += new
        given = iter(range(first, first + len(new)))
        self._code.update(zip(new, range(first, first + len(new)), strict=True))
        self._prefixes.add(*new)
        found[found < 0] = [next(given) if code is None else code for code in codes]
        return found

    def find(self, term: str) -> int | None:
        """The code of a term that some live chunk holds, else None."""
        return self.find_all([term])[0]

    def find_all(self, terms: Sequence[str]) -> list[int | None]:
        """As `find`, of each."""
        kept: list[int] = self._kept.find_all(terms).tolist()
        codes = [self._code.get(term, code) for term, code in zip(terms, kept, strict=True)]
        return [code if code >= 0 and self._df[code] > 0 else None for code in codes]

    def term(self, code: int) -> str:
        """The term of a code."""
        kept = len(self._kept)
        return self._kept.strings[code] if code < kept else self._terms[code - kept]

    def df(self, code: int) -> int:
        """How many searchable chunks hold the term."""
        return int(self._df[code])

    def count(self, codes: NDArray[np.int32], by: int | NDArray[np.integer]) -> None:
        """Adds `by` to the document frequency of distinct `codes`."""
        self._df[codes] += by

    def count_all(self, codes: NDArray[np.int32]) -> None:
        """Adds one to the document frequency for each time a code stands in `codes`."""
        self._df += np.bincount(codes, minlength=len(self._df)).astype(np.int32)

    def starting_with(self, prefix: str) -> list[str]:
        """Live terms with this prefix, most frequent first, at most 50."""
        new = ((term, self._code[term]) for term in self._prefixes.starting_with(prefix))
        terms = islice(merge(self._kept.starting_with(prefix), new), _PREFIX_LOOKED_AT)
        found = [(-df, term) for term, code in terms if (df := self.df(code))]
        return [term for _, term in sorted(found)[:_PREFIX_EXPANSIONS]]

    def all_terms(self) -> list[str]:
        """Every term by code, live or not."""
        return [*self._kept.strings, *self._terms]

    def live_terms(self) -> Iterable[str]:
        """Every term some live chunk holds."""
        return (t for code, t in enumerate(self.all_terms()) if self._df[code] > 0)

    def spelled(self, pattern: re.Pattern[str]) -> list[str]:
        """The terms that match as a whole, live or not. Each is looked at once in its life."""
        known, seen = self._spelled.get(pattern, ([], 0))
        if not seen:
            known, seen = list(filter(pattern.fullmatch, self._kept.strings)), len(self._kept)
        new = self._terms[seen - len(self._kept) :]
        known = [*known, *filter(pattern.fullmatch, new)] if new else known
        self._spelled[pattern] = known, seen + len(new)
        return known


class Catalog:
    """Everything queries need apart from texts."""

    def __init__(self, dimension: int = 0) -> None:
        self.lock = threading.RLock()
        self.attachments: dict[str, tuple[NoteRow, ChunkRow]] = {}  # found by name alone
        self.vectors = VectorMatrix(dimension)  # what answers
        self.next_vectors: VectorMatrix | None = None  # of another model, until it is complete
        self.unembeddable: dict[str, str] = {}  # embed hash -> why the model cannot take the text
        self.revision = 0  # counts changes; caches compare it
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forgets all notes, before anyone asked for one."""
        self.notes = Notes()
        self.chunks = Passages()
        self.by_note = ByNote(self.chunks)
        self.by_embedding = ByEmbedding(self.chunks)
        self.names: dict[str, str] = {}  # path -> hash of the note's name
        self.vocabulary = Vocabulary()
        self._graph: EntityGraph | None = None
        self.postings = Postings()
        self._slots = Slots(list)  # of the kept passages' vectors
        self._name_slots = Slots(list)  # and of its notes' names
        self.searchable = 0  # chunks
        self.total_length = 0  # terms of searchable chunks
        self._content = 0
        self._counted: dict[int, tuple[tuple[int, int], int]] = {}  # matrix -> (when, how many)
        self._unnamed: tuple[tuple[int, int, int], list[NoteHead]] = ((-1, 0, 0), [])  # when, which

    @property
    def graph(self) -> EntityGraph:
        """What passages mention together.

        Counted when it is first asked for and kept up to date from then on: it is half of what
        opening an index takes, and off unless someone turns it on.
        """
        with self.lock:
            if self._graph is None:
                notes = map(self.notes.read, self.notes)
                self._graph = of_passages(
                    (chunk.chunk_id, _entities(note, chunk))
                    for note in notes
                    for chunk in self.by_note[note.path]
                )
            return self._graph

    def replace(self, note: NoteRow, chunks: Sequence[ChunkRow]) -> None:
        """Puts a note and its chunks in place of what stood at its path."""
        with self.lock:
            self._drop(note.path)
            for chunk in self._put(note, chunks):
                self.postings.add(chunk)
                self._count(chunk, 1)
            self.revision += 1

    def fill(self, rows: Iterable[tuple[NoteRow, Sequence[ChunkRow]]]) -> None:
        """Puts notes with their chunks into an empty catalog: `replace`, but all at once."""
        with self.lock:
            new = [chunk for note, chunks in rows for chunk in self._put(note, chunks)]
            self.searchable = len(new)
            self.total_length = sum(chunk.length for chunk in new)
            for chunk in new:
                self.postings.add(chunk)
            if new:
                self.vocabulary.count_all(np.concatenate([chunk.codes for chunk in new]))
            self.revision += 1

    def begin(self, kept: KeptIndex) -> None:
        """Takes a kept index into an empty catalog; costs little, however large it is."""
        with self.lock:
            for part in (self.notes, self.chunks, self.by_note, self.by_embedding):
                part.begin(kept)
            named = set(range(len(kept.paths))).difference(kept.failed)
            hashes = list(kept.name_hashes)
            self.names = {kept.paths[number]: hashes[number] for number in sorted(named)}
            self._slots = Slots(kept.embed_hashes_by_passage)
            self._name_slots = Slots(lambda: [self.names.get(path, "") for path in kept.paths])
            self.vocabulary.begin(kept.terms, np.diff(kept.segment.starts))
            self.postings.begin(kept.sorted_passages(self.chunks.at))
            self.searchable = len(kept.searchable)
            self.total_length = int(kept.runs.lengths[kept.searchable].sum())
            self._content = kept.digest
            self.revision += 1

    def view(self) -> Catalog:
        """What one query sees: it keeps to the objects it began with, whatever `rest_on` does."""
        with self.lock:
            return copy(self)

    def rest_on(self, kept: KeptIndex) -> None:
        """Takes the same notes from the kept index that was just written of them.

        The objects they came in as take four times the memory; numbers and codes change.
        """
        with self.lock:
            graph, content = self._graph, self._content
            self.begin_anew()
            self.begin(kept)
            self._graph, self._content = graph, content  # attachments count in it too

    def _put(self, note: NoteRow, chunks: Sequence[ChunkRow]) -> list[ChunkRow]:
        """Takes in everything but the statistics; the searchable chunks."""
        self.notes[note.path] = note
        self.by_note.put(note.path, tuple(chunks))
        self._content ^= _digest(note)
        if note.error is None:
            self.names[note.path] = name_hash(note.title)
        for chunk in chunks:
            self.chunks.add(chunk)
            if self._graph is not None:
                self._graph.add(chunk.chunk_id, _entities(note, chunk))
        searchable = [chunk for chunk in chunks if chunk.searchable]
        for chunk in searchable:
            self.by_embedding.add(chunk)
        return searchable

    def settle(self) -> None:
        """Sorts what came in, so that the next query need not; call it after many changes."""
        with self.lock:
            self.postings.settle()

    def remove(self, path: str) -> None:
        """Forgets a note; unknown paths are no error."""
        with self.lock:
            self._drop(path)
            self.revision += 1

    def set_attachments(self, attachments: dict[str, tuple[NoteRow, ChunkRow]]) -> None:
        """Replaces what is known of the vault's other files; nothing of them is stored."""
        with self.lock:
            if attachments.keys() != self.attachments.keys():
                for row, _ in (*self.attachments.values(), *attachments.values()):
                    self._content ^= _digest(row)
                self.attachments = attachments
                self.revision += 1

    def named(self, path: str) -> tuple[NoteRow, tuple[ChunkRow, ...]] | None:
        """A note or attachment with its chunks."""
        if path in self.notes:
            return self.notes[path], self.by_note.get(path, ())
        if path in self.attachments:
            row, chunk = self.attachments[path]
            return row, (chunk,)
        return None

    def head(self, path: str) -> NoteHead | None:
        """A note or attachment, without what takes taking apart."""
        found = self.notes.head(path)
        return found if found or path not in self.attachments else self.attachments[path][0]

    def passage(self, path: str, chunk_index: int) -> ChunkRow | None:
        """A passage of a note or attachment by its place there; None if there is none."""
        if path in self.attachments and path not in self.notes:
            return self.attachments[path][1] if chunk_index == 0 else None
        return self.by_note.nth(path, chunk_index)

    def cosines(self, vector: NDArray[np.float32], passages: Selection) -> NDArray[np.float64]:
        """The cosine of each passage to a centred vector; NaN where it is not embedded."""
        vectors = self.vectors

        def kept(index: KeptIndex, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
            return self._slots.of(vectors, numbers, lambda n: index.chunk(n).embed_hash)

        rows = passages.column(kept, lambda new: vectors.slots(c.embed_hash for c in new), int)
        return vectors.cosines(vector, rows)

    def name_cosines(self, vector: NDArray[np.float32], passages: Selection) -> NDArray[np.float64]:
        """The same of the name of each passage's note."""
        names = self.vectors.names
        if names is None:
            return np.full(len(passages), np.nan)

        def hash_of(path: str) -> str:
            return self.names.get(path, "")

        def kept(index: KeptIndex, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
            notes, which = np.unique(index.passage_notes[numbers], return_inverse=True)
            rows = self._name_slots.of(names, notes, lambda note: hash_of(index.paths[note]))
            return names.cosines(vector, rows)[which]

        def others(new: Sequence[ChunkRow]) -> NDArray[np.float64]:
            return names.similarity(vector, (hash_of(chunk.path) for chunk in new))

        return passages.column(kept, others, float)

    def snapshot(self, constants: str) -> str:
        """A name of the committed content: notes, their hashes and `constants`."""
        content = f"{self._content:064x}:{constants}"
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def digest_of_notes(self) -> int:
        """The part of the snapshot that the notes are, without attachments."""
        digest = self._content
        for row, _ in self.attachments.values():
            digest ^= _digest(row)
        return digest

    @property
    def filling(self) -> VectorMatrix:
        """The vectors that new texts are embedded into."""
        return self.vectors if self.next_vectors is None else self.next_vectors

    def embedded(self) -> int:
        """Searchable chunks that have their vector."""
        return self.covered(self.vectors)

    def waiting(self) -> int:
        """Chunks still to be embedded by the model that is to answer, and names of other notes."""
        with self.lock:
            never = sum(map(self.by_embedding.count, self.unembeddable))
            chunks = self.searchable - self.covered(self.filling) - never
            return chunks + sum(map(self._waits_by_name_alone, self.unnamed()))

    def covered(self, vectors: VectorMatrix) -> int:
        """Searchable chunks whose vector is in `vectors`; counted once a change."""
        if not len(vectors):
            return 0
        with self.lock:
            now = (self.revision, len(vectors))
            at, count = self._counted.get(id(vectors), ((-1, 0), 0))
            if at != now:
                count = self.by_embedding.covered(vectors)
                self._counted = {**self._counted, id(vectors): (now, count)}
            return count

    def follow(self) -> None:
        """The next vectors are complete: they answer from now on."""
        with self.lock:
            if self.next_vectors is not None:
                self.vectors, self.next_vectors = self.next_vectors, None
                self._counted = {}
                self.revision += 1

    def unembedded(self) -> list[ChunkRow]:
        """Searchable chunks that wait for a vector, one a distinct text, in stable order."""
        with self.lock:
            filling = self.filling
            rows = [
                min(self.by_embedding[h], key=lambda chunk: chunk.chunk_id)
                for h in self.by_embedding
                if h not in filling and h not in self.unembeddable
            ]
        return sorted(rows, key=lambda row: row.order)

    def unnamed(self) -> list[NoteHead]:
        """Notes whose name has no vector, one a distinct name, in stable order."""
        with self.lock:
            known = self.filling.names
            if known is None:
                return []
            now = (self.revision, id(known), len(known) + len(self.unembeddable))
            if self._unnamed[0] != now:
                missing = {
                    h: p
                    for p, h in sorted(self.names.items())
                    if h not in known and h not in self.unembeddable
                }
                heads = map(self.notes.head, missing.values())
                self._unnamed = (now, [head for head in heads if head is not None])
            return self._unnamed[1]

    def _waits_by_name_alone(self, note: NoteHead) -> bool:
        """Whether no chunk of it waits beside its name: one note is not to be counted twice."""
        hashes = {chunk.embed_hash for chunk in self.by_note[note.path] if chunk.searchable}
        return all(h in self.filling or h in self.unembeddable for h in hashes)

    def average_length(self) -> float:
        """Terms a searchable chunk has on average; 1 in an empty index."""
        return self.total_length / self.searchable if self.searchable else 1.0

    def _drop(self, path: str) -> None:
        note = self.notes.head(path)
        if note is None:
            return
        entities = None if self._graph is None else self.notes[path]
        self._content ^= _digest(note)
        self.names.pop(path, None)
        for chunk in self.by_note.take_out(path):
            self.chunks.remove(chunk)
            if entities is not None and self._graph is not None:
                self._graph.remove(chunk.chunk_id, _entities(entities, chunk))
            if chunk.searchable:
                self.postings.remove(chunk)
                self._count(chunk, -1)
                self.by_embedding.remove(chunk)
        del self.notes[path]

    def _count(self, chunk: ChunkRow, by: int) -> None:
        self.searchable += by
        self.total_length += by * chunk.length
        self.vocabulary.count(chunk.codes, by)


def _entities(note: NoteRow, chunk: ChunkRow) -> tuple[str, ...]:
    """What a chunk speaks of; nothing where it was not looked for yet."""
    held = note.entities or ()
    return held[chunk.chunk_index] if chunk.chunk_index < len(held) else ()


def _digest(note: NoteHead) -> int:
    key = f"{note.path}\0{note.content_hash}\0{note.error or ''}"
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest(), "big")
