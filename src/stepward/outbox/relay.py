"""The relay: makes exactly one task of each row in an outbox, also after crashes.

A row is deleted after its task was made. After a crash in between, or beside another relay, the row is carried again,
and its id gives the existing task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stepward.client import Client, Prepared, session_of
from stepward.clock import Environment
from stepward.errors import Refused, StoreError, UnknownWorkflow
from stepward.events import Observers
from stepward.model.messages.status_events import KEPT_SECONDS, refused_event
from stepward.model.records import Task
from stepward.outbox.entry import OutboxRow, asked_by, opened, read
from stepward.outbox.outbox_address import source_of
from stepward.outbox.source import OutboxBatch
from stepward.outbox.unknown_workflows import UnknownWorkflows
from stepward.payload import PAYLOAD_BYTES
from stepward.store.contract import Submitted
from stepward.store.sealing.row_codec import sealed_event

BATCH = 100
REASON_LENGTH = 1000
UNREADABLE = (ValueError, TypeError, ArithmeticError, RecursionError)
"""Exceptions for values that no check foresaw: the row is at fault, and a repeat fails alike."""


class Relay:
    """Carries the outbox in the database of ``address`` into an open client's store; use it as ``async with``."""

    def __init__(
        self,
        client: Client,
        address: str,
        *,
        environment: Environment | None = None,
        observers: Observers | None = None,
        poll: float = 1.0,
        payload_bytes: int = PAYLOAD_BYTES,
    ) -> None:
        self._session = session_of(client)
        self._codec = self._session.codec
        # Encrypted rows are larger than what is in them.
        most = payload_bytes if self._codec is None else 2 * payload_bytes
        self._source = source_of(address, self._session.app, most)
        environment = environment or Environment()
        self._failpoint = environment.failpoint
        self._clock = environment.clock.boot
        self._later = UnknownWorkflows()
        self._observers = observers or Observers()
        self._poll = poll
        self._limit = payload_bytes

    async def __aenter__(self) -> Relay:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._source.close()

    async def run(self) -> None:
        """Carry until cancelled; cancellation leaves nothing half done."""
        while True:
            if await self._carried() < BATCH:
                await asyncio.sleep(self._poll)

    async def run_once(self) -> int:
        """Carry one batch, the oldest rows; the number of rows."""
        async with self._source.taken(BATCH, self._later.passed_over(self._clock())) as batch:
            if batch.rows:
                self._failpoint("outbox.take.after")
                await self._submit(batch)
                self._failpoint("outbox.submit.after")
        if batch.rows:
            self._failpoint("outbox.delete.after")
        self._emit_dead_letters(batch)
        return len(batch.rows)

    async def _carried(self) -> int:
        """Carry a batch, or none while store or database is unavailable: rows wait."""
        try:
            return await self.run_once()
        except StoreError as error:
            self._observers.emit("relay.unavailable", outbox=self._source.shown, error=str(error))
        except Exception as error:  # After a bug the relay pauses: it holds no state beyond the outbox's.
            self._observers.emit("relay.broke", outbox=self._source.shown, error=repr(error))
        return 0

    async def _submit(self, batch: OutboxBatch) -> None:
        prepared: dict[int, Prepared] = {}
        batch.rows = [opened(row, self._codec) for row in batch.rows]
        for row in batch.rows:
            try:
                prepared[row.number] = await self._prepared(row)
            except UnknownWorkflow as error:
                if not self._later.put_off(row.number, self._clock()):
                    await self._refuse(batch, row, error)
            except (Refused, *UNREADABLE) as error:
                await self._refuse(batch, row, error)
        if not prepared:
            return
        try:
            self._settle(batch, list(prepared), await self._submitted(list(prepared.values())))
        except Refused:
            await self._submit_each(batch, prepared)

    async def _submit_each(self, batch: OutboxBatch, prepared: dict[int, Prepared]) -> None:
        """A row that the tables refuse must not hold up its neighbours."""
        for number, each in prepared.items():
            try:
                self._settle(batch, [number], await self._submitted([each]))
            except Refused as error:
                row = next(row for row in batch.rows if row.number == number)
                await self._refuse(batch, row, error)

    async def _refuse(self, batch: OutboxBatch, row: OutboxRow, error: Exception) -> None:
        """Set a row aside after its response queue got the event, as the two are in different databases."""
        store, reason = self._session.store, _reason(error)
        event = refused_event(asked_by(row), self._session.app, reason, store.now())
        if event is not None:
            queue, body = event
            if self._codec is not None:
                body = sealed_event(self._codec, body)
            await store.messages.put(queue, [(body, store.now() + KEPT_SECONDS)])
        batch.aside.append((row.number, reason))

    async def _prepared(self, row: OutboxRow) -> Prepared:
        entry = read(row, limit=self._limit)
        options = entry.options(row.id.decode())
        return await self._session.submissions.prepared(entry.workflow, tuple(entry.arguments), {}, options)

    async def _submitted(self, prepared: Sequence[Prepared]) -> list[Submitted]:
        tasks: list[Task] = [task for each in prepared for task in each.tasks]
        # Within a millisecond uids are random; Schedulers claim tasks in their order.
        for task, uid in zip(tasks, sorted(task.uid for task in tasks), strict=True):
            task.uid = uid
        return await self._session.store.client.submit(tasks, prepared[0].plans)

    def _settle(self, batch: OutboxBatch, numbers: Sequence[int], submitted: Sequence[Submitted]) -> None:
        for number, each in zip(numbers, submitted, strict=True):
            if each.same:
                batch.made.append(number)
            else:
                reason = (
                    f"id {each.id!r}: expected a new id, or the same workflow and arguments, found a task with others"
                )
                batch.aside.append((number, reason))

    def _emit_dead_letters(self, batch: OutboxBatch) -> None:
        if batch.aside:
            reasons = [reason for _, reason in batch.aside]
            self._observers.emit("relay.dead_letter", outbox=self._source.shown, reasons=reasons)


def _reason(error: Exception) -> str:
    reason = str(error) if isinstance(error, Refused) else f"expected a row of Outbox.put, found {error!r}"
    return reason.replace("\0", "�").encode(errors="replace").decode()[:REASON_LENGTH]
