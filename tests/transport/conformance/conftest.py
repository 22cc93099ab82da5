from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from stepward.clock import Environment
from stepward.store.sqlite.store import SqliteStore
from stepward.transport.contract import Transport
from stepward.transport.memory import MemoryTransport
from stepward.transport.queues import AppQueues, StoreQueues
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


@asynccontextmanager
async def sqlite(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(str(path / "app.db"), app="shop", environment=Environment(LoopClock(), random.Random(1)))
    await store.open()
    yield store
    await store.close()


async def memory(path: Path) -> AsyncIterator[Transport]:
    yield MemoryTransport(asyncio.get_running_loop().time)


async def small_store(path: Path) -> AsyncIterator[Transport]:
    yield StoreTransport(SmallStore(asyncio.get_running_loop().time), poll=POLL, hint=None)


async def sqlite_store(path: Path) -> AsyncIterator[Transport]:
    async with sqlite(path) as store:
        yield StoreTransport(store.messages, poll=POLL, hint=None)


Open = Callable[[Path], AsyncIterator[Transport]]


@pytest.fixture(params=[memory, small_store, sqlite_store])
async def transport(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Transport]:
    """Every transport that there is; add another as a function here."""
    opened: Open = request.param
    async for transport in opened(tmp_path):
        yield transport
        await transport.close()


async def small_queues(path: Path) -> AsyncIterator[AppQueues]:
    yield StoreQueues(SmallStore(asyncio.get_running_loop().time), poll=POLL)


async def sqlite_queues(path: Path) -> AsyncIterator[AppQueues]:
    async with sqlite(path) as store:
        yield StoreQueues(store.messages, poll=POLL)


@pytest.fixture(params=[small_queues, sqlite_queues])
async def queues(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AppQueues]:
    """All queues of applications that there are."""
    opened: Callable[[Path], AsyncIterator[AppQueues]] = request.param
    async for queues in opened(tmp_path):
        yield queues
        await queues.close()
