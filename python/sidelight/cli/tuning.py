"""`sidelight tune`: ranking settings chosen by a person's own questions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

_VAULT = click.Path(path_type=Path)


@click.command()
@click.argument("vault", type=_VAULT)
@click.argument("queries", type=_VAULT)
@click.option("--data-dir", type=_VAULT, help="Where the index lies.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--apply", is_flag=True, help="Write the choice to the settings of VAULT.")
@click.option("--query-field", default="query")
def tune(
    vault: Path, queries: Path, data_dir: Path | None, as_json: bool, apply: bool,
    query_field: str,
) -> None:  # fmt: skip
    """Choose ranking settings of VAULT by your own QUERIES; the defaults unless they clearly lose."""
    from sidelight.cli import ask, show
    from sidelight.evaluation import tuning
    from sidelight.evaluation.recollection import recollect
    from sidelight.evaluation.topics import read_topics

    topics = read_topics(queries, query_field)
    with ask.engine(vault, data_dir) as engine, show.progress("Asking") as progress:
        ask.warn_of_unknown_notes(engine, topics)
        settings = engine.settings
        engine.settings = replace(settings, pool=tuning.DEEPEST)
        found = recollect(engine, topics, progress, fewest=tuning.FEWEST)
    chosen = tuning.tune(found, settings)
    changed = {n: v for n, v in chosen.chosen.items() if v != getattr(settings, n)}
    if apply and changed:
        ask.set_settings(vault, data_dir, changed)
    if as_json:
        print(show.as_json({**chosen.as_json(), "changes": changed, "applied": apply}))
    else:
        print(f"{tuning.render_tuning(chosen)}\n\n{_outcome(changed, apply)}")


def _outcome(changed: dict[str, float], apply: bool) -> str:
    if not changed:
        return "The settings are already so; nothing was written."
    said = ", ".join(f"{name} {value:g}" for name, value in changed.items())
    if not apply:
        return f"Nothing was written; --apply would set {said}."
    return f"Set: {said}. Run `sidelight calibrate` again, for the gate reads the same numbers."
