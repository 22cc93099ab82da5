"""Messages of a submission queue that begin no task in the store of their actor: passed on, or duplicates."""

from __future__ import annotations

from collections.abc import Mapping

from stepward.errors import Refused, TransportError
from stepward.events import Observers
from stepward.store.partitions.locating.other_partitions import OtherPartitions
from stepward.submission.acceptance import PlacedElsewhere
from stepward.submission.declaration import Accepted, Message
from stepward.transport.queues.contract import AppQueues, Stored

NOWHERE = PlacedElsewhere((), ())


class MisplacedMessages:
    """Compares the messages of one queue with the other stores of the application; of a store alone it does nothing."""

    def __init__(
        self, queue: str, others: OtherPartitions | None, queues: AppQueues | None, observers: Observers
    ) -> None:
        """``queues`` are those of all stores of the application; None, as ``others``, of a store alone."""
        self._queue = queue
        self._others = others
        self._queues = queues
        self._observers = observers
        self._not_passed: dict[str, str] = {}
        """By id of messages that belong to another store, why they cannot be put there."""

    async def elsewhere(self, messages: Mapping[str, Stored]) -> PlacedElsewhere:
        """Of messages by id, those of tasks in another store, and those that are placed in another, to which they are
        passed on. What another store takes later holds up nothing that is placed here.

        Raises StoreUnavailable.
        """
        if self._others is None or self._queues is None:
            return NOWHERE
        away = [id for id in messages if not await self._others.holds(id)]
        waiting: set[str] = set()
        for id in away:
            if self._others.is_on_its_way(id):
                waiting.add(id)
                continue
            try:
                await self._queues.put(self._queue, [(messages[id].body, messages[id].expires_at)])
                self._observers.emit("submission.passed_on", queue=self._queue, id=id)
            except TransportError as error:
                self._observers.emit("submission.queue_failed", queue=self._queue, error=str(error))
                waiting.add(id)
            except Refused as error:
                self._not_passed[id] = str(error)
        known = await self._others.known([id for id in messages if id not in away])
        for id in known:
            self._observers.emit("submission.duplicate", queue=self._queue, id=id)
        return PlacedElsewhere({*away, *known} - self._not_passed.keys() - waiting, waiting)

    def check(self, message: Message, accepted: Accepted) -> None:
        """Raises Refused for a message that could not be passed on, and for a task under a key, which is placed by the
        key."""
        if message.id in self._not_passed:
            raise Refused(self._not_passed.pop(message.id))
        if self._others is not None and accepted.per_key is not None:
            raise Refused(
                "per_key: expected none for messages of an application with several stores, where the message's id "
                "decides the store, found one; submit with the client, which places by the key"
            )
