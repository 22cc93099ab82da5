"""Low watermarks of queues: a position below which a queue is surely empty, so that a read skips deleted messages.

While an old snapshot is open, deleted messages stay in the table and in its index, and every read of a queue would pass
them all. Messages get ascending tokens, and leases with ascending ends: below a watermark there is no message, and none
is added, once all transactions have ended that had written messages when the watermark was chosen. Transactions that
begin to write later draw higher tokens.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from dataclasses import dataclass, field
from typing import NamedTuple

from stepward.errors import StoreError
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database

SLOW_SECONDS = 0.002
"""A look at a queue that takes longer is worth a watermark."""
EVERY_SECONDS = 0.5
"""Between two tries to raise the watermark of a queue."""
LASTS_SECONDS = 600.0
"""After that a watermark is chosen again, from the bottom."""
CLOCKS_SECONDS = 10.0
"""More than the clocks of two processes ever differ."""


class Watermark(NamedTuple):
    """No message that is not taken has this token or a lower one, and no lease ends at this time or an earlier one."""

    token: int
    taken_until: float


BOTTOM = Watermark(0, 0.0)


@dataclass(slots=True)
class QueueWatermark:
    """The state of one queue: its watermark, the next one, and the transactions that the next one waits for."""

    since: float
    watermark: Watermark = BOTTOM
    is_slow: bool = False
    """Whether the last look took long."""
    next_try: float = 0.0
    wanted: Watermark | None = None
    writers: frozenset[str] = field(default_factory=frozenset)


class QueueWatermarks:
    """The watermarks of one store object: forgotten with each new connection, which may be to another server, and when
    the clock jumps."""

    def __init__(self, database: Database) -> None:
        self._lane = database.others
        self._clock = database.clock
        self._known: dict[str, QueueWatermark] = {}
        self._epoch: object = None
        self._highest = 0

    async def of(self, queue: str) -> Watermark:
        """Where a look at the queue may begin; raised before, if the last look was slow."""
        known = self._of(queue)
        now = asyncio.get_running_loop().time()
        if known.is_slow and now >= known.next_try:
            known.next_try = now + EVERY_SECONDS
            with contextlib.suppress(StoreError):  # The look itself tells of what is wrong.
                await self._lane.read(self._raise, queue, known)
        return known.watermark

    def looked(self, queue: str, seconds: float, token: int) -> None:
        """A look took so long, and gave out that token as the highest."""
        self._highest = max(self._highest, token)
        self._of(queue).is_slow = seconds >= SLOW_SECONDS

    def forget(self, queue: str) -> None:
        """Messages with lower tokens may have come into the queue."""
        self._known.pop(queue, None)

    def _of(self, queue: str) -> QueueWatermark:
        epoch = (self._lane.pool.made, self._clock.jumped())
        if epoch != self._epoch:
            self._epoch, self._highest = epoch, 0
            self._known.clear()
        now = asyncio.get_running_loop().time()
        known = self._known.get(queue)
        if known is None or now - known.since > LASTS_SECONDS:
            known = self._known[queue] = QueueWatermark(now)
        return known

    async def _raise(self, connection: Connection, queue: str, known: QueueWatermark) -> None:
        epoch = self._epoch
        if known.wanted is None:
            ((last,),) = await connection.rows("messages.last_token", connection.schema)
            known.wanted = Watermark(last or self._highest, max(self._clock.now() - CLOCKS_SECONDS, 0.0))
            known.writers = await _writers(connection)
        elif known.writers:
            known.writers &= await _writers(connection)
        if known.writers:
            return
        wanted, known.wanted = known.wanted, None
        ((token, taken_until),) = await connection.rows("messages.lowest", queue, *known.watermark)
        # Such a message is not skipped, even while another transaction takes it, which may roll back.
        if epoch == self._epoch:
            known.watermark = Watermark(
                max(known.watermark.token, wanted.token if token is None else min(wanted.token, token - 1)),
                max(known.watermark.taken_until, wanted.taken_until)
                if taken_until is None
                else max(known.watermark.taken_until, min(wanted.taken_until, math.nextafter(taken_until, 0.0))),
            )


async def _writers(connection: Connection) -> frozenset[str]:
    return frozenset(row[0] for row in await connection.rows("messages.writers", connection.schema))
