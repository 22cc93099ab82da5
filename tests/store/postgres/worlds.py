"""PostgreSQL stores for the tests of what is PostgreSQL's own."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import asyncpg

from stepward.clock import Clock, Environment
from stepward.store.address import postgres_place
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine.clock import StoreClock
from tests.store.conformance.world import HandClock, Place
from tests.store.postgres.server import Server


class HandServerClock(StoreClock):
    """A server's clock that shows what the test's clock shows."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._hand = clock

    def now(self) -> float:
        return self._hand.wall()

    def is_old(self) -> bool:
        return False

    def heard(self, server: float, sent: float) -> None:
        """The real server's clock is not the test's."""


class SchemaPlace(Place):
    """The schema of ``shop`` in a database."""

    one_writer = False
    host_clock = False
    hears = True
    notified = True
    doomed = "insert into cart values ('pen')"
    steps = "stepward_shop.step"

    def __init__(self, address: str) -> None:
        self._place = postgres_place(address)

    def make(self, environment: Environment) -> PostgresStore:
        clock = HandServerClock(environment.clock)
        return PostgresStore(self._place, app="shop", environment=environment, clock=clock)


class Database:
    """A database of a test's own, and the stores and connections that it opens there."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name
        self.address = server.address(name)
        self.clock = HandClock()
        self._stores: list[PostgresStore] = []
        self._connections: list[asyncpg.Connection[asyncpg.Record]] = []

    def store(self, app: str = "shop", address: str | None = None, **environment: Any) -> PostgresStore:
        """A store that is not open yet; its clock follows the real server's."""
        place = postgres_place(address or self.address)
        store = PostgresStore(place, app=app, environment=environment_of(**environment))
        self._stores.append(store)
        return store

    async def opened(self, app: str = "shop", address: str | None = None, **environment: Any) -> PostgresStore:
        store = self.store(app, address, **environment)
        await store.open()
        return store

    async def connect(self) -> asyncpg.Connection[asyncpg.Record]:
        """A connection beside all stores."""
        connection = await asyncpg.connect(self.address)
        self._connections.append(connection)
        return connection

    async def run(self, sql: str) -> None:
        """Run several statements beside all stores."""
        await self.server.execute(sql, self.name)

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run SQL beside all stores."""
        connection = await asyncpg.connect(self.address)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()
        for store in self._stores:
            await store.close()


def environment_of(failpoint: Callable[[str], None] | None = None, clock: Clock | None = None) -> Environment:
    given: dict[str, Any] = {"random": random.Random(7)}
    if failpoint is not None:
        given["failpoint"] = failpoint
    if clock is not None:
        given["clock"] = clock
    return Environment(**given)
