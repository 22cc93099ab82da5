"""Leases of instances: registered, renewed, given back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.model.records import Instance, Role
from stepward.store import rulings
from stepward.store.postgres import journal
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
    )
    served = rulings.served(instance)
    numbers = [row[0] for row in await connection.rows("leases.serve", now, instance.id, served)] if served else []
    await journal.write_audits(connection, [rulings.acknowledged(number, instance.id) for number in numbers], now)


async def renew(connection: Connection, instances: Sequence[str], lease: float, now: float) -> set[str]:
    """Extend leases in one statement; those of the instances that are alive."""
    return {row[0] for row in await connection.rows("leases.renew", list(instances), now, lease)}


async def retire(connection: Connection, instance: str, now: float) -> None:
    """Declare an instance dead by its own wish; a second time changes nothing."""
    if await connection.change("leases.retire", instance, now):
        await connection.change("leases.give_back", instance, now)
