"""Where an application's queues stand at each kind of broker, and what that kind can do."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from stepward.model.messages.requests import reply_queue
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.queues.backend_contract import RESPONSES

MEBIBYTE = 1024 * 1024
REPLIES = reply_queue("")
ACTIVEMQ = "ActiveMQ"
"""The name by which Apache ActiveMQ 5 introduces itself; Artemis has another."""


class Place(Struct, frozen=True):
    """The address of a queue."""

    address: str
    existing: str
    """The address under which the broker makes no queue that is missing."""
    group: str | None = None
    """The session of the queue at Azure Service Bus."""


class Places(Protocol):
    """One kind of broker."""

    @property
    def name(self) -> str:
        """The broker's name for people."""
        ...

    @property
    def limit(self) -> int:
        """Most bytes of one message, unless the broker says less."""
        ...

    @property
    def returns_released(self) -> bool:
        """Whether a message that is released goes to any receiver; if not, it stays with its link until that ends."""
        ...

    @property
    def holds_locks(self) -> bool:
        """Whether a message stays locked when its connection is lost, until the lock ends."""
        ...

    def requests(self, queue: str) -> Place:
        """The queue of an Agent, or of a Scheduler's replies."""
        ...

    def application(self, queue: str) -> Place:
        """A queue of submissions, or a response queue."""
        ...

    def owner(self, names: BrokerNames) -> Place:
        """The queue with the marker of the store that owns these names."""
        ...

    def topic(self, name: str) -> str | None:
        """The address whose messages reach all processes that receive there at that time; None where there is none."""
        ...


class RabbitPlaces:
    """RabbitMQ 3 with its plugin ``rabbitmq_amqp1_0``, by the addresses that RabbitMQ 4 calls version 1."""

    name = "RabbitMQ"
    limit = 15 * MEBIBYTE
    returns_released = True
    holds_locks = False

    def __init__(self, names: BrokerNames) -> None:
        self._root = names.root

    def requests(self, queue: str) -> Place:
        return self._queue(queue)

    def application(self, queue: str) -> Place:
        return self._queue(response_apart(queue))

    def owner(self, names: BrokerNames) -> Place:
        return _rabbit_queue(f"{names.root}.store")

    def topic(self, name: str) -> str:
        return f"/topic/{self._root}.{name}"

    def _queue(self, queue: str) -> Place:
        return _rabbit_queue(f"{self._root}.{queue}")


class PlainPlaces:
    """A broker whose addresses are the names of queues, which it makes when they are first used: Apache ActiveMQ."""

    limit = 15 * MEBIBYTE
    holds_locks = False

    def __init__(self, names: BrokerNames, name: str) -> None:
        self._root = names.root
        self.name = name
        self.returns_released = name != ACTIVEMQ

    def requests(self, queue: str) -> Place:
        return self._queue(queue)

    def application(self, queue: str) -> Place:
        return self._queue(response_apart(queue))

    def owner(self, names: BrokerNames) -> Place:
        return Place(f"{names.root}.store", f"{names.root}.store")

    def topic(self, name: str) -> str:
        return f"topic://{self._root}.{name}"

    def _queue(self, queue: str) -> Place:
        return Place(f"{self._root}.{queue}", f"{self._root}.{queue}")


def places_of(product: str, names: BrokerNames) -> Places:
    """The places at the broker that introduced itself so."""
    return RabbitPlaces(names) if product.startswith("RabbitMQ") else PlainPlaces(names, product or "the broker")


def _rabbit_queue(name: str) -> Place:
    return Place(f"/queue/{name}", f"/amq/queue/{name}")


def response_apart(queue: str) -> str:
    """The name of an application's queue apart from the replies to Schedulers."""
    kind, _, name = queue.split(".", 2)
    return f"{'responses' if queue.startswith(RESPONSES) else kind}.{name}"
