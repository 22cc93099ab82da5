"""Sessions that keep rows locked where no bound of the server counts: their process stands still in the middle of a
transaction, or they wait for locks since before the server's clock was set back."""

from __future__ import annotations

from stepward.store.postgres.engine.connecting.connector import STATEMENT_SECONDS, session_name, shared_name
from stepward.store.postgres.engine.connection import ANSWER_SECONDS, Connection
from stepward.store.postgres.engine.query_catalogue import quoted
from stepward.store.postgres.engine.transactions import Transactions

STALLED_SECONDS = STATEMENT_SECONDS + ANSWER_SECONDS
"""After that the process itself, whatever its lease, would have dropped the connection, if it ran."""


async def end_stalled(lane: Transactions) -> None:
    """Terminates stalled sessions, so that their row locks are freed; no others, and none that only waits for this
    process."""
    await lane.read(_end_stalled)


async def _end_stalled(connection: Connection) -> None:
    schema = connection.schema
    names = session_name(schema), shared_name(schema)
    await connection.rows("supervisor.end_stalled", STALLED_SECONDS, *names, f"{quoted(schema)}.", schema)
