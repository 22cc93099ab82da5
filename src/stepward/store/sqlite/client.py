"""The verbs of applications and operators: submit, read, signal, direct."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    TaskFilter,
)
from stepward.store.queries import load_queries
from stepward.store.rules import inboxes, verdicts
from stepward.store.sqlite import (
    agents,
    dead_letters,
    directives,
    inbox,
    journal,
    pruning,
    recurring,
    retention,
    submission,
)
from stepward.store.sqlite.clock import StoreClock
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.database import Database
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "client.sql", FRAGMENTS)

DEAD_SHOWN_SECONDS = 3600.0
LISTED = (
    " indexed by stepward_task_listed where state <> 'processing' and state <> 'processed' and state <> 'undone'"
    " and state <> 'cancelled'"
)
SOURCES = {
    TaskState.PROCESSING: " indexed by stepward_task_held where locked_by is not null",
    TaskState.PENDING: LISTED,
    TaskState.WAITING: LISTED,
    TaskState.SUSPENDED: LISTED,
    TaskState.UNDOING: LISTED,
    TaskState.ERROR: LISTED,
}
"""How a listing by state goes over live tasks alone; the others are met among the newest."""


class SqliteClient:
    """What applications and operators may do; see ``ClientStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        self._database = database
        self._clock = clock

    async def submit(self, tasks: Sequence[Task], plans: Plans = NO_PLANS) -> list[Submitted]:
        return await self._database.write(submission.submit, tasks, plans)

    async def task(self, id: str) -> Task | None:
        return await self._database.read(find, id)

    async def tasks(self, filter: TaskFilter) -> list[Task]:  # noqa: A002  the contract's name
        sql, values = _listing(filter)
        return [rows.task(row) for row in await self._database.read(Connection.rows, sql, values)]

    async def steps(self, id: str) -> list[Step]:
        return [rows.step(row) for row in await self._database.read(Connection.rows, Q["steps"], (id,))]

    async def tallies(self, uids: Sequence[str], stages: Sequence[str]) -> list[Tally]:
        values = (msgspec.json.encode(uids).decode(), msgspec.json.encode(stages).decode())
        return [rows.tally(row) for row in await self._database.read(Connection.rows, Q["tallies"], values)]

    async def ended(self, uids: Sequence[str]) -> list[Task]:
        wanted = msgspec.json.encode(uids).decode()
        return [rows.task(row) for row in await self._database.read(Connection.rows, Q["ended"], (wanted,))]

    async def direct(self, id: str, directive: Directive) -> TaskState:
        return await self._database.write(_direct, id, directive, self._clock.now())

    async def signal(self, id: str, name: str, payload: bytes, signal_id: str | None, actor: str | None = None) -> bool:
        """Delivers a signal; raises TaskNotFound, or IllegalTransition once the task has ended."""
        post = Post(task=id, kind=InboxKind.SIGNAL, name=name, body=payload, sender=signal_id or "")
        return await self._database.write(_signal, post, signal_id, actor, self._clock.now())

    async def workflow(self, name: str) -> list[WorkflowRecord]:
        return [rows.workflow(row) for row in await self._database.read(Connection.rows, Q["workflow"], (name,))]

    async def workflows(self) -> list[WorkflowRecord]:
        return [rows.workflow(row) for row in await self._database.read(Connection.rows, Q["workflows"])]

    async def instances(self) -> list[Instance]:
        since = self._clock.now() - DEAD_SHOWN_SECONDS
        return [rows.instance(row) for row in await self._database.read(Connection.rows, Q["instances"], (since,))]

    async def alerts(self, limit: int, open_only: bool) -> list[Alert]:
        sql = Q["open_alerts" if open_only else "alerts"]
        return [rows.alert(row) for row in await self._database.read(Connection.rows, sql, (limit,))]

    async def acknowledge(self, number: int, actor: str) -> bool:
        return await self._database.write(_acknowledge, number, actor, self._clock.now())

    async def purge_ended(self, batch: Sequence[Outlived], before: float, actor: str) -> Purged:
        return await self._database.write(_purge_ended, batch, before, actor, self._clock.now())

    async def prune_as(self, records: OldRecords, actor: str) -> int:
        return await self._database.write(pruning.prune, records, actor, self._clock.now())

    async def acts(self, after: int) -> list[AuditedAct]:
        return await self._database.read(pruning.acts, after)

    async def schedules(self) -> list[Schedule]:
        return await self._database.read(recurring.listed)

    async def pause_schedule(self, name: str, actor: str) -> bool:
        return await self._database.write(recurring.pause_schedule, name, actor, self._clock.now())

    async def resume_schedule(self, name: str, next_at: float | None, actor: str) -> bool:
        return await self._database.write(recurring.resume_schedule, name, next_at, actor, self._clock.now())

    async def remove_schedule(self, name: str, actor: str) -> bool:
        return await self._database.write(recurring.remove_schedule, name, actor, self._clock.now())

    async def suspend_agent(self, name: str, note: str | None, actor: str) -> bool:
        return await self._database.write(agents.suspend, name, note, actor, self._clock.now())

    async def resume_agent(self, name: str, actor: str) -> bool:
        return await self._database.write(agents.resume, name, actor, self._clock.now())

    async def dead_letters(self, limit: int) -> list[DeadLetter]:
        return await self._database.read(dead_letters.listed, limit)

    async def put_back(self, numbers: Sequence[int], actor: str) -> list[int]:
        return await self._database.write(dead_letters.put_back, numbers, actor, self._clock.now())

    async def discard(self, numbers: Sequence[int], actor: str) -> list[int]:
        return await self._database.write(dead_letters.discard, numbers, actor, self._clock.now())

    async def audits(self, id: str | None, limit: int) -> list[Audit]:
        sql, values = (Q["audits"], (limit,)) if id is None else (Q["task_audits"], (limit, id))
        return [rows.audit(row) for row in await self._database.read(Connection.rows, sql, values)]


def find(connection: Connection, id: str) -> Task | None:
    """The task of that id."""
    row = connection.row(Q["task"], (id,))
    return rows.task(row) if row else None


def _must_find(connection: Connection, id: str) -> Task:
    task = find(connection, id)
    if task is None:
        raise verdicts.not_found(id)
    return task


def _direct(connection: Connection, id: str, directive: Directive, now: float) -> TaskState:
    return directives.direct(connection, _must_find(connection, id), directive, now)


def _signal(connection: Connection, post: Post, signal_id: str | None, actor: str | None, now: float) -> bool:
    task = _must_find(connection, post.task)
    if signal_id is not None and not connection.change(Q["see_signal"], (task.uid, post.name, signal_id, task.run)):
        return False
    if task.state in TASK_ENDS:
        raise verdicts.signal_too_late(task, post.name)
    if task.inbox >= inboxes.UNCOUNTED:
        waiting, size = connection.rows(Q["waiting_signals"], (task.uid,))[0]
        inboxes.check_signals(task, waiting + 1, size + len(post.body), post.name)
    inbox.insert(connection, msgspec.structs.replace(post, task=task.uid), now)
    if actor is not None:
        journal.write_audits(connection, [verdicts.signal_audit(task, post, actor)], now)
    return True


def _acknowledge(connection: Connection, number: int, actor: str, now: float) -> bool:
    if not connection.change(Q["acknowledge"], (number, now, actor)):
        return False
    journal.write_audits(connection, [verdicts.acknowledged(number, actor)], now)
    return True


def _listing(filter: TaskFilter) -> tuple[str, list[Any]]:  # noqa: A002
    source, conditions, values = " where true", list[str](), list[Any]()
    if filter.state is not None:
        source = SOURCES.get(filter.state, source)
        conditions.append("state = ?")
        values.append(filter.state)
    if filter.workflow is not None:
        conditions.append("workflow = ?")
        values.append(filter.workflow)
    if filter.label is not None:
        conditions.append("(select value from json_each(cast(labels as text)) where key = ?) = ?")
        values.extend(filter.label)
    if filter.before is not None:
        conditions.append("uid < ?")
        values.append(filter.before)
    sql = " and ".join([Q["tasks"] + source, *conditions]) + " order by uid desc limit ?"
    return sql, [*values, filter.limit]


def _purge_ended(connection: Connection, batch: Sequence[Outlived], before: float, actor: str, now: float) -> Purged:
    purged = retention.purge(connection, batch)
    if purged.tasks:
        journal.write_audits(connection, [verdicts.purge_audit(actor, purged.tasks, before)], now)
    return purged
