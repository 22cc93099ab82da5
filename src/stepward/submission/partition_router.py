"""The router of an application with several stores: it carries messages to the partitions in which they are placed.

Programs post to the application's queue at the broker, whatever its partitions are. A message is in the queue of its
partition before it is settled: after a crash in between it is there twice, and makes one task.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from stepward.errors import Refused, TransportError
from stepward.events import Observers
from stepward.model.messages.cloudevents import message_id
from stepward.submission.queue_consumption import QueueConsumption
from stepward.transport.broker.queue_names import own_queue
from stepward.transport.queues.contract import AppQueues, Stored
from stepward.transport.queues.partition_queues import PartitionLookup

BATCH = 100
"""Most messages that are carried at once."""
LEASE = 15.0
"""The lease of a message in seconds, longer than a broker takes for a batch."""
MOVING_SECONDS = 1.0
"""Seconds before the next look at a message whose shard is on its way to another store."""
REFUSED_SECONDS = 5.0
"""Seconds before a message is carried again whose partition's queue could not take it."""


class PartitionRouter:
    """One instance for one submission queue; it needs no store, so that a store that is down holds nothing up."""

    def __init__(self, queues: AppQueues, queue: str, placed: PartitionLookup, observers: Observers) -> None:
        self._queues = queues
        self._queue = queue
        self._placed = placed
        self._observers = observers
        self._consumption = QueueConsumption(
            queues, queue, batch=BATCH, lease=LEASE, work=self._carry_all, observers=observers
        )
        self.run = self._consumption.run
        self.drain = self._consumption.drain

    @property
    def is_draining(self) -> bool:
        """Whether it was asked to end."""
        return self._consumption.is_draining

    async def _carry_all(self, found: Sequence[Stored]) -> None:
        failures: dict[str, str] = {}
        ended = await asyncio.gather(*(self._carried(stored, failures) for stored in found))
        for queue, failure in failures.items():
            self._observers.emit("submission.queue_failed", queue=queue, error=failure)
        later: defaultdict[float, list[int]] = defaultdict(list)
        for stored, delay in zip(found, ended, strict=True):
            later[delay].append(stored.token)
        if done := later.pop(0.0, []):
            await self._queues.settle(self._queue, done)
        for delay, tokens in later.items():
            await self._queues.extend(self._queue, tokens, delay)

    async def _carried(self, stored: Stored, failures: dict[str, str]) -> float:
        """0 once the message is in the queue of its partition, or else the seconds before the next try."""
        partition = await self._placed(message_id(stored.body))
        if partition is None:
            return MOVING_SECONDS
        queue = own_queue(self._queue, partition)
        try:
            await self._queues.put(queue, [(stored.body, stored.expires_at)])
        except TransportError as error:
            failures[queue] = str(error)
            return REFUSED_SECONDS
        except Refused as error:
            await self._queues.bury(self._queue, [(stored.token, str(error))])
        return 0.0
