#!/usr/bin/env python3
"""What would another weight of query terms do to plain BM25 on the shared test sets?

    python scripts/experiment_terms.py [NAME=VALUE ...] [--sets SET ...] [--query-field FIELD]

NAME is a constant of `language/query_terms.py` (`_PAIR_ACROSS=0.4`). Cuts every note as the
index does, scores with exact BM25 in memory (k1 1.2, b 0.75), and prints nDCG@10 over notes
and how well the best coverage of the first ten passages tells answerable from unanswerable
questions (AUC), as shipped and with each change. Needs no index and no model; changes nothing.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from environment import use_environment

use_environment()

import numpy as np
from numpy.typing import NDArray

from evaluate import SETS, shared_folder, topics_of, vault_of
from sidelight.errors import SidelightError, UsageError
from sidelight.evaluation.metrics import auc, ndcg, note_ranking
from sidelight.evaluation.report import share, table
from sidelight.evaluation.topics import Topic
from sidelight.indexing.draft import draft_note
from sidelight.language import query_terms
from sidelight.language.terms import QueryTerm, Terms
from sidelight.types import FileEntry

K1, B = 1.2, 0.75
PASSAGES = 400  # of which the notes are taken
Figures = tuple[float, float | None]


class Passages:
    """Every passage of a vault with exact statistics of its terms."""

    def __init__(self, vault: Path, terms: Terms) -> None:
        self.paths: list[str] = []
        lengths: list[int] = []
        postings: dict[str, dict[int, int]] = defaultdict(dict)
        for file in sorted(p for p in vault.rglob("*") if p.suffix in (".md", ".canvas")):
            entry = FileEntry(file.relative_to(vault).as_posix(), file.stat().st_size, 0)
            for draft in draft_note(entry, file.read_bytes(), terms).chunks:
                if draft.terms:
                    held = draft.terms.split(" ")
                    for term, count in Counter(held).items():
                        postings[term][len(self.paths)] = count
                    self.paths.append(entry.path)
                    lengths.append(len(held))
        self._norm = K1 * (1 - B + B * np.array(lengths) / np.mean(lengths))
        self._postings = {
            term: (np.array(list(held)), np.array(list(held.values()), np.float64))
            for term, held in postings.items()
        }

    def search(self, asked: Sequence[QueryTerm]) -> tuple[list[str], float]:
        """Paths of the best passages, and the best coverage of the first ten."""
        scores: NDArray[np.float64] = np.zeros(len(self.paths))
        coverage: NDArray[np.float64] = np.zeros(len(self.paths))
        total = 0.0
        for term in asked:
            places, counts = self._postings.get(term.term, (np.array([], int), np.array([])))
            mass = term.weight * math.log(
                1 + (len(self.paths) - len(places) + 0.5) / (len(places) + 0.5)
            )
            total += mass
            scores[places] += mass * counts * (K1 + 1) / (counts + self._norm[places])
            coverage[places] += mass
        best = np.argsort(-scores, kind="stable")[:PASSAGES]
        best = best[scores[best] > 0]
        covered = float(coverage[best[:10]].max() / total) if len(best) else 0.0
        return [self.paths[index] for index in best], covered


def measure(passages: Passages, topics: Sequence[Topic], terms: Terms) -> Figures:
    """Mean nDCG@10 and the AUC of coverage."""
    gains: list[float] = []
    coverages: dict[bool, list[float]] = {True: [], False: []}
    for topic in topics:
        paths, covered = passages.search(terms.query_terms(topic.query))
        coverages[topic.answerable].append(covered)
        if topic.answerable:
            gains.append(ndcg(note_ranking(paths, topic.also), topic.relevant, 10))
    return sum(gains) / len(gains), auc(coverages[True], coverages[False])


def with_constant(name: str, value: float, work: Callable[[], list[Figures]]) -> list[Figures]:
    """What `work` gives while a constant has another value."""
    if not isinstance(getattr(query_terms, name, None), float):
        raise UsageError(f"language/query_terms.py has no number called {name}.")
    shipped = getattr(query_terms, name)
    setattr(query_terms, name, value)
    try:
        return work()
    finally:
        setattr(query_terms, name, shipped)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("changes", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS, metavar="SET")
    parser.add_argument("--query-field", default="query")
    arguments = parser.parse_args()
    try:
        print(_experiment(arguments))
    except SidelightError as error:
        print(f"experiment_terms.py: {error}", file=sys.stderr)
        return 1
    return 0


def _experiment(arguments: argparse.Namespace) -> str:
    terms = Terms()
    vaults = [vault_of(shared_folder(), name) for name in arguments.sets]
    passages = [Passages(vault, terms) for vault in vaults]
    topics = [topics_of(name, arguments.query_field) for name in arguments.sets]

    def work() -> list[Figures]:
        return [measure(*pair, terms) for pair in zip(passages, topics, strict=True)]

    rows = [["nDCG@10 / AUC", "mean", *(name.split("-")[0] for name in arguments.sets)]]
    rows.append(_row("as shipped", work()))
    for change in arguments.changes:
        name, _, value = change.partition("=")
        rows.append(_row(change, with_constant(name, float(value), work)))
    return table(rows)


def _row(label: str, figures: Sequence[Figures]) -> list[str]:
    mean = sum(gain for gain, _ in figures) / len(figures)
    return [label, share(mean), *(f"{share(gain)}/{share(area)}" for gain, area in figures)]


if __name__ == "__main__":
    sys.exit(main())
