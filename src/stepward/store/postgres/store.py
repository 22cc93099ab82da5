"""The PostgreSQL store as a whole: each reader's verbs, in one schema."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from stepward.clock import Environment
from stepward.payload.sealed import PayloadCodec
from stepward.store.address import PostgresPlace
from stepward.store.postgres.engine.clock import StoreClock
from stepward.store.postgres.engine.database import Database
from stepward.store.postgres.engine.error_translation import BROKEN, translated
from stepward.store.postgres.engine.notifier import Notifier
from stepward.store.postgres.engine.query_catalogue import quoted, row_codec
from stepward.store.postgres.engine.search_dialect import search_dialect
from stepward.store.postgres.hot import open_transaction
from stepward.store.postgres.hot.messages import PostgresMessages
from stepward.store.postgres.hot.scheduler import PostgresScheduler
from stepward.store.postgres.schema import versions
from stepward.store.postgres.schema.migration import migrate
from stepward.store.postgres.verb_overrides.client import PostgresClient
from stepward.store.postgres.verb_overrides.host import PostgresHost
from stepward.store.postgres.verb_overrides.supervisor import PostgresSupervisor
from stepward.store.verbs.actors.operators import OperatorVerbs
from stepward.store.verbs.engine import VerbEngine

FIRST_EXPIRED = (float("-inf"), "", 0, "")
"""A place before all steps in the order of their complete-by, task, run and key."""


class PostgresStore:
    """A state store in a schema of a PostgreSQL database, for any number of processes on any hosts.

    The schema is ``stepward_`` and the application's name, so that the store may stand in the application's own
    database and several may share one. ``clock`` says how the server's clock is followed; ``codec`` encrypts payloads.
    """

    def __init__(
        self,
        place: PostgresPlace,
        *,
        app: str,
        environment: Environment,
        clock: StoreClock | None = None,
        codec: PayloadCodec | None = None,
    ) -> None:
        self._app = app
        self._place = place
        self._clock = clock or StoreClock(environment.clock)
        schema = place.schema or versions.schema_of(app)
        self._database = Database(place, schema, environment, self._clock, row_codec(codec))
        self._notifier = Notifier(self._database)
        self.now = self._clock.now
        engine = self._engine()
        self.scheduler = PostgresScheduler(engine, self._database)
        self.supervisor = PostgresSupervisor(engine, self._database, FIRST_EXPIRED)
        self.client = PostgresClient(engine, self._database)
        self.operators = OperatorVerbs(engine)
        self.host = PostgresHost(engine, self._database)
        self.messages = PostgresMessages(engine, self._database)

    async def open(self) -> None:
        """Any number of processes may open a new or an older store at once."""
        self._database.open()
        try:
            if not await self._database.others.read(versions.is_current, self._app, self._place.shown):
                await migrate(self._database, self._app)
            await self.host.partition()
            # Only now is it known whether a pooler stands between.
            await self._notifier.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        await self._notifier.close()
        await self._database.close()

    @property
    def statements(self) -> int:
        """How many statements were executed so far."""
        return self._database.statements

    @property
    def schema(self) -> str:
        """The schema of its tables, as it stands in SQL."""
        return quoted(self._database.schema)

    @asynccontextmanager
    async def moving(self) -> AsyncIterator[open_transaction.PostgresTransaction]:
        """A transaction that moves shards: it does not keep them where they are. Raises in Stepward's words."""
        try:
            async with open_transaction.opened(self._database, self._notifier, enters=False) as transaction:
                yield transaction
        except BROKEN as error:
            raise translated(error, self._place.shown) from error

    def _engine(self) -> VerbEngine:
        database = self._database
        return VerbEngine(
            turns=database.turns,
            leases=database.leases,
            others=database.others,
            clock=self._clock,
            ring=self._notifier.ring,
            changes=self._notifier,
            # An open transaction does not lock the whole database.
            break_off=lambda: False,
            open_transaction=partial(open_transaction.opened, database, self._notifier),
            dialect=search_dialect(database.schema),
        )
