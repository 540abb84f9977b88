"""`sidelight eval --recipe`: published fusion recipes on a person's own questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sidelight.cli import ask, show
from sidelight.evaluation.laboratory import DEFAULT, READING, chosen, compare, render_recipes
from sidelight.evaluation.recollection import recollect
from sidelight.evaluation.topics import Topic


def recipes(
    vault: Path, data_dir: Path | None, topics: Sequence[Topic], names: Sequence[str], as_json: bool
) -> str:
    """The table of the named recipes beside the default, or its JSON.

    Raises:
        UsageError: there is no such recipe.
        QueriesError: none of the questions is answerable.
    """
    wanted = chosen([DEFAULT, *names])
    with ask.engine(vault, data_dir) as engine, show.progress("Asking") as progress:
        ask.warn_of_unknown_notes(engine, topics)
        reranks = any(one.name in READING for one in wanted)
        found = recollect(engine, topics, progress, fewest=1, rerank=reranks)
    rows = compare({"questions": found}, wanted)
    return show.as_json({"recipes": rows}) if as_json else render_recipes(rows)
