"""Replies on their way to the turn: taken from the queue and checked.

A reply that cannot be read proves that its Agent did something, and not what: it is a failed attempt in doubt.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from stepward.errors import Refused, TransportError
from stepward.model.action import Action
from stepward.model.failures import LONGEST_MESSAGE, UNREADABLE
from stepward.model.live_values import read_written
from stepward.model.messages.requests import NEGATIVE, CheckedReply, Outcome, Progress, Reply
from stepward.payload import NULL, check_size, decode, encode
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

Operations = Mapping[str, Action[Any, Any]]
"""What this program knows of operations, by name; of others only that their results are JSON."""
ERROR_BYTES = 64 * 1024
"""Bytes of an error beside its data, which the payload limit bounds."""


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


class Complaint(Struct, omit_defaults=True):
    """What an error is at least."""

    message: str
    type: str = ""
    data: dict[str, Any] = {}
    at: str = ""
    traceback: str = ""


def checked(reply: Reply, limit: int, operations: Operations) -> Reply:
    """``reply`` as it may be recorded; one that cannot be read becomes an attempt that gave up in doubt."""
    try:
        if reply.outcome is Outcome.COMPLETED:
            return _completed(reply, limit, operations)
        return _negative(reply, limit) if reply.outcome in NEGATIVE else reply
    except Refused as error:
        return _unreadable(reply, error)


def _unreadable(reply: Reply, error: Refused) -> Reply:
    """The reply that is recorded in place of one that cannot be read."""
    failure = {
        "message": f"{reply.key}: what its Agent sent cannot be recorded: {error}",
        "type": UNREADABLE,
        "data": {},
    }
    return replace(
        reply,
        outcome=Outcome.GAVE_UP,
        output=None,
        written=None,
        error=encode(failure, "error"),
        maybe_done=True,
    )


def is_unreadable(reply: Reply) -> bool:
    """Whether ``reply`` stands for one that could not be read."""
    return reply.error is not None and f'"type":"{UNREADABLE}"'.encode() in reply.error


def _completed(reply: Reply, limit: int, operations: Operations) -> Reply:
    output = NULL if reply.output is None else reply.output
    check_size(output, "result", limit=limit)
    name, _, count = reply.key.rpartition("/")
    operation = operations.get(name) if count.isdecimal() else None
    if operation is None:
        decode(output, "result")
    else:
        # The workflow cannot be given a result of another type than the operation declares.
        operation.signature.result(output)
    if reply.written is not None:
        read_written(reply.written)
    return reply if output is reply.output else replace(reply, output=output, error=None)


def _negative(reply: Reply, limit: int) -> Reply:
    if reply.error is None:
        return reply
    check_size(reply.error, "error", limit=limit + ERROR_BYTES)
    found: Complaint = decode(reply.error, "error", Complaint)
    bounded = Complaint(
        message=found.message[:LONGEST_MESSAGE],
        type=found.type[:100],
        data=found.data,
        at=found.at[:1000],
        traceback=found.traceback[-ERROR_BYTES // 2 :],
    )
    return replace(reply, output=None, error=encode(bounded, "error", limit=limit + ERROR_BYTES))
