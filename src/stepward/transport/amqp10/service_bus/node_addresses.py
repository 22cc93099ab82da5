"""Where an application's queues stand in a namespace of Azure Service Bus.

An administrator makes the queues. Replies and status events share a queue each, of which each Scheduler and each front
end has a session.
"""

from __future__ import annotations

from stepward.transport.amqp10.node_addresses import MEBIBYTE, REPLIES, Place, response_apart
from stepward.transport.broker.queue_names import BrokerNames
from stepward.transport.queues.backend_contract import RESPONSES

OWNER = "stepward-owner"
"""The session of the queue of replies whose state names the store."""


class ServiceBusPlaces:
    """Implements ``Places``."""

    name = "Azure Service Bus"
    limit = MEBIBYTE
    returns_released = True
    holds_locks = True

    def __init__(self, names: BrokerNames) -> None:
        self._root = names.root

    def requests(self, queue: str) -> Place:
        if queue.startswith(REPLIES):
            return self._session("replies", queue.removeprefix(REPLIES))
        return self._queue(queue)

    def application(self, queue: str) -> Place:
        if queue.startswith(RESPONSES):
            return self._session("responses", response_apart(queue).partition(".")[2])
        return self._queue(response_apart(queue))

    def owner(self, names: BrokerNames) -> Place:
        return Place(f"{names.root}.replies", f"{names.root}.replies", OWNER)

    def topic(self, name: str) -> str | None:
        """None: each process would need a subscription of its own, and the right to make it."""
        return None

    def _queue(self, queue: str) -> Place:
        return Place(f"{self._root}.{queue}", f"{self._root}.{queue}")

    def _session(self, queue: str, session: str) -> Place:
        return Place(f"{self._root}.{queue}", f"{self._root}.{queue}", session)
