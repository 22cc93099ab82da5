"""Messages of a submission queue that begin no task in the store of their actor: they are passed on, or duplicates."""

from __future__ import annotations

from collections.abc import Mapping

from stepward.errors import Refused, StoreUnavailable, TransportError
from stepward.host.assembly import Parts
from stepward.submission import Accepted, Message
from stepward.transport.queues.contract import Stored


class PassingOn:
    """Compares the messages of one queue with the other stores of the application; of a store alone it does nothing."""

    def __init__(self, parts: Parts, queue: str) -> None:
        self._others = parts.others
        self._queues = parts.others_queues
        self._observers = parts.observers
        self._queue = queue
        self._not_passed: dict[str, str] = {}
        """By id of messages that belong to another store, why they cannot be put there."""

    async def elsewhere(self, messages: Mapping[str, Stored]) -> set[str]:
        """The ids of messages, by id, that begin no task here: those of tasks in another store, and those that are
        placed in another, to which they are passed on.

        Raises StoreUnavailable.
        """
        if self._others is None or self._queues is None:
            return set()
        away = [id for id in messages if not await self._others.holds(id)]
        for id in away:
            self._observers.emit("submission.passed_on", queue=self._queue, id=id)
            try:
                await self._queues.put(self._queue, [(messages[id].body, messages[id].expires_at)])
            except TransportError as error:
                raise StoreUnavailable(str(error)) from error
            except Refused as error:
                self._not_passed[id] = str(error)
        known = await self._others.known([id for id in messages if id not in away])
        for id in known:
            self._observers.emit("submission.duplicate", queue=self._queue, id=id)
        return {*away, *known} - self._not_passed.keys()

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
