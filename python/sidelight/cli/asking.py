"""What does `sidelight ask` print? The answer as it comes, its evidence, and what it cost."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sidelight.ask.loop import answer
from sidelight.ask.settings import endpoint_of, limits_of
from sidelight.ask.state import Sentence, State
from sidelight.bridge.asking import Asker
from sidelight.bridge.wire import ask_json
from sidelight.cli import show
from sidelight.config import load_settings, open_vault, places_for
from sidelight.evaluation.layers import measure_asks
from sidelight.evaluation.topics import Topic

_UNSUPPORTED = "(?)"


def run(
    vault: Path, data_dir: Path | None, question: str, endpoint: str, model: str, as_json: bool
) -> int:
    """Asks and prints; the exit code.

    Raises:
        SidelightError: no vault, no index, or no endpoint is named.
    """
    settings = load_settings(places_for(open_vault(vault), data_dir))
    named = endpoint_of(settings)
    if endpoint:
        # a key of the settings' endpoint does not go to another one
        named = replace(named, url=endpoint, key_variable="")
    if model:
        named = replace(named, model=model)
    asker = Asker(vault, data_dir)
    printing = _Printing(quiet=as_json)
    try:
        state = answer(question, asker.ask, named, limits_of(settings), printing.tell)
    finally:
        asker.close()
    if as_json:
        print(show.as_json(ask_json(state)))
    else:
        printing.end(state)
    if state.status == "failed":
        print(f"sidelight: {failure(state)}", file=sys.stderr)
    return 1 if state.status == "failed" else 0


def measure(vault: Path, data_dir: Path | None, topics: Sequence[Topic]) -> dict[str, Any]:
    """Asks every question of an evaluation in words, by the model of the settings.

    Raises:
        SidelightError: as `run`.
    """
    settings = load_settings(places_for(open_vault(vault), data_dir))
    named, limits = endpoint_of(settings), limits_of(settings)
    asker = Asker(vault, data_dir)
    try:
        with show.progress("Asking in words") as progress:
            return measure_asks(
                lambda query: answer(query, asker.ask, named, limits), topics, progress
            )
    finally:
        asker.close()


def failure(state: State) -> str:
    """Why there is no answer, in one line."""
    if state.reasons:
        return state.reasons[-1]["message"]
    return f"{state.stopped} Raise ask_tokens or ask_seconds in the settings."


class _Printing:
    """Prints what is new in a state."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._steps = self._sentences = 0

    def tell(self, state: State) -> None:
        """Steps to standard error, sentences to standard output."""
        if self._quiet:
            return
        for step in state.steps[self._steps :]:
            print(f"[{step.round}] {step.tool}: {step.asked} ({step.found} new)", file=sys.stderr)
        self._steps = len(state.steps)
        for sentence in state.sentences[self._sentences :]:
            print(_shown(sentence), flush=True)
        self._sentences = len(state.sentences)

    def end(self, state: State) -> None:
        """Evidence that was cited, and the cost."""
        if state.status == "no_evidence":
            print("No evidence in this vault.")
            for reason in state.reasons:
                print(f"  - {reason['message']}")
        cited = {n for sentence in state.sentences for n in sentence.citations}
        for piece in state.evidence:
            if piece["number"] in cited:
                where = piece["citation"]
                lines = f":{where['start_line']}-{where['end_line']}" if where["start_line"] else ""
                print(f"[{piece['number']}] {piece['path']}{lines}")
        if any(not sentence.supported for sentence in state.sentences):
            print(f"{_UNSUPPORTED} marks what the cited lines do not bear out.")
        if state.missing:
            print(f"Not found: {state.missing}")
        if state.stopped and state.status != "failed":
            print(state.stopped)
        spent = state.spent
        print(
            f"{spent.calls} calls of {state.endpoint}, {spent.tokens} tokens, "
            f"{spent.rounds} further rounds, {spent.seconds:.1f} s",
            file=sys.stderr,
        )


def _shown(sentence: Sentence) -> str:
    cited = "".join(f"[{n}]" for n in sentence.citations)
    return " ".join(
        part for part in (sentence.text, cited, "" if sentence.supported else _UNSUPPORTED) if part
    )
