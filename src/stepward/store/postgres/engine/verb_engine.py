"""Verbs on PostgreSQL: their connections, the server's clock, and the notifications of other processes."""

from __future__ import annotations

from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.notifier import Notifier
from stepward.store.verbs.engine import VerbEngine


def verb_engine(database: Database, notifier: Notifier) -> VerbEngine:
    """The engine of one store object."""
    return VerbEngine(database.leases, database.others, database.clock, notifier.ring)
