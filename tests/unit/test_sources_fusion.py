"""One list from many: ranks alone, copies once, five of each other source."""

from __future__ import annotations

from dataclasses import replace

from bridge_fakes import answer
from hypothesis import given
from hypothesis import strategies as st

from sidelight.sources.fusion import Listed, fuse_sources, with_linked
from sidelight.types import GraphProvenance, Origin, Result

PLAIN = answer("x").results[0]


def result(source: str, text: str, evidence: float = 0.5) -> Result:
    return replace(PLAIN, source=source, ref=f"{source}/{text}", text=text, evidence=evidence)


def listed(source: str, *texts: str) -> Listed:
    return Listed(source, [result(source, text) for text in texts])


def names(results: list[Result]) -> list[str]:
    return [one.ref for one in results]


def test_ranks_are_fused_and_ties_go_to_evidence_then_the_vault() -> None:
    strong = Listed("B", [result("B", "b1", 0.9), result("B", "b2")])
    fused, _ = fuse_sources([listed("vault", "v1", "v2"), listed("A", "a1", "a2"), strong], 60, 10)
    assert names(fused) == ["B/b1", "vault/v1", "A/a1", "vault/v2", "A/a2", "B/b2"]
    assert [one.rank for one in fused] == [1, 2, 3, 4, 5, 6]


def test_where_the_composite_orders_ties_go_to_what_is_believed() -> None:
    belief = {"vault": 0.3, "论坛": 0.4, "Manual": 1.0}
    lists = [
        listed("vault", "v1"),
        Listed("论坛", [result("论坛", "f1", 0.55)]),
        listed("Manual", "m1", "m2"),
    ]
    fused, _ = fuse_sources(lists, 60, 10, lambda result: belief[result.source])
    assert names(fused) == ["Manual/m1", "论坛/f1", "vault/v1", "Manual/m2"]
    assert names(fuse_sources(lists, 60, 10)[0])[0] == "论坛/f1"


def test_the_same_text_is_one_result_at_its_best_rank_naming_every_source() -> None:
    lists = [
        listed("vault", "v1", "v2", "同一段  文字"),
        listed("A", "同一段 文字"),
        listed("B", "b", "同一段\n文字"),
    ]
    fused, explained = fuse_sources(lists, 60, 10)
    [same] = [one for one in fused if "同一段" in one.text]
    assert (same.source, same.also_in) == ("vault", ("A", "B"))
    assert same.rank <= 3  # it is first in A, so it stands among the firsts
    [why] = [one for one in explained if one["ref"] == same.ref]
    assert (why["ranks"], why["score"]) == ({"vault": 3, "A": 1, "B": 2}, 1 / 61)


def test_copies_are_no_second_opinion() -> None:
    fused, explained = fuse_sources([listed("A", "same", "a2"), listed("B", "same", "b2")], 60, 10)
    assert names(fused) == ["A/same", "A/a2", "B/b2"]
    assert explained[0]["score"] == 1 / 61


def test_two_notes_of_the_vault_with_one_text_stay_two() -> None:
    own = Listed("vault", [replace(result("vault", "same"), ref=n) for n in ("one", "two")])
    assert names(fuse_sources([own, listed("A", "same")], 60, 10)[0]) == ["one", "two"]


def test_linked_results_follow_their_seed_or_go() -> None:
    link = GraphProvenance("vault/v1", "v.md", (), 1, None, "[[x]]", 1, "note")
    linked = [
        replace(result("vault", "l1"), origin=Origin.LINKED, graph_provenance=link),
        replace(
            result("vault", "l2"),
            origin=Origin.LINKED,
            graph_provenance=replace(link, seed_ref="gone"),
        ),
    ]
    direct = [replace(result("A", "a1"), rank=1), replace(result("vault", "v1"), rank=2)]
    shown = with_linked(direct, linked)
    assert names(shown) == ["A/a1", "vault/v1", "vault/l1"]
    assert shown[2].rank == 3
    assert shown[2].graph_provenance is not None
    assert shown[2].graph_provenance.seed_rank == 2


TEXTS = st.lists(st.sampled_from([f"t{n}" for n in range(12)]), max_size=9, unique=True)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.integers(1, 30))
def test_fusion_keeps_its_promises(lists: list[list[str]], limit: int) -> None:
    sources = ["vault", "A", "B", "C", "D"]
    given_lists = [listed(s, *texts) for s, texts in zip(sources, lists, strict=False)]
    fused, _ = fuse_sources(given_lists, 60, limit)
    assert len(fused) <= limit
    assert len({one.text for one in fused}) == len(fused)
    assert [one.rank for one in fused] == list(range(1, len(fused) + 1))
    for source in sources[1:]:
        assert sum(one.source == source for one in fused) <= 5
    for one in fused:
        holders = {s.source for s in given_lists if any(r.text == one.text for r in s.results)}
        assert {one.source, *one.also_in} == holders
    best = [min(s.results.index(r) for s in given_lists for r in s.results if r.text == one.text) for one in fused]  # fmt: skip
    assert best == sorted(best)
