"""Queues in memory, for actors in one process: messages pass as they are, and die with the process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence

from stepward.errors import TransportError
from stepward.model.messages.requests import Request
from stepward.transport.contract import AgentMessage, Delivery, Lost, OnAnnouncement, Revoked

NEVER = float("inf")


class MemoryQueue:
    """The messages of a queue, waiting or taken and not settled."""

    def __init__(self) -> None:
        self.taken: dict[int, Delivery] = {}
        self.lapses_at = NEVER
        """No lease ends before; whether one ends then shows when it has come."""
        self._lanes: dict[int, deque[AgentMessage]] = {}
        """By priority, the highest first."""
        self._token = 0
        self._waiters: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        """One for all waits: most end long before their time."""

    def append(self, messages: Iterable[AgentMessage]) -> None:
        """Put messages behind those of their priority."""
        lanes = self._lanes
        for message in messages:
            priority = message.priority if isinstance(message, Request) else 0
            lane = lanes.get(priority)
            if lane is None:
                lane = self._open_lane(priority)
                lanes = self._lanes
            lane.append(message)
        if self._waiters:
            self.wake()

    def take(self, limit: int, now: float, until: float) -> list[Delivery]:
        """Up to ``limit`` messages that have not expired, highest priority first."""
        if now >= self.lapses_at:
            self._return_lapsed(now)
        found: list[Delivery] = []
        for lane in self._lanes.values():
            if lane:
                self._take_from(lane, limit, now, until, found)
        if found:
            self.lapses_at = min(self.lapses_at, until)
        return found

    def withdraw(self, task: str, run: int, key: str) -> list[Request]:
        """Forget the requests for that step that were not taken."""
        withdrawn: list[Request] = []
        for lane in self._lanes.values():
            gone = [message for message in lane if _asks_for(message, task, run, key)]
            for message in gone:
                lane.remove(message)
            withdrawn += [message for message in gone if isinstance(message, Request)]
        return withdrawn

    def empty(self) -> list[AgentMessage]:
        """Give away everything, what was taken before the rest."""
        messages = [delivery.message for delivery in self.taken.values()]
        for lane in self._lanes.values():
            messages += lane
        self.taken.clear()
        self._lanes.clear()
        return messages

    async def changed(self, seconds: float) -> None:
        """Wait for messages, at most so many seconds."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.append(waiter)
        if seconds < NEVER:
            self._wake_by(loop, loop.time() + max(0.0, seconds))
        try:
            await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def wake(self) -> None:
        """Let everyone who waits look again."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _wake_by(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        """Let everyone who waits look again at that time, by the event loop's clock, or earlier."""
        if self._timer is None or at < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_at(at, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self.wake()

    def _take_from(
        self, lane: deque[AgentMessage], limit: int, now: float, until: float, found: list[Delivery]
    ) -> None:
        taken, token, room = self.taken, self._token, limit - len(found)
        while lane and room > 0:
            message = lane.popleft()
            if isinstance(message, Request) and message.complete_by <= now:
                continue
            room -= 1
            token += 1
            taken[token] = delivery = Delivery(message, token, until)
            found.append(delivery)
        self._token = token

    def _return_lapsed(self, now: float) -> None:
        lapsed = [token for token, delivery in self.taken.items() if delivery.leased_until <= now]
        for token in reversed(lapsed):
            message = self.taken.pop(token).message
            lane = self._lanes.get(_priority(message))
            if lane is None:
                lane = self._open_lane(_priority(message))
            lane.appendleft(message)
        self.lapses_at = min((delivery.leased_until for delivery in self.taken.values()), default=NEVER)

    def _open_lane(self, priority: int) -> deque[AgentMessage]:
        lane = self._lanes[priority] = deque()
        if len(self._lanes) > 1:
            self._lanes = dict(sorted(self._lanes.items(), reverse=True))
        return lane


def _priority(message: AgentMessage) -> int:
    return message.priority if isinstance(message, Request) else 0


def _asks_for(message: AgentMessage, task: str, run: int, key: str) -> bool:
    return isinstance(message, Request) and message.task == task and message.key == key and message.run == run


class MemoryQueues(dict[str, MemoryQueue]):
    """The queues by name, each made when it is asked for."""

    is_closed = False

    def __missing__(self, name: str) -> MemoryQueue:
        if self.is_closed:
            raise TransportError(f"queue {name}: expected an open transport, found it closed; open another")
        queue = self[name] = MemoryQueue()
        return queue


class MemoryTransport:
    """Every verb of the contract; ``now`` is the store's clock."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.queues = MemoryQueues()
        self._now = now
        self._listeners: dict[str, list[Revoked]] = {}

    def direct_queues(self) -> MemoryQueues | None:
        """The queues, for plain calls; None for a derived class, whose verbs may do more."""
        return self.queues if type(self) is MemoryTransport else None

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        self.queues[queue].append(messages)

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        while True:
            source = self.queues[queue]
            now = self._now()
            if found := source.take(limit, now, now + lease):
                return found
            await source.changed(source.lapses_at - now)

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        taken = self.queues[queue].taken
        for delivery in deliveries:
            taken.pop(delivery.token, None)

    async def extend(self, queue: str, deliveries: Sequence[Delivery], lease: float) -> Sequence[Delivery]:
        """Extends the leases; revocations reach listeners at once."""
        taken, until = self.queues[queue].taken, self._now() + lease
        for delivery in deliveries:
            if delivery.token in taken:
                taken[delivery.token] = Delivery(delivery.message, delivery.token, until)
        return ()

    async def revoke(self, queue: str, task: str, run: int, key: str, attempt: int = 0) -> None:
        """For a request that no Agent has taken the queue answers that it never began."""
        for request in self.queues[queue].withdraw(task, run, key):
            self.queues[request.reply_to].append([request.never_began()])
        for listener in tuple(self._listeners.get(queue, ())):
            listener(task, run, key)

    async def remind(self, queue: str) -> None:
        """Does nothing: revoked requests do not wait."""

    def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
        listeners = self._listeners.setdefault(queue, [])
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def on_lost(self, listener: Lost) -> Callable[[], None]:
        """Calls no listener: messages are lost only with the process."""
        return lambda: None

    def expect(self, queue: str) -> None:
        """These queues always work."""

    def on_announcement(self, listener: OnAnnouncement) -> Callable[[], None]:
        """Calls no listener: all Agents are in this process."""
        return lambda: None

    async def adopt(self, queues: Collection[str], heir: str, live: Collection[str] | None = None) -> None:
        found = self.queues[heir]
        for queue in queues:
            if queue != heir and (left := self.queues.pop(queue, None)) is not None:
                found.append(left.empty())
                left.wake()

    async def release(self, queue: str) -> None:
        """A queue goes with the process."""

    async def close(self) -> None:
        """Refuse everything from now on, and end the takes that wait."""
        self.queues.is_closed = True
        for queue in self.queues.values():
            queue.wake()
        self.queues.clear()
