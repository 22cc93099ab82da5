"""Which broker an address asks for."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Protocol

from stepward.clock import Environment
from stepward.errors import SettingsError
from stepward.events import Observers
from stepward.readers import BROKER
from stepward.transport.appqueues import BrokerQueues, Depot
from stepward.transport.brokered import Broker, BrokerTransport
from stepward.transport.contract import Lost
from stepward.transport.graves import Bury as BuryLetters
from stepward.transport.intake import Bury


async def open_broker(
    address: str,
    *,
    app: str,
    now: Callable[[], float],
    environment: Environment,
    observers: Observers,
    bury: Bury,
) -> BrokerTransport:
    """A transport over the broker of that address, connected. Raises SettingsError or TransportError."""
    opened = _rabbitmq if address.startswith("amqp") else _nats
    broker = opened(address, app=app, now=now, environment=environment, observers=observers)
    transport = BrokerTransport(broker, app=app, ident=environment.new_uid(), now=now, observers=observers, bury=bury)
    try:
        await broker.open(transport.told, transport.lost)
    except BaseException:
        await transport.close()
        raise
    return transport


def is_broker(address: str) -> bool:
    """Whether that is a broker's address, and no store's and none of our own transports."""
    return BROKER.fullmatch(address) is not None


def broker_queues(
    address: str,
    *,
    app: str,
    now: Callable[[], float],
    environment: Environment,
    observers: Observers,
    bury: BuryLetters | None,
) -> BrokerQueues:
    """The applications' own queues at that broker, over a connection of their own. Raises SettingsError."""
    opened = _rabbitmq_depot if address.startswith("amqp") else _nats_depot
    depot = opened(address, app=app, now=now, environment=environment, observers=observers)
    return BrokerQueues(depot, app=app, new_uid=environment.new_uid, bury=bury)


class Opening(Broker, Protocol):
    """A broker that is still to be connected."""

    async def open(self, told: Callable[[bytes], None], lost: Lost) -> None:
        """Connect; ``told`` hears what processes tell, ``lost`` of queues that lost messages. Raises TransportError."""
        ...


def _nats(
    address: str, *, app: str, now: Callable[[], float], environment: Environment, observers: Observers
) -> Opening:
    _check_client("nats", "nats-py for a nats:// address", "nats")
    from stepward.transport.nats.address import nats_address  # noqa: PLC0415  an extra's
    from stepward.transport.nats.broker import NatsBroker  # noqa: PLC0415  an extra's

    return NatsBroker(nats_address(address), app=app, now=now, environment=environment, observers=observers)


def _rabbitmq(
    address: str, *, app: str, now: Callable[[], float], environment: Environment, observers: Observers
) -> Opening:
    _check_client("aio_pika", "aio-pika for an amqp:// address", "rabbitmq")
    from stepward.transport.rabbitmq.broker import RabbitBroker  # noqa: PLC0415  an extra's

    return RabbitBroker(address, app=app, now=now, environment=environment, observers=observers)


def _nats_depot(
    address: str, *, app: str, now: Callable[[], float], environment: Environment, observers: Observers
) -> Depot:
    _check_client("nats", "nats-py for a nats:// address", "nats")
    from stepward.transport.nats.address import nats_address  # noqa: PLC0415  an extra's
    from stepward.transport.nats.depot import NatsDepot  # noqa: PLC0415  an extra's

    return NatsDepot(nats_address(address), app=app, now=now, environment=environment, observers=observers)


def _rabbitmq_depot(
    address: str, *, app: str, now: Callable[[], float], environment: Environment, observers: Observers
) -> Depot:
    _check_client("aio_pika", "aio-pika for an amqp:// address", "rabbitmq")
    from stepward.transport.rabbitmq.depot import RabbitDepot  # noqa: PLC0415  an extra's

    return RabbitDepot(address, app=app, now=now, environment=environment, observers=observers)


def _check_client(module: str, expected: str, extra: str) -> None:
    """What only a broker needs is imported only for it."""
    if find_spec(module) is None:
        raise SettingsError(f"transport: expected {expected}, found it missing; install stepward[{extra}]")
