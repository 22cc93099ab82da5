"""Brokers of the tests' own: begun once per session, on loopback, gone with the session; an application each test."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

import nats as client
from nats.js.errors import NotFoundError

from servers import activemq, nats, rabbitmq
from servers.activemq import ActiveMqServer
from servers.rabbitmq import RabbitServer
from stepward.clock import Environment
from stepward.events import Event, Observers
from stepward.model.messages.signing import Signer
from stepward.transport.broker.broker_transport import BrokerTransport
from stepward.transport.broker.dead_letters import BrokerDeadLetter
from stepward.transport.open_broker import broker_queues, open_broker
from stepward.transport.queues.broker_queues import BrokerQueues
from tests import programs
from tests.transport.messages import SIGNER
from tests.transport.rabbitmq.documented import definitions

_numbers = itertools.count(1)


class Servers:
    """The brokers of this process, each begun when it is first asked for."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._node: nats.NatsNode | None = None
        self._cluster: nats.NatsCluster | None = None
        self._rabbitmq: RabbitServer | None = None
        self._activemq: ActiveMqServer | None = None
        atexit.register(self._stack.close)

    def nats(self) -> str:
        """The address of a NATS server."""
        if self._node is None:
            self._node = self._stack.enter_context(nats.running())
        return self._node.address

    def nats3(self) -> str:
        """The address of a cluster of three."""
        if self._cluster is None:
            self._cluster = self._stack.enter_context(nats.clustered())
        return self._cluster.address

    def rabbitmq(self) -> str:
        """The address of a RabbitMQ server, at which one can look on."""
        return self.rabbitmq_server().address

    def amqp10(self) -> str:
        """The address of that server by AMQP 1.0."""
        return self.rabbitmq_server().address.replace("amqp://", "amqp10://")

    def rabbitmq_server(self) -> RabbitServer:
        """That server: who stops it starts it again. It has the documented users, each with its name as password."""
        if self._rabbitmq is None:
            self._rabbitmq = self._stack.enter_context(
                rabbitmq.running(
                    is_traced=True,
                    settings="load_definitions = {folder}/definitions.json\n",
                    files={"definitions.json": definitions()},
                    plugins=(rabbitmq.AMQP10,),
                )
            )
        return self._rabbitmq

    def activemq_server(self) -> ActiveMqServer:
        """An ActiveMQ server, if there is one: who stops it starts it again."""
        if self._activemq is None:
            self._activemq = self._stack.enter_context(activemq.running(programs.activemq()))
        return self._activemq


SERVERS = Servers()


class Buried:
    """Dead letters of a test, in place of the store's."""

    def __init__(self) -> None:
        self.letters: list[tuple[str, BrokerDeadLetter]] = []
        self.is_down = False

    async def bury(self, queue: str, letters: Sequence[BrokerDeadLetter]) -> None:
        self.letters += [(queue, letter) for letter in letters]


class Heard(list[Event]):
    """The events that a transport tells."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = asyncio.Event()

    def append(self, event: Event) -> None:
        super().append(event)
        self._changed.set()

    async def of(self, name: str) -> Event:
        """Wait for the first of that name."""
        async with asyncio.timeout(30):
            while True:
                for event in self:
                    if event.name == name:
                        return event
                self._changed.clear()
                await self._changed.wait()


def new_app() -> str:
    """A name that no other test uses."""
    return f"shop-{os.getpid()}-{next(_numbers)}"


@asynccontextmanager
async def brokered(address: str, *, app: str = "", **given: Any) -> AsyncIterator[BrokerTransport]:
    """A transport of an application of its own; what it left with the broker is gone with the block."""
    name = app or new_app()
    transport = await opened(address, app=name, **given)
    try:
        yield transport
    finally:
        await transport.close()
        if not app:
            await clear(address, name)


async def opened(
    address: str,
    *,
    app: str,
    events: list[Event] | None = None,
    buried: Buried | None = None,
    now: Callable[[], float] | None = None,
    signer: Signer = SIGNER,
    asks: Sequence[str] = (),
) -> BrokerTransport:
    observers = Observers(*([events.append] if events is not None else []))
    return await open_broker(
        address,
        app=app,
        now=now or asyncio.get_running_loop().time,
        environment=Environment(),
        observers=observers,
        bury=(buried or Buried()).bury,
        signer=signer,
        lease=10.0,
        asks=asks,
    )


def app_queues(
    address: str, app: str, *, events: list[Event] | None = None, now: Callable[[], float] | None = None
) -> BrokerQueues:
    """The application's own queues there, as one process has them; dead letters are dropped."""
    now = now or asyncio.get_running_loop().time
    observers = Observers(*([events.append] if events is not None else []))
    return broker_queues(address, app=app, now=now, environment=Environment(), observers=observers, bury=Buried().bury)


async def clear(address: str, app: str) -> None:
    """Delete the streams of an application; queues of other brokers are gone with their servers."""
    if not address.startswith("nats"):
        return
    connection = await client.connect(address.partition("?")[0].split(","))
    for stream in [f"STEPWARD_{app}{kind}" for kind in ("", "+store", "+submissions", "+responses")]:
        with suppress(NotFoundError):
            await connection.jetstream().delete_stream(stream)
    await connection.close()
