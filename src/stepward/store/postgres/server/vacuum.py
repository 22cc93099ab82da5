"""Obstacles to vacuum: deleted rows that the server cannot remove slow down every look at a queue."""

from __future__ import annotations

from stepward.store.contract import Bloat, Hold
from stepward.store.postgres.engine.connection import Connection

LONG_SECONDS = 300.0
"""For an open transaction."""
MANY_ROWS = 100_000
"""Dead rows of one table."""


async def holds(connection: Connection) -> list[Hold]:
    """What keeps deleted rows, or the log."""
    found = await connection.rows("vacuum.holds", LONG_SECONDS)
    return [Hold(kind=kind, name=name, by=by, seconds=age, kept=kept) for kind, name, by, age, kept in found]


async def bloat(connection: Connection) -> list[Bloat]:
    """Tables with more dead rows than live ones."""
    found = await connection.rows("vacuum.bloat", connection.schema, MANY_ROWS)
    return [Bloat(table=table, dead=dead, live=live) for table, dead, live in found]


async def is_automatic(connection: Connection) -> bool:
    """Whether autovacuum is on for all tables."""
    ((is_on,),) = await connection.rows("vacuum.autovacuum", connection.schema)
    return bool(is_on)
