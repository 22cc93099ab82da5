"""Sends again, from the store, requests that a broker lost for tasks that no Scheduler holds: the same attempt.

Each Scheduler sends its own tasks' requests again. For tasks without a live owner (suspended, or waiting for capacity)
one Scheduler's process does it, the first by name; another takes over if it dies.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection

from stepward.errors import StoreError, TransportError
from stepward.host.assembly import Parts
from stepward.host.queues.status_event_relay import carrier_of
from stepward.model.messages.requests import Request, reply_queue, request_for, request_queue
from stepward.model.states import StepKind
from stepward.scheduler.tasks import step_rows as rows
from stepward.store.contract import UnownedStep, WatchedPlace

SHARE = "lost requests"
GATHER_SECONDS = 0.2
"""Seconds for which losses are collected, so that losses of several queues cause one look."""
MOST_AT_ONCE = 200
"""Most steps that one look reads."""
AGENTS = request_queue("")


class LostRequests:
    """Reads the store after a queue lost messages; ``instance`` is this process's Scheduler."""

    def __init__(self, parts: Parts, instance: Callable[[], str | None]) -> None:
        self._parts = parts
        self._instance = instance
        self._lost: set[str | None] = set()
        self._notified = asyncio.Event()

    async def keep(self) -> None:
        """Handle losses until cancelled."""
        hear_no_more = self._parts.transport.on_lost(self._lose)
        try:
            while True:
                await self._notified.wait()
                await asyncio.sleep(GATHER_SECONDS)
                self._notified.clear()
                lost, self._lost = self._lost, set()
                await self._answer(_agents(lost))
        finally:
            hear_no_more()

    def _lose(self, queue: str | None) -> None:
        self._lost.add(queue)
        self._notified.set()

    async def _answer(self, agents: Collection[str] | None) -> None:
        """Send again if this process is the one to do it, or if that one is dead a lease later."""
        place: WatchedPlace | None = (self._parts.store.now(), "", 0, "")
        others: str | None = None
        while place is not None:
            try:
                instance, chosen = await self._chosen()
                if instance is None:
                    await asyncio.sleep(self._parts.settings.poll)
                elif chosen == instance:
                    place = await self._send_again(place, agents, instance)
                elif chosen == others:
                    return
                else:
                    others = chosen
                    await asyncio.sleep(self._parts.settings.lease)
            except (StoreError, TransportError) as error:
                self._parts.observers.emit("scheduler.ask_again_failed", error=str(error))
                await asyncio.sleep(self._parts.settings.poll)

    async def _chosen(self) -> tuple[str | None, str | None]:
        """This process's Scheduler, and the one whose process sends again."""
        instances = await self._parts.store.operators.instances()
        instance = self._instance()
        return instance, carrier_of(SHARE, instances, self._parts.store.now(), self._parts.settings.lease)

    async def _send_again(
        self, after: WatchedPlace, agents: Collection[str] | None, instance: str
    ) -> WatchedPlace | None:
        """Send the requests that one look finds; the position after it."""
        store = self._parts.store
        # A step past its complete-by needs no Agent any more.
        found = await store.scheduler.unowned_steps(max(after, (store.now(), "", 0, "")), agents, MOST_AT_ONCE)
        requests: defaultdict[str, list[Request]] = defaultdict(list)
        for each in found.steps:
            if (request := _request(each, reply_queue(instance))) is not None:
                requests[request.agent].append(request)
        for agent, batch in requests.items():
            await self._parts.transport.publish(request_queue(agent), batch)
            self._parts.observers.emit("scheduler.asked_again", agent=agent, requests=len(batch))
        return found.after


def _agents(lost: Collection[str | None]) -> Collection[str] | None:
    """The Agents whose requests may be lost, None for all: a lost reply may be of any Agent."""
    queues = {queue for queue in lost if queue is not None and queue.startswith(AGENTS)}
    return {queue.removeprefix(AGENTS) for queue in queues} if len(queues) == len(lost) else None


def _request(unowned: UnownedStep, reply_to: str) -> Request | None:
    """The request of the step; None for the undo of an unknown step, whose task is parked by its next owner."""
    request = request_for(unowned.task, unowned.step, reply_to)
    if unowned.step.kind is not StepKind.UNDO:
        return request
    return None if unowned.undone is None else rows.undo_request(request, unowned.undone)
