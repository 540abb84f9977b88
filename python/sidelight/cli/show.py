"""What does a person read of an answer? Text for a terminal; JSON for programs."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sidelight.source_settings import OWN

if TYPE_CHECKING:
    from sidelight.types import Progress

_MARK, _DIM, _BOLD, _END = "\033[1;33m", "\033[2m", "\033[1m", "\033[0m"


def as_json(value: Any) -> str:
    """One JSON document, readable, Chinese as Chinese."""
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)


def result(answer: dict[str, Any], colour: bool = False) -> str:
    """A `SearchResult` for people."""
    lines = [f"! {_degraded(d)}" for d in answer["degraded"]]
    if answer["status"] == "no_evidence":
        lines.append("No evidence in this vault.")
        lines += [f"  - {reason['message']}" for reason in answer["reasons"]]
        if answer["near_misses"]:
            lines.append("Nearest, but not good enough:")
            lines += [f"  {_place(near)}" for near in answer["near_misses"]]
        return "\n".join(lines)
    for one in answer["results"]:
        lines += ["", *_passage(one, colour)]
    lines += [_card(card) for card in answer.get("cards", []) if not card["found"]]
    lines += [f"({reason['message']})" for reason in answer["reasons"]]
    if answer.get("trace"):
        lines += ["", *_trace(answer["trace"])]
    pending = answer["index"]["pending"]
    if pending:
        waits = (
            "passage or changed note waits" if pending == 1 else "passages or changed notes wait"
        )
        lines.append(f"({pending} {waits} to be indexed)")
    lines += ["", f"{len(answer['results'])} passages in {answer['timing_ms']['total']:.0f} ms"]
    return "\n".join(lines).lstrip("\n")


def remarks(answer: dict[str, Any]) -> list[str]:
    """What a reader of an answer must know beside it: what took no part, and what is missing."""
    degraded = [f"! {_degraded(one)}" for one in answer["degraded"]]
    return degraded + [f"({reason['message']})" for reason in answer["reasons"]]


def _passage(one: dict[str, Any], colour: bool) -> list[str]:
    headings = " > ".join(one["heading_path"])
    name = f"{_BOLD}{_place(one)}{_END}" if colour else _place(one)
    lines = [f"{one['rank']:>2}. {name}" + (f"  # {headings}" if headings else "")]
    link = one["graph_provenance"]
    if link:
        where = f", line {link['link_line']}" if link["link_line"] else ""
        lines.append(f"    via {link['link']} in {link['seed_path']}{where}")
    if one["via_card"]:
        card = one["via_card"]
        ran = f", ran {' '.join(card['ran'])}" if card["ran"] else ""
        lines.append(f"    via the card “{card['title']}” to {card['source']}{ran}")
    chain = (one["channels"].get("graph") or {}).get("chain")
    if chain:
        lines.append(f"    via the mentions {' → '.join(chain)}")
    if one["also_in"]:
        lines.append(f"    also in {', '.join(one['also_in'])}")
    lines.append(f"    {_marked(one['snippet'], colour)}")
    channels = [f"{name} {hit['rank']}" for name, hit in one["channels"].items() if hit]
    found = f"evidence {one['evidence']:.2f}" + (f"; {', '.join(channels)}" if channels else "")
    lines.append(f"    {_DIM}{found}{_END}" if colour else f"    {found}")
    return lines


def _card(card: dict[str, Any]) -> str:
    why = f": {card['problem']}" if card["problem"] else ""
    return f"(The card “{card['title']}” led to nothing{why})"


def _place(one: dict[str, Any]) -> str:
    citation = one["citation"]
    place = str(one["path"])
    if one["source"] != OWN:
        place = f"{one['source']}: {place}"
        if one["entry"] and one["entry"]["id"]:
            place += f" #{one['entry']['id']}"
    if citation["start_line"] is not None:
        start, end = citation["start_line"], citation["end_line"]
        place += f":{start}" if start == end else f":{start}-{end}"
    state = citation["status"]
    return f"{place} [{state}]" if state != "fresh" else place


def _marked(snippet: dict[str, Any], colour: bool) -> str:
    """The snippet, with its highlights (UTF-16 units) marked where there is colour."""
    if not colour:
        return str(snippet["text"])
    units: bytes = snippet["text"].encode("utf-16-le")
    shown: str = ""
    at = 0
    for start, end in snippet["highlights"]:
        shown += units[2 * at : 2 * start].decode("utf-16-le")
        shown += _MARK + units[2 * start : 2 * end].decode("utf-16-le") + _END
        at = end
    return shown + str(units[2 * at :].decode("utf-16-le"))


def _degraded(one: dict[str, Any]) -> str:
    return f"{one['channel']}{' (partly)' if one['partial'] else ''}: {one['reason']}"


def _trace(trace: dict[str, Any]) -> list[str]:
    lines = ["What each channel contributed (they add up to the fused score):"]
    for one in trace.get("candidates", [])[:20]:
        parts = " + ".join(f"{n} {v:.5f}" for n, v in one["contributions"].items())
        lines.append(
            f"  {one['path']}  {parts} = {one['rrf_score']:.5f}; "
            f"coverage {one['coverage']:.2f}, evidence {one['evidence']:.2f}"
        )
    gate = trace["gate"]
    lines.append(f"Gate: {gate['confidence']:.3f} of the needed {gate['threshold']:.3f}")
    return lines


@contextlib.contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal (standard error), nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from sidelight.types import Progress

    with bar() as update:
        yield lambda done, total: update(Progress(label, done, total))


@contextlib.contextmanager
def bar() -> Iterator[Callable[[Progress], None]]:
    """A progress bar by phase: done, total, rate, time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = [
        TextColumn("{task.description:<8}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(),
    ]  # fmt: skip
    with Bar(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None, rate="")

        def update(now: Progress) -> None:
            rate = f"{now.rate:.0f}/s" if now.rate else ""
            bars.update(
                task, description=now.phase, completed=now.done, total=now.total or None, rate=rate
            )

        yield update


@contextlib.contextmanager
def plain_lines() -> Iterator[Callable[[Progress], None]]:
    """One line a phase, and one every tenth of it: for logs and pipes."""
    said: tuple[str, int] = ("", -1)

    def update(now: Progress) -> None:
        nonlocal said
        tenth = 10 * now.done // now.total if now.total else 0
        if (now.phase, tenth) != said and now.phase in ("scan", "words", "vectors"):
            said = (now.phase, tenth)
            left = f", {now.seconds_left:.0f} s left" if now.seconds_left else ""
            count = f": {now.done} of {now.total}" if now.total else ""
            why = f" ({now.reason})" if now.reason else ""
            print(f"{now.phase}{count}{left}{why}", flush=True)

    yield update
