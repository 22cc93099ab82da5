"""The queues at a broker as one partition of an application uses them.

Response queues and dead letters on their way are those of the application. Of a submission queue ``orders`` the
partition ``p2`` has a part, ``p2.orders``, to which routers carry what is placed there.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stepward.errors import Refused
from stepward.model.messages.cloudevents import message_id
from stepward.transport.broker.queue_names import own_queue
from stepward.transport.queues.contract import NO_EVENTS, Stored
from stepward.transport.queues.forwarding_queues import ForwardingQueues

SUBMISSIONS = "submissions."
PART = re.compile(r"(p[0-9]+)\..+", re.DOTALL)
"""The name of a part of a submission queue, after the application's."""

PartitionLookup = Callable[[str], Awaitable[str | None]]
"""The name of the partition in which the task of an id is placed; None while its shard is on its way to another."""


class BrokerPartition(NamedTuple):
    """One partition, as it has queues at a broker."""

    name: str
    first: str
    """The identity of the application's first store, to which the application's names belong."""
    placed: PartitionLookup


@dataclass(frozen=True, slots=True)
class PartitionQueues(ForwardingQueues):
    """Implements ``AppQueues``: takes submissions from the partition's part of their queue.

    A message there whose id is placed elsewhere goes back to the application's queue: its shard has moved, or another
    program put it there.
    """

    partition: BrokerPartition

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Stored]:
        own = self._own(queue)
        while True:
            here: list[Stored] = []
            for stored in await self.inner.take(own, limit, lease):
                if await self._is_here(stored) or not await self._is_returned(queue, stored):
                    here.append(stored)
                else:
                    await self.inner.settle(own, [stored.token])
            if here:
                return here

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        await self.inner.settle(self._own(queue), tokens)

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        """As ``AppQueues.extend``."""
        await self.inner.extend(self._own(queue), tokens, lease)

    async def nonempty(self, prefix: str, known: Collection[str]) -> Mapping[str, bool | None]:
        """As ``AppQueues.nonempty``, without the parts of other partitions."""
        found = await self.inner.nonempty(prefix, {*known, *map(self._own, known)})
        return {queue: is_read for queue, is_read in found.items() if part_of(queue) in (None, self.partition.name)}

    async def bury(
        self, queue: str, dead_letters: Sequence[tuple[int, str]], events: Mapping[int, tuple[str, bytes]] = NO_EVENTS
    ) -> None:
        await self.inner.bury(self._own(queue), dead_letters, events)

    def _own(self, queue: str) -> str:
        return own_queue(queue, self.partition.name) if queue.startswith(SUBMISSIONS) else queue

    async def _is_here(self, stored: Stored) -> bool:
        return await self.partition.placed(message_id(stored.body)) == self.partition.name

    async def _is_returned(self, queue: str, stored: Stored) -> bool:
        """Puts it into the application's queue; False for one that the broker takes from others alone."""
        try:
            await self.inner.put(queue, [(stored.body, stored.expires_at)])
        except Refused:
            return False
        return True


def part_of(queue: str) -> str | None:
    """The partition of which a submission queue is a part; None for a queue of the application."""
    if not queue.startswith(SUBMISSIONS):
        return None
    part = PART.fullmatch(queue.split(".", 2)[2])
    return None if part is None else part[1]
