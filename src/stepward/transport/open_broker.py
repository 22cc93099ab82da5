"""Opens the transport and the application queues of a broker's address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import Protocol, TypeVar

from stepward.clock import Environment
from stepward.errors import QueueRefused, SettingsError
from stepward.events import Observers
from stepward.model.messages.signing import Signer
from stepward.runtime.cancelling import to_its_end
from stepward.settings.plaintext_connections import encrypted_broker
from stepward.settings.readers import BROKER
from stepward.transport.broker.broker_transport import Broker, BrokerTransport
from stepward.transport.broker.dead_letters import Bury
from stepward.transport.broker.queue_names import BrokerNames, names_at
from stepward.transport.contract import Lost
from stepward.transport.queues.backend_contract import QueueBackend
from stepward.transport.queues.broker_queues import BrokerQueues

Made_co = TypeVar("Made_co", covariant=True)


async def open_broker(
    address: str,
    *,
    app: str,
    now: Callable[[], float],
    environment: Environment,
    observers: Observers,
    bury: Bury,
    signer: Signer,
    lease: float,
    asks: Sequence[str] = (),
    first: str | None = None,
) -> BrokerTransport:
    """A connected transport over the broker of that address. Raises SettingsError or TransportError.

    SettingsError if another store has the application's name there. ``asks`` are the Agents' queues that this process
    publishes to: it makes them with that ``lease``, so that Agents need no right to. For a partition ``first`` is the
    identity of the application's first store, which has the name of the application.
    """
    broker = broker_at(address, app=app, now=now, environment=environment, observers=observers)
    transport = BrokerTransport(
        broker,
        app=app,
        ident=environment.new_uid(),
        now=now,
        observers=observers,
        bury=bury,
        signer=signer,
    )
    try:
        await broker.open(transport.broadcasts.receive, transport.broadcasts.lost, signer.store, first)
        for queue in asks:
            # Requests to that queue are refused too, and reported then.
            with suppress(QueueRefused):
                await broker.prepare(queue, lease)
    except BaseException:
        await to_its_end(transport.close())
        raise
    return transport


def is_broker(address: str) -> bool:
    """Whether that is a broker's address, rather than a store's or a built-in transport."""
    return BROKER.fullmatch(address) is not None


def broker_queues(
    address: str,
    *,
    app: str,
    now: Callable[[], float],
    environment: Environment,
    observers: Observers,
    bury: Bury | None,
) -> BrokerQueues:
    """The applications' own queues at that broker, over a connection of their own. Raises SettingsError."""
    plain, names = names_at(address, app)
    _, make = _makers(plain)
    backend = make(names=names, now=now, environment=environment, observers=observers)
    return BrokerQueues(backend, app=app, new_uid=environment.new_uid, observers=observers, bury=bury)


def broker_at(
    address: str, *, app: str, now: Callable[[], float], environment: Environment, observers: Observers
) -> Opening:
    """The broker of that address with an application's names, not connected yet. Raises SettingsError."""
    plain, names = names_at(address, app)
    make, _ = _makers(plain)
    return make(names=names, now=now, environment=environment, observers=observers)


class Opening(Broker, Protocol):
    """A broker that is not connected yet."""

    async def open(
        self, on_broadcast: Callable[[bytes], None], lost: Lost, store: str, first: str | None = None
    ) -> None:
        """Connects; ``on_broadcast`` is called with broadcasts, ``lost`` with queues that lost messages.

        Raises SettingsError if another store than ``store`` has the name there, or another than ``first`` the name of
        the application to which a partition belongs; or TransportError.
        """
        ...

    async def prepare(self, queue: str, lease: float) -> None:
        """Make an Agent's queue that this process publishes to, if it is missing. Raises TransportError."""
        ...


class Makes(Protocol[Made_co]):
    """Makes brokers of an address that was parsed before."""

    def __call__(
        self, *, names: BrokerNames, now: Callable[[], float], environment: Environment, observers: Observers
    ) -> Made_co:
        """A broker with these names, not connected yet."""
        ...


def _makers(address: str) -> tuple[Makes[Opening], Makes[QueueBackend]]:
    """The factories of the transport and of the application queues at that address. Raises SettingsError."""
    address = encrypted_broker(address)
    if address.startswith(("amqp10", "sb:")):
        _check_client("proton", "python-qpid-proton for an amqp10:// or sb:// address", "amqp10")
        from stepward.transport.amqp10.address import amqp_address  # noqa: PLC0415  an extra's
        from stepward.transport.amqp10.application.queue_backend import Amqp10Queues  # noqa: PLC0415  an extra's
        from stepward.transport.amqp10.broker import Amqp10Broker  # noqa: PLC0415  an extra's
        from stepward.transport.amqp10.service_bus.address import namespace_address  # noqa: PLC0415  an extra's

        server = namespace_address(address) if address.startswith("sb:") else amqp_address(address)
        return partial(Amqp10Broker, server), partial(Amqp10Queues, server)
    if address.startswith("amqp"):
        _check_client("aio_pika", "aio-pika for an amqp:// address", "rabbitmq")
        from stepward.transport.rabbitmq.application.queue_backend import RabbitQueues  # noqa: PLC0415  an extra's
        from stepward.transport.rabbitmq.broker import RabbitBroker  # noqa: PLC0415  an extra's

        return partial(RabbitBroker, address), partial(RabbitQueues, address)
    _check_client("nats", "nats-py for a nats:// address", "nats")
    from stepward.transport.nats.address import nats_address  # noqa: PLC0415  an extra's
    from stepward.transport.nats.application.queue_backend import NatsQueues  # noqa: PLC0415  an extra's
    from stepward.transport.nats.broker import NatsBroker  # noqa: PLC0415  an extra's

    place = nats_address(address)
    return partial(NatsBroker, place), partial(NatsQueues, place)


def _check_client(module: str, expected: str, extra: str) -> None:
    """Imported here: a process without a broker needs no client library."""
    if find_spec(module) is None:
        raise SettingsError(f"transport: expected {expected}, found it missing; install stepward[{extra}]")
