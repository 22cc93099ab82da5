"""Leases of instances: registration, renewal, release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from stepward.model.agents import Report
from stepward.model.records import Instance, Role
from stepward.model.tasks import stopped_tasks
from stepward.store.rules import supervisor_rows
from stepward.store.verbs import alerts_and_audit, breakers_and_suspensions
from stepward.store.verbs.connection import VerbClock, VerbConnection


async def register(connection: VerbConnection, instance: Instance, lease: float, now: float) -> None:
    """Inserts an instance that is alive until now + lease, and acknowledges alerts of what was not served before."""
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
        msgspec.json.encode(instance.digests).decode(),
        instance.ahead,
    )
    if instance.role is Role.AGENT:
        await breakers_and_suspensions.know(connection, instance.serves)
    served = supervisor_rows.served(instance)
    if instance.role is Role.SCHEDULER:
        until = now + stopped_tasks.LONGEST_RETRY
        await connection.change(
            "leases.try_again", until, stopped_tasks.WAITS_FOR, served, supervisor_rows.TRIED_AT_ONCE
        )
    found = await connection.rows("leases.serve", now, instance.id, served) if served else []
    await alerts_and_audit.acknowledged(connection, found, instance.id, now)


async def renew(
    connection: VerbConnection,
    instances: Sequence[str],
    lease: float,
    reports: Mapping[str, Report],
    clock: VerbClock,
    ahead: float | None,
) -> set[str]:
    """Extends leases in one statement, whose answer also sets the clock; returns the instances that are alive."""
    said = [reports.get(instance) for instance in instances]
    health = [None if report is None else msgspec.json.encode(report.health).decode() for report in said]
    demand = [None if report is None else msgspec.json.encode(report.demand).decode() for report in said]
    waits = [None if report is None else msgspec.json.encode(report.waits).decode() for report in said]
    now, sent = clock.now(), clock.read()
    renewed = await connection.rows("leases.renew", list(instances), now, lease, health, demand, ahead, waits)
    if renewed:
        clock.heard(renewed[-1][1], sent)
    return {row[0] for row in renewed}


async def retire(connection: VerbConnection, instance: str, now: float, *, in_order: bool) -> None:
    """Declares an instance dead that stops; a second call changes nothing."""
    role = await connection.row("leases.retire", instance, now, in_order)
    # Only a Scheduler holds tasks; who serves Agents alone may have no right to them.
    if role is not None and role[0] == Role.SCHEDULER:
        await connection.rows("given_back_tasks.lock", instance)
        await connection.change("given_back_tasks.release", instance, now)
