"""A bridge with an engine in memory, for the tests of what a client can and cannot do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bridge_fakes import FakeEngine

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
