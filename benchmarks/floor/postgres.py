"""Hand-written batches on PostgreSQL: one statement a batch, an array for each column that the store sends too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from benchmarks.floor.loop import Commit, FloorEngine, FloorRow, FloorRows, Statement
from benchmarks.floor.rows import INSTANCE, RESULT
from stepward.model.states import TaskState
from stepward.store.address import postgres_place
from stepward.store.postgres.engine.array_literals import column_literals
from stepward.store.postgres.engine.connecting.connector import PINNED, Connector
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.query_catalogue import load_catalogue
from stepward.store.postgres.hot.compact_rows import COMPACT_FORMS
from stepward.store.postgres.schema.versions import schema_of

PLACE = re.compile(r"\$(\d+)")
NOTHING = (None,) * 6
UID = "the task's"
"""Stands in a row for what differs from task to task; everything else is the same in all of a batch."""


class PostgresFloor(FloorEngine):
    """The raw limit of a schema."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    @classmethod
    async def opened(cls, address: str, app: str) -> PostgresFloor:
        """On a connection of its own, with the plans that the store's own connections are held to."""
        schema = schema_of(app)
        return cls(await Connector(postgres_place(address), schema).connect(PINNED))

    def prepared(self, batch: Sequence[FloorRows]) -> Commit:
        """One statement for all queries."""
        queries, values = [], list[Any]()
        for rows in batch:
            query, columns = _columns(rows)
            queries.append(query)
            values += columns
        sql = _statement(self._connection.schema, tuple(queries))
        for place, literal in column_literals(sql):
            values[place] = literal(values[place])
        return [Statement(sql, values)]

    async def write(self, commit: Commit) -> None:
        """Implements ``FloorEngine.write``."""
        for statement in commit:
            await self._connection.raw.fetch(statement.sql, *statement.values)

    async def close(self) -> None:
        """Implements ``FloorEngine.close``."""
        await self._connection.close()

    def _end(self, uid: str) -> FloorRow:
        moved = (uid, TaskState.PROCESSING, TaskState.PROCESSED, 0, True, RESULT)
        return (*moved, *NOTHING, 3.0, True, None, None, None)


def _columns(rows: FloorRows) -> tuple[str, list[Any]]:
    """The query that fits the rows, and its arrays: hand-written, so no row is made that is like the others."""
    row, count = rows.row_of(UID), len(rows.uids)
    columns: list[Any] = [rows.uids if value is UID else [value] * count for value in row]
    usual = COMPACT_FORMS.get(rows.query)
    if usual is not None and usual.fits([row]):
        return f"turn.{rows.query}_compact", list(usual.sent(columns))
    return f"turn.{rows.query}", [*columns, INSTANCE] if rows.query == "move_task" else columns


@lru_cache
def _statement(schema: str, queries: tuple[str, ...]) -> str:
    """All queries as one, so that a batch is one trip to the server and commits by itself."""
    book, bodies, used = load_catalogue(schema), list[str](), 0
    for number, query in enumerate(queries):
        body = book[query]
        bodies.append(f"rows_{number} as ({_shifted(body, used)})")
        used += max(int(place) for place in PLACE.findall(body))
    return f"with {', '.join(bodies)} select 1"


def _shifted(sql: str, by: int) -> str:
    return PLACE.sub(lambda match: f"${int(match[1]) + by}", sql)
