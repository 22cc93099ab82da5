from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from stepward.clock import Environment
from stepward.store.sqlite.store import SqliteStore
from stepward.transport.contract import Transport
from stepward.transport.memory.memory_transport import MemoryTransport
from stepward.transport.store.store_transport import StoreTransport
from tests.programs import client_of_amqp10, program
from tests.tiers import nightly, served
from tests.transport.brokers import SERVERS, brokered
from tests.transport.conformance.pace import LEAPING, REAL, Pace, PacedLoop, be_real
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


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], PacedLoop]]:
    return {"paced": PacedLoop}


async def memory(path: Path) -> AsyncIterator[Transport]:
    yield MemoryTransport(asyncio.get_running_loop().time)


async def small_store(path: Path) -> AsyncIterator[Transport]:
    yield StoreTransport(SmallStore(asyncio.get_running_loop().time), poll=POLL, hint=None)


async def sqlite_store(path: Path) -> AsyncIterator[Transport]:
    async with sqlite(path) as store:
        yield StoreTransport(store.messages, poll=POLL, hint=None)


Open = Callable[[Path], AsyncIterator[Transport]]


async def nats(path: Path) -> AsyncIterator[Transport]:
    async with brokered(await asyncio.to_thread(SERVERS.nats)) as transport:
        yield transport


async def nats3(path: Path) -> AsyncIterator[Transport]:
    async with brokered(await asyncio.to_thread(SERVERS.nats3)) as transport:
        yield transport


async def rabbitmq(path: Path) -> AsyncIterator[Transport]:
    program("rabbitmq-server", "rabbitmq-server")
    async with brokered(await asyncio.to_thread(SERVERS.rabbitmq)) as transport:
        yield transport


async def amqp10(path: Path) -> AsyncIterator[Transport]:
    client_of_amqp10()
    program("rabbitmq-server", "rabbitmq-server")
    async with brokered(await asyncio.to_thread(SERVERS.amqp10)) as transport:
        yield transport


async def activemq(path: Path) -> AsyncIterator[Transport]:
    client_of_amqp10()
    server = await asyncio.to_thread(SERVERS.activemq_server)
    async with brokered(server.address) as transport:
        yield transport


async def service_bus(path: Path) -> AsyncIterator[Transport]:
    client_of_amqp10()
    from tests.transport.amqp10 import double

    async with double.service_bus(double.patient) as (address, _), brokered(address) as transport:
        yield transport


BROKERED: Sequence[Open] = (nats, nats3, rabbitmq, amqp10, activemq, service_bus)


@pytest.fixture(
    params=[
        memory,
        small_store,
        sqlite_store,
        *(nightly(each) if each in (nats3, amqp10, activemq, service_bus) else served(each) for each in BROKERED),
    ]
)
def opened(request: pytest.FixtureRequest) -> Open:
    """Every transport that there is; add another as a function here."""
    found: Open = request.param
    return found


@pytest.fixture
def pace(opened: Open) -> Pace:
    return REAL if opened in BROKERED else LEAPING


@pytest.fixture
async def transport(opened: Open, pace: Pace, tmp_path: Path) -> AsyncIterator[Transport]:
    if pace is REAL:
        be_real()
    async for transport in opened(tmp_path):
        yield transport
        await transport.close()
