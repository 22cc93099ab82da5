"""Deliveries of replies: the queue keeps them until the commit that recorded their replies, whatever else waits."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from stepward.errors import TransportError
from stepward.model.messages.requests import Reply
from stepward.scheduler.context import SchedulerContext
from stepward.transport.contract import Delivery

MOST_UNSETTLED = 10_000
"""While turns do not keep up, or no commit comes through, as the store is away, the rest waits in the queue."""
MOST_UNSETTLED_BYTES = 64 * 1024 * 1024
"""So does what is beyond so many bytes of results and errors."""

ReplyId = tuple[str, int, str, int, str]


class ReceivedReplies(NamedTuple):
    """What a turn has received: the deliveries, to be settled after its commit, and the replies in them."""

    deliveries: list[Delivery]
    replies: list[ReplyId]


class ReplySettlement:
    """Settles the deliveries of a turn's replies after its commit; ``kept`` are the attempts that a turn put back."""

    def __init__(self, context: SchedulerContext, kept: set[tuple[str, int, str, int]]) -> None:
        self._transport = context.transport
        self._queue = context.reply_to
        self._environment = context.environment
        self._observers = context.observers
        self._kept = kept
        self.deliveries: list[Delivery] = []
        """The deliveries taken since the last turn."""
        self.awaited: list[ReplyId] = []
        """The replies in them."""
        self.size = 0
        """The bytes of their results and errors."""
        self.unsettled: set[ReplyId] = set()
        """The replies whose deliveries are not settled yet."""
        self.has_room = asyncio.Event()
        """Whether further replies may be taken from the queue."""
        self.has_room.set()

    def received(self) -> ReceivedReplies:
        """The deliveries that were taken, to be settled after the commit of all their replies."""
        received, self.deliveries, self.awaited = ReceivedReplies(self.deliveries, self.awaited), [], []
        self.size = 0
        self.has_room.set()
        return received

    async def settle(self, received: ReceivedReplies) -> None:
        """Settle what a turn received, once it is committed; what is to be processed once more waits for that."""
        if self._kept:
            received = self._committed(received)
        self.unsettled.difference_update(received.replies)
        self._environment.failpoint("replies.settle.before")
        try:
            await self._transport.settle(self._queue, received.deliveries)
        except TransportError as error:
            # They come again, and change nothing.
            self._observers.emit("scheduler.settle_failed", error=str(error))

    def _committed(self, received: ReceivedReplies) -> ReceivedReplies:
        """What a turn received without the replies that it put back; these are received again with the next turn."""
        again = self._kept.intersection(ident[:4] for ident in received.replies)
        if not again:
            return received
        committed = ReceivedReplies([], [ident for ident in received.replies if ident[:4] not in again])
        self.awaited += [ident for ident in received.replies if ident[:4] in again]
        for each in received.deliveries:
            is_again = isinstance(each.message, Reply) and attempt_of(each.message) in again
            (self.deliveries if is_again else committed.deliveries).append(each)
        return committed


def attempt_of(reply: Reply) -> tuple[str, int, str, int]:
    """The attempt that it answers."""
    return reply.task, reply.run, reply.key, reply.attempt
