"""Which store an address asks for."""

from __future__ import annotations

from stepward.clock import Environment
from stepward.store.address import sqlite_path
from stepward.store.contract import Store
from stepward.store.sqlite.store import SqliteStore


def open_store(address: str, *, app: str, environment: Environment) -> Store:
    """The store of that address, not yet connected. Raises SettingsError for an address of another form."""
    return SqliteStore(sqlite_path(address), app=app, environment=environment)
