"""A caller's own open transaction on the database in which the store stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stepward.errors import Refused
from stepward.model.pipeline_plan import NO_PLANS, Plans
from stepward.model.records import Task
from stepward.store.contract import Submitted, WaitForHook
from stepward.store.drivers import (
    Blocking,
    Dialogue,
    ExternalConnection,
    converse,
    converse_blocking,
    name_of,
    recognised,
)
from stepward.store.drivers.savepoint import within_savepoint
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.external.error_translation import translating
from stepward.store.postgres.external.origin import StoreOrigin
from stepward.store.postgres.external.submission import Elsewhere, submission
from stepward.store.rules.refusals import check_same

ACCEPTED = (
    "client.transaction(), or an open connection or session of asyncpg, psycopg 3, SQLAlchemy 2 or Django on PostgreSQL"
)


class PostgresExternalTransaction:
    """Implements ``ExternalTransaction``. Raises Refused for what is no connection to a PostgreSQL server."""

    def __init__(self, connection: object, database: Database, origin: StoreOrigin, ring: Callable[[], None]) -> None:
        self._name = name_of(connection)
        self._caller = self._recognised(connection)
        self._schema = database.schema
        self._codec = database.codec
        self._place = database.place.shown
        self._origin = origin
        self.ring = ring

    async def submit(self, parts: Sequence[Sequence[Task]], plans: Plans = NO_PLANS) -> list[Submitted]:
        if self._origin.is_known():
            try:
                return await converse(self._caller, self._submission(parts, plans))
            except Elsewhere:
                pass  # or the store's server has changed since: asked below
        await self._origin.read()
        try:
            return await converse(self._caller, self._submission(parts, plans))
        except Elsewhere:
            raise self._elsewhere() from None

    def submit_blocking(self, parts: Sequence[Sequence[Task]], plans: Plans, wait: WaitForHook) -> list[Submitted]:
        caller = self._blocking()
        if self._origin.is_known():
            try:
                return converse_blocking(caller, self._submission(parts, plans))
            except Elsewhere:
                pass  # as above
        wait(self._origin.read())
        try:
            return converse_blocking(caller, self._submission(parts, plans))
        except Elsewhere:
            raise self._elsewhere() from None

    def _submission(self, parts: Sequence[Sequence[Task]], plans: Plans) -> Dialogue[list[Submitted]]:
        return translating(within_savepoint(self._each(parts, plans)), self._place, self._schema)

    def _each(self, parts: Sequence[Sequence[Task]], plans: Plans) -> Dialogue[list[Submitted]]:
        submitted: list[Submitted] = []
        for tasks in parts:
            submitted += yield from submission(self._schema, tasks, plans, self._origin.is_at, self._codec)
            check_same(submitted[-len(tasks) :])
        return submitted

    def _recognised(self, connection: object) -> ExternalConnection:
        caller = recognised(connection)
        if caller is None:
            raise Refused(f"transaction: expected {ACCEPTED}, found {self._name}; give one of them")
        if caller.database != "postgresql":
            raise Refused(
                f"transaction: expected a connection to the store's PostgreSQL database, found {self._name} on "
                f"{caller.database}; where the data live elsewhere, use an outbox"
            )
        return caller

    def _blocking(self) -> Blocking:
        if not isinstance(self._caller, Blocking):
            raise Refused(
                f"transaction: expected a connection that blocks, found {self._name}, whose answers are awaited; "
                "use app.client() with it"
            )
        return self._caller

    def _elsewhere(self) -> Refused:
        return Refused(
            f"transaction: expected a connection to the database of store {self._place}, found one whose schema "
            f"{self._schema} is another store; connect to the store's, or use an outbox"
        )
