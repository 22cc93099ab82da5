"""The real queues, shared by all simulated processes like a broker, as one process reaches them: with faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextvars import Context

from simulation.environment.loop import ProcessLane
from simulation.environment.messages import Network
from stepward.errors import TransportError
from stepward.transport.contract import AgentMessage, Delivery, Lost, OnAnnouncement, Revoked, Transport
from stepward.transport.store.store_transport import StoreTransport


class FaultyTransport:
    """Stands where a process's transport stands."""

    def __init__(self, transport: Transport, network: Network, lane: ProcessLane, context: Context) -> None:
        self._transport = transport
        self._network = network
        self._lane = lane
        self._context = context
        self._listening: list[Callable[[], None]] = []

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        self._admit("publish")
        messages = [self._network.garbled(message) for message in messages]
        if isinstance(self._transport, StoreTransport):
            # Its way has the store's faults.
            self._network.check(messages)
            await self._transport.publish(queue, messages)
        else:
            self._network.send(self._transport, queue, messages)

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        self._admit("take")
        return await self._transport.take(queue, limit, lease)

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        self._admit("settle")
        await self._transport.settle(queue, deliveries)

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        self._admit("extend")
        return await self._transport.extend(queue, deliveries, lease)

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int = 0) -> None:
        self._admit("revoke")
        await self._transport.revoke(queue, task, run, key, attempt)

    async def remind(self, queue: str) -> None:
        await self._transport.remind(queue)

    def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
        """Registers the listener of a process; a revocation may be lost on its way there."""

        def heard(task: str, run: int, key: str) -> None:
            for delay in self._network.delays(queue):
                loop = asyncio.get_running_loop()
                loop.call_later(delay, listener, task, run, key, context=self._context.copy())

        stop = self._transport.on_revoke(queue, heard)
        self._listening.append(stop)

        def leave() -> None:
            if stop in self._listening:
                self._listening.remove(stop)
                stop()

        return leave

    def on_lost(self, listener: Lost) -> Callable[[], None]:
        """Registers nothing: losses are not reported here."""
        return self._transport.on_lost(listener)

    def expect(self, queue: str) -> None:
        self._transport.expect(queue)

    def on_announcement(self, listener: OnAnnouncement) -> Callable[[], None]:
        return self._transport.on_announcement(listener)

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None = None) -> None:
        self._admit("adopt")
        await self._transport.adopt(queues, heir, live)

    async def release(self, queue: str) -> None:
        await self._transport.release(queue)

    async def close(self) -> None:
        """The process is gone; the broker stays."""
        while self._listening:
            self._listening.pop()()

    def _admit(self, verb: str) -> None:
        if self._network.refuses(verb):
            raise TransportError(f"simulated: {verb} was refused")
