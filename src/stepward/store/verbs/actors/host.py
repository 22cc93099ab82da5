"""The host's verbs: registrations and leases."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence

import msgspec
from msgspec.structs import astuple

from stepward.model.agents import NO_REPORTS, AgentStanding, Report
from stepward.model.limits.flow_limit import FlowLimit
from stepward.model.limits.slot_shares import SlotClaim, SlotLease
from stepward.model.messages.change_kinds import Kinds
from stepward.model.messages.signing import StoreIdentity
from stepward.model.records import Alert, InboxKind, Instance, Role, WorkflowRecord
from stepward.model.schedule import Schedule
from stepward.store.contract import PartitionRecord, Post
from stepward.store.rules import supervisor_rows
from stepward.store.rules.audit import audited_acts
from stepward.store.verbs import alerts_and_audit, breakers_and_suspensions
from stepward.store.verbs import connection as ask
from stepward.store.verbs import schedules as schedule_verbs
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbEngine, VerbPart
from stepward.store.verbs.flow_control import limits, slot_leases
from stepward.store.verbs.instances import leases
from stepward.store.verbs.tasks import inbox

KEY_MARK = "encryption_key:"
"""Before the id of a key, the name under which its mark is kept."""


class HostVerbs(VerbPart):
    """Implements ``HostStore``."""

    def __init__(self, engine: VerbEngine) -> None:
        super().__init__(engine)
        self._engine = engine

    def changed(self) -> Kinds:
        return self._engine.changes.changed()

    async def stirred(self, every: float) -> None:
        await self._engine.changes.stirred(every)

    def break_off(self) -> bool:
        return self._engine.break_off()

    async def check_rights(self, roles: Collection[Role]) -> None:
        """Checks nothing: a process that may open a file may do everything."""

    async def identity(self, fresh: StoreIdentity) -> StoreIdentity:
        known = await self._transactions.read(_identity)
        return known if known is not None else await self._transactions.write(_keep_identity, fresh)

    async def partition(self) -> PartitionRecord | None:
        return await self._transactions.read(_partition)

    async def keep_partition(self, record: PartitionRecord) -> PartitionRecord:
        return await self._transactions.write(_keep_partition, record)

    async def key_marks(self) -> dict[str, str]:
        found = await self._transactions.read(ask.rows, "host.key_marks")
        return {name.removeprefix(KEY_MARK): mark for name, mark in found}

    async def keep_key_mark(self, key: str, mark: str) -> None:
        await self._transactions.single(ask.change, "host.keep_key_mark", KEY_MARK + key, mark)

    async def uses_large_payloads(self) -> bool:
        ((is_used,),) = await self._transactions.read(ask.rows, "large_payloads.is_used")
        return bool(is_used)

    async def use_large_payloads(self) -> None:
        await self._transactions.single(ask.change, "large_payloads.use")

    async def register(self, instance: Instance, lease: float) -> None:
        await self._transactions.write(leases.register, instance, lease, self._clock.now())
        self._ring()

    async def register_workflows(self, workflows: Sequence[WorkflowRecord]) -> None:
        await self._transactions.write(_register_workflows, workflows, self._clock.now())

    async def register_schedules(self, schedules: Sequence[Schedule]) -> None:
        await self._transactions.write(schedule_verbs.register, schedules)

    async def renew(
        self,
        instances: Sequence[str],
        lease: float,
        reports: Mapping[str, Report] = NO_REPORTS,
        ahead: float | None = None,
    ) -> set[str]:
        jumped = self._clock.jumped()
        alive = await self._engine.leases.single(leases.renew, instances, lease, reports, self._clock, ahead)
        if self._clock.jumped() != jumped:
            # By the clock as it is now these leases have ended already, or would go on for much longer than a lease.
            # The offset of the host's clock was measured by the store's clock before the jump.
            alive = await self._engine.leases.single(leases.renew, instances, lease, reports, self._clock, None)
        return alive

    async def is_drained(self, instances: Sequence[str]) -> bool:
        return bool(await self._transactions.read(ask.rows, "leases.draining", list(instances)))

    async def retire(self, instance: str, *, in_order: bool = True) -> None:
        await self._transactions.write(leases.retire, instance, self._clock.now(), in_order=in_order)
        self._ring()

    async def count_hang(self, task: str, sender: str, where: str) -> int | None:
        hangs = await self._transactions.write(_count_hang, task, sender, where, self._clock.now())
        self._ring()
        return hangs

    async def warn(self, alert: Alert) -> None:
        await self._transactions.write(alerts_and_audit.write_alerts, [alert], self._clock.now())

    async def end_warning(self, kind: str, details: bytes, sender: str) -> None:
        await self._transactions.write(_end_warning, kind, details, sender, self._clock.now())

    async def standings(self) -> list[AgentStanding]:
        return await self._transactions.read(breakers_and_suspensions.standings)

    async def open_breaker(self, agent: str, instance: str, seconds: float) -> bool:
        return await self._rung(
            self._transactions.single(
                breakers_and_suspensions.open_breaker, agent, instance, seconds, self._clock.now()
            )
        )

    async def grant_probe(self, agent: str, instance: str, seconds: float) -> bool:
        return await self._rung(
            self._transactions.single(breakers_and_suspensions.grant_probe, agent, instance, seconds, self._clock.now())
        )

    async def close_breaker(self, agent: str, instance: str) -> bool:
        return await self._rung(self._transactions.single(breakers_and_suspensions.close_breaker, agent, instance))

    async def declare_limits(self, declared: Sequence[FlowLimit], undeclared: Sequence[str]) -> None:
        await self._transactions.write(limits.declare, declared, undeclared, self._clock.now())

    async def limits(self) -> list[FlowLimit]:
        return await self._transactions.read(limits.limits)

    async def slots(self) -> list[SlotLease]:
        return await self._transactions.read(slot_leases.slots)

    async def lease_slots(self, instance: str, claims: Sequence[SlotClaim]) -> dict[str, int | None]:
        given, leaves = await self._transactions.write(slot_leases.lease_slots, instance, claims, self._clock.now())
        if leaves:
            self._ring()
        return given

    async def _rung(self, doing: Awaitable[bool]) -> bool:
        if changed := await doing:
            self._ring()
        return changed


async def _register_workflows(connection: VerbConnection, workflows: Sequence[WorkflowRecord], now: float) -> None:
    for workflow in sorted(workflows, key=lambda workflow: (workflow.name, workflow.version)):
        await connection.change("host.register_workflow", *astuple(workflow), now)


async def _identity(connection: VerbConnection) -> StoreIdentity | None:
    ((store, key),) = await connection.rows("host.identity")
    return StoreIdentity(store, bytes.fromhex(key)) if store and key else None


async def _keep_identity(connection: VerbConnection, fresh: StoreIdentity) -> StoreIdentity:
    await connection.change("host.keep_identity", fresh.store, fresh.key.hex())
    return await _identity(connection) or fresh


async def _partition(connection: VerbConnection) -> PartitionRecord | None:
    row = await connection.row("host.partition")
    return None if row is None else msgspec.json.decode(row[0], type=PartitionRecord)


async def _keep_partition(connection: VerbConnection, record: PartitionRecord) -> PartitionRecord:
    await connection.change("host.keep_partition", msgspec.json.encode(record).decode())
    return await _partition(connection) or record


async def _count_hang(connection: VerbConnection, task: str, sender: str, where: str, now: float) -> int | None:
    await inbox.lock(connection, inbox.concerned([Post(task=task, kind=InboxKind.FAIL)]))
    row = await connection.row("host.count_hang", task)
    if row is None:
        return None
    await inbox.post_all(connection, supervisor_rows.hang_posts(task, row[0], sender, where), now)
    await alerts_and_audit.write_audits(connection, [audited_acts.hang_audit(task, row[0], sender, where)], now)
    return int(row[0])


async def _end_warning(connection: VerbConnection, kind: str, details: bytes, sender: str, now: float) -> None:
    found = await connection.rows("host.end_warning", kind, details, now, sender)
    await alerts_and_audit.acknowledged(connection, found, sender, now)
