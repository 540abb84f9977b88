"""Rows of a stack are those of one array, however they came in and wherever they lie."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sidelight.store.stack import Stack

STEPS = st.lists(
    st.tuples(st.sampled_from(("add", "rest", "room")), st.integers(0, 9)), max_size=12
)


@given(st.integers(0, 6), STEPS, st.integers(1, 5), st.data())
def test_a_stack_reads_as_one_array(
    begun: int, steps: list[tuple[str, int]], most: int, data: st.DataObject
) -> None:
    whole = np.arange(2 * begun, dtype=np.float32).reshape(begun, 2)
    stack = Stack(whole)
    for step, number in steps:
        if step == "add":
            rows = np.full((number, 2), len(whole), np.float32)
            stack.add(rows)
            whole = np.concatenate([whole, rows])
        elif step == "room":
            stack.make_room(len(whole) + number)
        else:  # some or all of those behind the first
            stack.rest_on(whole[: max(len(stack) - stack.later, len(whole) - number)].copy())
        assert len(stack) == len(whole)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    pieces = list(stack.pieces(start, end, most))
    assert [first for first, _ in pieces] == [
        start + sum(len(rows) for _, rows in pieces[:n]) for n in range(len(pieces))
    ]
    assert all(0 < len(rows) <= most for _, rows in pieces)
    read = np.concatenate([whole[:0], *(rows for _, rows in pieces)])
    assert np.array_equal(read, whole[start:end])
    places = data.draw(st.lists(st.integers(0, max(0, len(whole) - 1)), max_size=8))
    wanted = np.array(places if len(whole) else [], np.intp)
    assert np.array_equal(stack.take(wanted), whole[wanted])
    assert stack.row_bytes == 8
