"""The listing of tasks on PostgreSQL; all else that operators do is the same on every store."""

from __future__ import annotations

from stepward.model.records import Task
from stepward.store import rows
from stepward.store.contract import TaskFilter
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.notifier import Notifier
from stepward.store.postgres.engine.verb_engine import verb_engine
from stepward.store.postgres.listing import listing
from stepward.store.verbs.readers.operators import OperatorVerbs


class PostgresOperators(OperatorVerbs):
    """What operators may do; see ``OperatorStore``."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        super().__init__(verb_engine(database, notifier))
        self._lane = database.others

    async def tasks(self, filter: TaskFilter) -> list[Task]:  # noqa: A002  the contract's name
        return await self._lane.read(_listed, filter)


async def _listed(connection: Connection, wanted: TaskFilter) -> list[Task]:
    sql, values = listing(connection.query("client.tasks"), wanted)
    return [rows.task(row) for row in await connection.fetched(sql, *values)]
