"""Moves replies addressed to ended Schedulers to the live one of this process."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable

from stepward.errors import StoreError, TransportError
from stepward.host.assembly import Parts
from stepward.model.messages.requests import reply_queue
from stepward.model.records import Role

MOST_ADOPTED = 10


class ReplyRerouting:
    """Moves replies of ended Schedulers to the queue of ``heir``, this process's Scheduler instance."""

    def __init__(self, parts: Parts, heir: Callable[[], str | None]) -> None:
        self._parts = parts
        self._heir = heir
        self._is_shared = parts.settings.transport != "local"
        self._over: deque[str] = deque(maxlen=MOST_ADOPTED)
        """The last ended Schedulers of this process."""

    def left(self, instance: str) -> None:
        """Note that a Scheduler of this process has ended."""
        self._over.append(instance)

    async def keep(self) -> None:
        """Move replies at hints and at each poll, until cancelled; with the local transport at each poll only."""
        stirred = asyncio.Event()
        self._parts.hints.listen(stirred.set)
        while True:
            await asyncio.sleep(self._parts.settings.poll)
            if self._is_shared:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._parts.settings.lease):
                        await stirred.wait()
            stirred.clear()
            if not await self.adopt():
                stirred.set()

    async def adopt(self) -> bool:
        """Move the replies of ended Schedulers; False if that is to be tried again soon."""
        try:
            dead, live = await self._schedulers()
            # Read only now: during the query it may have been fenced, and a successor not yet started.
            if (dead or live) and (heir := self._heir()) is not None:
                await self._parts.transport.adopt(dead, reply_queue(heir), live)
        except (StoreError, TransportError) as error:
            # Replies are hints: a lost one is replaced by a new attempt past its complete-by.
            self._parts.observers.emit("scheduler.adopt_failed", error=str(error))
            return False
        return True

    async def release(self, instance: str) -> None:
        """Delete the queue of this process's ended Scheduler, unless it holds replies for a successor."""
        with contextlib.suppress(TransportError):
            await self._parts.transport.release(reply_queue(instance))

    async def _schedulers(self) -> tuple[list[str], list[str] | None]:
        """The reply queues of dead instances, and of live ones if they are known."""
        if not self._is_shared:
            return [reply_queue(instance) for instance in self._over], None
        found = [each for each in await self._parts.store.operators.instances() if each.role is Role.SCHEDULER]
        dead = dict.fromkeys([*self._over, *(each.id for each in found if not each.alive)])
        return [reply_queue(id) for id in dead], [reply_queue(each.id) for each in found if each.alive]
