"""The proof that an instance was not declared dead."""

from __future__ import annotations

from stepward.store.rules import refusals
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.query_catalogue import load_book


def check_alive(connection: Connection, instance: str) -> None:
    """Raise InstanceFenced unless the instance lives."""
    if connection.row(load_book()["scheduler.alive"], (instance,)) is None:
        raise refusals.fenced(instance)
