#!/usr/bin/env python3
"""What does the graph of mentions cost? Building it, saving one note, asking at 20,000 passages.

    python scripts/bench_graph.py VAULT [QUERIES.jsonl] [--passages 20000]

Reads the vault's notes and writes nothing. Building is the recognition of things in every note plus
their counts, on one core. Saving is the same for one note that is edited (the note row is written
anyway: the graph adds no commit). Asking runs each question (default: the note titles) against a
catalog of that many passages: the vault's own, repeated with each repetition's rarer half of things
renamed, so that there are hubs and rare things as in a large vault. Every question is asked
as if a note had just been saved; the quickest of five turns counts; the load stands beside it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path

from environment import use_environment

use_environment()

import numpy as np

from sidelight.config import Settings, open_vault
from sidelight.evaluation.topics import read_topics
from sidelight.language.entities import entities_of
from sidelight.language.user_words import UserWords
from sidelight.query.chains import recall_chains
from sidelight.store.catalog import Catalog
from sidelight.store.rows import ChunkRow, NoteRow
from sidelight.types import PassageKind
from sidelight.vault.chunker import chunk_note
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import is_note, read_note_bytes, scan
from sidelight.vault.markdown import parse_note

TURNS = 5
Told = list[tuple[str, list[tuple[str, ...]]]]  # title, what each passage speaks of


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("vault", type=Path)
    parser.add_argument("queries", type=Path, nargs="?")
    parser.add_argument("--passages", type=int, default=20_000)
    arguments = parser.parse_args()
    notes = texts_of(open_vault(arguments.vault))
    entities_of("准备", (), ["准备 the dictionary"], UserWords(()))  # loads it
    started = time.perf_counter()
    told, spent = recognised(notes)
    catalog = filled(told, 0)
    _ = catalog.graph  # counted here, and kept up to date from now on
    build = time.perf_counter() - started
    print(
        f"{len(notes)} notes, {len(catalog.graph)} passages, {len(catalog.graph.counts())} things"
    )
    print(f"building: {build:.1f} s; of it recognising {sum(spent):.1f} s")
    print_spread("recognising one note", [1000 * s for s in spent])
    print_spread("taking one note in anew", saves(told, catalog))
    large = filled(told, arguments.passages)
    started = time.perf_counter()
    passages = len(large.graph)  # counted when it is first asked for
    print(f"counting {passages} passages at a start: {time.perf_counter() - started:.2f} s")
    titles = [title for title, _ in told][:200]
    asked = [t.query for t in read_topics(arguments.queries)] if arguments.queries else titles
    print_spread(f"asking {passages} passages", asks(asked, large))
    if hasattr(os, "getloadavg"):  # not on Windows
        print(f"load {os.getloadavg()[0]:.1f}")
    return 0


def texts_of(vault: Path) -> list[tuple[str, list[str]]]:
    """Title and passages of every note."""
    settings = Settings()
    found = []
    for entry in scan(vault, Exclusions.load(vault, settings), settings):
        if is_note(entry.path):
            data = read_note_bytes(vault, entry.path, settings.max_note_bytes)
            note = parse_note(entry.path, data)
            found.append((note.title, [c.text for c in chunk_note(note) if c.searchable]))
    return found


def recognised(notes: list[tuple[str, list[str]]]) -> tuple[Told, list[float]]:
    """What every passage speaks of, and the seconds each note took."""
    told, spent = [], []
    for title, texts in notes:
        started = time.perf_counter()
        told.append((title, entities_of(title, (), texts, UserWords(()))))
        spent.append(time.perf_counter() - started)
    return told, spent


def filled(told: Told, passages: int) -> Catalog:
    """A catalog of the notes, repeated until it has that many passages."""
    catalog = Catalog()
    counted: dict[str, int] = {}
    for _, chunks in told:
        for label in (label for labels in chunks for label in labels):
            counted[label] = counted.get(label, 0) + 1
    middle = statistics.median(counted.values()) if counted else 0
    turn = speaking = 0
    while turn == 0 or speaking < passages:
        for number, (title, chunks) in enumerate(told):
            named = [
                tuple(f"{x} {turn}" if turn and counted[x] <= middle else x for x in labels)
                for labels in chunks
            ]
            take_in(catalog, f"{turn}/{number}", title, named)
            speaking += sum(map(bool, named))
        turn += 1
    return catalog


def take_in(catalog: Catalog, path: str, title: str, chunks: list[tuple[str, ...]]) -> None:
    """Puts one note in place of what stood at its path."""
    row = NoteRow(path, "markdown", title, path, 1, 1, entities=tuple(chunks))
    catalog.replace(row, [chunk(path, at) for at in range(len(chunks))])


def chunk(path: str, at: int) -> ChunkRow:
    """A passage without words."""
    none = np.zeros(0, np.int32)
    return ChunkRow(
        chunk_id=f"{path}#{at}", path=path, kind=PassageKind.LINES, heading_path=(),
        section_index=0, chunk_index=at, start_line=1, end_line=1, columns=None, node=None,
        searchable=False, language="zh", embed_hash="", text_hash="", length=0,
        codes=none, counts=none.astype(np.uint16),
    )  # fmt: skip


def saves(told: Told, catalog: Catalog) -> list[float]:
    """Milliseconds of taking each note in once more."""
    found = []
    for number, (title, chunks) in enumerate(told):
        started = time.perf_counter()
        take_in(catalog, f"0/{number}", title, chunks)
        found.append(1000 * (time.perf_counter() - started))
    return found


def asks(queries: list[str], catalog: Catalog) -> list[float]:
    """Milliseconds of the channel for each question, the quickest of some turns."""
    best = [float("inf")] * len(queries)
    settings = Settings(graph=True)
    for _ in range(TURNS):
        for at, query in enumerate(queries):
            catalog.graph.add("saved", ("saved",))  # as after a save: nothing is remembered
            catalog.graph.remove("saved", ("saved",))
            started = time.perf_counter()
            recall_chains(query, catalog, None, settings, settings.pool)
            best[at] = min(best[at], 1000 * (time.perf_counter() - started))
    return best


def print_spread(what: str, times_ms: list[float]) -> None:
    """Median, 95th percentile and longest."""
    middle, high = np.percentile(times_ms, [50, 95])
    print(f"{what}: median {middle:.2f} ms, p95 {high:.2f} ms, longest {max(times_ms):.2f} ms")


if __name__ == "__main__":
    raise SystemExit(main())
