"""Leases of instances: registered, renewed, given back."""

from __future__ import annotations

import msgspec

from stepward.model.records import Instance
from stepward.store.queries import load_queries
from stepward.store.sqlite.connection import Connection

Q = load_queries(__package__, "leases.sql")


def register(connection: Connection, instance: Instance, lease: float, now: float) -> None:
    """A new instance, alive until now + lease."""
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
    )
    connection.change(Q["insert"], values)


def renew(connection: Connection, instance: str, lease: float, now: float) -> bool:
    """Extend a lease; False if the instance is dead."""
    return connection.change(Q["renew"], (instance, now, lease)) == 1


def retire(connection: Connection, instance: str, now: float) -> None:
    """Declare an instance dead by its own wish; a second time changes nothing."""
    if connection.change(Q["retire"], (instance, now)):
        connection.change(Q["give_back"], (instance,))
