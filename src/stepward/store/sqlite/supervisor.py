"""The Supervisor's verbs: every changing one proves that its term still leads."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.records import Alert, Audit, Instance, Schedule, Task
from stepward.store import rows
from stepward.store.contract import Decision, Due, ExpiredStep, ExpiredTask, OldRecords, Outlived, Post, Purged, Standby
from stepward.store.queries import load_queries
from stepward.store.rules import verdicts
from stepward.store.rules.expiry import Expiry, ExpiryCursor, ExpirySeen
from stepward.store.sqlite import grace, inbox, journal, messages, pruning, recurring, retention
from stepward.store.sqlite.claiming import wake
from stepward.store.sqlite.clock import StoreClock
from stepward.store.sqlite.connection import Connection, Row
from stepward.store.sqlite.database import Database
from stepward.store.sqlite.leadership import Leadership, leads
from stepward.store.sqlite.rows import FRAGMENTS
from stepward.store.sqlite.scheduler import WAKE_LIMIT

FIRST_CLAIMABLE = """first (id) as (
    select (select rowid from stepward_task where {claimable} order by workflow, version limit 1)
    union all
    select coalesce(
        (select rowid from stepward_task where {claimable} and workflow = t.workflow and version > t.version
            order by version limit 1),
        (select rowid from stepward_task where {claimable} and workflow > t.workflow
            order by workflow, version limit 1))
    from first cross join stepward_task as t on t.rowid = first.id)""".format_map(FRAGMENTS)
"""The first claimable task of each workflow: leaps along the index, never a walk over the backlog."""

SERVED = """exists (select 1 from stepward_instance as i cross join json_each(i.serves) as s
    where i.alive = 1 and i.role = 'scheduler' and s.value = t.workflow || '@' || t.version)"""
# The dead are kept for longer than any such alert waits: a process that is begun anew alarms nobody.
SERVED_SINCE = """exists (select 1 from stepward_instance as i cross join json_each(i.serves) as s
    where (i.alive = 1 or i.dead_at > ?1) and i.role = 'scheduler' and s.value = t.workflow || '@' || t.version)"""
ALERTED = """exists (select 1 from stepward_alert
    where acknowledged_at is null and kind = 'unserved'
        and json_extract(cast(details as text), '$.workflow') = t.workflow
        and json_extract(cast(details as text), '$.version') = t.version)"""

Q = load_queries(
    __package__,
    "supervisor.sql",
    {
        **FRAGMENTS,
        "first_claimable": FIRST_CLAIMABLE,
        "served": SERVED,
        "served_since": SERVED_SINCE,
        "alerted": ALERTED,
    },
)

COUNT_LIMIT = 1_000
FREE_LIMIT = 5_000
LATE_WAKE_SECONDS = 10.0
"""A Scheduler wakes what is due within a second or so; what sleeps on for longer has nobody to wake it."""
DEAD_KEPT_SECONDS = 3600.0


class SqliteSupervisor:
    """What a Supervisor may do; see ``SupervisorStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        self._database = database
        self._clock = clock
        self._leadership = Leadership(database, clock)
        self._expiry = Expiry(self._look, (float("-inf"), 0))

    async def lead(self, instance: str, lease: float) -> int | None:
        return await self._leadership.lead(instance, lease)

    async def due(self) -> Due:
        """Counts what is due, each up to 1,000."""
        now = self._clock.now()
        values = (now, COUNT_LIMIT, now - LATE_WAKE_SECONDS)
        row = await self._database.read(Connection.row, Q["due"], values)
        return Due(**dict(zip(Due.__struct_fields__, row or (), strict=True)))

    async def forgive(self, term: int, seconds: float) -> bool:
        return await self._database.write(grace.begin, term, seconds, self._clock.now())

    async def go_on_forgiving(self, term: int) -> int:
        return await self._database.write(grace.go_on, term, self._clock.now())

    async def fence(self, term: int) -> list[Instance]:
        """Fences lost instances, and forgets those dead for an hour that hold nothing."""
        return await self._database.write(_fence, term, self._clock.now())

    async def free(self, term: int, recovery_limit: int) -> int:
        return await self._database.write(_free, term, recovery_limit, self._clock.now())

    async def expired_steps(self, limit: int) -> list[ExpiredStep]:
        return await self._expiry.steps(self._clock.now(), limit)

    async def decide(self, term: int, decisions: Sequence[Decision]) -> int:
        return await self._database.write(_decide, term, decisions, self._clock.now())

    async def expired_tasks(self, limit: int) -> list[ExpiredTask]:
        found = await self._database.read(Connection.rows, Q["expired_tasks"], (self._clock.now(), limit))
        return [verdicts.expired_task(row) for row in found]

    async def expire_task(self, term: int, task: str, post: Post, audit: Audit, deadline: float | None = None) -> bool:
        return await self._database.write(_expire_task, term, (task, deadline), post, audit, self._clock.now())

    async def due_schedules(self, limit: int) -> list[Schedule]:
        return await self._database.read(recurring.due, self._clock.now(), limit)

    async def fire(self, term: int, schedule: Schedule, tasks: Sequence[Task], next_at: float | None) -> bool:
        return await self._database.write(_fire, term, schedule, tasks, next_at)

    async def unserved(self, term: int, after: float) -> int:
        """Takes the wait of the task that is next to be claimed for the wait of all."""
        return await self._database.write(_unserved, term, after, self._clock.now())

    async def undelivered_alerts(self, limit: int) -> list[Alert]:
        found = await self._database.read(Connection.rows, Q["undelivered_alerts"], (self._clock.now(), limit))
        return [rows.alert(row) for row in found]

    async def alert_delivered(self, number: int) -> None:
        await self._database.write(Connection.change, Q["alert_delivered"], (number, self._clock.now()))

    async def alert_refused(self, number: int, next_try: float) -> None:
        await self._database.write(Connection.change, Q["alert_refused"], (number, next_try))

    async def schedulers(self) -> list[Instance]:
        return [rows.instance(row) for row in await self._database.read(Connection.rows, Q["schedulers"])]

    async def raise_alert(self, term: int, alert: Alert) -> bool:
        return await self._database.write(_raise_alert, term, alert, self._clock.now())

    async def settle_alert(self, term: int, kind: str) -> bool:
        return await self._database.write(_settle_alert, term, kind, self._clock.now())

    async def standbys(self) -> list[Standby] | None:
        """A file has none."""
        return None

    async def purge(self, term: int, batch: Sequence[Outlived]) -> Purged:
        return await self._database.write(_purge, term, batch, self._clock.now())

    async def prune(self, term: int, records: OldRecords) -> int:
        return await self._database.write(_prune, term, records, self._clock.now())

    async def _look(self, place: ExpiryCursor, now: float, limit: int) -> list[ExpirySeen]:
        found = await self._database.read(Connection.rows, Q["expired_steps"], (now, *place, limit))
        return [(row[:2], None if row[3] is None else verdicts.expired_step(row[2:])) for row in found]


def _fence(connection: Connection, term: int, now: float) -> list[Instance]:
    if not leads(connection, term):
        return []
    dead = [rows.instance(row) for row in connection.rows(Q["fence"], (now,))]
    connection.change(Q["forget_dead"], (now - DEAD_KEPT_SECONDS,))
    journal.write_audits(connection, [verdicts.fence_audit(instance) for instance in dead], now)
    return dead


def _free(connection: Connection, term: int, recovery_limit: int, now: float) -> int:
    if not leads(connection, term):
        return 0
    freed = connection.rows(Q["free"], (FREE_LIMIT,))
    posts = [verdicts.give_up(uid, count) for uid, count in sorted(freed) if count > recovery_limit]
    inbox.post_all(connection, posts, now)
    return len(freed)


def _decide(connection: Connection, term: int, decisions: Sequence[Decision], now: float) -> int:
    if not leads(connection, term):
        return 0
    applied = [decision for decision in decisions if connection.change(Q["decide"], _decision_values(decision, now))]
    for decision in applied:
        connection.change(Q["count_failure"], (decision.task,))
        inbox.post_all(connection, verdicts.told(decision), now)
    journal.write_audits(connection, [decision.audit for decision in applied], now)
    return len(applied)


def _decision_values(decision: Decision, now: float) -> Row:
    return (
        decision.task,
        decision.run,
        decision.key,
        decision.attempt,
        decision.state,
        decision.repeat_at,
        decision.error,
        now,
        decision.in_doubt,
    )


def _expire_task(
    connection: Connection, term: int, expired: tuple[str, float | None], post: Post, audit: Audit, now: float
) -> bool:
    task, deadline = expired
    if not leads(connection, term) or not connection.change(Q["clear_deadline"], (task, now, deadline)):
        return False
    inbox.post_all(connection, [post], now)
    journal.write_audits(connection, [audit], now)
    return True


def _fire(connection: Connection, term: int, schedule: Schedule, tasks: Sequence[Task], next_at: float | None) -> bool:
    return leads(connection, term) and recurring.fire(connection, schedule, tasks, next_at)


def _unserved(connection: Connection, term: int, after: float, now: float) -> int:
    if not leads(connection, term):
        return 0
    wake(connection, WAKE_LIMIT, now)
    found = connection.rows(Q["unserved"], (now - after,))
    journal.write_alerts(connection, [verdicts.unserved_alert(workflow, version) for workflow, version in found], now)
    return len(found)


def _raise_alert(connection: Connection, term: int, alert: Alert, now: float) -> bool:
    if not leads(connection, term) or connection.row(Q["is_told"], (alert.kind,)):
        return False
    journal.write_alerts(connection, [alert], now)
    return True


def _settle_alert(connection: Connection, term: int, kind: str, now: float) -> bool:
    if not leads(connection, term):
        return False
    numbers = [row[0] for row in connection.rows(Q["settle_alert"], (kind, now, verdicts.ACTOR))]
    journal.write_audits(connection, [verdicts.acknowledged(number, verdicts.ACTOR) for number in numbers], now)
    return bool(numbers)


def _purge(connection: Connection, term: int, batch: Sequence[Outlived], now: float) -> Purged:
    if not leads(connection, term):
        return Purged(tasks=0, more=False)
    messages.forget_expired(connection, now)
    return retention.purge(connection, batch)


def _prune(connection: Connection, term: int, records: OldRecords, now: float) -> int:
    return pruning.prune(connection, records, verdicts.ACTOR, now) if leads(connection, term) else 0
