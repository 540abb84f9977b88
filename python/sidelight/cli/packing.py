"""What does `sidelight pack` print? The context on standard output, remarks on standard error."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sidelight.cli import ask, show

_WHY = {
    "budget": "no tokens left",
    "pieces": "enough pieces",
    "note": "enough of its note",
    "duplicate": "said already",
}


def context(vault: Path, data_dir: Path | None, params: dict[str, Any], as_json: bool) -> str:
    """The context for a query, ready to be piped into a model."""
    answer = ask.pack(vault, data_dir, params)
    if as_json:
        return show.as_json(answer)
    if answer["status"] == "no_evidence":
        return show.result(answer)
    for line in (remark(answer), *show.remarks(answer)):
        print(line, file=sys.stderr)
    return str(answer["text"])


def remark(answer: dict[str, Any]) -> str:
    """What is in a context and what was left out, in a line."""
    notes = len({piece["path"] for piece in answer["pieces"]})
    said = (
        f"{counted(len(answer['pieces']), 'piece')} of {counted(notes, 'note')}, {answer['tokens']} of "
        f"{answer['budget']} tokens ({answer['tokenizer']})"
    )
    left = Counter(one["why"] for one in answer["left_out"])
    reasons = ", ".join(f"{count} {_WHY[why]}" for why, count in left.items())
    return f"{said}; left out: {reasons}" if reasons else said


def counted(number: int, thing: str) -> str:
    """`1 note`, `2 notes`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def everything(
    vault: Path, data_dir: Path | None, budget: int | None, tokenizer: str, as_json: bool
) -> str:
    """The whole vault; without a budget as much as a long context takes."""
    from sidelight.query.whole import LONG_CONTEXT

    whole = ask.pack_all(vault, data_dir, LONG_CONTEXT if budget is None else budget, tokenizer)
    if as_json:
        return show.as_json(asdict(whole))
    said = f"{counted(whole.notes, 'note')}, {whole.tokens} of {whole.budget} tokens ({whole.tokenizer})"
    if whole.left_out:
        said += f"; {counted(len(whole.left_out), 'note')} did not fit: the vault has {whole.total_tokens}"
    print(said, file=sys.stderr)
    return whole.text
