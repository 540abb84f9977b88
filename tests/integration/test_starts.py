"""A start takes in what was written, and nothing that no local index needs."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidelight.config import Settings
from sidelight.engine import Engine
from sidelight.store.lance import leave_unopened
from sidelight.store.rows import ChunkRow

NOTES = {
    "Garden.md": "---\naliases: [花园]\n---\n# Compost\n\nsoil soil soil\n\n## 堆肥\n\n拿铁，拿铁。\n",
    "日记/一.md": "# 散步\n\n[[Garden#堆肥|compost]] 😀\n",
    "empty.md": "",
    "long.md": "word " * 3_000,  # one line: passages with columns
    "Board.canvas": '{"nodes":[{"id":"a","type":"text","text":"袋狼 thylacine"}],"edges":[]}',
}


def rows(engine: Engine) -> dict[str, Any]:
    catalog = engine._catalog
    chunks = {
        chunk.chunk_id: [
            getattr(chunk, name)
            for name in ChunkRow.__slots__
            if name not in ("codes", "counts", "number", "__weakref__")
        ]
        + sorted(zip(map(catalog.vocabulary.term, chunk.codes), chunk.counts.tolist(), strict=True))
        for chunk in catalog.chunks.values()
    }
    live = sorted(catalog.vocabulary.live_terms())
    frequencies = {t: catalog.vocabulary.df(catalog.vocabulary.code(t)) for t in live}
    ids = {h: {c.chunk_id for c in found} for h, found in catalog.by_embedding.items()}
    sizes = (catalog.searchable, catalog.total_length, ids, catalog.names)
    return {"notes": dict(catalog.notes), "chunks": chunks, "df": frequencies, "sizes": sizes}


@pytest.mark.parametrize("at_once", [1, 3, 16_384])
def test_what_is_read_back_is_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("sidelight.store.loading._LOADED_AT_ONCE", at_once)
    for path, content in NOTES.items():
        (tmp_path / "vault" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "vault" / path).write_text(content, "utf-8")
    options: dict[str, Any] = {"data_dir": tmp_path / "data", "settings": Settings()}
    written = Engine.open(tmp_path / "vault", lexical_only=True, **options)
    written.sync(lexical_only=True)
    expected = rows(written)
    written.close()
    assert len(expected["notes"]) == len(NOTES)
    assert any(row[8] for row in expected["chunks"].values()), "some passage has columns"
    again = Engine.open(tmp_path / "vault", lexical_only=True, **options)
    try:
        assert rows(again) == expected
        assert gc.isenabled()
    finally:
        again.close()


def test_the_remote_client_stays_unopened_until_someone_looks_into_it() -> None:
    script = """
import sys, sidelight.store.lance
package = sys.modules["lance_namespace_urllib3_client"]
assert not any(name.startswith(package.__name__ + ".api.") for name in sys.modules)
import lance_namespace
assert lance_namespace.ListTablesResponse(tables=["a"]).tables == ["a"]
assert not hasattr(package, "no such name")
assert package.ApiClient.__name__ == "ApiClient"
assert package.__name__ + ".api.table_api" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_package_that_is_missing_or_there_already_is_left_alone() -> None:
    before = sys.modules["json"]
    leave_unopened("json")
    leave_unopened("there is no such package")
    assert sys.modules["json"] is before
    assert "there is no such package" not in sys.modules
