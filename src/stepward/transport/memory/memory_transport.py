"""Queues in memory, for actors in one process: messages pass as they are, and die with the process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from stepward.errors import TransportError
from stepward.model.messages import answers
from stepward.transport.contract import AgentMessage, Delivery, Lost, OnAnnouncement, Revoked
from stepward.transport.memory.memory_queue import MemoryQueue


class MemoryTransport:
    """Every verb of the contract; ``now`` is the store's clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._queues: dict[str, MemoryQueue] = {}
        self._listeners: dict[str, list[Revoked]] = {}
        self._closed = False

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        self._queue(queue).append(messages)

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        while True:
            source = self._queue(queue)
            now = self._now()
            if found := source.take(limit, now, now + lease):
                return found
            await source.changed(source.lapses_at - now)

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        taken = self._queue(queue).taken
        for delivery in deliveries:
            taken.pop(delivery.token, None)

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        """Extends the leases; listeners hear of revocations at once."""
        taken, until = self._queue(queue).taken, self._now() + lease
        for delivery in deliveries:
            if delivery.token in taken:
                taken[delivery.token] = delivery.message, until
        return ()

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int = 0) -> None:
        """For a request that no Agent has taken the queue answers that it never began."""
        for request in self._queue(queue).withdraw(task, run, key):
            self._queue(request.reply_to).append([answers.never_began(request)])
        for listener in tuple(self._listeners.get(queue, ())):
            listener(task, run, key)

    async def remind(self, queue: str) -> None:
        """Nothing that was revoked waits."""

    def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
        listeners = self._listeners.setdefault(queue, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def on_lost(self, listener: Lost) -> Callable[[], None]:
        """Nothing is lost but with the process."""
        return lambda: None

    def expect(self, queue: str) -> None:
        """These queues always work."""

    def on_announcement(self, listener: OnAnnouncement) -> Callable[[], None]:
        """Nobody announces himself: all are in this process."""
        return lambda: None

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None = None) -> None:
        found = self._queue(heir)
        for queue in queues:
            if queue != heir and (left := self._queues.pop(queue, None)) is not None:
                found.append(left.empty())
                left.wake()

    async def release(self, queue: str) -> None:
        """A queue goes with the process."""

    async def close(self) -> None:
        """Refuse everything from now on, and end the takes that wait."""
        self._closed = True
        for queue in self._queues.values():
            queue.wake()

    def _queue(self, name: str) -> MemoryQueue:
        if self._closed:
            raise TransportError(f"queue {name}: expected an open transport, found it closed; open another")
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = MemoryQueue()
        return queue
