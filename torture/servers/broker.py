"""The broker over which requests travel, with the documented login of one Agent, and one who may do everything."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import aio_pika
import nats as nats_client
from aiormq.exceptions import ChannelNotFoundEntity
from nats.js.errors import NotFoundError

from servers import activemq, nats, rabbitmq
from stepward.transport.broker.queue_names import BrokerNames
from torture.servers.activemq_broker import TorturedActiveMq
from torture.servers.connection_relay import ConnectionRelay
from torture.servers.logins import (
    ALL,
    AMQP10_PAGE,
    APPLICATION,
    NARROW,
    PASSWORDS,
    nats_users,
    rabbitmq_definitions,
    with_login,
)

KINDS = ("nats", "rabbitmq", "amqp10", "activemq")
DRAWN = ("nats", "rabbitmq")
"""Kinds of which a seed chooses one."""
DEFINED = "load_definitions = {folder}/definitions.json\n"


class TorturedBroker(Protocol):
    """A broker with two logins."""

    kind: str

    @property
    def hurt(self) -> HurtBroker | None:
        """The same broker, if it is hurt itself."""
        ...

    @property
    def forbids_queues(self) -> bool:
        """Whether it has rights to write for each queue."""
        ...

    def address(self, user: str = ALL, prefix: str = "") -> str:
        """What a client of that user connects to."""
        ...

    async def left(self, prefix: str = "") -> dict[str, int]:
        """How many messages are left in each queue of requests and submissions."""
        ...


class HurtServer(Protocol):
    """The server of a broker that is hurt; its verbs block until they are done."""

    def kill(self) -> None:
        """End it as a crash would."""
        ...

    def start(self) -> None:
        """Start it where it was, and wait until it takes connections."""
        ...

    def pause(self) -> None:
        """Let it do nothing until ``resume``."""
        ...

    def resume(self) -> None:
        """Let it go on."""
        ...


class HurtBroker(Protocol):
    """A broker that is killed, stands still, and whose connections are cut."""

    @property
    def server(self) -> HurtServer:
        """Its one server."""
        ...

    @property
    def relay(self) -> ConnectionRelay:
        """Passes the application's connections on; those of the narrow login and of the look at queues go past it."""
        ...


class TorturedNats:
    kind = "nats"
    hurt: HurtBroker | None = None
    forbids_queues = True

    def __init__(self, node: nats.NatsNode) -> None:
        self._node = node

    def address(self, user: str = ALL, prefix: str = "") -> str:
        return with_login(self._node.address, user, prefix)

    async def left(self, prefix: str = "") -> dict[str, int]:
        names = BrokerNames(APPLICATION, prefix)
        client = await nats_client.connect(self.address(ALL))
        found: dict[str, int] = {}
        try:
            for stream, subject in (
                (names.stream, f"{names.root}.queue.agents.>"),
                (f"{names.stream}+submissions", f"{names.root}.submissions.>"),
            ):
                try:
                    state = (await client.jetstream().stream_info(stream, subjects_filter=subject)).state
                except NotFoundError:
                    continue
                found.update(state.subjects or {})
        finally:
            await client.close()
        return found


class TorturedRabbit:
    kind = "rabbitmq"
    hurt: HurtBroker | None = None
    forbids_queues = True

    def __init__(self, server: rabbitmq.RabbitServer) -> None:
        self._server = server

    def address(self, user: str = ALL, prefix: str = "") -> str:
        return self._by_amqp091(user, prefix)

    def _by_amqp091(self, user: str, prefix: str = "") -> str:
        return with_login(self._server.address.replace("guest:guest@", ""), user, prefix)

    async def left(self, prefix: str = "") -> dict[str, int]:
        root = BrokerNames(APPLICATION, prefix).root
        connection = await aio_pika.connect(self._by_amqp091(ALL))
        found: dict[str, int] = {}
        try:
            for queue in ("agents.service", f"agents.{NARROW}", "submissions.orders"):
                channel = await connection.channel()
                try:
                    declared = await channel.declare_queue(f"{root}.{queue}", passive=True)
                except ChannelNotFoundEntity:
                    continue
                if count := declared.declaration_result.message_count:
                    found[f"{root}.{queue}"] = count
        finally:
            await connection.close()
        return found


class TorturedAmqp10(TorturedRabbit):
    """RabbitMQ by AMQP 1.0; queues are looked at by AMQP 0-9-1."""

    kind = "amqp10"
    forbids_queues = False

    def __init__(self, server: rabbitmq.RabbitServer) -> None:
        super().__init__(server)
        self.server = server
        self.relay = ConnectionRelay(server.port)
        self.hurt = self

    def address(self, user: str = ALL, prefix: str = "") -> str:
        port = self.server.port if user == NARROW else self.relay.port
        return with_login(f"amqp10://127.0.0.1:{port}/", user, prefix)


def chosen(seed: int) -> str:
    """The kind of broker that a seed stands for."""
    return random.Random(f"{seed}/transport").choice(DRAWN)


@contextmanager
def brokering(kind: str) -> Iterator[TorturedBroker | None]:
    """A new broker of that kind, begun and gone with the block; for ``store`` none is needed."""
    if kind == "nats":
        with nats.running(users=nats_users()) as node:
            yield TorturedNats(node)
    elif kind == "rabbitmq":
        with rabbitmq.running(settings=DEFINED, files={"definitions.json": rabbitmq_definitions()}) as server:
            yield TorturedRabbit(server)
    elif kind == "amqp10":
        files = {"definitions.json": rabbitmq_definitions(AMQP10_PAGE)}
        with rabbitmq.running(settings=DEFINED, files=files, plugins=(rabbitmq.AMQP10,)) as server:
            yield TorturedAmqp10(server)
    elif kind == "activemq":
        if (programs := activemq.distribution()) is None:
            raise RuntimeError(
                f"transport activemq: expected a distribution with AMQP in the folder {activemq.VARIABLE}, found none; "
                "make one with servers/build-activemq"
            )
        with activemq.running(programs, PASSWORDS) as broker:
            yield TorturedActiveMq(broker)
    else:
        yield None
