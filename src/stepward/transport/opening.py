"""Which broker an address asks for."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Protocol

from stepward.clock import Environment
from stepward.errors import SettingsError
from stepward.events import Observers
from stepward.transport.brokered import Broker, BrokerTransport
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
        await broker.open(transport.told)
    except BaseException:
        await transport.close()
        raise
    return transport


class Opening(Broker, Protocol):
    """A broker that is still to be connected."""

    async def open(self, told: Callable[[bytes], None]) -> None:
        """Connect, and tell ``told`` what processes tell. Raises TransportError."""
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


def _check_client(module: str, expected: str, extra: str) -> None:
    """What only a broker needs is imported only for it."""
    if find_spec(module) is None:
        raise SettingsError(f"transport: expected {expected}, found it missing; install stepward[{extra}]")
