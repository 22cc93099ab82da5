"""What Agents tell of their progress, on the rows of the steps."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.messages.requests import Progress
from stepward.store.postgres.engine.columns import columns_of
from stepward.store.postgres.engine.connection import Connection


async def note(connection: Connection, words: Sequence[Progress], now: float) -> set[tuple[str, int, str]]:
    """Notes progress; a time that lies ahead is taken as now."""
    values = [(w.task, w.run, w.key, w.attempt, w.progress, min(w.at, now)) for w in words]
    return {(row[0], row[1], row[2]) for row in await connection.rows("progress.note", *columns_of(values))}
