"""The table of the outbox, and the statement that writes a row."""

from __future__ import annotations

from stepward.errors import Refused
from stepward.store.named_queries import load_queries

TABLE = "stepward_outbox"
QUERIES = {
    "postgresql": load_queries(__package__, "postgres.sql"),
    "sqlite": load_queries(__package__, "sqlite.sql"),
}
PUT = {database: queries["put"] for database, queries in QUERIES.items()}
"""The statement that writes a row, by kind of database; its one parameter is a JSON object."""


def outbox_table(database: str) -> str:
    """The statements that create the table on ``postgresql`` or ``sqlite``, for your migrations.

    They have no effect on an existing table. A relay that does not find the table creates it too.
    """
    if database not in QUERIES:
        raise Refused(f"outbox_table: expected one of {', '.join(QUERIES)}, found {database!r:.40}")
    return f"{QUERIES[database]['table']};\n{QUERIES[database]['index']};\n"
