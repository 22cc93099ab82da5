"""What Agents tell of their progress, on the rows of the steps."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.messages.requests import Progress
from stepward.store.queries import load_queries
from stepward.store.sqlite.engine.connection import Connection

Q = load_queries(__package__, "progress.sql")


def note(connection: Connection, words: Sequence[Progress], now: float) -> set[tuple[str, int, str]]:
    """Notes progress; a time that lies ahead is taken as now."""
    values = [(w.task, w.run, w.key, w.attempt, w.progress, min(w.at, now)) for w in words]
    connection.change_many(Q["note"], values)
    return {(word.task, word.run, word.key) for word in words}
