"""One hop along outgoing wikilinks from the best notes, never further.

Linked passages follow the direct ones and never change their order. A link to a heading or
block brings the passage there, a link to a note its `summary` property or lead section. Of a
note with many links those come that lead to evidence for the query, not the first ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sidelight.query.candidates import Candidate
from sidelight.query.evidence import Measured, Scale
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow, NoteRow
from sidelight.types import Link, Note, NoteKind, PassageKind
from sidelight.vault.links import LinkResolver, subpath_line

SEEDS = 5  # distinct notes whose links are followed (docs: design of the expansion stage)


@dataclass(frozen=True, slots=True)
class Linked:
    """A passage that a link of a direct result brought."""

    candidate: Candidate
    seed: Candidate
    seed_rank: int
    link: Link
    anchor: str  # "heading" | "block" | "note"


def expand(direct: Sequence[Candidate], scale: Scale, resolver: LinkResolver) -> list[Linked]:
    """Linked passages, best evidence first within what each seed may bring.

    Args:
        direct: the direct results in their order; the first 5 distinct notes are seeds.
        scale: what evidence is measured against.
        resolver: says where links lead.
    """
    catalog, settings = scale.catalog, scale.settings
    shown = {c.chunk.chunk_id for c in direct}
    reached = []
    with catalog.lock:
        for rank, seed in _seeds(direct):
            links = catalog.notes.links(seed.chunk.path)
            found = _targets(links, seed.chunk.path, catalog, resolver)
            hub = len(links) > settings.hub_links
            most = settings.linked_per_hub if hub else settings.linked_per_seed
            reached.append((rank, seed, found, most))
        weighed = _weighed([t for _, _, found, _ in reached for t in found], scale)
    linked: list[Linked] = []
    for rank, seed, found, most in reached:
        new = [t for t in found if t.chunk.chunk_id not in shown]
        for target in weighed.ordered(new, seed)[:most]:
            shown.add(target.chunk.chunk_id)
            sure = weighed.candidate(target.chunk)
            linked.append(Linked(sure, seed, rank, target.link, target.anchor))
    linked.sort(key=lambda x: (-x.candidate.evidence, x.seed_rank, x.candidate.chunk.order))
    return linked[: settings.linked_limit]


@dataclass(frozen=True, slots=True)
class _Target:
    link: Link
    chunk: ChunkRow
    anchor: str


def _seeds(direct: Sequence[Candidate]) -> list[tuple[int, Candidate]]:
    seeds: dict[str, tuple[int, Candidate]] = {}
    for rank, candidate in enumerate(direct, start=1):
        if candidate.chunk.path not in seeds:
            if len(seeds) == SEEDS:
                break
            seeds[candidate.chunk.path] = (rank, candidate)
    return list(seeds.values())


def _targets(
    links: Sequence[Link], source: str, catalog: Catalog, resolver: LinkResolver
) -> list[_Target]:
    targets: dict[str, _Target] = {}
    for link in links:
        if link.is_asset:
            continue
        path = resolver.resolve(link.target, source)
        if path is None or path == source or path not in catalog.notes:
            continue
        chunk, anchor = _passage(path, link.subpath, catalog)
        if chunk is not None:
            targets.setdefault(chunk.chunk_id, _Target(link, chunk, anchor))
    return list(targets.values())


def _passage(path: str, subpath: str, catalog: Catalog) -> tuple[ChunkRow | None, str]:
    """The chunk a link leads to; a subpath that is not there leads to the note, as a click."""
    line = subpath_line(_outline(catalog.notes[path]), subpath) if subpath else None
    if line is not None:
        for chunk in catalog.by_note[path]:
            if chunk.kind is PassageKind.LINES and line in lines_of(chunk):
                return chunk, "block" if subpath.startswith("#^") else "heading"
    head = catalog.notes.head(path)  # no note is taken apart for that
    return (None if head is None else catalog.by_note.nth(path, head.lead)), "note"


def _outline(note: NoteRow) -> Note:
    """As much of the parsed note as resolving a subpath takes."""
    return Note(
        path=note.path,
        kind=NoteKind(note.kind),
        title=note.title,
        content_hash=note.content_hash,
        size=note.size,
        lines=(),
        headings=note.headings,
        block_ids=note.block_ids,
    )


@dataclass(frozen=True, slots=True)
class _Weighed:
    """The evidence of every passage of the notes that links lead to.

    Attributes:
        measured: note by note.
        begins: at which place a note's passages do.
        of_note: its best evidence.
    """

    measured: Measured
    begins: Mapping[str, int]
    of_note: Mapping[str, float]

    def candidate(self, chunk: ChunkRow) -> Candidate:
        """A passage of these notes with its own evidence."""
        place = self.begins[chunk.path] + chunk.chunk_index
        cosine, title, coverage, value = self.measured.of(place)
        return Candidate(chunk, {}, cosine=cosine, title=title, coverage=coverage, evidence=value)

    def ordered(self, targets: Sequence[_Target], seed: Candidate) -> list[_Target]:
        """By the evidence of the note they are in; links of the seed's own passage first."""
        inside = lines_of(seed.chunk)
        return sorted(
            targets,
            key=lambda t: (-self.of_note[t.chunk.path], t.link.line not in inside, t.chunk.order),
        )


def _weighed(targets: Sequence[_Target], scale: Scale) -> _Weighed:
    paths = list(dict.fromkeys(t.chunk.path for t in targets))
    passages, begins = scale.catalog.by_note.select(paths)
    measured = scale.measure(passages)
    best = np.maximum.reduceat(measured.evidence, begins).tolist() if paths else []
    return _Weighed(
        measured, dict(zip(paths, begins, strict=True)), dict(zip(paths, best, strict=True))
    )


def lines_of(chunk: ChunkRow) -> range:
    """The lines of a chunk; none where it has no lines."""
    if chunk.start_line is None or chunk.end_line is None:
        return range(0)
    return range(chunk.start_line, chunk.end_line + 1)
