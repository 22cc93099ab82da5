"""The real queues, shared by all simulated processes like a broker, as one process reaches them: with faults."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from contextvars import Context

from simulation.environment.loop import ProcessLane
from simulation.environment.messages import Network
from simulation.trace import Trace
from stepward.errors import TransportError
from stepward.model.messages.requests import Reply
from stepward.transport.contract import AgentMessage, Delivery, Lost, OnAnnouncement, Revoked, Transport
from stepward.transport.memory.direct_queues import DirectQueues, direct_queues
from stepward.transport.memory.memory_transport import MemoryTransport
from stepward.transport.store.store_transport import StoreTransport

REQUESTS = "requests were put by a plain call"
RESULT = "a result was put by a plain call"


class VerbsAlone(MemoryTransport):
    """Queues in memory that take no plain calls: derived classes offer none."""


class FaultyTransport:
    """Stands where a process's transport stands."""

    def __init__(self, transport: Transport, network: Network, lane: ProcessLane, context: Context) -> None:
        self._transport = transport
        self._network = network
        self._lane = lane
        self._context = context
        self._listening: list[Callable[[], None]] = []

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        if isinstance(self._transport, StoreTransport):
            # Its way has the store's faults.
            messages = self._admitted(messages)
            self._network.check(messages)
            await self._transport.publish(queue, messages)
        else:
            self.put(queue, messages)

    def put(self, queue: str, messages: Iterable[AgentMessage]) -> None:
        """Let messages travel to a queue in memory. Raises TransportError."""
        self._network.send(self._transport, queue, self._admitted(messages))

    def direct_queues(self) -> FaultyQueues | None:
        """The broker's queues with the faults of the verbs, where it offers them for plain calls."""
        queues = direct_queues(self._transport)
        return None if queues is None else FaultyQueues(self, queues, self._network.trace)

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

    def _admitted(self, messages: Iterable[AgentMessage]) -> list[AgentMessage]:
        self._admit("publish")
        return [self._network.garbled(message) for message in messages]

    def _admit(self, verb: str) -> None:
        if self._network.refuses(verb):
            raise TransportError(f"simulated: {verb} was refused")


class FaultyQueues:
    """The queues of a broker in memory as a process reaches them by plain calls."""

    def __init__(self, transport: FaultyTransport, queues: DirectQueues, trace: Trace) -> None:
        self.transport = transport
        self.queues = queues
        self.trace = trace

    def __getitem__(self, name: str) -> FaultyQueue:
        return FaultyQueue(self, name)


class FaultyQueue:
    """One of them: a put has every fault of ``publish``; nothing refuses a settlement, which follows a put at once."""

    def __init__(self, among: FaultyQueues, name: str) -> None:
        self._among = among
        self._name = name

    @property
    def taken(self) -> dict[int, Delivery]:
        return self._among.queues[self._name].taken

    def append(self, messages: Iterable[AgentMessage]) -> None:
        messages = list(messages)
        self._among.transport.put(self._name, messages)
        self._among.trace.reached(RESULT if isinstance(messages[0], Reply) else REQUESTS)
