"""Where the applications' own queues may stand, each empty at first and gone with its test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

from servers.postgres import versions
from stepward.clock import Environment
from stepward.events import Observers
from stepward.store.address import postgres_place
from stepward.store.contract import Store
from stepward.store.postgres import PostgresStore
from stepward.transport.broker.dead_letters import BrokerDeadLetter
from stepward.transport.open_broker import broker_queues
from stepward.transport.queues.contract import AppQueues
from stepward.transport.store.store_queues import StoreQueues
from tests.programs import client_of_amqp10, program
from tests.store.postgres.server import SERVERS as POSTGRES
from tests.transport.brokers import SERVERS, clear, new_app
from tests.transport.conformance.conftest import POLL, sqlite
from tests.transport.small_store import SmallStore


class Yard:
    """Queues, more of them at the same place, and what was buried there."""

    def __init__(
        self,
        make: Callable[[], AppQueues],
        letters: Callable[[], Awaitable[list[tuple[bytes, str]]]],
        now: Callable[[], float],
        *,
        copies: bool = True,
    ) -> None:
        self.copies = copies
        """Whether observers see events beside the reader."""
        self._make = make
        self._made: list[AppQueues] = []
        self.letters = letters
        self.now = now
        self.queues = self.another()

    def another(self) -> AppQueues:
        """What another process would have."""
        queues = self._make()
        self._made.append(queues)
        return queues

    async def close(self) -> None:
        for queues in self._made:
            await queues.close()


def _in(store: Store) -> Yard:
    async def letters() -> list[tuple[bytes, str]]:
        return [(letter.body, letter.reason) for letter in reversed(await store.operators.dead_letters(99))]

    return Yard(lambda: StoreQueues(store.messages, poll=POLL), letters, store.now)


async def small(path: Path) -> AsyncIterator[Yard]:
    store = SmallStore(asyncio.get_running_loop().time)

    async def letters() -> list[tuple[bytes, str]]:
        return store.buried

    yield Yard(lambda: StoreQueues(store, poll=POLL), letters, store.now)


async def sqlite_file(path: Path) -> AsyncIterator[Yard]:
    async with sqlite(path) as store:
        yield _in(store)


async def postgres(path: Path) -> AsyncIterator[Yard]:
    address = await POSTGRES.emptied(max(versions()))
    store = PostgresStore(postgres_place(address), app="shop", environment=Environment())
    await store.open()
    yield _in(store)
    await store.close()


async def nats(path: Path) -> AsyncIterator[Yard]:
    async for yard in _brokered(await asyncio.to_thread(SERVERS.nats)):
        yield yard


async def nats3(path: Path) -> AsyncIterator[Yard]:
    async for yard in _brokered(await asyncio.to_thread(SERVERS.nats3)):
        yield yard


async def rabbitmq(path: Path) -> AsyncIterator[Yard]:
    program("rabbitmq-server", "rabbitmq-server")
    async for yard in _brokered(await asyncio.to_thread(SERVERS.rabbitmq)):
        yield yard


async def amqp10(path: Path) -> AsyncIterator[Yard]:
    client_of_amqp10()
    program("rabbitmq-server", "rabbitmq-server")
    async for yard in _brokered(await asyncio.to_thread(SERVERS.amqp10)):
        yield yard


async def activemq(path: Path) -> AsyncIterator[Yard]:
    client_of_amqp10()
    server = await asyncio.to_thread(SERVERS.activemq_server)
    async for yard in _brokered(server.address):
        yield yard


async def service_bus(path: Path) -> AsyncIterator[Yard]:
    client_of_amqp10()
    from tests.transport.amqp10 import double

    async with double.service_bus(double.patient) as (address, _):
        async for yard in _brokered(address, copies=False):
            yield yard


async def _brokered(address: str, *, copies: bool = True) -> AsyncIterator[Yard]:
    app, buried = new_app(), list[tuple[bytes, str]]()

    async def bury(queue: str, letters: Sequence[BrokerDeadLetter]) -> None:
        buried.extend((letter.body, letter.reason) for letter in letters)

    async def letters() -> list[tuple[bytes, str]]:
        return buried

    def make() -> AppQueues:
        loop = asyncio.get_running_loop()
        return broker_queues(
            address, app=app, now=loop.time, environment=Environment(), observers=Observers(), bury=bury
        )

    yield Yard(make, letters, asyncio.get_running_loop().time, copies=copies)
    await clear(address, app)


Open = Callable[[Path], AsyncIterator[Yard]]
LEAPING: Sequence[Open] = (small, sqlite_file)
REAL: Sequence[Open] = (postgres, nats, nats3, rabbitmq, amqp10, activemq, service_bus)
