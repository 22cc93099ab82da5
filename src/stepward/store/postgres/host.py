"""The host's verbs: what it registers, and how its instances stay alive."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence

from msgspec.structs import astuple

from stepward.errors import StoreUnavailable
from stepward.model.agents import NO_REPORTS, AgentStanding, Report
from stepward.model.messages.seal import StoreIdentity
from stepward.model.records import Alert, InboxKind, Instance, Role, Schedule, WorkflowRecord
from stepward.store.contract import Post
from stepward.store.postgres import agents, inbox, journal, leases, recurring, rights
from stepward.store.postgres.connection import Connection
from stepward.store.postgres.database import Database
from stepward.store.postgres.notifier import Notifier
from stepward.store.postgres.stalled import end_stalled
from stepward.store.rules import verdicts


class PostgresHost:
    """What the host of actors needs; see ``HostStore``."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self._database = database
        self._leases = database.leases
        self._lane = database.others
        self._clock = database.clock
        self._notifier = notifier

    async def check_rights(self, roles: Collection[Role]) -> None:
        await self._lane.read(rights.check, roles, self._database.place.shown)

    async def identity(self, fresh: StoreIdentity) -> StoreIdentity:
        known = await self._lane.read(_identity)
        return known if known is not None else await self._lane.write(_keep_identity, fresh)

    async def register(self, instance: Instance, lease: float) -> None:
        """From then on no statement may take as long as half of the lease."""
        self._database.heed(lease)
        try:
            await self._register(instance, lease)
        except StoreUnavailable:
            # Perhaps somebody stands still who has locked the seat, and nobody else is there to notice.
            await end_stalled(self._lane)
            await self._register(instance, lease)
        self._notifier.ring()

    async def register_workflows(self, workflows: Sequence[WorkflowRecord]) -> None:
        await self._lane.write(_register_workflows, workflows, self._clock.now())

    async def register_schedules(self, schedules: Sequence[Schedule]) -> None:
        await self._lane.write(recurring.register, schedules)

    async def renew(
        self,
        instances: Sequence[str],
        lease: float,
        reports: Mapping[str, Report] = NO_REPORTS,
        ahead: float | None = None,
    ) -> set[str]:
        jumped = self._clock.jumped()
        alive = await self._leases.single(leases.renew, instances, lease, reports, self._clock, ahead)
        if self._clock.jumped() != jumped:
            # By the clock as it is now these leases have ended already, or would go on for much longer than a lease.
            # What was told of the host's clock was told by the store's as it was.
            alive = await self._leases.single(leases.renew, instances, lease, reports, self._clock, None)
        return alive

    async def retire(self, instance: str, *, in_order: bool = True) -> None:
        await self._lane.write(leases.retire, instance, self._clock.now(), in_order=in_order)
        self._notifier.ring()

    def break_off(self) -> bool:
        """An open transaction keeps nobody out of the whole database."""
        return False

    async def count_hang(self, task: str, sender: str, where: str) -> int | None:
        hangs = await self._lane.write(_count_hang, task, sender, where, self._clock.now())
        self._notifier.ring()
        return hangs

    async def warn(self, alert: Alert) -> None:
        await self._lane.write(journal.write_alerts, [alert], self._clock.now())

    async def end_warning(self, kind: str, details: bytes, sender: str) -> None:
        await self._lane.write(_end_warning, kind, details, sender, self._clock.now())

    async def standings(self) -> list[AgentStanding]:
        return await self._lane.read(agents.standings)

    async def open_breaker(self, agent: str, instance: str, seconds: float) -> bool:
        return await self._rung(self._lane.single(agents.open_breaker, agent, instance, seconds, self._clock.now()))

    async def grant_probe(self, agent: str, instance: str, seconds: float) -> bool:
        return await self._rung(self._lane.single(agents.grant_probe, agent, instance, seconds, self._clock.now()))

    async def close_breaker(self, agent: str, instance: str) -> bool:
        return await self._rung(self._lane.single(agents.close_breaker, agent, instance))

    async def _rung(self, doing: Awaitable[bool]) -> bool:
        if changed := await doing:
            self._notifier.ring()
        return changed

    async def _register(self, instance: Instance, lease: float) -> None:
        await self._lane.write(leases.register, instance, lease, self._clock.now())


async def _register_workflows(connection: Connection, workflows: Sequence[WorkflowRecord], now: float) -> None:
    for workflow in sorted(workflows, key=lambda workflow: (workflow.name, workflow.version)):
        await connection.change("host.register_workflow", *astuple(workflow), now)


async def _identity(connection: Connection) -> StoreIdentity | None:
    ((store, key),) = await connection.rows("host.identity")
    return StoreIdentity(store, bytes.fromhex(key)) if store and key else None


async def _keep_identity(connection: Connection, fresh: StoreIdentity) -> StoreIdentity:
    await connection.change("host.keep_identity", fresh.store, fresh.key.hex())
    return await _identity(connection) or fresh


async def _count_hang(connection: Connection, task: str, sender: str, where: str, now: float) -> int | None:
    await inbox.lock(connection, inbox.concerned([Post(task=task, kind=InboxKind.FAIL)]))
    row = await connection.row("host.count_hang", task)
    if row is None:
        return None
    await inbox.post_all(connection, verdicts.hung(task, row[0], sender, where), now)
    journal.write_audits(connection, [verdicts.hang_audit(task, row[0], sender, where)], now)
    return int(row[0])


async def _end_warning(connection: Connection, kind: str, details: bytes, sender: str, now: float) -> None:
    numbers = [row[0] for row in await connection.rows("host.end_warning", kind, details, now, sender)]
    journal.write_audits(connection, [verdicts.acknowledged(number, sender) for number in numbers], now)
