"""The verbs of applications and operators: submit, read, signal, direct."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.model.plan import NO_PLANS, Plans
from stepward.model.records import Alert, Audit, DeadLetter, InboxKind, Instance, Schedule, Step, Task, WorkflowRecord
from stepward.model.states import TASK_ENDS, TaskState
from stepward.store import rows
from stepward.store.contract import (
    AuditedAct,
    Directive,
    OldRecords,
    Outlived,
    Post,
    Purged,
    Submitted,
    Tally,
)
from stepward.store.rules import inboxes, verdicts
from stepward.store.verbs import (
    agents,
    dead_letters,
    directives,
    inbox,
    journal,
    pruning,
    recurring,
    retention,
)
from stepward.store.verbs import connection as ask
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbEngine

DEAD_SHOWN_SECONDS = 3600.0


class ClientVerbs:
    """What applications and operators may do; see ``ClientStore``."""

    def __init__(self, engine: VerbEngine) -> None:
        self._transactions = engine.others
        self._clock = engine.clock
        self._ring = engine.ring

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        submitted = await self._transactions.write(_submit, tasks, plans)
        self._ring()
        return submitted

    async def task(self, id: str) -> Task | None:
        row = await self._transactions.read(ask.row, "client.task", id)
        return rows.task(row) if row else None

    async def steps(self, id: str) -> list[Step]:
        return [rows.step(row) for row in await self._transactions.read(ask.rows, "client.steps", id)]

    async def tallies(self, uids: Sequence[str], stages: Sequence[str]) -> list[Tally]:
        found = await self._transactions.read(ask.rows, "client.tallies", list(uids), list(stages))
        return [rows.tally(row) for row in found]

    async def ended(self, uids: Sequence[str]) -> list[Task]:
        return [rows.task(row) for row in await self._transactions.read(ask.rows, "client.ended", list(uids))]

    async def direct(self, id: str, directive: Directive) -> TaskState:
        after = await self._transactions.write(_direct, id, directive, self._clock.now())
        self._ring()
        return after

    async def signal(self, id: str, name: str, payload: bytes, signal_id: str | None, actor: str | None = None) -> bool:
        """Delivers a signal; raises TaskNotFound, or IllegalTransition once the task has ended."""
        post = Post(task=id, kind=InboxKind.SIGNAL, name=name, body=payload, sender=signal_id or "")
        is_new = await self._transactions.write(_signal, post, signal_id, actor, self._clock.now())
        self._ring()
        return is_new

    async def workflow(self, name: str) -> list[WorkflowRecord]:
        return [rows.workflow(row) for row in await self._transactions.read(ask.rows, "client.workflow", name)]

    async def workflows(self) -> list[WorkflowRecord]:
        return [rows.workflow(row) for row in await self._transactions.read(ask.rows, "client.workflows")]

    async def instances(self) -> list[Instance]:
        since = self._clock.now() - DEAD_SHOWN_SECONDS
        return [rows.instance(row) for row in await self._transactions.read(ask.rows, "client.instances", since)]

    async def alerts(self, limit: int, open_only: bool) -> list[Alert]:
        query = "client.open_alerts" if open_only else "client.alerts"
        return [rows.alert(row) for row in await self._transactions.read(ask.rows, query, limit)]

    async def acknowledge(self, number: int, actor: str) -> bool:
        return await self._transactions.write(_acknowledge, number, actor, self._clock.now())

    async def purge_ended(self, batch: Sequence[Outlived], before: float, actor: str) -> Purged:
        return await self._transactions.write(_purge_ended, batch, before, actor, self._clock.now())

    async def audits(self, id: str | None, limit: int) -> list[Audit]:
        query, values = ("audits", (limit,)) if id is None else ("task_audits", (limit, id))
        return [rows.audit(row) for row in await self._transactions.read(ask.rows, f"client.{query}", *values)]

    async def prune_as(self, records: OldRecords, actor: str) -> int:
        return await self._transactions.write(pruning.prune, records, actor, self._clock.now())

    async def acts(self, after: int) -> list[AuditedAct]:
        return await self._transactions.read(pruning.acts, after)

    async def schedules(self) -> list[Schedule]:
        return await self._transactions.read(recurring.listed)

    async def pause_schedule(self, name: str, actor: str) -> bool:
        return await self._transactions.write(recurring.pause_schedule, name, actor, self._clock.now())

    async def resume_schedule(self, name: str, next_at: float | None, actor: str) -> bool:
        return await self._transactions.write(recurring.resume_schedule, name, next_at, actor, self._clock.now())

    async def remove_schedule(self, name: str, actor: str) -> bool:
        return await self._transactions.write(recurring.remove_schedule, name, actor, self._clock.now())

    async def suspend_agent(self, name: str, note: str | None, actor: str) -> bool:
        is_new = await self._transactions.write(agents.suspend, name, note, actor, self._clock.now())
        self._ring()
        return is_new

    async def resume_agent(self, name: str, actor: str) -> bool:
        was_suspended = await self._transactions.write(agents.resume, name, actor, self._clock.now())
        self._ring()
        return was_suspended

    async def dead_letters(self, limit: int) -> list[DeadLetter]:
        return await self._transactions.read(dead_letters.listed, limit)

    async def put_back(self, numbers: Sequence[int], actor: str) -> list[int]:
        back = await self._transactions.write(dead_letters.put_back, numbers, actor, self._clock.now())
        self._ring()
        return back

    async def discard(self, numbers: Sequence[int], actor: str) -> list[int]:
        return await self._transactions.write(dead_letters.discard, numbers, actor, self._clock.now())


async def _submit(connection: VerbConnection, tasks: Sequence[Task], plans: Plans) -> list[Submitted]:
    return await connection.submit(tasks, plans)


async def _locked(connection: VerbConnection, id: str) -> Task:
    row = await connection.row("client.lock_task", id)
    if row is None:
        raise verdicts.not_found(id)
    return rows.task(row)


async def _direct(connection: VerbConnection, id: str, directive: Directive, now: float) -> TaskState:
    return await directives.direct(connection, await _locked(connection, id), directive, now)


async def _signal(connection: VerbConnection, post: Post, signal_id: str | None, actor: str | None, now: float) -> bool:
    task = await _locked(connection, post.task)
    if signal_id is not None and not await connection.change(
        "client.see_signal", task.uid, post.name, signal_id, task.run
    ):
        return False
    if task.state in TASK_ENDS:
        raise verdicts.signal_too_late(task, post.name)
    if task.inbox >= inboxes.UNCOUNTED:
        waiting, size = (await connection.rows("client.waiting_signals", task.uid))[0]
        inboxes.check_signals(task, waiting + 1, size + len(post.body), post.name)
    await inbox.insert(connection, [msgspec.structs.replace(post, task=task.uid)], now)
    if actor is not None:
        await journal.write_audits(connection, [verdicts.signal_audit(task, post, actor)], now)
    return True


async def _acknowledge(connection: VerbConnection, number: int, actor: str, now: float) -> bool:
    if not await connection.change("client.acknowledge", number, now, actor):
        return False
    await journal.write_audits(connection, [verdicts.acknowledged(number, actor)], now)
    return True


async def _purge_ended(
    connection: VerbConnection, batch: Sequence[Outlived], before: float, actor: str, now: float
) -> Purged:
    purged = await retention.purge(connection, batch)
    if purged.tasks:
        await journal.write_audits(connection, [verdicts.purge_audit(actor, purged.tasks, before)], now)
    return purged
