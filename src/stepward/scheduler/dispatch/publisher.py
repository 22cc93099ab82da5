"""Requests on their way to Agents: published beside the turn, and again until they are out or no longer wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum, auto

from msgspec.structs import replace

from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.messages.requests import Request, request_queue
from stepward.model.records import Step
from stepward.transport.contract import Transport

MOST_AT_ONCE = 1_000
"""Requests that are published together, so that what fails of them costs little."""
BACKOFF, LONGEST_BACKOFF = 0.05, 1.0
DOUBLINGS = 5
LONG_PAST = 0.0


class Fate(Enum):
    """The result for a request that could not be published in time."""

    LEAVE = auto()
    WAIT = auto()
    """It is not known for the moment."""
    LAPSE = auto()


class SendQueue:
    """The requests to be published to one Agent, in order."""

    __slots__ = ("failures", "probe", "requests", "revoked", "task")

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.revoked: list[Step] = []
        self.failures = 0
        """Since something last got through."""
        self.probe: Request | None = None
        """A lapsed request, sent to find out whether the Agent is reached again; no Agent performs it."""
        self.task: asyncio.Task[None] | None = None


class Publisher:
    """A send queue for each Agent: what comes while it is busy leaves together, and a slow one holds up no other.

    A queue holds no more than the running steps of its Agent. ``over`` receives requests that have left or never
    will, ``fate`` decides on those that wait, and ``changed`` receives the Agents that are not reached
    when one is reached no more, or again.
    """

    def __init__(
        self,
        transport: Transport,
        environment: Environment,
        observers: Observers,
        *,
        over: Callable[[Sequence[Request]], None],
        fate: Callable[[Request], Fate],
        changed: Callable[[frozenset[str]], None],
    ) -> None:
        self._transport = transport
        self._environment = environment
        self._observers = observers
        self._over = over
        self._fate = fate
        self._changed = changed
        self._lanes: dict[str, SendQueue] = {}
        self.busy: set[str] = set()
        """The Agents for whom something is leaving, or waits."""
        self.broken: BaseException | None = None
        """The error that ended a lane: only a bug does."""

    @property
    def unreached(self) -> frozenset[str]:
        """The Agents for whom requests wait because the last could not leave."""
        return frozenset(agent for agent, lane in self._lanes.items() if lane.failures)

    @property
    def is_sending(self) -> bool:
        """Whether something is leaving, other than what waits because the last could not."""
        return any(lane.task is not None and not lane.failures for lane in self._lanes.values())

    def put(self, agent: str, requests: Sequence[Request]) -> None:
        """Have these leave for the Agent, behind what is before them."""
        lane = self._lane(agent)
        lane.requests += requests
        self._go(agent, lane)

    def revoke(self, step: Step) -> None:
        """Revoke the step at its Agent, behind the requests before it."""
        if step.agent is not None:
            lane = self._lane(step.agent)
            lane.revoked.append(step)
            self._go(step.agent, lane)

    def waiting(self, agent: str) -> Sequence[Request]:
        """The requests that were not published to the Agent yet, without those that are being published."""
        return self._lane(agent).requests

    async def stop(self) -> None:
        """Publish nothing more: the next owner begins with what is not out."""
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _lane(self, agent: str) -> SendQueue:
        lane = self._lanes.get(agent)
        if lane is None:
            lane = self._lanes[agent] = SendQueue()
        return lane

    def _go(self, agent: str, lane: SendQueue) -> None:
        if lane.task is None:
            self.busy.add(agent)
            lane.task = asyncio.Task(self._run(agent, lane), loop=asyncio.get_running_loop(), name="publisher")

    async def _run(self, agent: str, lane: SendQueue) -> None:
        try:
            while lane.requests or lane.revoked or lane.probe is not None:
                await self._leave(request_queue(agent), lane)
        except Exception as error:
            self.broken = error
        finally:
            lane.task = None
            self.busy.discard(agent)
            self._reached(lane)

    async def _leave(self, queue: str, lane: SendQueue) -> None:
        try:
            await self._publish(queue, lane)
        except TransportError as error:
            self._observers.emit("scheduler.publish_failed", error=str(error), requests=len(lane.requests))
            # A revocation is a hint; what it was to withdraw leaves no more either.
            lane.revoked.clear()
            await self._wait(lane)
        else:
            self._reached(lane)

    async def _publish(self, queue: str, lane: SendQueue) -> None:
        self._environment.failpoint("requests.publish.before")
        batch = lane.requests[:MOST_AT_ONCE]
        del lane.requests[:MOST_AT_ONCE]
        if batch:
            try:
                await self._transport.publish(queue, batch)
            except BaseException:
                lane.requests[:0] = batch
                raise
            self._over(batch)
        elif lane.probe is not None:
            await self._transport.publish(queue, [lane.probe])
        lane.probe = None
        if not lane.requests:
            revoked, lane.revoked = lane.revoked, []
            for step in revoked:
                await self._transport.revoke(queue, step.task, step.run, step.key, step.attempt)
        self._environment.failpoint("requests.publish.after")

    async def _wait(self, lane: SendQueue) -> None:
        """Wait a while, longer each time, until it is known of every request whether it is wanted."""
        delay = min(LONGEST_BACKOFF, BACKOFF * 2**lane.failures)
        lane.failures = min(lane.failures + 1, DOUBLINGS)
        self._changed(self.unreached)
        is_sorted = False
        while not is_sorted:
            await asyncio.sleep(delay * (0.5 + self._environment.random.random() / 2))
            is_sorted = self._sort(lane)

    def _sort(self, lane: SendQueue) -> bool:
        """Drop requests that are no longer wanted; whether all the others may leave."""
        fates = [self._fate(request) for request in lane.requests]
        if Fate.LAPSE in fates:
            sorted_out = list(zip(lane.requests, fates, strict=True))
            lane.requests = [request for request, fate in sorted_out if fate is not Fate.LAPSE]
            lapsed = [request for request, fate in sorted_out if fate is Fate.LAPSE]
            self._over(lapsed)
            if not lane.requests:
                # Else the next attempt would leave at once, and lapse like this one.
                lane.probe = replace(lapsed[-1], complete_by=LONG_PAST)
        return Fate.WAIT not in fates

    def _reached(self, lane: SendQueue) -> None:
        if lane.failures or self.broken is not None:
            lane.failures = 0
            self._changed(self.unreached)
