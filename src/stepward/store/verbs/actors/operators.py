"""The verbs of operators: reads of everything, and acts that are audited."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.agent_stats import StepAttempts
from stepward.model.agents import AgentStanding
from stepward.model.credentials import Credential
from stepward.model.records import Alert, Audit, DeadLetter, Instance, Task
from stepward.model.schedule import Schedule
from stepward.store import rows
from stepward.store.contract import (
    AuditedAct,
    AuditHead,
    ChangedTasks,
    ChangesPlace,
    FlowCount,
    FoundTasks,
    OldRecords,
    Outlived,
    Overview,
    Purged,
    QueueLength,
    StateSample,
    StoreGauges,
    TaskCount,
    TaskSearch,
)
from stepward.store.rules.audit import audited_acts
from stepward.store.search.conditions import Condition
from stepward.store.search.statements import alerts_statement
from stepward.store.verbs import alerts_and_audit, breakers_and_suspensions, changed_tasks, credentials
from stepward.store.verbs import connection as ask
from stepward.store.verbs import schedules as schedule_verbs
from stepward.store.verbs.alerts.alert_sinks import AlertSinkVerbs
from stepward.store.verbs.batches import BatchVerbs
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.deletion import audit_pruning, retention
from stepward.store.verbs.figures import gauges, overview, state_samples
from stepward.store.verbs.flow_control.limits import LimitVerbs
from stepward.store.verbs.key_uses import KeyUseVerbs
from stepward.store.verbs.queues import dead_letters
from stepward.store.verbs.queues.webhooks import WebhookVerbs
from stepward.store.verbs.tasks.search_and_count import counted_tasks, found_tasks

DEAD_SHOWN_SECONDS = 3600.0


class OperatorVerbs(retention.RetentionVerbs, BatchVerbs, KeyUseVerbs, AlertSinkVerbs, WebhookVerbs, LimitVerbs):
    """Implements ``OperatorStore``."""

    async def tasks(self, search: TaskSearch) -> FoundTasks:
        return await self._transactions.read_beside(found_tasks, self._dialect, search)

    async def count(self, condition: Condition) -> TaskCount:
        return await self._transactions.read_beside(counted_tasks, self._dialect, condition)

    async def add_credential(self, credential: Credential, actor: str) -> bool:
        return await self._transactions.write(credentials.add, credential, actor, self._clock.now())

    async def credential(self, id: str) -> Credential | None:
        return await self._transactions.read(credentials.one, id)

    async def credentials(self) -> list[Credential]:
        return await self._transactions.read(credentials.listed)

    async def revoke_credential(self, id: str, actor: str) -> bool:
        return await self._transactions.write(credentials.revoke, id, actor, self._clock.now())

    async def record_acts(self, acts: Sequence[Audit]) -> None:
        await self._transactions.write(credentials.record, acts, self._clock.now())

    async def standings(self) -> list[AgentStanding]:
        return await self._transactions.read(breakers_and_suspensions.standings)

    async def overview(self, late_from: float) -> Overview:
        return await self._transactions.read_beside(overview.overview, late_from, self._clock.now())

    async def flow(self, since: float, seconds: float) -> list[FlowCount]:
        return await self._transactions.read_beside(overview.flow, since, seconds)

    async def queues(self) -> list[QueueLength]:
        return await self._transactions.read_beside(overview.queues)

    async def attempts(self, since: float) -> list[StepAttempts]:
        return await self._transactions.read_beside(overview.attempts, since)

    async def state_samples(self, since: float, seconds: float) -> list[StateSample]:
        return await self._transactions.read(state_samples.read, since, seconds, self._clock.now())

    async def changes(self, after: ChangesPlace | None, also: Sequence[str] = ()) -> ChangedTasks:
        return await self._transactions.read_beside(changed_tasks.read, after, also, self._clock.now())

    async def instances(self) -> list[Instance]:
        since = self._clock.now() - DEAD_SHOWN_SECONDS
        return [rows.instance(row) for row in await self._transactions.read(ask.rows, "client.instances", since)]

    async def drain_instance(self, id: str, actor: str) -> bool:
        return await self._transactions.write(_drain, id, actor, self._clock.now())

    async def gauges(self) -> StoreGauges:
        now = self._clock.now()
        return await self._transactions.read_beside(gauges.read, now, now - DEAD_SHOWN_SECONDS)

    async def alerts(self, limit: int, open_only: bool) -> list[Alert]:
        query = "alerts_and_audit.open_alerts" if open_only else "alerts_and_audit.alerts"
        return [rows.alert(row) for row in await self._transactions.read(ask.rows, query, limit)]

    async def task_alerts(self, id: str, limit: int, open_only: bool) -> list[Alert]:
        found = await self._transactions.read(ask.rows, "alerts_and_audit.task_alerts", limit, id, open_only)
        return [rows.alert(row) for row in found]

    async def alerts_of(
        self, condition: Condition, limit: int, open_only: bool, number: int | None = None
    ) -> list[Alert]:
        wanted = alerts_statement(self._dialect, condition, limit, open_only=open_only, number=number)
        return await self._transactions.read_beside(alerts_and_audit.found_alerts, wanted)

    async def acknowledge(self, number: int, actor: str) -> bool:
        return await self._transactions.write(_acknowledge, number, actor, self._clock.now())

    async def purge_ended(self, batch: Sequence[Outlived], before: float, actor: str) -> Purged:
        return await self._transactions.write(_purge_ended, batch, before, actor, self._clock.now())

    async def audits(self, id: str | None, limit: int) -> list[Audit]:
        query, values = ("audits", (limit,)) if id is None else ("task_audits", (limit, id))
        return [
            rows.audit(row) for row in await self._transactions.read(ask.rows, f"alerts_and_audit.{query}", *values)
        ]

    async def prune_as(self, records: OldRecords, actor: str) -> int:
        return await self._transactions.write(audit_pruning.prune, records, actor, self._clock.now())

    async def acts(self, after: int) -> list[AuditedAct]:
        return await self._transactions.read(audit_pruning.acts, after)

    async def audit_head(self) -> AuditHead | None:
        return await self._transactions.read(audit_pruning.head)

    async def schedules(self) -> list[Schedule]:
        return await self._transactions.read(schedule_verbs.listed)

    async def schedule(self, name: str) -> Schedule | None:
        return await self._transactions.read(schedule_verbs.named, name)

    async def create_schedule(self, schedule: Schedule, actor: str) -> bool:
        created = await self._transactions.write(schedule_verbs.create, schedule, actor, self._clock.now())
        self._ring()
        return created

    async def start_scheduled(self, schedule: Schedule, tasks: Sequence[Task], act: str, actor: str) -> list[str]:
        ids = await self._transactions.write(schedule_verbs.start, schedule, tasks, act, actor, self._clock.now())
        self._ring()
        return ids

    async def pause_schedule(self, name: str, actor: str) -> bool:
        return await self._transactions.write(schedule_verbs.pause_schedule, name, actor, self._clock.now())

    async def resume_schedule(self, name: str, next_at: float | None, actor: str) -> bool:
        return await self._transactions.write(schedule_verbs.resume_schedule, name, next_at, actor, self._clock.now())

    async def remove_schedule(self, name: str, actor: str) -> bool:
        return await self._transactions.write(schedule_verbs.remove_schedule, name, actor, self._clock.now())

    async def suspend_agent(self, name: str, note: str | None, actor: str) -> bool:
        is_new = await self._transactions.write(breakers_and_suspensions.suspend, name, note, actor, self._clock.now())
        self._ring()
        return is_new

    async def resume_agent(self, name: str, actor: str) -> bool:
        was_suspended = await self._transactions.write(breakers_and_suspensions.resume, name, actor, self._clock.now())
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


async def _drain(connection: VerbConnection, id: str, actor: str, now: float) -> bool:
    if not await connection.change("leases.drain", id, now):
        return False
    await alerts_and_audit.write_audits(connection, [audited_acts.drain_audit(actor, id)], now)
    return True


async def _acknowledge(connection: VerbConnection, number: int, actor: str, now: float) -> bool:
    if not await connection.change("alerts_and_audit.acknowledge", number, now, actor):
        return False
    await alerts_and_audit.write_audits(connection, [audited_acts.acknowledge_audit(number, actor)], now)
    return True


async def _purge_ended(
    connection: VerbConnection, batch: Sequence[Outlived], before: float, actor: str, now: float
) -> Purged:
    purged = await retention.purge(connection, batch)
    if purged.tasks:
        await alerts_and_audit.write_audits(connection, [audited_acts.purge_audit(actor, purged.tasks, before)], now)
    return purged
