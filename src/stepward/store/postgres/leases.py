"""Leases of instances: registered, renewed, given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from stepward.model.agents import Report
from stepward.model.records import Instance, Role
from stepward.store import rulings
from stepward.store.postgres import agents, journal
from stepward.store.postgres.connection import Connection


async def register(connection: Connection, instance: Instance, lease: float, now: float) -> None:
    """A new instance, alive until now + lease; alerts of what nobody served until now are seen to."""
    if instance.role is Role.SCHEDULER:
        await connection.row("leases.await_leader")
    serves = msgspec.json.encode(instance.serves).decode()
    await connection.change(
        "leases.insert",
        instance.id,
        instance.role,
        instance.host,
        instance.pid,
        serves,
        now,
        now + lease,
        instance.capacity,
        msgspec.json.encode(instance.health).decode(),
    )
    if instance.role is Role.AGENT:
        await agents.know(connection, instance.serves)
    served = rulings.served(instance)
    numbers = [row[0] for row in await connection.rows("leases.serve", now, instance.id, served)] if served else []
    await journal.write_audits(connection, [rulings.acknowledged(number, instance.id) for number in numbers], now)


async def renew(
    connection: Connection, instances: Sequence[str], lease: float, reports: Mapping[str, Report], now: float
) -> set[str]:
    """Extend leases in one statement; those of the instances that are alive."""
    said = [reports.get(instance) for instance in instances]
    health = [None if report is None else msgspec.json.encode(report.health).decode() for report in said]
    demand = [None if report is None else msgspec.json.encode(report.demand).decode() for report in said]
    return {row[0] for row in await connection.rows("leases.renew", list(instances), now, lease, health, demand)}


async def retire(connection: Connection, instance: str, now: float) -> None:
    """Declare an instance dead by its own wish; a second time changes nothing."""
    if await connection.change("leases.retire", instance, now):
        await connection.change("leases.give_back", instance, now)
