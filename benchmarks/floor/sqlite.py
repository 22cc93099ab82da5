"""Hand-written batches on SQLite: ``executemany`` between ``begin`` and ``commit``."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.floor.loop import Floor, Row, Rows
from benchmarks.floor.rows import INSTANCE, RESULT
from stepward.model.states import TaskState
from stepward.store.address import sqlite_path
from stepward.store.queries import load_queries
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.rows import FRAGMENTS

Q = load_queries("stepward.store.sqlite", "turn.sql", FRAGMENTS)
NOTHING = (None,) * 6


class SqliteFloor(Floor):
    """The raw limit of a SQLite file."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._connection = Connection(sqlite_path(address))
        self._connection.tune("full")

    async def write(self, batch: Sequence[Rows]) -> None:
        """See ``Floor.write``."""
        raw = self._connection.raw
        raw.execute("begin immediate")
        for rows in batch:
            raw.executemany(Q[rows.query], map(rows.row_of, rows.uids))
        raw.execute("commit")

    async def close(self) -> None:
        """See ``Floor.close``."""
        self._connection.close()

    def _end(self, uid: str) -> Row:
        return (uid, INSTANCE, TaskState.PROCESSING, TaskState.PROCESSED, 0, True, RESULT, *NOTHING, 3.0, True, None)
