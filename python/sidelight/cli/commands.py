"""Which commands and options are there? One function a command; each hands on at once.

Imports nothing heavy at the top: `sidelight --help` and a search that a daemon answers must
not wait for the index or the models.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sidelight.cli.knowledge import feedback, sources
from sidelight.cli.tuning import tune
from sidelight.errors import QueriesError, SettingsError, SidelightError, UsageError

MODES = click.Choice(["hybrid", "lexical", "semantic", "coverage"])
LEVELS = click.Choice(["debug", "info", "warning", "error"])


class _PathThatIsGiven(click.Path):
    """A path; an empty one (an unset variable) is not the current folder."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The path."""
        if value == "":
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


VAULT = _PathThatIsGiven(path_type=Path)
_DATA_DIR = click.option(
    "--data-dir", type=VAULT, help="Where the index lies, instead of your data folder."
)
_MINUS = "a query that begins with a minus comes last, after `--`."
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


def main() -> None:
    """Runs a command. Errors are one line on standard error: exit code 1, wrong usage 2."""
    for stream in (sys.stdout, sys.stderr):  # Windows may use a legacy code page
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    logging.getLogger("sidelight").addHandler(logging.NullHandler())
    logging.getLogger("sidelight").propagate = False
    try:
        code = commands.main(standalone_mode=False)
    except click.exceptions.Abort:
        _leave("Interrupted; starting again goes on from here.", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        sys.exit(2)
    except click.NoSuchOption as error:  # perhaps a query that begins with a minus
        _leave(f"{error.format_message()} See `sidelight --help`; {_MINUS}", 2)
    except click.UsageError as error:
        _leave(f"{error.format_message()} See `sidelight --help`.", 2)
    except click.ClickException as error:
        _leave(error.format_message(), 1)
    except (SettingsError, QueriesError) as error:
        _leave(str(error), 1)
    except UsageError as error:
        _leave(str(error), 2)
    except SidelightError as error:
        _leave(str(error), 1)
    except BrokenPipeError:  # the reader of our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _leave(f"{error.strerror or error}{where}. Check the path and its permissions.", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _leave(message: str, code: int) -> None:
    one_line = " ".join(message.split())
    print(f"sidelight: {one_line}", file=sys.stderr)
    sys.exit(code)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sidelight")
def commands() -> None:
    """Finds evidence in an Obsidian vault and cites the lines where it stands now."""


@commands.command()
@click.argument("vault", type=VAULT)
@click.option("--port", default=0, type=click.IntRange(0, 65_535), help="Default: a free one.")
@_DATA_DIR
@click.option("--log-level", default="info", type=LEVELS)
@click.option(
    "--allow-origin", multiple=True, help="Development only: one more exact origin; repeatable."
)
@click.option("--exit-with-clients", is_flag=True, help="Leave when the last client does.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line once the bridge answers.")
def serve(
    vault: Path,
    port: int,
    data_dir: Path | None,
    log_level: str,
    allow_origin: tuple[str, ...],
    exit_with_clients: bool,
    as_json: bool,
) -> None:
    """Run the daemon: watch VAULT, keep its index, answer the plugin."""
    from sidelight.daemon import ServeOptions, ready_line, serve

    def announce(places: Any, listening: int) -> None:
        if as_json:
            ready_line(places, listening, os.getpid(), sys.stdout)
        else:
            print(f"Sidelight serves {places.vault}")
            print(f"Listening on 127.0.0.1:{listening} (this computer only); Ctrl-C stops it.")
            print(f"Discovery file: {places.discovery}")
            print(f"Log: {places.log}", flush=True)

    options = ServeOptions(vault, port, data_dir, log_level, allow_origin, exit_with_clients)
    serve(options, announce)
    # Everything is put away. Threads of native code (a model that is being loaded, LanceDB's
    # runtime) may still run, and abort the process if the interpreter is taken down under them.
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


@commands.command()
@click.argument("vault", type=VAULT)
@_DATA_DIR
@click.option("--lexical-only", is_flag=True, help="Words only, no vectors.")
@click.option(
    "--rebuild",
    is_flag=True,
    help="Read every note anew, also beside a running daemon. The old index answers until the new "
    "rows are there; unchanged text keeps its vectors. An index that cannot be read is thrown away.",
)
def index(vault: Path, data_dir: Path | None, lexical_only: bool, rebuild: bool) -> None:
    """Bring the index of VAULT up to date once."""
    from sidelight.cli.indexing import run_index

    run_index(vault, data_dir, lexical_only=lexical_only, rebuild=rebuild)


@commands.command()
@click.argument("vault", type=VAULT)
@click.argument("query")
@_DATA_DIR
@_JSON
@click.option("--limit", default=10, type=click.IntRange(1, 1_000), help="Direct passages.")
@click.option("--mode", default="hybrid", type=MODES)
@click.option("--rerank", is_flag=True, help="Let the reranking model reorder.")
@click.option("--explain", is_flag=True, help="Show what each channel contributed.")
@click.option("--sub-query", "queries", multiple=True, help="Asked beside QUERY; repeatable.")
@click.option("--source", "sources", multiple=True, help="Only this knowledge base; repeatable.")
@click.option("--dig", is_flag=True, help="Follow index cards whatever is found first.")
def search(
    vault: Path, query: str, data_dir: Path | None, as_json: bool, limit: int, mode: str,
    rerank: bool, explain: bool, queries: tuple[str, ...], sources: tuple[str, ...], dig: bool,
) -> None:  # fmt: skip
    """Search VAULT once for QUERY."""
    from sidelight.cli import ask, show

    params = {
        "text": query, "limit": limit, "mode": mode, "rerank": rerank, "explain": explain,
        "queries": list(queries), "dig": dig, **({"sources": list(sources)} if sources else {}),
    }  # fmt: skip
    result = ask.search(vault, data_dir, params)
    print(show.as_json(result) if as_json else show.result(result, sys.stdout.isatty()))


@commands.command()
@click.argument("vault", type=VAULT)
@click.argument("query", required=False)
@_DATA_DIR
@_JSON
@click.option("--budget", type=click.IntRange(0, 1_000_000), help="Tokens; default 4,000.")
@click.option("--tokenizer", default="", help="model (default), bytes, estimate, or a file.")
@click.option("--mode", default="hybrid", type=MODES)
@click.option("--sub-query", "queries", multiple=True, help="Asked beside QUERY; repeatable.")
@click.option("--pieces", default=20, type=click.IntRange(1, 100), help="At most.")
@click.option("--diversity", default=0.0, type=click.FloatRange(0, 1), help="MMR; 0 is off.")
@click.option("--no-widen", is_flag=True, help="Keep passages as they are.")
@click.option("--all", "whole", is_flag=True, help="The whole vault, for a long context.")
def pack(
    vault: Path, query: str | None, data_dir: Path | None, as_json: bool, budget: int | None,
    tokenizer: str, mode: str, queries: tuple[str, ...], pieces: int, diversity: float,
    no_widen: bool, whole: bool,
) -> None:  # fmt: skip
    """Pack what VAULT says to QUERY into a context for a model."""
    from sidelight.cli import packing

    if whole == (query is not None):
        raise click.UsageError("Give a QUERY, or --all for the whole vault.")
    if query is None:
        print(packing.everything(vault, data_dir, budget, tokenizer, as_json))
        return
    params = {
        "text": query, "tokenizer": tokenizer, "mode": mode, "queries": list(queries),
        "pieces": pieces, "diversity": diversity, "widen": not no_widen,
        "budget": 4_000 if budget is None else budget,
    }  # fmt: skip
    print(packing.context(vault, data_dir, params, as_json))


@commands.command(name="mcp")
@click.argument("vault", type=VAULT)
@_DATA_DIR
def serve_mcp(vault: Path, data_dir: Path | None) -> None:
    """Offer VAULT to an agent as read-only tools (Model Context Protocol, standard input/output)."""
    from sidelight.mcp.server import serve

    serve(vault, data_dir)


@commands.command()
@click.argument("vault", type=VAULT)
@click.argument("question")
@_DATA_DIR
@_JSON
@click.option("--endpoint", default="", help="OpenAI-compatible address; else the settings'.")
@click.option("--model", default="", help="The model's name there; else the settings'.")
def ask(
    vault: Path, question: str, data_dir: Path | None, as_json: bool, endpoint: str, model: str
) -> None:
    """Answer QUESTION from VAULT in words, by a model that you name; every citation is checked."""
    from sidelight.cli import asking

    code = asking.run(vault, data_dir, question, endpoint, model, as_json)
    if code:
        sys.exit(code)


@commands.command(name="eval")
@click.argument("vault", type=VAULT)
@click.argument("queries", type=VAULT)
@_DATA_DIR
@_JSON
@click.option("--run-out", type=VAULT, help="Write the ranking as a TREC run.")
@click.option("--limit", type=click.IntRange(1, 1_000), help="Default: enough for 10 notes.")
@click.option("--rerank", is_flag=True)
@click.option("--query-field", default="query", help="Field of the file that holds the query.")
@click.option("--budget", default=2_000, type=click.IntRange(0, 1_000_000), help="Of contexts.")
@click.option("--ask", "in_words", is_flag=True, help="Ask the model of the settings, too.")
@click.option("--recipe", "recipes", multiple=True, help="Compare a fusion recipe, or all.")
def evaluate(
    vault: Path, queries: Path, data_dir: Path | None, as_json: bool, run_out: Path | None,
    limit: int | None, rerank: bool, query_field: str, budget: int, in_words: bool,
    recipes: tuple[str, ...],
) -> None:  # fmt: skip
    """Measure the search of VAULT on judged QUERIES (JSON lines)."""
    from sidelight.cli import ask, asking, comparing, show
    from sidelight.evaluation.layers import contexts_json, measure_contexts, render_layers
    from sidelight.evaluation.report import render_evaluation
    from sidelight.evaluation.runs import evaluate, write_trec_run
    from sidelight.evaluation.topics import read_topics

    topics = read_topics(queries, query_field)
    if recipes:
        print(comparing.recipes(vault, data_dir, topics, recipes, as_json))
        return
    with ask.engine(vault, data_dir) as engine, show.progress("Asking") as progress:
        ask.warn_of_unknown_notes(engine, topics)
        evaluation = evaluate(engine, topics, limit=limit, rerank=rerank, progress=progress)
        contexts = measure_contexts(engine, topics, budget, progress)
    layers: dict[str, Any] = {"context": contexts_json(contexts, budget)}
    if in_words:
        layers["ask"] = asking.measure(vault, data_dir, topics)
    if run_out is not None:
        with run_out.open("w", encoding="utf-8") as file:
            write_trec_run(evaluation, file)
    if as_json:
        print(show.as_json({**evaluation.as_json(), **layers}))
    else:
        print(f"{render_evaluation(evaluation)}\n\n{render_layers(layers)}")


@commands.command()
@click.argument("vault", type=VAULT)
@click.argument("queries", type=VAULT)
@_DATA_DIR
@_JSON
@click.option("--dry-run", is_flag=True, help="Fit and report, write nothing.")
@click.option("--holdout", default=0.0, type=float, help="Share kept for the report, e.g. 0.5.")
@click.option("--query-field", default="query")
def calibrate(
    vault: Path, queries: Path, data_dir: Path | None, as_json: bool, dry_run: bool,
    holdout: float, query_field: str,
) -> None:  # fmt: skip
    """Fit the evidence gate of VAULT to your own QUERIES (JSON lines)."""
    from sidelight.cli import ask, show
    from sidelight.evaluation.calibration import calibrate, save
    from sidelight.evaluation.report import render_calibration
    from sidelight.evaluation.topics import read_topics

    topics = read_topics(queries, query_field)
    with ask.engine(vault, data_dir) as engine, show.progress("Asking") as progress:
        ask.warn_of_unknown_notes(engine, topics)
        fitted = calibrate(
            engine, topics, model=engine.model_id, holdout=holdout, progress=progress
        )
        if not dry_run:
            save(engine.places.calibration, fitted)
            ask.set_settings(vault, data_dir, {})  # a running daemon reads the gate anew
    print(
        show.as_json(fitted.report_json())
        if as_json
        else render_calibration(fitted, dry_run=dry_run)
    )


@commands.group()
def model() -> None:
    """The embedding and reranking models."""


@model.command(name="build")
@click.option("--force", is_flag=True, help="Build again even if it is there.")
def model_build(force: bool) -> None:
    """Build the default embedding model (downloads about 100 MB once)."""
    from sidelight.models.build import build_default_model

    folder = build_default_model(lambda line: print(line, flush=True), force=force)
    print(f"The model is in {folder}")


@model.command(name="list")
@_JSON
def model_list(as_json: bool) -> None:
    """List the models that are there."""
    from sidelight.cli import show
    from sidelight.models.registry import list_models

    models = list_models()
    if as_json:
        print(show.as_json([_model_json(one) for one in models]))
    elif not models:
        print("No model is built yet. Run `sidelight model build`.")
    for one in () if as_json else models:
        mark = " (default)" if one.is_default else ""
        print(f"{one.manifest.name}{mark}  {one.size / 1e6:.0f} MB  {one.folder}")


def _model_json(one: Any) -> dict[str, Any]:
    return {
        "name": one.manifest.name,
        "folder": str(one.folder),
        "bytes": one.size,
        "dimension": one.manifest.dimension,
        "default": one.is_default,
    }


@model.command(name="verify")
@click.argument("name", default="")
@_JSON
def model_verify(name: str, as_json: bool) -> None:
    """Check a model's files (default: the default model); exit code 1 if one is wrong."""
    from sidelight.doctor import as_json as findings_json
    from sidelight.doctor import render, worst
    from sidelight.models.registry import verify

    findings = verify(name)
    _print_findings(findings, as_json, findings_json, render)
    if worst(findings) == "error":
        sys.exit(1)


@commands.command()
@click.argument("vault", type=VAULT)
@_DATA_DIR
@_JSON
def doctor(vault: Path, data_dir: Path | None, as_json: bool) -> None:
    """Check VAULT and what is around it; exit code 1 if a check is an error."""
    from sidelight.cli import ask
    from sidelight.doctor import as_json as findings_json
    from sidelight.doctor import render, worst

    findings = ask.findings(vault, data_dir)
    _print_findings(findings, as_json, findings_json, render)
    if worst(findings) == "error":
        sys.exit(1)


def _print_findings(
    findings: Any, as_json: bool, to_json: Callable[[Any], Any], render: Callable[[Any], str]
) -> None:
    from sidelight.cli import show

    print(show.as_json(to_json(findings)) if as_json else render(findings))


@commands.command()
@click.argument("vault", type=VAULT)
@click.argument("note")
@_JSON
def inspect(vault: Path, note: str, as_json: bool) -> None:
    """Show what the parser sees of NOTE (a path inside VAULT)."""
    from sidelight.cli import show
    from sidelight.cli.inspecting import inspect_note, render_inspection

    seen = inspect_note(vault, note)
    print(show.as_json(seen) if as_json else render_inspection(seen))


commands.add_command(sources)
commands.add_command(feedback)
commands.add_command(tune)
