#!/usr/bin/env python3
"""Which things does the graph take a vault's notes to speak of? A sample to be read by a person.

    python scripts/review_entities.py VAULT [--sample 200] [--seed 10] [--from-twice]

Reads the vault's notes (writes nothing), and prints how many different entities they hold, how
long that took, and a random sample of them with how many passages hold each, one a line. Mark
those that name no thing; more than one in ten means that `language/entities.py` or its stop list
(`language/generic_words.py`) needs work.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from pathlib import Path

from environment import use_environment

use_environment()

from sidelight.config import Settings, open_vault
from sidelight.language.entities import entities_of, entity_key
from sidelight.language.user_words import UserWords
from sidelight.vault.chunker import chunk_note
from sidelight.vault.exclusions import Exclusions
from sidelight.vault.files import is_note, read_note_bytes, scan
from sidelight.vault.markdown import parse_note


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("vault", type=Path)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument(
        "--from-twice", action="store_true", help="only what two passages hold: what can be linked"
    )
    arguments = parser.parse_args()
    vault, settings = open_vault(arguments.vault), Settings()
    passages: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    spent = 0.0
    for entry in scan(vault, Exclusions.load(vault, settings), settings):
        if not is_note(entry.path):
            continue
        note = parse_note(entry.path, read_note_bytes(vault, entry.path, settings.max_note_bytes))
        chunks = [chunk.text for chunk in chunk_note(note) if chunk.searchable]
        started = time.perf_counter()
        found = entities_of(note.title, note.aliases, chunks, UserWords(()))
        spent += time.perf_counter() - started
        for labels in found:
            keys = {entity_key(label): label for label in labels}
            passages.update(list(keys))
            spelled.update(keys)
    pool = sorted(k for k, count in passages.items() if count > 1 or not arguments.from_twice)
    print(f"{len(passages)} entities, {len(pool)} in the pool, cut in {spent:.1f} s")
    drawn = random.Random(arguments.seed).sample(pool, min(arguments.sample, len(pool)))
    for key in sorted(drawn):
        print(f"{passages[key]:6d}  {spelled[key]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
