"""The commands about other knowledge bases and about feedback; each hands on at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from sidelight.errors import UsageError
from sidelight.source_settings import INPUTS, KINDS, SourceSettings, as_given, name_key

_VAULT = click.Path(path_type=Path)
_DATA_DIR = click.option("--data-dir", type=_VAULT, help="Where the index lies.")
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


@click.group()
def sources() -> None:
    """Other knowledge bases that are searched along with a vault."""


@sources.command(name="list")
@click.argument("vault", type=_VAULT)
@_DATA_DIR
@_JSON
def list_sources(vault: Path, data_dir: Path | None, as_json: bool) -> None:
    """List the sources of VAULT and how they have answered so far."""
    from sidelight.cli import ask

    _print(ask.sources(vault, data_dir, check=False), as_json)


@sources.command()
@click.argument("vault", type=_VAULT)
@_DATA_DIR
@_JSON
def check(vault: Path, data_dir: Path | None, as_json: bool) -> None:
    """Look whether each source of VAULT can be asked; exit code 1 if one cannot."""
    from sidelight.cli import ask

    reports = ask.sources(vault, data_dir, check=True)
    _print(reports, as_json)
    if not all(report["reachable"] for report in reports):
        sys.exit(1)


@sources.command()
@click.argument("vault", type=_VAULT)
@click.argument("name")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("command", nargs=-1)
@click.option("--path", default="", help="Folder of a vault or of Markdown; file of records.")
@click.option("--description", default="", help="What is in it.")
@click.option("--timeout", type=float, default=20.0, help="Seconds until it is given up.")
@click.option("--index-dir", default="", help="vault: where its index lies, if elsewhere.")
@click.option("--table", default="", help="records in SQLite: table or view.")
@click.option("--title-column", default="title")
@click.option("--text-column", "text_columns", multiple=True, help="Default: text. Repeatable.")
@click.option("--id-column", default="id")
@click.option("--link-column", default="")
@click.option("--encoding", default="", help="records in files: if neither UTF-8 nor GB18030.")
@click.option("--input", "given", type=click.Choice(INPUTS), default="argument")
@_DATA_DIR
def add(
    vault: Path, name: str, kind: str, command: tuple[str, ...], path: str, description: str,
    timeout: float, index_dir: str, table: str, title_column: str, text_columns: tuple[str, ...],
    id_column: str, link_column: str, encoding: str, given: str, data_dir: Path | None,
) -> None:  # fmt: skip
    """Add a source to VAULT: NAME is shown on its results, KIND says how it is asked.

    A program and its arguments come last, after `--`; "{query}" stands for the query.
    """
    from sidelight.cli import ask

    full = str(Path(os.path.expanduser(path)).absolute()) if path else ""
    source = SourceSettings(
        name, kind, description, timeout, full, index_dir, table, title_column,
        text_columns or ("text",), id_column, link_column, encoding, command, given,
    )  # fmt: skip
    there = ask.source_settings(vault, data_dir)
    ask.set_sources(vault, data_dir, [*there, as_given(source)])
    print(f"Added '{name}'. Try it: sidelight sources check {vault}")


@sources.command()
@click.argument("vault", type=_VAULT)
@click.argument("name")
@_DATA_DIR
def remove(vault: Path, name: str, data_dir: Path | None) -> None:
    """Take the source NAME out of VAULT's; nothing of the source itself is touched."""
    from sidelight.cli import ask

    there = ask.source_settings(vault, data_dir)
    kept = [source for source in there if name_key(source["name"]) != name_key(name)]
    if len(kept) == len(there):
        known = ", ".join(source["name"] for source in there) or "none"
        raise UsageError(f"There is no source named '{name}'.", f"Sources: {known}.")
    ask.set_sources(vault, data_dir, kept)
    print(f"Removed '{name}'.")


def _print(reports: Sequence[dict[str, Any]], as_json: bool) -> None:
    from sidelight.cli import show

    if as_json:
        print(show.as_json({"sources": list(reports)}))
    elif not reports:
        print("No other sources. Add one with `sidelight sources add`; see docs/sources.md.")
    for report in () if as_json else reports:
        print("\n".join(_lines(report)))


def _lines(report: dict[str, Any]) -> list[str]:
    state = {True: "ok", False: "FAILS", None: "never asked"}[report["reachable"]]
    lines = [f"{report['name']}  ({report['kind']}: {report['place']})  {state}"]
    facts = []
    if report["last_success"] is not None:
        when = datetime.fromtimestamp(report["last_success"]).strftime("%Y-%m-%d %H:%M")
        facts.append(f"last answered {when}")
    if report["typical_ms"] is not None:
        facts.append(f"typically {report['typical_ms']:.0f} ms")
    if report["error_rate"]:
        facts.append(f"{100 * report['error_rate']:.0f} % errors")
    if report["paused_s"]:
        facts.append(f"paused for {report['paused_s']:.0f} s more")
    if facts:
        lines.append("    " + ", ".join(facts))
    if report["reason"]:
        lines.append(f"    {report['reason']} {report['remedy']}".rstrip())
    if report["dead_cards"]:
        lines.append("    index cards that lead nowhere: " + "; ".join(report["dead_cards"]))
    return lines


# --------------------------------------------------------------------------- feedback


@click.group()
def feedback() -> None:
    """What was helpful and what found nothing: a log on this computer alone."""


@feedback.command()
@click.argument("vault", type=_VAULT)
@_DATA_DIR
@_JSON
def report(vault: Path, data_dir: Path | None, as_json: bool) -> None:
    """Show queries that find nothing, results that do not help, and sources by benefit."""
    from sidelight.cli import ask, show
    from sidelight.sources import feedback as log

    found = log.report(ask.feedback_log(vault, data_dir).entries())
    print(show.as_json(log.as_json(found)) if as_json else log.render(found))


@feedback.command()
@click.argument("vault", type=_VAULT)
@click.argument("queries", type=_VAULT)
@_DATA_DIR
def export(vault: Path, queries: Path, data_dir: Path | None) -> None:
    """Write the log as QUERIES (JSON lines) for `sidelight eval` and `calibrate`."""
    from sidelight.cli import ask
    from sidelight.sources import feedback as log

    count = log.export(ask.feedback_log(vault, data_dir).entries(), queries)
    print(f"{count} queries written to {queries}")


@feedback.command()
@click.argument("vault", type=_VAULT)
@_DATA_DIR
def clear(vault: Path, data_dir: Path | None) -> None:
    """Delete the log."""
    from sidelight.cli import ask

    print(f"{ask.feedback_log(vault, data_dir).clear()} entries deleted.")
