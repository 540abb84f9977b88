"""Which names matched: the best first, then as they stand in the note, each once."""

from __future__ import annotations

import numpy as np

from sidelight.query.labels import Labels, Written
from sidelight.store.rows import Field


def test_names_are_told_best_first_then_by_place() -> None:
    written = Written(None)
    written.since += [
        Field("heading", "Zwieback", 1, ()),
        Field("heading", "窑炉", 2, ()),
        Field("heading", "Apple", 2, ()),
        Field("tag", "kiln", 3, ()),
        Field("title", "Oven", 0, ()),
        Field("folder", "far", 0, ()),
        Field("tag", "kiln", 3, ()),
    ]
    names = np.arange(7, dtype=np.int32)
    scores = np.array([0.6, 0.6, 0.6, 0.9, 0.6, 0.4, 0.8])
    targets = np.array([1, 2, 2, 3, 0, 0, 3], np.int32)
    starts, ends = np.array([0, 5]), np.array([5, 7])
    labels = Labels(written, targets, names, scores, starts, ends)
    assert list(labels) == [
        ("tag: #kiln", "title", "heading: Zwieback", "heading: Apple", "heading: 窑炉"),
        ("tag: #kiln", "folder"),
    ]
