"""Carries rows of the store to a broker's queue, in order; each row is deleted once the broker has it.

A row is deleted only after the broker confirmed it. So a second carrier, for example a process that was wrongly
declared dead, produces duplicates only: the first of each event come in order and without a gap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from stepward.clock import Environment
from stepward.errors import QueueRefused, Refused, TransportError
from stepward.events import Observers
from stepward.model.messages.cloudevents import stamped
from stepward.policies import grown
from stepward.store.contract import MessageStore, StoredMessage
from stepward.transport.queues.response_log import can_share, packed

BATCH = 500
"""Most rows read and settled at once."""
MOST_TOGETHER = 250
TOGETHER_BYTES = 64 * 1024
"""Most bytes of a broker message with several events."""
MOST_REFUSALS = 5
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
LEASE = 15.0


class Outlet(Protocol):
    """The part of a broker's queues to which rows are carried."""

    async def carry(self, queue: str, body: bytes, id: str) -> None:
        """Append a row; twice under one id it may come once. Raises TransportError, or Refused for a row that can
        never be taken."""
        ...


class Pack(Struct, frozen=True, gc=False):
    """Rows that share a broker message."""

    rows: Sequence[StoredMessage]
    body: bytes

    @property
    def id(self) -> str:
        """The message id, the same for the same rows in every process; rows of another store have other events."""
        names = b",".join(b"%d" % row.token for row in self.rows)
        return sha256(names + b":" + self.body).hexdigest()


class Carrier:
    """Carries one queue until it is empty; ``is_ours`` says whether this process still carries it.

    Status events are sent with ``store``, the identity of their store.
    """

    def __init__(
        self,
        queue: str,
        messages: MessageStore,
        outlet: Outlet,
        *,
        store: str,
        is_ours: Callable[[], bool],
        environment: Environment,
        observers: Observers,
    ) -> None:
        self._queue = queue
        self._messages = messages
        self._outlet = outlet
        self._store = store
        self._is_ours = is_ours
        self._failpoint = environment.failpoint
        self._random = environment.random
        self._observers = observers
        self._failures = 0

    async def carry_events(self) -> int:
        """Carry a response queue; the number of events. Raises StoreError or QueueRefused."""
        after = count = 0
        while True:
            rows = await self._messages.read(self._queue, after, BATCH)
            named = [replace(row, body=stamped(row.body, self._store)) for row in rows]
            count += await self._carry(packs(named))
            if len(rows) < BATCH or not self._is_ours():
                return count
            after = rows[-1].token

    async def carry_posted(self) -> int:
        """Carry messages posted or put back into the store, which other processes take too; their number. Raises
        StoreError or QueueRefused."""
        count = 0
        while rows := await self._messages.take(self._queue, BATCH, LEASE):
            count += await self._carry(Pack([row], row.body) for row in rows)
        return count

    async def _carry(self, found: Iterable[Pack]) -> int:
        gone: list[int] = []
        try:
            for pack in found:
                if not self._is_ours():
                    break
                await self._send(pack)
                gone += [row.token for row in pack.rows]
            self._failpoint("status_events.delete.before")
        finally:
            if gone:
                await self._messages.settle(self._queue, gone)
        self._failpoint("status_events.delete.after")
        return len(gone)

    async def _send(self, pack: Pack) -> None:
        """Append a row, waiting for the broker as long as necessary; a refused row is found among its neighbours."""
        while True:
            try:
                await self._outlet.carry(self._queue, pack.body, pack.id)
            except QueueRefused:
                raise
            except TransportError as error:
                await self._wait(error)
            except Refused as error:
                if len(pack.rows) == 1:
                    await self._refused(pack, error)
                else:
                    for row in pack.rows:
                        await self._send(Pack([row], packed([row.body])))
                return
            else:
                self._failures = 0
                return

    async def _refused(self, pack: Pack, error: Refused) -> None:
        """Try a few times more; then move the row to the dead letters, and go on with the next."""
        refusals = 1
        while refusals < MOST_REFUSALS:
            await asyncio.sleep(grown(FIRST_PAUSE, 2.0, LONGEST_PAUSE, refusals))
            try:
                await self._outlet.carry(self._queue, pack.body, pack.id)
            except QueueRefused:
                raise
            except TransportError as unreached:
                await self._wait(unreached)
            except Refused as again:
                error = again
                refusals += 1
            else:
                return
        reason = f"refused {MOST_REFUSALS} times: {error}"
        self._observers.emit("events.dead_letter", queue=self._queue, reasons=[reason])
        await self._messages.bury(self._queue, [(row.token, reason) for row in pack.rows])

    async def _wait(self, error: TransportError) -> None:
        self._failures += 1
        if self._failures == 1:
            self._observers.emit("events.unavailable", queue=self._queue, error=str(error))
        pause = grown(FIRST_PAUSE, 2.0, LONGEST_PAUSE, self._failures)
        await asyncio.sleep(pause * (0.5 + self._random.random() / 2))


def packs(rows: Sequence[StoredMessage]) -> Iterator[Pack]:
    """Rows in as few broker messages as possible, in order; a row that is no JSON is sent alone and unchanged."""
    together: list[StoredMessage] = []
    size = 0
    for row in rows:
        if not can_share(row.body):
            yield from _pack(together)
            yield Pack([row], row.body)
            together, size = [], 0
            continue
        if len(together) == MOST_TOGETHER or (together and size + len(row.body) > TOGETHER_BYTES):
            yield from _pack(together)
            together, size = [], 0
        together.append(row)
        size += len(row.body) + 1
    yield from _pack(together)


def _pack(rows: Sequence[StoredMessage]) -> Iterator[Pack]:
    if rows:
        yield Pack(rows, packed([row.body for row in rows]))
