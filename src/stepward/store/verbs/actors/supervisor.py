"""The Supervisor's verbs; every changing one proves that its term still leads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Concatenate, ParamSpec, TypeVar

from stepward.model.alerts.alert_routing import ReportedSink
from stepward.model.records import Alert, Instance
from stepward.model.schedule import Schedule
from stepward.store import rows
from stepward.store.contract import (
    FREED_AT_ONCE,
    AuditedAct,
    Batch,
    BatchPiece,
    Decision,
    Due,
    ErasedTask,
    ExpiredStep,
    ExpiredTask,
    Firing,
    OldRecords,
    Outlived,
    Purged,
    Standby,
    TaskExpiry,
)
from stepward.store.contract.values.early_warnings import KeptWarnings
from stepward.store.rules import supervisor_rows
from stepward.store.rules.audit import audited_acts
from stepward.store.rules.batches import allowed, next_search
from stepward.store.rules.steps.expired_steps import Expiry, ExpiryCursor, ExpirySeen
from stepward.store.verbs import alerts_and_audit, batches, schedules
from stepward.store.verbs import connection as ask
from stepward.store.verbs.alerts import alert_delivery, early_warnings
from stepward.store.verbs.connection import VerbClock, VerbConnection, VerbRow
from stepward.store.verbs.deletion import audit_pruning, retention
from stepward.store.verbs.deletion.archive_erasure import ArchiveErasureVerbs, record_erasure
from stepward.store.verbs.deletion.large_payload_objects import ObjectOwnerVerbs
from stepward.store.verbs.engine import VerbEngine
from stepward.store.verbs.figures import state_samples
from stepward.store.verbs.instances.outage_grace import Grace
from stepward.store.verbs.instances.supervisor_leadership import Leadership
from stepward.store.verbs.queues.dead_letters import forget_expired
from stepward.store.verbs.queues.webhooks import DeliveryVerbs
from stepward.store.verbs.tasks import inbox
from stepward.store.verbs.tasks.search_and_count import found_tasks

P = ParamSpec("P")
T = TypeVar("T")

COUNT_LIMIT = 1_000
WAKE_LIMIT = 1_000
NOTHING_PURGED = Purged(tasks=0, more=False)
LATE_WAKE_SECONDS = 10.0
"""Seconds after which a sleeping task that is due counts as unserved: a Scheduler wakes it within about one."""
DEAD_KEPT_SECONDS = 3600.0


class SupervisorVerbs(retention.RetentionVerbs, DeliveryVerbs, ObjectOwnerVerbs, ArchiveErasureVerbs):
    """Implements ``SupervisorStore``."""

    def __init__(self, engine: VerbEngine, first_expired: ExpiryCursor) -> None:
        """``first_expired`` is a place before all steps in the engine's order of their complete-by."""
        super().__init__(engine)
        self._leadership = Leadership(engine)
        self._grace = Grace(engine, self._leadership)
        self._expiry = Expiry(self._look, first_expired)
        self._forgiven = self._clock.jumped()
        """The jumps of the clock for which this leader, or the one before, has given grace."""

    async def lead(self, instance: str, lease: float) -> int | None:
        return await self._leadership.lead(instance, lease)

    async def due(self) -> Due:
        """Counts what is due, each up to 1,000."""
        return await self._transactions.read(_due, self._clock)

    async def forgive(self, term: int, seconds: float) -> bool:
        jumped = self._clock.jumped()
        forgave = await self._grace.begin(term, seconds, jumped=jumped != self._forgiven)
        self._forgiven = jumped
        return forgave

    async def go_on_forgiving(self, term: int) -> int:
        return await self._grace.go_on(term)

    async def fence(self, term: int) -> list[Instance]:
        """Fences lost instances, and deletes those that died an hour ago and hold nothing."""
        return await self._judged(term, [], _fence, self._clock.now())

    async def release_slots(self, term: int) -> int:
        released = await self._judged(term, 0, ask.change, "limits.release", self._clock.now())
        self._ring()
        return released

    async def free(self, term: int, recovery_limit: int) -> int:
        freed = await self._judged(term, 0, _free, recovery_limit, self._clock.now())
        self._ring()
        return freed

    async def expired_steps(self, limit: int) -> list[ExpiredStep]:
        return await self._expiry.steps(self._clock.now(), limit)

    async def decide(self, term: int, decisions: Sequence[Decision]) -> int:
        if not decisions:
            return 0
        applied = await self._judged(term, 0, _decide, decisions, self._clock.now())
        self._ring()
        return applied

    async def expired_tasks(self, limit: int) -> list[ExpiredTask]:
        found = await self._transactions.read(ask.rows, "supervisor.expired_tasks", self._clock.now(), limit)
        return [supervisor_rows.expired_task(row) for row in found]

    async def expire_tasks(self, term: int, expiries: Sequence[TaskExpiry]) -> list[TaskExpiry]:
        none: list[TaskExpiry] = []
        expired = await self._judged(term, none, _expire_tasks, expiries, self._clock.now())
        self._ring()
        return expired

    async def due_schedules(self, limit: int) -> list[Schedule]:
        return await self._transactions.read(schedules.due, self._clock.now(), limit)

    async def fire(self, term: int, firings: Sequence[Firing]) -> list[int | None]:
        none: list[int | None] = [None] * len(firings)
        fired = await self._judged(term, none, schedules.fire, firings, self._clock.now())
        self._ring()
        return fired

    async def unserved(self, term: int, after: float) -> int:
        """Uses the age of the task that is claimed next for all tasks of its workflow."""
        return await self._judged(term, 0, _unserved, after, self._clock.now())

    async def schedulers(self) -> list[Instance]:
        return [rows.instance(row) for row in await self._transactions.read(ask.rows, "supervisor.schedulers")]

    async def standbys(self) -> list[Standby] | None:
        """None: a file has no standbys."""
        return None

    async def sample_states(self, term: int, kept_since: float) -> bool:
        """Counts before the transaction, which holds the whole file on SQLite."""
        counts = await self._transactions.read_more(state_samples.counted)
        return await self._judged(term, False, state_samples.record, counts, kept_since, self._clock.now())

    async def erase_archived(self, term: int, task: ErasedTask, acts: Sequence[AuditedAct]) -> bool:
        """As ``ArchiveErasureStore.erase_archived``."""
        return await self._judged(term, False, record_erasure, task, acts, self._clock.now())

    async def raise_alert(self, term: int, alert: Alert) -> bool:
        return await self._judged(term, False, alert_delivery.raise_alert, alert, self._clock.now())

    async def resolve_alert(self, term: int, kind: str) -> bool:
        return await self._judged(term, False, alert_delivery.resolve_alert, kind, self._clock.now())

    async def running_batches(self, limit: int) -> list[Batch]:
        return [rows.batch(row) for row in await self._transactions.read(ask.rows, "batches.running", limit)]

    async def advance_batch(self, term: int, batch: Batch) -> BatchPiece | None:
        """Searches beside the transaction: a search may be long, and the store is others' meanwhile."""
        limit = allowed(batch, self._clock.now())
        if not limit:
            return BatchPiece(batch, 0)
        search = next_search(batch, limit)
        found = await self._transactions.read_beside(found_tasks, self._dialect, search)
        advanced = await self._judged(term, None, batches.advance, self._dialect, batch, found, self._clock.now())
        self._ring()
        return advanced

    async def keep_warnings(
        self, term: int, kinds: Sequence[str], new: Sequence[Alert], lasting: Sequence[Alert]
    ) -> KeptWarnings:
        now = self._clock.now()
        return await self._judged(term, KeptWarnings(), early_warnings.keep_warnings, kinds, new, lasting, now)

    async def report_sinks(self, term: int, sinks: Sequence[ReportedSink]) -> bool:
        return await self._judged(term, False, alert_delivery.report_sinks, sinks, self._clock.now())

    async def purge(self, term: int, batch: Sequence[Outlived]) -> Purged:
        return await self._judged(term, NOTHING_PURGED, _purge, batch, self._clock.now())

    async def prune(self, term: int, records: OldRecords) -> int:
        return await self._judged(term, 0, audit_pruning.prune, records, supervisor_rows.ACTOR, self._clock.now())

    async def _look(self, place: ExpiryCursor, now: float, limit: int) -> list[ExpirySeen]:
        found = await self._transactions.read(ask.rows, "supervisor.expired_steps", now, *place, limit)
        split = len(place)
        return [(tuple(row[:split]), _expired_step(row[split:])) for row in found]

    async def _judged(
        self,
        term: int,
        otherwise: T,
        work: Callable[Concatenate[VerbConnection, P], Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Runs work in a transaction that first proves the term and the clock; returns ``otherwise`` if either has
        changed."""

        async def proven(connection: VerbConnection) -> T:
            if not await self._leadership.may_judge(connection, term):
                return otherwise
            return await work(connection, *args, **kwargs)

        return await self._transactions.write(proven)


def _expired_step(row: VerbRow) -> ExpiredStep | None:
    """None where no live instance owns the task: then the row has no id of it."""
    return None if row[1] is None else supervisor_rows.expired_step(row)


async def _due(connection: VerbConnection, clock: VerbClock) -> Due:
    now, sent = clock.now(), clock.read()
    ((*counts, shown),) = await connection.rows("supervisor.due", now, COUNT_LIMIT, now - LATE_WAKE_SECONDS)
    clock.heard(shown, sent)
    return Due(**dict(zip(Due.__struct_fields__, counts, strict=True)))


async def _fence(connection: VerbConnection, now: float) -> list[Instance]:
    dead = [rows.instance(row) for row in await connection.rows("supervisor.fence", now)]
    dead.sort(key=lambda instance: instance.id)
    await connection.change("supervisor.forget_dead", now - DEAD_KEPT_SECONDS)
    await alerts_and_audit.write_audits(connection, [audited_acts.fence_audit(instance) for instance in dead], now)
    return dead


async def _free(connection: VerbConnection, recovery_limit: int, now: float) -> int:
    freed = await connection.rows("supervisor.free", FREED_AT_ONCE)
    posts = [
        supervisor_rows.recovery_limit_post(uid, count)
        for uid, count in sorted(map(tuple, freed))
        if count > recovery_limit
    ]
    await inbox.post_all(connection, posts, now)
    return len(freed)


async def _decide(connection: VerbConnection, decisions: Sequence[Decision], now: float) -> int:
    posts = [post for decision in decisions for post in supervisor_rows.decision_posts(decision)]
    await inbox.lock(connection, inbox.concerned(posts) | {decision.task for decision in decisions})
    places = await connection.applied("supervisor.decide", [_values(decision) for decision in decisions], now)
    applied = [decisions[place] for place in places]
    counts = sorted(Counter(decision.task for decision in applied).items())
    await connection.change_each("supervisor.count_failures", counts)
    await inbox.post_all(
        connection, [post for decision in applied for post in supervisor_rows.decision_posts(decision)], now
    )
    await alerts_and_audit.write_audits(connection, [decision.audit for decision in applied], now)
    return len(applied)


def _values(decision: Decision) -> tuple[object, ...]:
    return (
        decision.task,
        decision.run,
        decision.key,
        decision.attempt,
        decision.state,
        decision.repeat_at,
        decision.error,
        decision.in_doubt,
    )


async def _expire_tasks(connection: VerbConnection, expiries: Sequence[TaskExpiry], now: float) -> list[TaskExpiry]:
    await inbox.lock(connection, inbox.concerned([each.post for each in expiries]) | {each.task for each in expiries})
    passed = [(each.task, each.deadline) for each in expiries]
    expired = [expiries[place] for place in await connection.applied("supervisor.clear_deadline", passed, now)]
    await inbox.post_all(connection, [each.post for each in expired], now)
    await alerts_and_audit.write_audits(connection, [each.audit for each in expired], now)
    return expired


async def _unserved(connection: VerbConnection, after: float, now: float) -> int:
    await connection.change("scheduler.wake", now, WAKE_LIMIT)
    found = await connection.rows("supervisor.unserved", now - after)
    raised = [supervisor_rows.unserved_alert(workflow, version) for workflow, version in found]
    await alerts_and_audit.write_alerts(connection, raised, now)
    return len(found)


async def _purge(connection: VerbConnection, batch: Sequence[Outlived], now: float) -> Purged:
    await forget_expired(connection, now)
    return await retention.purge(connection, batch)
