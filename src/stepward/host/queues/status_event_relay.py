"""The relay: with a broker as the transport, it carries status events from the store to the broker.

Each response queue is carried by one Scheduler's process, chosen by the queue's name. Processes may differ for a moment
about the live instances, so two may carry one queue: readers drop duplicates.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from zlib import crc32

from stepward.errors import QueueRefused, StoreError, StoreUnusable, TransportError
from stepward.host.assembly import Parts, Roles
from stepward.host.queues.put_back_requests import ReturnedMessages
from stepward.host.queues.row_forwarder import Carrier, Outlet
from stepward.model.messages.requests import request_queue
from stepward.model.messages.signing import Signer
from stepward.model.records import Instance, Role
from stepward.transport.broker.dead_letters import bury_message, dead_letters_queue
from stepward.transport.queues.backend_contract import RESPONSES
from stepward.transport.queues.broker_queues import BrokerQueues

MOST_QUEUES = 1000
"""Most queues looked at in one round."""
MOST_CARRIED = 100
"""Most queues carried at once."""
LOOKS_PER_LEASE = 3
GATHER_SECONDS = 0.005
"""Seconds after a look that found rows: rows that follow at once are carried together."""
REST_SECONDS = 0.02
"""Seconds after a look that found nothing: hints announce every change of the store."""
FINISH_SECONDS = 2.0
LETTERS, DEAD_LETTERS_LEASE, PAUSE = 100, 15.0, 1.0
REFUSED_SECONDS = 2.0
"""Seconds before a refused queue is tried again: meanwhile others are carried in its place."""
REQUESTS = request_queue("")
"""The prefix of Agents' queues."""


Way = Callable[[Carrier], Awaitable[int]]
"""Carries one queue; returns the number of rows."""


class EventRelay:
    """Carries rows of the store to the broker; ``instance`` is this process's Scheduler."""

    def __init__(self, parts: Parts, queues: BrokerQueues, signer: Signer, instance: Callable[[], str | None]) -> None:
        self._parts = parts
        self._messages = parts.store.messages
        self._queues = queues
        self._store = signer.store
        self._returned = ReturnedMessages(parts.transport, parts.broker_app, signer)
        self._instance = instance
        self._dead_letters = dead_letters_queue(parts.app)
        self._instances: Sequence[Instance] = ()
        self._looked_at = float("-inf")
        self._posted_at = float("-inf")
        self._carried: dict[str, asyncio.Task[None]] = {}
        self.carried_to: dict[str, None] = {}
        """The response queues that were carried, the latest ones, in order."""
        self._refused: dict[str, float] = {}
        """By queue, until when it is left alone, by the boot clock."""
        self._notified = asyncio.Event()
        self._stirred = asyncio.Event()
        queues.on_wake(self._wake)
        parts.hints.listen(self._stirred.set)

    async def run(self) -> None:
        """Carry until cancelled."""
        try:
            while True:
                self._notified.clear()
                self._stirred.clear()
                try:
                    found = await self._round()
                except StoreUnusable:
                    raise
                except StoreError as error:
                    self._parts.observers.emit("store.unavailable", error=str(error))
                    found = False
                await self._rest(found)
        finally:
            await self._stop()

    async def finish(self) -> None:
        """Carry this process's last events, within a bound; after that another process carries them."""
        with contextlib.suppress(TimeoutError, StoreError):
            async with asyncio.timeout(FINISH_SECONDS):
                while await self._round() or self._carried:
                    # Carriers that this round began may have finished.
                    if carried := list(self._carried.values()):
                        await asyncio.wait(carried)

    async def keep_burying(self) -> None:
        """Move dead letters of processes without a store into the store, until cancelled."""
        is_away = False
        while True:
            try:
                await self._bury()
                is_away = False
            except TransportError as error:
                if isinstance(error.__cause__, StoreUnusable):
                    raise error.__cause__ from None
                if not is_away:
                    self._parts.observers.emit("events.unavailable", queue=self._dead_letters, error=str(error))
                is_away = True
                await asyncio.sleep(PAUSE)

    async def _bury(self) -> None:
        found = await self._queues.take(self._dead_letters, LETTERS, DEAD_LETTERS_LEASE)
        for stored in found:
            await bury_message(self._messages, stored.body, self._dead_letters)
        await self._queues.settle(self._dead_letters, [stored.token for stored in found])

    def _wake(self) -> None:
        self._notified.set()
        self._stirred.set()

    async def _round(self) -> bool:
        """Begin to carry non-empty queues; whether there were any."""
        now, app = self._parts.environment.clock.boot(), self._parts.app
        await self._look(now)
        self._refused = {queue: until for queue, until in self._refused.items() if until > now}
        most = MOST_QUEUES + len(self._refused)
        found = [
            queue
            for queue in await self._messages.nonempty(f"replies.{app}.", most)
            if self._is_ours(queue)
            and self._begin(queue, self._queues, lambda each: each.carry_events(), self._is_ours)
        ]
        if now >= self._posted_at + self._parts.settings.poll:
            self._posted_at = now
            for prefix, outlet in ((f"submissions.{app}.", self._queues), (REQUESTS, self._returned)):
                for queue in await self._messages.nonempty(prefix, most):
                    self._begin(queue, outlet, lambda each: each.carry_posted(), lambda _: True)
        return bool(found)

    async def _look(self, now: float) -> None:
        """Read the live instances at intervals, and when this process has a new Scheduler."""
        is_known = any(each.id == self._instance() for each in self._instances)
        if not is_known or now >= self._looked_at + self._parts.settings.lease / LOOKS_PER_LEASE:
            self._instances = await self._parts.store.operators.instances()
            self._looked_at = now

    def _begin(self, queue: str, outlet: Outlet, way: Way, is_ours: Callable[[str], bool]) -> bool:
        if queue in self._carried or queue in self._refused or len(self._carried) >= MOST_CARRIED:
            return False
        carrier = Carrier(
            queue,
            self._messages,
            outlet,
            store=self._store,
            is_ours=lambda: is_ours(queue),
            environment=self._parts.environment,
            observers=self._parts.observers,
        )
        self._carried[queue] = asyncio.get_running_loop().create_task(self._carry(queue, way, carrier))
        if queue.startswith(RESPONSES):
            self.carried_to.pop(queue, None)
            self.carried_to[queue] = None
            if len(self.carried_to) > MOST_QUEUES:
                del self.carried_to[next(iter(self.carried_to))]
        return True

    async def _carry(self, queue: str, way: Way, carrier: Carrier) -> None:
        count = 0
        try:
            count = await way(carrier)
        except StoreError as error:
            # A row that was carried and not deleted is carried again.
            self._parts.observers.emit("store.unavailable", error=str(error))
        except QueueRefused:
            self._refused[queue] = self._parts.environment.clock.boot() + REFUSED_SECONDS
        except Exception as error:
            self._parts.observers.emit("events.broke", queue=queue, error=repr(error))
        finally:
            del self._carried[queue]
        if count:
            # Rows that came after the last look found this queue still being carried.
            self._wake()

    def _is_ours(self, queue: str) -> bool:
        instance = self._instance()
        return instance is not None and instance == carrier_of(
            queue, self._instances, self._parts.store.now(), self._parts.settings.lease
        )

    async def _rest(self, found: bool) -> None:
        if found:
            await asyncio.sleep(GATHER_SECONDS)
        else:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REST_SECONDS):
                    await self._notified.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._parts.settings.poll):
                await self._stirred.wait()

    async def _stop(self) -> None:
        for task in list(self._carried.values()):
            task.cancel()
        if self._carried:
            await asyncio.wait(list(self._carried.values()))


def relay_of(parts: Parts, roles: Roles, instance: Callable[[], str | None]) -> EventRelay | None:
    """The relay of a process that runs a Scheduler, if the applications' queues are a broker's."""
    if parts.brokered is None or parts.signer is None or not roles.scheduler:
        return None
    return EventRelay(parts, parts.brokered, parts.signer, instance)


def carrier_of(queue: str, instances: Sequence[Instance], now: float, lease: float) -> str | None:
    """The Scheduler that carries a queue: the first by the queue's name of the live ones that all processes know.

    Every process knows an instance that is older than a lease; meanwhile the oldest carries.
    """
    alive = [each for each in instances if each.role is Role.SCHEDULER and each.alive and each.expires_at > now]
    if not alive:
        return None
    known = [each for each in alive if each.started_at + lease <= now]
    if not known:
        return min(alive, key=lambda each: (each.started_at, each.id)).id
    return max(known, key=lambda each: (crc32(f"{each.id}/{queue}".encode()), each.id)).id
