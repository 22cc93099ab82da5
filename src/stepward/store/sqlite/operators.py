"""The listing of tasks on SQLite; all else that operators do is the same on every store."""

from __future__ import annotations

from typing import Any

from stepward.model.records import Task
from stepward.model.states import TaskState
from stepward.store import rows
from stepward.store.contract import TaskFilter
from stepward.store.sqlite.engine.clock import StoreClock
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.query_catalogue import load_book
from stepward.store.sqlite.engine.verb_engine import verb_engine
from stepward.store.verbs.readers.operators import OperatorVerbs

LISTED = (
    " indexed by stepward_task_listed where state <> 'processing' and state <> 'processed' and state <> 'undone'"
    " and state <> 'cancelled'"
)
SOURCES = {
    TaskState.PROCESSING: " indexed by stepward_task_held where locked_by is not null",
    TaskState.PENDING: LISTED,
    TaskState.WAITING: LISTED,
    TaskState.SUSPENDED: LISTED,
    TaskState.UNDOING: LISTED,
    TaskState.ERROR: LISTED,
}
"""How a listing by state goes over live tasks alone; the others are met among the newest."""


class SqliteOperators(OperatorVerbs):
    """What operators may do; see ``OperatorStore``."""

    def __init__(self, database: Database, clock: StoreClock) -> None:
        super().__init__(verb_engine(database, clock))
        self._database = database

    async def tasks(self, filter: TaskFilter) -> list[Task]:  # noqa: A002  the contract's name
        sql, values = _listing(filter)
        return [rows.task(row) for row in await self._database.read(Connection.rows, sql, values)]


def _listing(filter: TaskFilter) -> tuple[str, list[Any]]:  # noqa: A002
    source, conditions, values = " where true", list[str](), list[Any]()
    if filter.state is not None:
        source = SOURCES.get(filter.state, source)
        conditions.append("state = ?")
        values.append(filter.state)
    if filter.workflow is not None:
        conditions.append("workflow = ?")
        values.append(filter.workflow)
    if filter.label is not None:
        conditions.append("(select value from json_each(cast(labels as text)) where key = ?) = ?")
        values.extend(filter.label)
    if filter.before is not None:
        conditions.append("uid < ?")
        values.append(filter.before)
    sql = " and ".join([load_book()["client.tasks"] + source, *conditions]) + " order by uid desc limit ?"
    return sql, [*values, filter.limit]
