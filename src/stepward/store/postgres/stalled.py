"""Processes that stand still in the middle of a transaction, where no bound of the server counts."""

from __future__ import annotations

from stepward.store.postgres.connection import Connection
from stepward.store.postgres.lane import Lane


async def end_stalled(lane: Lane) -> None:
    """End their sessions, so that the rows that they have locked are free."""
    await lane.read(Connection.rows, "supervisor.end_stalled", lane.seconds)
