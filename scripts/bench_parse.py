"""How fast is a vault read? Section `parse` of `bench.py`.

Bounds of issue 3, as processor time of one core: reading, hashing, parsing and linking at
6 MB/s of Markdown, with chunking at 3 MB/s; all links of 15,000 notes resolved in 2 s; memory
flat in the number of notes. Vaults: the shared ones where they are there, and a generated one
of 15,000 notes; SIDELIGHT_BENCH_VAULT names another instead.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psutil
import pyromark
import yaml

from bench import Timing
from generate_vault import write_vault
from sidelight.config import Settings
from sidelight.vault.chunker import chunk_note
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import is_note, read_note_bytes, scan
from sidelight.vault.links import LinkResolver
from sidelight.vault.markdown import parse_note

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SIDELIGHT_SHARED") or ROOT.parent / "shared")
GENERATED_NOTES = 15_000
PASSES = 3  # the best counts: the machine may be busy
ONE_PASS_MB = 15.0  # a vault of this size takes long enough to measure at once
LIMIT = Settings().max_note_bytes
PARSE_BOUND = 1_000 / 6  # ms a MB
CHUNK_BOUND = 1_000 / 3
RESOLVE_BOUND = 2_000.0
MEMORY_BOUND = 30.0  # MB: caches of the parser and the allocator, not the notes


def measure() -> Iterator[Timing]:
    """All figures of the section."""
    named = os.environ.get("SIDELIGHT_BENCH_VAULT")
    if named:
        yield from measure_vault(Path(named).name, Path(named))
        return
    for name in ("oldwinter-garden", "obsidian-tasks"):
        if (SHARED / "vaults" / name).is_dir():
            yield from measure_vault(name, SHARED / "vaults" / name)
    with tempfile.TemporaryDirectory() as folder:
        write_vault(Path(folder), GENERATED_NOTES)
        yield from measure_vault(f"generated {GENERATED_NOTES}", Path(folder))


def measure_vault(name: str, folder: Path) -> Iterator[Timing]:
    """Figures of one vault."""
    vault = Path(os.path.realpath(folder))
    listed, scan_ms = _timed(
        lambda: [entry.path for entry in scan(vault, Exclusions(), Settings())]
    )
    paths = [path for path in listed if is_note(path)]
    megabytes = sum(len(read_note_bytes(vault, path, LIMIT)) for path in paths) / 1e6
    passes = 1 if megabytes > ONE_PASS_MB else PASSES
    floor = _best(lambda: _read_with_libraries_alone(vault, paths), passes) / megabytes
    yield Timing(f"{name}: reading with YAML and Markdown events alone", floor, "ms/MB")
    parse = _best(lambda: _parse(vault, paths), passes) / megabytes
    yield Timing(f"{name}: read, hash, parse, link", parse, "ms/MB", PARSE_BOUND)
    chunk = _best(lambda: _chunk(vault, paths), passes) / megabytes
    yield Timing(f"{name}: the same and chunk", chunk, "ms/MB", CHUNK_BOUND)
    yield Timing(f"{name}: read, hash, parse, link, as speed", 1_000 / parse, "MB/s")
    yield Timing(f"{name}: the same and chunk, as speed", 1_000 / chunk, "MB/s")
    yield Timing(f"{name}: list {len(listed)} files", scan_ms)
    yield Timing(
        f"{name}: memory after parsing all again", _growth(vault, paths), "MB", MEMORY_BOUND
    )
    yield from _measure_links(name, vault, paths, listed)


def _read_with_libraries_alone(vault: Path, paths: list[str]) -> None:
    """The floor: what the two parsers take before any rule of ours."""
    options = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_FOOTNOTES
    for path in paths:
        text = read_note_bytes(vault, path, LIMIT).decode("utf-8", "replace")
        head, fence, body = text.removeprefix("---\n").partition("\n---\n")
        if text.startswith("---\n") and fence:
            try:
                yaml.compose(head, Loader=yaml.CSafeLoader)
            except yaml.YAMLError:
                body = text
        else:
            body = text
        for _ in pyromark.events_with_range(body, options=options, merge_text=True):
            pass


def _parse(vault: Path, paths: list[str]) -> None:
    for path in paths:
        parse_note(path, read_note_bytes(vault, path, LIMIT))


def _chunk(vault: Path, paths: list[str]) -> None:
    for path in paths:
        chunk_note(parse_note(path, read_note_bytes(vault, path, LIMIT)))


def _growth(vault: Path, paths: list[str]) -> float:
    """Resident memory that parsing everything once more adds, in MB."""
    process = psutil.Process()
    gc.collect()
    before = int(process.memory_info().rss)
    _chunk(vault, paths)
    gc.collect()
    return max(0.0, (int(process.memory_info().rss) - before) / 1e6)


def _measure_links(name: str, vault: Path, paths: list[str], listed: list[str]) -> Iterator[Timing]:
    links = [
        (link.target, path)
        for path in paths
        for link in parse_note(path, read_note_bytes(vault, path, LIMIT)).links
    ]
    resolver, build_ms = _timed(lambda: LinkResolver(listed))
    yield Timing(f"{name}: names for resolving", build_ms)
    resolve_ms = _best(lambda: [resolver.resolve(target, path) for target, path in links])
    yield Timing(f"{name}: resolve {len(links)} links", resolve_ms, "ms", RESOLVE_BOUND)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.process_time()
    result = work()
    return result, (time.process_time() - started) * 1_000


def _best(work: Callable[[], object], passes: int = PASSES) -> float:
    return min(_timed(work)[1] for _ in range(passes))
