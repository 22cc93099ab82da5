"""The table of the outbox, and how a row gets into it."""

from __future__ import annotations

from stepward.errors import Refused
from stepward.store.queries import load_queries

TABLE = "stepward_outbox"
QUERIES = {
    "postgresql": load_queries(__package__, "postgres.sql"),
    "sqlite": load_queries(__package__, "sqlite.sql"),
}
PUT = {database: queries["put"] for database, queries in QUERIES.items()}
"""What writes a row, by the kind of database; one parameter, a JSON object."""


def outbox_table(database: str) -> str:
    """The statements that create the table on ``postgresql`` or ``sqlite``, for your migrations.

    A second time they do nothing. A relay that does not find the table creates it too.
    """
    if database not in QUERIES:
        raise Refused(f"outbox_table: expected one of {', '.join(QUERIES)}, found {database!r:.40}")
    return f"{QUERIES[database]['table']};\n{QUERIES[database]['index']};\n"
