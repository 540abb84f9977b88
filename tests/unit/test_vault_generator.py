"""The generated vault of the benchmarks: the same every time, and like a real one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from sidelight.vault.links import LinkResolver
from sidelight.vault.markdown import parse_note

SCRIPT = Path(__file__).parents[2] / "scripts" / "generate_vault.py"
spec = importlib.util.spec_from_file_location("generate_vault", SCRIPT)
assert spec is not None
assert spec.loader is not None
generator = importlib.util.module_from_spec(spec)
sys.modules["generate_vault"] = generator
spec.loader.exec_module(generator)


def test_the_same_seed_gives_the_same_vault() -> None:
    first = list(generator.generate(20, seed=3))
    assert first == list(generator.generate(20, seed=3))
    assert first != list(generator.generate(20, seed=4))
    assert len({path for path, _ in first}) == 20


def test_generated_notes_have_what_real_ones_have() -> None:
    files = dict(generator.generate(150, seed=1))
    notes = [parse_note(path, text.encode()) for path, text in files.items()]
    assert not [note.problems for note in notes if note.problems]
    resolver = LinkResolver(files)
    links = [(link, note) for note in notes for link in note.links]
    gone = sum(resolver.resolve(link.target, note.path) is None for link, note in links)
    assert 0.2 < gone / len(links) < 0.45
    kinds = {block.kind.value for note in notes for block in note.blocks}
    assert {"yaml", "heading", "paragraph", "list", "table", "code", "callout"} <= kinds
    assert any("中" in text for text in files.values())
    assert any(note.aliases for note in notes)
