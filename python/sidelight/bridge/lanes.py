"""Where does blocking work run? Small pools of threads, so that queries never wait for bulk.

Knows no method and no message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sidelight.bridge.protocol import Lane

QUERY_THREADS = 4  # file reads and look-ups
# Searches share the interpreter's lock: more of them at once would only make each slower, while
# one that waits and is replaced by a newer one costs nothing.
SEARCH_THREADS = 2
BULK_THREADS = 2
CLOSE_S = 5.0  # cancelled work stops at its next stage boundary, well before that

T = TypeVar("T")


class Lanes:
    """The threads of one daemon."""

    def __init__(self) -> None:
        self._pools = {
            Lane.QUERY: ThreadPoolExecutor(QUERY_THREADS, "bridge-query"),
            Lane.SEARCH: ThreadPoolExecutor(SEARCH_THREADS, "bridge-search"),
            Lane.BULK: ThreadPoolExecutor(BULK_THREADS, "bridge-bulk"),
        }
        self._running: set[asyncio.Future[Any]] = set()

    def run(self, lane: Lane, work: Callable[[], T]) -> asyncio.Future[T]:
        """Carries out `work` in a thread of its lane; called in the event loop."""
        future = asyncio.get_running_loop().run_in_executor(self._pools[lane], work)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    async def close(self) -> None:
        """Waits a moment for what runs and starts nothing more.

        A thread that is stuck (a file on a dead network drive) is left behind: nothing that
        waits for it may keep the daemon from leaving.
        """
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        if self._running:
            await asyncio.wait(self._running, timeout=CLOSE_S)
