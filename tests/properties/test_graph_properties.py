"""The graph's counts are those of a rebuild after any sequence of adds, edits and deletes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight.store.catalog import Catalog
from sidelight.store.graph import EntityGraph, of_passages
from sidelight.store.rows import ChunkRow, NoteRow
from sidelight.types import PassageKind

THINGS = ("苹果", "红玉", "Heron", "heron", "PMI", "知识图谱", "石窖")
things = st.lists(st.sampled_from(THINGS), unique=True, max_size=5)
# A note's passages, or None: the note is deleted.
changes = st.lists(
    st.tuples(st.sampled_from("abcd"), st.none() | st.lists(things, max_size=4)), max_size=25
)


def chunk(path: str, index: int, version: int) -> ChunkRow:
    none = np.zeros(0, np.int32)
    return ChunkRow(
        chunk_id=f"{path}#{index}.{version}", path=path, kind=PassageKind.LINES, heading_path=(),
        section_index=0, chunk_index=index, start_line=1, end_line=1, columns=None, node=None,
        searchable=True, language="zh", embed_hash="h", text_hash="t", length=0,
        codes=none, counts=none,
    )  # fmt: skip


def told(graph: EntityGraph) -> dict[str, object]:
    """Everything a query can learn from a graph."""
    counts = graph.counts()
    return {
        "passages": len(graph),
        "counts": counts,
        "together": {key: graph.together(key, sorted(counts)).tolist() for key in counts},
        "edges": {key: graph.edges(key, 1, 0.0, 100) for key in counts},
        "spelled": {key: graph.spelling(key) for key in counts},
    }


@settings(deadline=None)  # times belong to scripts/bench_graph.py
@given(changes)
def test_counts_after_any_changes_are_those_of_a_rebuild(
    steps: list[tuple[str, list[list[str]] | None]],
) -> None:
    catalog, unasked = Catalog(), Catalog()
    assert not len(catalog.graph)  # asked for: counted at each change from here on
    now: dict[str, list[tuple[str, list[str]]]] = {}
    for version, (path, passages) in enumerate(steps):
        if passages is None:
            catalog.remove(path)
            unasked.remove(path)
            now.pop(path, None)
            continue
        chunks = [chunk(path, at, version % 3) for at in range(len(passages))]
        row = NoteRow(
            path, "markdown", path, str(version), 1, 1, entities=tuple(map(tuple, passages))
        )
        catalog.replace(row, chunks)
        unasked.replace(row, chunks)
        now[path] = [(c.chunk_id, labels) for c, labels in zip(chunks, passages, strict=True)]
    rebuilt = of_passages(pair for passages in now.values() for pair in passages)
    assert told(catalog.graph) == told(rebuilt)
    assert told(unasked.graph) == told(rebuilt), "counted when it is first asked for"
    every = [{label.lower() for label in labels} for held in now.values() for _, labels in held]
    assert catalog.graph.counts() == {
        key: count
        for key in {label.lower() for label in THINGS}
        if (count := sum(key in labels for labels in every))
    }


@settings(deadline=None)
@given(st.lists(things, min_size=1, max_size=20))
def test_an_edge_is_the_same_from_both_ends_and_lies_in_its_scale(
    passages: list[list[str]],
) -> None:
    graph = of_passages((str(at), labels) for at, labels in enumerate(passages))
    for one, other in combinations(sorted(graph.counts()), 2):
        strength = graph.strengths(one, [other]).item()
        assert strength == graph.strengths(other, [one]).item()
        assert 0 <= strength < 1
        from_one = {edge.key: edge.strength for edge in graph.edges(one, 1, 0.0, 100)}
        if other in from_one:
            assert abs(from_one[other] - strength) < 1e-8


@settings(deadline=None)  # times belong to scripts/bench_graph.py
@given(changes)
def test_numbers_of_what_is_gone_are_given_out_again(
    steps: list[tuple[str, list[list[str]] | None]],
) -> None:
    graph = EntityGraph()
    now: dict[str, list[tuple[str, list[str]]]] = {}
    most = (0, 0)
    for version, (path, passages) in enumerate(steps):
        for chunk_id, labels in now.pop(path, []):
            graph.remove(chunk_id, labels)
        for at, things_told in enumerate(passages or []):
            # a word that nobody wrote before, as in a note that is being typed
            labels = [*things_told, f"新词{version}.{at}", f"Typed {version}.{at}"]
            graph.add(f"{path}#{at}.{version}", labels)
            now.setdefault(path, []).append((f"{path}#{at}.{version}", labels))
            most = max(most[0], len(graph.counts())), max(most[1], len(graph))
    assert graph.size == most
    assert told(graph) == told(of_passages(pair for told_of in now.values() for pair in told_of))
