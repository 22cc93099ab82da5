"""The host's verbs: what it registers, and how its instances stay alive."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import astuple

from stepward.model.agents import NO_REPORTS, AgentStanding, Report
from stepward.model.messages.seal import StoreIdentity
from stepward.model.records import Alert, Instance, Role, Schedule, WorkflowRecord
from stepward.store.queries import load_queries
from stepward.store.rules import verdicts
from stepward.store.sqlite import agents, inbox, journal, leases, recurring
from stepward.store.sqlite.clock import StoreClock
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.database import Database
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "host.sql", FRAGMENTS)


class SqliteHost:
    """What the host of actors needs; see ``HostStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        self._database = database
        self._clock = clock

    async def check_rights(self, roles: Collection[Role]) -> None:
        """Checks nothing: a process that may open the file may do everything."""

    async def identity(self, fresh: StoreIdentity) -> StoreIdentity:
        known = await self._database.read(_identity)
        return known if known is not None else await self._database.write(_keep_identity, fresh)

    async def register(self, instance: Instance, lease: float) -> None:
        await self._database.write(leases.register, instance, lease, self._clock.now())

    async def register_workflows(self, workflows: Sequence[WorkflowRecord]) -> None:
        now = self._clock.now()
        many = [(*astuple(workflow), now) for workflow in workflows]
        await self._database.write(Connection.change_many, Q["register_workflow"], many)

    async def register_schedules(self, schedules: Sequence[Schedule]) -> None:
        await self._database.write(recurring.register, schedules)

    async def renew(
        self,
        instances: Sequence[str],
        lease: float,
        reports: Mapping[str, Report] = NO_REPORTS,
        ahead: float | None = None,
    ) -> set[str]:
        return await self._database.single(leases.renew, instances, lease, reports, self._clock.now(), ahead)

    async def retire(self, instance: str, *, in_order: bool = True) -> None:
        await self._database.write(leases.retire, instance, self._clock.now(), in_order=in_order)

    def break_off(self) -> bool:
        return self._database.break_off()

    async def count_hang(self, task: str, sender: str, where: str) -> int | None:
        return await self._database.write(_count_hang, task, sender, where, self._clock.now())

    async def warn(self, alert: Alert) -> None:
        await self._database.write(journal.write_alerts, [alert], self._clock.now())

    async def end_warning(self, kind: str, details: bytes, sender: str) -> None:
        await self._database.write(_end_warning, kind, details, sender, self._clock.now())

    async def standings(self) -> list[AgentStanding]:
        return await self._database.read(agents.standings)

    async def open_breaker(self, agent: str, instance: str, seconds: float) -> bool:
        return await self._database.single(agents.open_breaker, agent, instance, seconds, self._clock.now())

    async def grant_probe(self, agent: str, instance: str, seconds: float) -> bool:
        return await self._database.single(agents.grant_probe, agent, instance, seconds, self._clock.now())

    async def close_breaker(self, agent: str, instance: str) -> bool:
        return await self._database.single(agents.close_breaker, agent, instance)


def _identity(connection: Connection) -> StoreIdentity | None:
    store, key = connection.rows(Q["identity"])[0]
    return StoreIdentity(store, bytes.fromhex(key)) if store and key else None


def _keep_identity(connection: Connection, fresh: StoreIdentity) -> StoreIdentity:
    connection.change_many(Q["keep_identity"], [("store_id", fresh.store), ("request_key", fresh.key.hex())])
    return _identity(connection) or fresh


def _count_hang(connection: Connection, task: str, sender: str, where: str, now: float) -> int | None:
    row = connection.row(Q["count_hang"], (task,))
    if row is None:
        return None
    inbox.post_all(connection, verdicts.hung(task, row[0], sender, where), now)
    journal.write_audits(connection, [verdicts.hang_audit(task, row[0], sender, where)], now)
    return int(row[0])


def _end_warning(connection: Connection, kind: str, details: bytes, sender: str, now: float) -> None:
    numbers = [row[0] for row in connection.rows(Q["end_warning"], (kind, details, now, sender))]
    journal.write_audits(connection, [verdicts.acknowledged(number, sender) for number in numbers], now)
