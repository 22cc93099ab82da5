"""One queue in memory: a lane for each priority, leases that lapse without a timer each."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

from stepward.model.messages.requests import Request
from stepward.transport.contract import AgentMessage, Delivery

NEVER = float("inf")


class MemoryQueue:
    """What stands in a queue, and what was taken from it and not yet settled."""

    def __init__(self) -> None:
        self.taken: dict[int, tuple[AgentMessage, float]] = {}
        self.lapses_at = NEVER
        """No lease ends before; whether one ends then shows when it has come."""
        self._lanes: dict[int, deque[AgentMessage]] = {}
        self._token = 0
        self._waiters: list[asyncio.Future[None]] = []

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
        for priority in tuple(self._lanes):
            self._take_from(self._lanes[priority], limit, now, until, found)
            if len(found) >= limit:
                break
            del self._lanes[priority]
        if found:
            self.lapses_at = min(self.lapses_at, until)
        return found

    def withdraw(self, task: str, run: int, key: str) -> list[Request]:
        """Forget the requests for that step which nobody has taken."""
        withdrawn: list[Request] = []
        for lane in self._lanes.values():
            gone = [message for message in lane if _asks_for(message, task, run, key)]
            for message in gone:
                lane.remove(message)
            withdrawn += [message for message in gone if isinstance(message, Request)]
        return withdrawn

    def empty(self) -> list[AgentMessage]:
        """Give away everything, what was taken before the rest."""
        messages = [message for message, _ in self.taken.values()]
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
        timer = loop.call_later(max(0.0, seconds), _settle, waiter) if seconds < NEVER else None
        try:
            await waiter
        finally:
            if timer is not None:
                timer.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def wake(self) -> None:
        """Let everyone who waits look again."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            _settle(waiter)

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
            taken[token] = message, until
            found.append(Delivery(message, token, until))
        self._token = token

    def _return_lapsed(self, now: float) -> None:
        lapsed = [token for token, (_, until) in self.taken.items() if until <= now]
        for token in reversed(lapsed):
            message, _ = self.taken.pop(token)
            lane = self._lanes.get(_priority(message))
            if lane is None:
                lane = self._open_lane(_priority(message))
            lane.appendleft(message)
        self.lapses_at = min((until for _, until in self.taken.values()), default=NEVER)

    def _open_lane(self, priority: int) -> deque[AgentMessage]:
        lane = self._lanes[priority] = deque()
        if len(self._lanes) > 1:
            self._lanes = dict(sorted(self._lanes.items(), reverse=True))
        return lane


def _priority(message: AgentMessage) -> int:
    return message.priority if isinstance(message, Request) else 0


def _asks_for(message: AgentMessage, task: str, run: int, key: str) -> bool:
    return isinstance(message, Request) and message.task == task and message.key == key and message.run == run


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
