#!/usr/bin/env python3
"""Breaks each rule of the live-citation resolver in turn and shows which test notices.

Every mutation is made in a copy of the package; the working tree is never touched. Ends with
exit code 1 if a broken rule goes unnoticed, or if the code a mutation names is no longer there.

Usage: python scripts/mutate_relocate.py [NAME...]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = [
    "tests/unit/test_cite_conformance.py",
    "tests/unit/test_relocate.py",
    "tests/unit/test_cite_files.py",
    "tests/properties/test_relocate_edits.py",
]
CITE, KINDS, RULES = "query/cite.py", "vault/relocate.py", "vault/run_rules.py"
RIVALS, OUTLINE = "vault/rivals.py", "vault/outline.py"
PIECES, RUNS, RATIO = "vault/pieces.py", "vault/similar_run.py", "vault/similarity.py"


@dataclass(frozen=True)
class Mutation:
    """One broken rule: `old` stands exactly once in the file."""

    name: str
    file: str
    old: str
    new: str


MUTATIONS = [
    Mutation(
        "1: a missing file is taken for fresh",
        CITE,
        '    if live is None:\n        return unresolvable(passage, "the file is gone")',
        "    if live is None:\n        return _fresh(passage, indexed_hash)",
    ),
    Mutation(
        "1: of several renamed files the first",
        KINDS,
        "paths[0] if len(paths) == 1 else None",
        "paths[0] if paths else None",
    ),
    Mutation(
        "2: other bytes are fresh too",
        CITE,
        "if live.holds(indexed_hash):",
        "if live.holds(indexed_hash) or True:",
    ),
    Mutation(
        "2: the same bytes are looked at again", CITE, "if live.holds(indexed_hash):", "if False:"
    ),
    Mutation(
        "2: the editor's line endings count",
        CITE,
        "return self._buffer is not None and content_hash in self._written_hashes",
        "return False",
    ),
    Mutation(
        "3: no Unicode normalisation",
        PIECES,
        'text = unicodedata.normalize("NFC", text.removeprefix("\\ufeff"))',
        'text = text.removeprefix("\\ufeff")',
    ),
    Mutation(
        "3: lines not in Unicode normal form",
        PIECES,
        'text = unicodedata.normalize("NFC", text.replace',
        "text = (text.replace",
    ),
    Mutation("3: white space is kept", PIECES, 'while "  " in text:', "while False:"),
    Mutation(
        "3: case does not count",
        PIECES,
        'if text.isascii():\n        return " ".join(text.split())',
        'if text.isascii():\n        return " ".join(text.lower().split())',
    ),
    Mutation(
        "4: a candidate may end inside a line",
        PIECES,
        "if open_end or self.end(last) == end:",
        "if True:",
    ),
    Mutation(
        "4: a candidate may start inside a line",
        PIECES,
        "starts = self._inside(wanted) if open_start else",
        "starts = self._inside(wanted) if True else",
    ),
    Mutation(
        "4: the frontmatter counts",
        PIECES,
        "self.body = bisect_left(lines, body_start_line)",
        "self.body = 0",
    ),
    Mutation(
        "4: heading paths do not matter",
        RULES,
        "own = [span for span in candidates if new_path(span.first) == sought.path]",
        "own = candidates",
    ),
    Mutation(
        "4: the number of copies may change",
        RULES,
        "if len(own) != len(known_own) or cited not in known_own:",
        "if len(own) <= known_own.index(cited):",
    ),
    Mutation("4: always the first copy", RULES, "own[known_own.index(cited)]", "own[0]"),
    Mutation(
        "4: copies that were there before count",
        RULES,
        "if new_path(span.first) not in taken]",
        "]",
    ),
    Mutation(
        "4: several copies left, the first", RULES, "    if len(left) != 1:", "    if not left:"
    ),
    Mutation(
        "4: a vanished copy does not matter",
        RULES,
        "if vanished and (moved or",
        "if False and (moved or",
    ),
    Mutation(
        "4: a vanished copy whose neighbours it has as well",
        RULES,
        "return shared(cited) > max(map(shared_at_most, vanished))",
        "return shared(cited) >= max(map(shared_at_most, vanished))",
    ),
    Mutation(
        "4: a copy beside a copy is told apart by what is gone",
        RULES,
        "was == now or was in own for",
        "was == now for",
    ),
    Mutation(
        "5: marks alone make texts alike",
        RULES,
        "return ratio(was, here) < MIN_WORDS_ALIKE",
        "return False",
    ),
    Mutation(
        "5: a text that stood elsewhere is taken for the passage",
        RIVALS,
        "if len(now) < len(then) or likest >= max(1, anchors):",
        "if False:",
    ),
    Mutation(
        "5: a copy that stands as it stood is taken for the passage",
        RIVALS,
        "if len(now) < len(then) or likest >= max(1, anchors):",
        "if len(now) < len(then):",
    ),
    Mutation(
        "5: a copy elsewhere hides the passage",
        RIVALS,
        "if len(now) < len(then) or likest >= max(1, anchors):",
        "if then:",
    ),
    Mutation(
        "5: pieces that stand elsewhere do not matter",
        RIVALS,
        "    if strayed > _MUCH *",
        "    if False and strayed > _MUCH *",
    ),
    Mutation(
        "5: pieces that were others do not matter",
        RIVALS,
        "return alien > _MUCH *",
        "return False and alien > _MUCH *",
    ),
    Mutation(
        "5: a piece that stands nowhere else is no witness",
        RIVALS,
        "    if any(here[piece] and not beside[piece] and not elsewhere[piece] for piece in was):",
        "    if False:",
    ),
    Mutation(
        "parts: cut passages are taken from other sentences",
        RULES,
        "if sought.open_start or sought.open_end:",
        "if False:",
    ),
    Mutation(
        "4: no exact search", RULES, "if candidates := sought.find(new):", "if candidates := []:"
    ),
    Mutation(
        "4: fall through to similarity",
        RULES,
        "        return _choose_exact(sought, candidates, new, old_path, new_path)",
        "        got = _choose_exact(sought, candidates, new, old_path, new_path)\n"
        "        return got if isinstance(got, Found) else "
        "_choose_similar(sought, new, own, old_own)",
    ),
    Mutation(
        "5: no similarity",
        RULES,
        "    return _choose_similar(sought, new, own, old_own)\n\n\ndef _choose_exact",
        '    return Lost("")\n\n\ndef _choose_exact',
    ),
    Mutation("5: a lower threshold", RUNS, "THRESHOLD = 0.75", "THRESHOLD = 0.65"),
    Mutation("5: a higher threshold", RUNS, "THRESHOLD = 0.75", "THRESHOLD = 0.85"),
    Mutation(
        "5: neighbours are candidates",
        RULES,
        "[norm not in known or norm in inside for norm in pieces.norms]",
        "[True] * len(pieces.norms)",
    ),
    Mutation(
        "5: lines equal to one of the passage are accounted for",
        RULES,
        "[norm not in known or norm in inside for norm in pieces.norms]",
        "[norm not in known for norm in pieces.norms]",
    ),
    Mutation("5: runs of any length", RULES, "2 * sought.extent + 2", "99"),
    Mutation("5: short runs only", RULES, "2 * sought.extent + 2", "1"),
    Mutation(
        "5: the first run, not the best",
        RUNS,
        "(-score, known + 1, extent, first, last)",
        "(-1.0, known + 1, extent, first, last)",
    ),
    Mutation(
        "5: of equal scores the longest",
        RUNS,
        "(bound, _BY_LENGTH, extent, first, last)",
        "(bound, _BY_LENGTH, -extent, first, last)",
    ),
    Mutation("5: of several places the best", RULES, "    if len(mine) != 1:", "    if False:"),
    Mutation(
        "5: several places are never told apart", RULES, "    if len(mine) != 1:", "    if True:"
    ),
    Mutation("5: only one place is looked for", RUNS, "if search.is_over:", "if True:"),
    Mutation("5: short texts are found by likeness", RULES, "MIN_LETTERS = 6", "MIN_LETTERS = 0"),
    Mutation(
        "5: an edited twin is taken for the passage",
        RIVALS,
        "if rivals and rivals[0].score >= found.score:",
        "if False:",
    ),
    Mutation(
        "5: of equal texts that changed none",
        RIVALS,
        "if rivals[0].score > found.score or not own()[found.first]:",
        "if True:",
    ),
    Mutation(
        "5: of equal texts under one heading the other",
        RIVALS,
        "return any(under[rival.first] and rival.score == found.score for rival in rivals)",
        "return False",
    ),
    Mutation(
        "5: short texts are lost with a tick",
        RULES,
        '_TASK.sub("[ ]", text) != _TASK.sub("[ ]", now)',
        "True",
    ),
    Mutation("5: passages of many lines are refused", RUNS, "_FEW = 3_000", "_FEW = 0"),
    Mutation(
        "5: the subsequence bound is too low",
        RUNS,
        "score_cutoff=_needed(total))",
        "score_cutoff=total // 2 - 2)",
    ),
    Mutation(
        "5: another measure",
        RATIO,
        "        if not size:\n            continue",
        "        if size < 3:\n            continue",
    ),
    Mutation(
        "parts: sentences are not joined as they stood",
        PIECES,
        "[after[1] > span[2] for span, after in pairwise(spans)]",
        "[True for span, after in pairwise(spans)]",
    ),
    Mutation(
        "parts: neighbours are not cut",
        PIECES,
        "chosen.update(whole.lines[max(0, first - 1) : first])",
        "",
    ),
    Mutation(
        "parts: only the first line that holds the text is cut",
        PIECES,
        "at = whole.joined.find(wanted, at + 1)",
        "at = -1",
    ),
    Mutation(
        "3: a line shared with the version before is another line",
        PIECES,
        "*there[len(there) - tail :],",
        "*there[len(there) - tail :][::-1],",
    ),
    Mutation(
        "4: headings in code count",
        OUTLINE,
        'text = "\\n".join(_without_code(lines))',
        'text = text.replace("`", "").replace("~", "")',
    ),
    Mutation(
        "parts: cut passages must start where sentences do",
        RULES,
        "self.open_start = old.columns[self.first][0] < passage.columns[0]",
        "self.open_start = False",
    ),
    Mutation(
        "properties: the key alone",
        KINDS,
        "    if not _alike(_value_text(before, old), _value_text(after, new)):",
        "    if False:",
    ),
    Mutation(
        "properties: values as Python compares them",
        KINDS,
        "    if type(old) is not type(new):\n        return False",
        "    if old == new:\n        return True",
    ),
    Mutation(
        "properties: another key's value",
        KINDS,
        "    if _is_another_keys(before, old, after, new):",
        "    if False:",
    ),
    Mutation(
        "properties: a value like another that is gone",
        KINDS,
        "if theirs not in left and ratio(theirs, value) > score:",
        "if False:",
    ),
    Mutation(
        "properties: the same value is exact however it is written",
        KINDS,
        "if normalise(text) == normalise(was):",
        "if True:",
    ),
    Mutation(
        "cards: the lines of other cards are free",
        KINDS,
        "sought = _sought_in_card(old, passage, others.counts)",
        "sought = _sought_in_card(old, passage)",
    ),
    Mutation(
        "cards: another card's text in other lines",
        RIVALS,
        "    if others.find(text):\n        return True",
        "",
    ),
    Mutation(
        "cards: what is more like a card that is gone",
        RIVALS,
        "return bool(rivals) and rivals[0].score > score",
        "return False",
    ),
    Mutation(
        "cards: a deleted twin hides an edited card",
        RIVALS,
        "return bool(rivals) and rivals[0].score > score",
        "return bool(rivals) and rivals[0].score >= score",
    ),
    Mutation(
        "cards: found by their place",
        KINDS,
        "return next(same, None) if old.named else None",
        "return after.canvas_nodes[0]",
    ),
    Mutation(
        "cards: a twin is taken for the card",
        KINDS,
        "if len(holders) == sum(map(holds, before.canvas_nodes)) == 1:",
        "if holders:",
    ),
    Mutation("cards: only by id", KINDS, "    if holders:", "    if False:"),
]


def main(wanted: list[str]) -> int:
    """Runs the mutations whose names contain one of `wanted` (all without any)."""
    chosen = [m for m in MUTATIONS if not wanted or any(word in m.name for word in wanted)]
    survived = 0
    for mutation in chosen:
        killer = run(mutation)
        survived += killer is None
        print(
            f"{'noticed' if killer else 'SURVIVED':9} {mutation.name:55} {killer or ''}", flush=True
        )
    print(f"{len(chosen) - survived} of {len(chosen)} broken rules noticed")
    return 1 if survived else 0


def run(mutation: Mutation) -> str | None:
    """The first test that fails with the mutation; None if none does."""
    with tempfile.TemporaryDirectory(prefix="sidelight-mutation-") as folder:
        package = Path(folder) / "sidelight"
        shutil.copytree(
            ROOT / "python" / "sidelight", package, ignore=shutil.ignore_patterns("__pycache__")
        )
        file = package / mutation.file
        text = file.read_text("utf-8")
        if text.count(mutation.old) != 1:
            raise SystemExit(f"'{mutation.name}' no longer fits {mutation.file}")
        file.write_text(text.replace(mutation.old, mutation.new), "utf-8")
        return first_failure(folder)


def first_failure(folder: str) -> str | None:
    """Name of the first failing test with the package in `folder`."""
    environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) \S+?::(\S+)", done.stdout, re.MULTILINE)
    if done.returncode != 1 or not found:
        raise SystemExit(f"The tests did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found[1]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
