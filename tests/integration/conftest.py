"""A bridge with an engine in memory, for the tests of what a client can and cannot do; a vault
with its index for those of what befalls an index."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from bridge_fakes import FakeEngine
from kept_index import Kept

from sidelight.bridge.server import BridgeServer


@pytest.fixture
def engine(tmp_path: Path) -> FakeEngine:
    vault = tmp_path / "vault"
    vault.mkdir()
    return FakeEngine(vault)


@pytest.fixture
async def server(engine: FakeEngine) -> AsyncIterator[BridgeServer]:
    bridge = BridgeServer(engine)
    await bridge.start()
    yield bridge
    engine.release.set()
    await bridge.stop()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    for engine in made.engines:
        engine.close()
