from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from stepward.clock import Environment
from stepward.store.sqlite.store import SqliteStore
from stepward.transport.contract import Transport
from stepward.transport.memory import MemoryTransport
from stepward.transport.store import StoreTransport
from tests.transport.small_store import SmallStore

POLL = 1.0


class LoopClock:
    """A clock that shows the time of the running loop."""

    def wall(self) -> float:
        return asyncio.get_running_loop().time()

    def boot(self) -> float:
        return asyncio.get_running_loop().time()

    def boot_id(self) -> str:
        return "boot-1"


async def memory(path: Path) -> AsyncIterator[Transport]:
    yield MemoryTransport(asyncio.get_running_loop().time)


async def small_store(path: Path) -> AsyncIterator[Transport]:
    yield StoreTransport(SmallStore(asyncio.get_running_loop().time), poll=POLL, hint=None)


async def sqlite_store(path: Path) -> AsyncIterator[Transport]:
    store = SqliteStore(str(path / "app.db"), app="shop", environment=Environment(LoopClock(), random.Random(1)))
    await store.open()
    yield StoreTransport(store.messages, poll=POLL, hint=None)
    await store.close()


Open = Callable[[Path], AsyncIterator[Transport]]


@pytest.fixture(params=[memory, small_store, sqlite_store])
async def transport(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Transport]:
    """Every transport that there is; add another as a function here."""
    opened: Open = request.param
    async for transport in opened(tmp_path):
        yield transport
        await transport.close()
