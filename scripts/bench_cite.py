"""How long do the citations of an answer take? On ordinary notes, and on one of a megabyte.

Measured in processor time, so that other work on the machine does not count.
"""

from __future__ import annotations

import hashlib
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "properties")]

from edited_note import EditedNote

from bench import Timing
from sidelight.query.cite import LiveFiles, cite
from sidelight.types import CitationStatus, Passage, PassageKind
from sidelight.vault.chunker import chunk_note
from sidelight.vault.markdown import parse_note

ANSWER = 20  # citations
ROUNDS = 15


def measure() -> Iterator[Timing]:
    """The bounds are those that the issue of live citations sets."""
    yield from ordinary()
    yield from megabyte()


def ordinary() -> Iterator[Timing]:
    """20 citations of 20 notes of 2 to 8 kB: none changed, some edits each, every passage."""
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder).resolve()
        for name, edits, bound in (
            ("20 citations, nothing changed", 0, 5.0),
            ("20 citations, a fifth of the notes edited", 0.2, 5.0),
            ("20 citations, every note edited", 3, None),
        ):
            spent, counts = [], dict.fromkeys(CitationStatus, 0)
            for seed in range(ROUNDS):
                answer = make_answer(vault, random.Random(seed), edits)
                started = time.process_time()
                files = LiveFiles(vault, 10_000_000)
                for path, passage, data, indexed_hash in answer:
                    got = cite(passage, indexed_hash, partial(bytes, data), files.get(path))
                    counts[got.status] += 1
                spent.append((time.process_time() - started) * 1000)
            shares = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
            yield Timing(f"{name} ({shares}), median", statistics.median(spent), bound=bound)
            yield Timing(f"{name}, slowest of {ROUNDS}", max(spent))


def make_answer(
    vault: Path, rng: random.Random, edits: float
) -> list[tuple[str, Passage, bytes, str]]:
    """Writes notes as they are now; what the index kept of one passage of each."""
    answer = []
    for number in range(ANSWER):
        note = EditedNote.random(rng, rng.randint(30, 90))
        data = note.data()
        chunks = [c for c in chunk_note(parse_note("n.md", data)) if c.kind is PassageKind.LINES]
        c = rng.choice(chunks)
        passage = Passage(
            c.kind, c.heading_path, c.start_line, c.end_line, c.columns, c.node, c.text
        )
        for _ in range(int(edits) if edits >= 1 else int(rng.random() < edits)):
            note.edit()
        path = f"n{number}.md"
        (vault / path).write_bytes(note.data())
        answer.append((path, passage, data, hashlib.sha256(data).hexdigest()))
    return answer


def megabyte() -> Iterator[Timing]:
    """One citation, everything included, where thousands of lines look alike."""
    rng = random.Random(7)
    rows = [log_row(rng) for _ in range(18_000)]
    middle = len(rows) // 2
    cases: dict[str, tuple[int, Callable[[], list[str]]]] = {
        "one row added above": (1, lambda: ["new row", *rows]),
        "the row edited": (1, lambda: [*rows[:middle], rows[middle] + " ok", *rows[middle + 1 :]]),
        "every row reformatted": (1, lambda: [row.replace("INFO", "info") for row in rows]),
        "every row reformatted, 12 rows cited": (
            12,
            lambda: [row.replace("INFO", "info") for row in rows],
        ),
        "all rows replaced by others like them": (12, lambda: [log_row(rng) for _ in rows]),
        "all rows replaced by prose": (12, lambda: prose(rng, 6_000)),
        "one row twice, one copy added": (
            1,
            lambda: [*rows[:5], rows[middle], *rows[5:]],
        ),
    }
    for name, (length, edited) in cases.items():
        for heads in (0, 60):
            before = with_headings(rows, heads)
            first = next(i for i, row in enumerate(before) if row == rows[middle])
            after = with_headings(edited(), heads)
            spent = min(one_citation(before, first, length, after) for _ in range(5))
            shape = f"{heads} headings" if heads else "no heading"
            yield Timing(f"1 MB of log rows, {shape}: {name}", spent, bound=50.0)


def one_citation(before: list[str], first: int, length: int, after: list[str]) -> float:
    old, new = "\n".join(before).encode(), "\n".join(after).encode()
    path = next((row[3:] for row in reversed(before[:first]) if row.startswith("## ")), None)
    passage = Passage(
        PassageKind.LINES,
        () if path is None else (path,),
        first + 1,
        first + length,
        None,
        None,
        "\n".join(before[first : first + length]),
    )
    indexed_hash = hashlib.sha256(old).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder).resolve()
        (vault / "log.md").write_bytes(new)
        started = time.process_time()
        cite(passage, indexed_hash, lambda: old, LiveFiles(vault, 10_000_000).get("log.md"))
        return (time.process_time() - started) * 1000


def log_row(rng: random.Random) -> str:
    return (
        f"2024-05-{rng.randint(1, 28):02} {rng.randint(0, 23):02}:{rng.randint(0, 59):02} INFO "
        f"request {rng.randrange(10_000)} took {rng.randrange(100)} ms"
    )


def prose(rng: random.Random, lines: int) -> list[str]:
    words = ("river", "garden", "winter", "ledger", "harbour", "copper", "window", "station")
    return [" ".join(rng.choice(words) for _ in range(24)) for _ in range(lines)]


def with_headings(rows: list[str], heads: int) -> list[str]:
    if not heads:
        return rows
    step = len(rows) // heads
    return [
        line
        for at in range(0, len(rows), step)
        for line in (f"## Part {at // step}", "", *rows[at : at + step], "")
    ]
