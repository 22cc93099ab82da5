"""Replies on their way to the turn: taken from the queue, checked, and kept in their order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator

from msgspec import Struct

from stepward.errors import TransportError
from stepward.model.messages.requests import CheckedReply, Progress, Reply
from stepward.scheduler.agent_replies.reply_check import checked
from stepward.scheduler.agent_replies.reply_settlement import (
    MOST_UNSETTLED,
    MOST_UNSETTLED_BYTES,
    ReplySettlement,
    attempt_of,
)
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.turn_budget import LARGE_BYTES, PIECE, TURN_BYTES, TurnBudget

TAKE = 1000
"""Replies taken from the queue at once."""
TAKEN_BYTES = 16 * 1024 * 1024
"""Fewer where the last ones were so large that as many would have more bytes than these."""


class WaitingReply(Struct, frozen=True, gc=False):
    """A reply that waits for a turn."""

    reply: Reply
    committed_at: float | None = None
    """When its outcome was committed, if it was."""
    is_queued: bool = False
    """Whether it is from the queue."""


class Replies:
    """The replies that wait for a turn, in their order."""

    def __init__(self, stir: Callable[[], None]) -> None:
        self._stir = stir
        self.waiting: deque[WaitingReply] = deque()
        self.from_queue = 0
        """How many of them are from the queue."""
        self.large = 0
        """How many large ones may be among them."""
        self.kept: set[tuple[str, int, str, int]] = set()
        """The attempts whose replies were added from beside the Scheduler, or once more, and wait."""

    def add(self, reply: Reply, committed_at: float | None) -> None:
        """A reply from beside the Scheduler; ``committed_at`` if its outcome is committed already."""
        self.waiting.append(WaitingReply(reply, committed_at))
        self.kept.add(attempt_of(reply))
        self._stir()

    def is_kept(self, attempt: tuple[str, int, str, int]) -> bool:
        """Whether a reply to a step beside the Scheduler waits for a turn: its attempt is over, and is not lost."""
        return attempt in self.kept

    def again(self, replies: Iterable[Reply]) -> None:
        """Add replies to be processed once more."""
        for reply in replies:
            self.waiting.append(WaitingReply(reply))
            self.kept.add(attempt_of(reply))

    def take(self, budget: TurnBudget) -> Iterator[WaitingReply]:
        """The replies received since the last turn, as many as the turn has room for."""
        replies, taken, size = self.waiting, 0, 0
        while replies:
            each = replies.popleft()
            self.from_queue -= each.is_queued
            if self.kept:
                self.kept.discard(attempt_of(each.reply))
            yield each
            taken += 1
            if self.large:
                size += self._large(each.reply)
            if size >= TURN_BYTES or (not taken % PIECE and budget.is_spent(taken)):
                return

    def take_but(self, tasks: Container[str], budget: TurnBudget) -> Iterator[WaitingReply]:
        """The replies received since the last turn for other tasks; replies for these stay in their order."""
        kept: list[WaitingReply] = []
        before = frozenset(self.kept)
        for each in self.take(budget):
            if each.reply.task in tasks:
                kept.append(each)
            else:
                yield each
        self.waiting.extendleft(reversed(kept))
        # They wait as before.
        if before:
            self.kept |= before.intersection(attempt_of(each.reply) for each in kept)
        queued = [each.reply for each in kept if each.is_queued]
        self.from_queue += len(queued)
        self.large += sum(len(reply.output or b"") >= LARGE_BYTES for reply in queued)

    def _large(self, reply: Reply) -> int:
        """The bytes of a large reply."""
        size = len(reply.output or b"")
        if size < LARGE_BYTES:
            return 0
        self.large -= 1
        return size


class ReplyReceiver:
    """Brings replies and progress from the queue."""

    def __init__(
        self,
        context: SchedulerContext,
        stir: Callable[[], None],
        replies: Replies,
        settlement: ReplySettlement,
        ahead: Callable[[], None],
        progress: Callable[[Progress], None],
    ) -> None:
        self._transport = context.transport
        self._queue = context.reply_to
        self._settings = context.settings
        self._operations = context.registry.operations
        self._observers = context.observers
        self._stir = stir
        self._replies = replies
        self._settlement = settlement
        self._ahead = ahead
        self._progress = progress

    async def pump(self) -> None:
        """Bring replies from the queue until cancelled; the turn drains them."""
        settlement, most = self._settlement, TAKE
        while True:
            await settlement.has_room.wait()
            try:
                deliveries = await self._transport.take(self._queue, most, self._settings.lease)
            except TransportError as error:
                self._observers.emit("scheduler.take_failed", error=str(error))
                await asyncio.sleep(self._settings.poll)
                continue
            handed = taken = 0
            for place, delivery in enumerate(deliveries, 1):
                if isinstance(delivery.message, Reply):
                    size = len(delivery.message.output or b"") + len(delivery.message.error or b"")
                    settlement.size += size
                    taken += size
                    if self._accept(delivery.message):
                        settlement.deliveries += deliveries[handed:place]
                        handed = place
                        self._stir()
                        await asyncio.sleep(0)
                elif isinstance(delivery.message, Progress):
                    self._progress(delivery.message)
            settlement.deliveries += deliveries[handed:]
            if len(settlement.deliveries) >= MOST_UNSETTLED or settlement.size >= MOST_UNSETTLED_BYTES:
                settlement.has_room.clear()
            most = max(1, min(TAKE, TAKEN_BYTES * len(deliveries) // max(1, taken)))
            self._ahead()
            self._stir()

    def _accept(self, reply: Reply) -> bool:
        """Take a reply from the queue; one that is repeated while its turn waits for its commit is ignored.

        Whether it is so large that reading it took long.
        """
        settlement, ident = self._settlement, (reply.task, reply.run, reply.key, reply.attempt, reply.outcome)
        if ident in settlement.unsettled:
            return False
        settlement.unsettled.add(ident)
        settlement.awaited.append(ident)
        if type(reply) is not CheckedReply:
            reply = checked(reply, self._settings.payload_bytes, self._operations)
        self._replies.waiting.append(WaitingReply(reply, is_queued=True))
        self._replies.from_queue += 1
        is_large = reply.output is not None and len(reply.output) >= LARGE_BYTES
        self._replies.large += is_large
        return is_large
