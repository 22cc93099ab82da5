"""The SQLite store as a whole: each reader's verbs, on one file."""

from __future__ import annotations

from functools import partial

from stepward.clock import Environment
from stepward.payload.sealed import PayloadCodec
from stepward.store.sqlite import store_file
from stepward.store.sqlite.engine.clock import StoreClock
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.engine.database import Database
from stepward.store.sqlite.engine.notifier import FileChanges, Notifier
from stepward.store.sqlite.engine.query_catalogue import row_codec
from stepward.store.sqlite.engine.search_dialect import DIALECT
from stepward.store.sqlite.engine.verb_engine import DrivenTransactions
from stepward.store.sqlite.hot import open_transaction
from stepward.store.sqlite.hot.messages import SqliteMessages
from stepward.store.sqlite.hot.scheduler import SqliteScheduler
from stepward.store.sqlite.refused_caller_connections import SqliteClient
from stepward.store.sqlite.schema import migration
from stepward.store.verbs.actors.host import HostVerbs
from stepward.store.verbs.actors.operators import OperatorVerbs
from stepward.store.verbs.actors.supervisor import SupervisorVerbs
from stepward.store.verbs.engine import VerbEngine

FIRST_EXPIRED = (float("-inf"), 0)
"""A place before all steps in the order of their complete-by and rowid."""


class SqliteStore:
    """A state store in one SQLite file, which any number of processes of this host may share.

    ``path`` is a file, or ``file:/name?vfs=memdb`` for a database in memory that the stores of this process
    share; ``codec`` encrypts payloads. Everything runs at once on the thread of the event loop; ``busy_seconds`` bounds
    how long a verb waits, without blocking the loop, while another transaction holds the file.
    """

    def __init__(
        self,
        path: str,
        *,
        app: str,
        environment: Environment,
        busy_seconds: float = 5.0,
        synchronous: str = "full",
        codec: PayloadCodec | None = None,
    ) -> None:
        self._app = app
        self._database = Database(path, environment, busy_seconds, synchronous, row_codec(codec))
        self._notifier = Notifier(path)
        self._clock = StoreClock(environment.clock)
        self.now = self._clock.now
        engine = self._engine()
        self.scheduler = SqliteScheduler(engine, self._database)
        self.supervisor = SupervisorVerbs(engine, FIRST_EXPIRED)
        self.client = SqliteClient(engine)
        self.operators = OperatorVerbs(engine)
        self.host = HostVerbs(engine)
        self.messages = SqliteMessages(engine, self._database)

    async def open(self) -> None:
        """Any number of processes may open a new or an older file at once."""
        store_file.prepare_file(self._database.path)
        await self._database.open()
        try:
            # A process that only reads waits for no writer.
            if await self._database.snapshot(self._is_ready):
                return
            while await self._database.write(migration.migrate, self._app, self._database.path):
                pass
            await self._database.write(self._clock.load)
        except BaseException:
            self._database.close()
            raise

    async def close(self) -> None:
        self._notifier.close()
        self._database.close()

    @property
    def statements(self) -> int:
        """How many statements were executed so far, ``executemany`` counted once."""
        return self._database.statements

    def _is_ready(self, connection: Connection) -> bool:
        return migration.is_current(connection, self._app, self._database.path) and self._clock.recall(connection)

    def _engine(self) -> VerbEngine:
        transactions = DrivenTransactions(self._database)
        return VerbEngine(
            turns=transactions,
            leases=transactions,
            others=transactions,
            clock=self._clock,
            ring=self._notifier.ring,
            changes=FileChanges(self._database, self._notifier),
            break_off=self._database.break_off,
            open_transaction=partial(open_transaction.opened, self._database, self._notifier),
            dialect=DIALECT,
        )
