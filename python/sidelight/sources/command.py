"""A source that is a program: the query goes in, results come out as JSON lines.

The query is one argument (`{query}`) or an object on standard input, never part of a shell's
line. Each line of output is an object with `text`, and `title`, `id`, `link` and `path` if it
likes. Nothing a program says is run, opened or trusted with line numbers.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sidelight.source_settings import ASKING, SourceSettings
from sidelight.sources.asking import (
    PER_ANSWER,
    Answer,
    Ask,
    Found,
    SourceError,
    cut,
    one_line,
    whole,
)
from sidelight.sources.process import MAX_OUTPUT_BYTES, Ended, run
from sidelight.sources.records import card_of
from sidelight.vault.lines import readable

MAX_AT_ONCE = 2  # runs of one program: also the end of a cycle that hides its environment
TYPING_PAUSE_S = 0.3  # a program is not started for every key
MAX_SAID_CHARS = 200  # of standard error, in a reason
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Command:
    """A program that answers.

    Args:
        settings: its description.
        vault_key: of the vault that asks, for the environment.
    """

    def __init__(self, settings: SourceSettings, vault_key: str) -> None:
        self._settings = settings
        self._vault_key = vault_key
        self._slots = threading.BoundedSemaphore(MAX_AT_ONCE)
        self._echoes: bool | None = None  # not known yet

    def ask(self, ask: Ask) -> Answer:
        """See `Adapter`."""
        if ask.request.typing and _paused_typing(ask):
            return Answer([])
        answer = self._asked(ask)
        if answer.found and self._is_echo(ask):
            return replace(answer, echo=_query(ask))
        return answer

    def check(self, ask: Ask) -> None:
        """See `Adapter`: whether the program is there; it is not run."""
        self._program()

    def has_target(self, arguments: Mapping[str, str], ask: Ask) -> bool:
        """See `Adapter`."""
        return True  # only running it would tell

    def close(self) -> None:
        """See `Adapter`."""

    # ------------------------------------------------------------------ inside

    def _asked(self, ask: Ask) -> Answer:
        if not self._slots.acquire(blocking=False):
            raise SourceError(
                f"It is already running {MAX_AT_ONCE} times.",
                "Wait for it; if it calls Sidelight itself, let it not ask this vault.",
                code="SOURCE_BUSY",
            )
        try:
            line = self._line(ask)
            ended = self._run(line, ask)
        finally:
            self._slots.release()
        return self._answer(ended, line)

    def _is_echo(self, ask: Ask) -> bool:
        """Whether it repeats what it is asked even where it cannot know it; found out once.

        "Nothing found for X" holds all of X and says nothing: such words must not count.
        """
        if self._echoes is None:
            word = f"qzx{secrets.token_hex(5)}"
            probe = replace(ask, text=word, arguments={})
            try:
                found = self._asked(probe).found
            except SourceError:
                return False  # asked again with the next question
            self._echoes = any(word in f"{one.title}\n{one.text}".casefold() for one in found)
        return self._echoes

    def _program(self) -> str:
        name = os.path.expanduser(self._settings.command[0])
        found = shutil.which(name)
        if found is None:
            raise SourceError(
                f"There is no program '{name}'.", "Install it, or give its full path."
            )
        return found

    def _line(self, ask: Ask) -> list[str]:
        """Program and arguments. What is put in can never be read as an option."""
        values = {**ask.arguments, "query": _query(ask)}

        def fill(part: str) -> str:
            filled = _PLACEHOLDER.sub(lambda m: values.get(m[1], m[0]), part)
            plain = _PLACEHOLDER.match(part) is not None
            return filled.lstrip("-") if plain and filled != part else filled

        return [self._program(), *(fill(part) for part in self._settings.command[1:])]

    def _run(self, line: list[str], ask: Ask) -> Ended:
        asking = os.environ.get(ASKING, "")
        given = b""
        if self._settings.input == "json":
            question = {"query": _query(ask), "limit": PER_ANSWER, "arguments": dict(ask.arguments)}
            given = json.dumps(question, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        try:
            return run(
                line, given, {ASKING: f"{asking} {self._vault_key}".strip()},
                ask.seconds_left, ask.cancelled,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SourceError(
                f"The program cannot be started ({reason}).", "Check its path and permissions."
            ) from error

    def _answer(self, ended: Ended, line: list[str]) -> Answer:
        found, bad = _results(ended.output, cut_off=bool(ended.why_killed))
        said = " ".join(ended.error.split())[-MAX_SAID_CHARS:]
        if ended.why_killed == "time":
            raise SourceError(
                f"It did not end within {self._settings.timeout_s:g} s and was stopped.",
                "Try it in a terminal, or raise its 'timeout_s'.",
                code="SOURCE_TIMEOUT",
            )
        if "SOURCE_CYCLE" in ended.error or "a source of the same vault" in ended.error:
            raise SourceError(
                "It asks Sidelight for this very vault: a cycle.",
                "Let it ask another vault, or take it out of the sources.",
                code="SOURCE_CYCLE",
            )
        if ended.code not in (0, None) and not found:
            because = f": {said}" if said else ""
            raise SourceError(f"It ended with code {ended.code}{because}.", "Try it in a terminal.")
        problems = []
        if ended.why_killed == "output":
            problems.append(
                f"it wrote more than {MAX_OUTPUT_BYTES // 1_000_000} MB and was stopped"
            )
        elif ended.code not in (0, None):
            problems.append(f"it ended with code {ended.code}")
        if bad and not found:
            raise SourceError(
                "What it wrote is not JSON lines.", 'Each line must be an object with "text".'
            )
        if bad:
            problems.append("1 line is no result" if bad == 1 else f"{bad} lines are no results")
        return Answer(found[:PER_ANSWER], problems, line)


def _query(ask: Ask) -> str:
    return (ask.arguments.get("query") or ask.text).replace("\0", " ")


def _paused_typing(ask: Ask) -> bool:
    """Waits a moment while someone types; whether a newer query came meanwhile."""
    until = time.monotonic() + TYPING_PAUSE_S
    while time.monotonic() < until:
        if ask.must_stop():
            return True
        time.sleep(0.01)
    return ask.must_stop()


def _results(output: bytes, *, cut_off: bool) -> tuple[list[Found], int]:
    """The results among the lines, and how many lines are none."""
    text = output.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = text.replace("\r\n", "\n").split("\n")
    if cut_off:
        lines = lines[:-1]  # perhaps half a line
    found: list[Found] = []
    bad = 0
    for line in lines:
        if len(found) == PER_ANSWER:
            break
        if not line.strip():
            continue
        result = _result(line)
        if result is None:
            bad += 1
        else:
            found.append(result)
    return found, bad


def _result(line: str) -> Found | None:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    text = cut(readable(value["text"].replace("\0", "")).strip())
    if not text:
        return None
    title, record_id = one_line(value.get("title")), one_line(value.get("id"))
    link, path = one_line(value.get("link")), one_line(value.get("path"))
    return Found(
        text=text,
        title=title or record_id or one_line(text)[:60],
        path=path or link or record_id or title or one_line(text)[:60],
        citation=whole(text),
        id=record_id,
        link=link,
        card=card_of(value.get("deep_search")),
    )
