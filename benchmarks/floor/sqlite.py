"""Hand-written batches on SQLite: ``executemany`` between ``begin`` and ``commit``."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.floor.loop import Commit, FloorEngine, FloorRow, FloorRows, Statement
from benchmarks.floor.rows import INSTANCE, RESULT
from stepward.model.states import TaskState
from stepward.store.address import sqlite_path
from stepward.store.named_queries import load_queries
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.parameters import FRAGMENTS

Q = load_queries("stepward.store.sqlite.hot", "turn.sql", FRAGMENTS)
NOTHING = (None,) * 6


class SqliteFloor(FloorEngine):
    """The raw limit of a SQLite file."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._connection = Connection(sqlite_path(address))
        self._connection.tune("full")

    def prepared(self, batch: Sequence[FloorRows]) -> Commit:
        """One statement for each query, executed once for each row."""
        return [Statement(Q[rows.query], [rows.row_of(uid) for uid in rows.uids]) for rows in batch]

    async def write(self, commit: Commit) -> None:
        """Implements ``FloorEngine.write``."""
        raw = self._connection.raw
        raw.execute("begin immediate")
        for statement in commit:
            # A statement that returns rows ends once they are read.
            raw.executemany(statement.sql, statement.values).fetchall()
        raw.execute("commit")

    async def close(self) -> None:
        """Implements ``FloorEngine.close``."""
        self._connection.close()

    def _end(self, uid: str) -> FloorRow:
        return (uid, TaskState.PROCESSING, TaskState.PROCESSED, 0, True, RESULT, *NOTHING, 3.0, True, None, INSTANCE)
