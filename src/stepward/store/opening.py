"""Which store an address asks for."""

from __future__ import annotations

from stepward.clock import Environment
from stepward.store.address import sqlite_path
from stepward.store.contract import Identity, Store
from stepward.store.sqlite.identity import read_identity
from stepward.store.sqlite.store import SqliteStore


def open_store(address: str, *, app: str, environment: Environment) -> Store:
    """The store of that address, not yet connected. Raises SettingsError for an address of another form."""
    return SqliteStore(sqlite_path(address), app=app, environment=environment)


def identify(address: str) -> Identity:
    """Whose store stands at that address; makes and changes nothing.

    Raises StoreUnavailable where there is none, StoreUnusable for what is no Stepward store or a newer one.
    """
    return read_identity(sqlite_path(address))
