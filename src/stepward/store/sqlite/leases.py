"""Leases of instances: registered, renewed, given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stepward.model import stopped_tasks
from stepward.model.agents import Report
from stepward.model.records import Instance, Role
from stepward.store.queries import load_queries
from stepward.store.rules import verdicts
from stepward.store.sqlite import agents, journal
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries(__package__, "leases.sql", FRAGMENTS)


def register(connection: Connection, instance: Instance, lease: float, now: float) -> None:
    """A new instance, alive until now + lease; alerts of what nobody served until now are seen to."""
    serves = msgspec.json.encode(instance.serves).decode()
    values = (
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
    connection.change(Q["insert"], values)
    if instance.role is Role.AGENT:
        agents.know(connection, instance.serves)
    served = msgspec.json.encode(verdicts.served(instance)).decode()
    if instance.role is Role.SCHEDULER:
        until = now + stopped_tasks.LONGEST_RETRY
        connection.change(Q["try_again"], (until, stopped_tasks.WAITS_FOR, served, verdicts.TRIED_AT_ONCE))
    numbers = [row[0] for row in connection.rows(Q["serve"], (now, instance.id, served))]
    journal.write_audits(connection, [verdicts.acknowledged(number, instance.id) for number in numbers], now)


def renew(
    connection: Connection,
    instances: Sequence[str],
    lease: float,
    reports: Mapping[str, Report],
    now: float,
    ahead: float | None = None,
) -> set[str]:
    """Extend leases in one statement; those of the instances that are alive."""
    many = msgspec.json.encode([_said(instance, reports.get(instance)) for instance in instances]).decode()
    return {row[0] for row in connection.rows(Q["renew"], (many, now, lease, ahead))}


def retire(connection: Connection, instance: str, now: float, *, in_order: bool) -> None:
    """Declare an instance dead by its own wish; a second time changes nothing."""
    role = connection.row(Q["retire"], (instance, now, in_order))
    # Only a Scheduler holds tasks.
    if role is not None and role[0] == Role.SCHEDULER:
        connection.change(Q["give_back"], (instance, now))


def _said(instance: str, report: Report | None) -> dict[str, Any]:
    said: dict[str, Any] = {"id": instance}
    return said if report is None else {**said, "health": report.health, "demand": report.demand}
