"""The tables of the stores between which a share moves, by their engine: all are of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from stepward.clock import Environment
from stepward.errors import SettingsError
from stepward.store.contract import Store
from stepward.store.partitions.moving.sqlite_tables import SqliteTables
from stepward.store.partitions.moving.tables import MovingTables
from stepward.store.sqlite.store import SqliteStore


def tables_of(stores: Sequence[Store], environment: Environment) -> list[MovingTables]:
    """The tables of each store. Raises SettingsError for stores of two engines: their rows differ."""
    found = [_of_engine(store, environment) for store in stores]
    for number, tables in enumerate(found, 1):
        if type(tables) is not type(found[0]):
            raise SettingsError(
                f"partitions: expected stores in SQLite files alone, or on PostgreSQL alone, found another in place "
                f"{number}; add a store like the others"
            )
    return found


def _of_engine(store: Store, environment: Environment) -> MovingTables:
    if isinstance(store, SqliteStore):
        return SqliteTables(store)
    from stepward.store.partitions.moving.postgres_tables import PostgresTables  # noqa: PLC0415  an extra's
    from stepward.store.postgres.store import PostgresStore  # noqa: PLC0415  an extra's

    return PostgresTables(cast("PostgresStore", store), environment.random)
