"""Every kind of connection that an application may have, each behind the same few verbs, and the client beside it.

A kind that blocks does everything in one thread of its own, as a web server's worker would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

import asyncpg
import django
import psycopg
import sqlalchemy
from django.conf import settings
from django.db import connections, transaction
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from stepward import App, Client, SyncClient

T = TypeVar("T")


class Desk(Protocol):
    """A connection, and the client through which tasks are submitted in its transactions."""

    async def open(self, app: App, address: str) -> None: ...

    async def close(self) -> None: ...

    async def begin(self) -> None:
        """Open a transaction."""
        ...

    async def autocommit(self) -> None:
        """Have each statement commit by itself."""
        ...

    async def run(self, sql: str) -> None: ...

    async def commit(self) -> None: ...

    async def roll_back(self) -> None: ...

    async def shut(self) -> None:
        """Close the connection itself."""
        ...

    async def submit(self, workflow: Any, *args: Any, **options: Any) -> str:
        """Submit in the open transaction; the task's id."""
        ...

    async def submit_many(self, workflow: Any, arguments: Sequence[Sequence[Any]], **options: Any) -> list[str]: ...


class Awaited:
    """What kinds whose answers are awaited have in common."""

    given: Any

    def __init__(self) -> None:
        self._client: Client | None = None

    async def open(self, app: App, address: str) -> None:
        self._client = await app.client().__aenter__()
        await self.connect(address)

    async def connect(self, address: str) -> None:
        raise NotImplementedError

    async def shut(self) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        await self.shut()
        assert self._client is not None
        await self._client.__aexit__(None, None, None)

    async def submit(self, workflow: Any, *args: Any, **options: Any) -> str:
        assert self._client is not None
        return (await self._client.submit(workflow, *args, transaction=self.given, **options)).id

    async def submit_many(self, workflow: Any, arguments: Sequence[Sequence[Any]], **options: Any) -> list[str]:
        assert self._client is not None
        found = await self._client.submit_many(workflow, arguments, transaction=self.given, **options)
        return [handle.id for handle in found]


class OnAsyncpg(Awaited):
    given: Any

    async def connect(self, address: str) -> None:
        self.given = await asyncpg.connect(address)

    async def begin(self) -> None:
        self._transaction = self.given.transaction()
        await self._transaction.start()

    async def autocommit(self) -> None:
        """It is so unless a transaction is begun."""

    async def run(self, sql: str) -> None:
        await self.given.execute(sql)

    async def commit(self) -> None:
        await self._transaction.commit()

    async def roll_back(self) -> None:
        await self._transaction.rollback()

    async def shut(self) -> None:
        await self.given.close()


class OnAsyncpgPool(OnAsyncpg):
    """What a pool lends is no connection by its class."""

    async def connect(self, address: str) -> None:
        self._pool = await asyncpg.create_pool(address, min_size=1, max_size=1)
        self.given = await self._pool.acquire()

    async def shut(self) -> None:
        self._pool.terminate()


class OnPsycopgAsync(Awaited):
    given: psycopg.AsyncConnection[Any]

    async def connect(self, address: str) -> None:
        self.given = await psycopg.AsyncConnection.connect(address, cursor_factory=psycopg.AsyncRawCursor)

    async def begin(self) -> None:
        """Its first statement does."""

    async def autocommit(self) -> None:
        await self.given.set_autocommit(True)

    async def run(self, sql: str) -> None:
        await self.given.execute(sql.encode())

    async def commit(self) -> None:
        await self.given.commit()

    async def roll_back(self) -> None:
        await self.given.rollback()

    async def shut(self) -> None:
        await self.given.close()


class OnAlchemyAsync(Awaited):
    given: AsyncConnection | AsyncSession
    driver = "asyncpg"

    async def connect(self, address: str) -> None:
        self._engine = create_async_engine(address.replace("://", f"+{self.driver}://"))
        self.given = await self._engine.connect()

    async def begin(self) -> None:
        """Its first statement does."""

    async def autocommit(self) -> None:
        assert isinstance(self.given, AsyncConnection)
        await self.given.execution_options(isolation_level="AUTOCOMMIT")

    async def run(self, sql: str) -> None:
        await self.given.execute(sqlalchemy.text(sql))

    async def commit(self) -> None:
        await self.given.commit()

    async def roll_back(self) -> None:
        await self.given.rollback()

    async def shut(self) -> None:
        await self.given.close()
        await self._engine.dispose()


class OnAlchemyAsyncPsycopg(OnAlchemyAsync):
    driver = "psycopg"


class OnAlchemyAsyncSession(OnAlchemyAsync):
    given: AsyncSession

    async def connect(self, address: str) -> None:
        self._engine = create_async_engine(address.replace("://", "+asyncpg://"))
        self.given = AsyncSession(self._engine)

    async def autocommit(self) -> None:
        await self.given.connection(execution_options={"isolation_level": "AUTOCOMMIT"})


class BlockingKind:
    """What kinds that block their thread have in common."""

    given: Any

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._client: SyncClient | None = None

    async def open(self, app: App, address: str) -> None:
        self._client = await self.do(app.sync_client().__enter__)
        await self.do(lambda: self.connect(address))

    def connect(self, address: str) -> None:
        raise NotImplementedError

    def disconnect(self) -> None:
        raise NotImplementedError

    async def do(self, what: Callable[[], T]) -> T:
        """Do it in the one thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, what)

    async def close(self) -> None:
        await self.do(self.disconnect)
        assert self._client is not None
        client = self._client
        await self.do(lambda: client.__exit__(None, None, None))
        self._thread.shutdown()

    async def begin(self) -> None:
        """The first statement does."""

    async def run(self, sql: str) -> None:
        await self.do(lambda: self.execute(sql))

    def execute(self, sql: str) -> None:
        raise NotImplementedError

    async def commit(self) -> None:
        await self.do(self.given.commit)

    async def roll_back(self) -> None:
        await self.do(self.given.rollback)

    async def shut(self) -> None:
        await self.do(self.given.close)

    async def submit(self, workflow: Any, *args: Any, **options: Any) -> str:
        client = self._client
        assert client is not None
        return (await self.do(lambda: client.submit(workflow, *args, transaction=self.given, **options))).id

    async def submit_many(self, workflow: Any, arguments: Sequence[Sequence[Any]], **options: Any) -> list[str]:
        client = self._client
        assert client is not None
        found = await self.do(lambda: client.submit_many(workflow, arguments, transaction=self.given, **options))
        return [handle.id for handle in found]


class OnPsycopg(BlockingKind):
    given: psycopg.Connection[Any]

    def connect(self, address: str) -> None:
        self.given = psycopg.connect(address, row_factory=psycopg.rows.dict_row)

    def disconnect(self) -> None:
        self.given.close()

    async def autocommit(self) -> None:
        await self.do(lambda: self.given.set_autocommit(True))

    def execute(self, sql: str) -> None:
        self.given.execute(sql.encode())


class OnAlchemy(BlockingKind):
    given: Any

    def connect(self, address: str) -> None:
        self._engine = sqlalchemy.create_engine(address.replace("://", "+psycopg://"))
        self.given = self.made()

    def made(self) -> Any:
        return self._engine.connect()

    def disconnect(self) -> None:
        self.given.close()
        self._engine.dispose()

    async def autocommit(self) -> None:
        await self.do(lambda: self.given.execution_options(isolation_level="AUTOCOMMIT"))

    def execute(self, sql: str) -> None:
        self.given.execute(sqlalchemy.text(sql))


class OnAlchemySession(OnAlchemy):
    def made(self) -> Any:
        return Session(self._engine)

    async def autocommit(self) -> None:
        await self.do(lambda: self.given.connection(execution_options={"isolation_level": "AUTOCOMMIT"}))


class OnAlchemyScopedSession(OnAlchemySession):
    """What Flask's applications have."""

    def made(self) -> Any:
        return scoped_session(sessionmaker(self._engine))


class OnDjango(BlockingKind):
    def connect(self, address: str) -> None:
        if not settings.configured:
            settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "none"}})
            django.setup()
        server, _, name = address.rpartition("/")
        user, _, place = server.removeprefix("postgresql://").partition("@")
        host, _, port = place.partition(":")
        wrapper = connections.create_connection("default")
        wrapper.settings_dict = {
            **wrapper.settings_dict,
            **{"NAME": name, "USER": user, "HOST": host, "PORT": port},
        }
        connections["default"] = wrapper
        # What applications import is a proxy for it.
        self.given = django.db.connection

    def disconnect(self) -> None:
        connections["default"].close()
        del connections["default"]

    async def begin(self) -> None:
        self._atomic: AbstractContextManager[None] = transaction.atomic()
        await self.do(self._atomic.__enter__)

    async def autocommit(self) -> None:
        """It is so unless a transaction is begun."""

    def execute(self, sql: str) -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute(sql)

    async def commit(self) -> None:
        await self.do(lambda: self._atomic.__exit__(None, None, None))

    async def roll_back(self) -> None:
        await self.do(lambda: self._atomic.__exit__(KeyError, KeyError(), None))

    async def shut(self) -> None:
        def shut() -> None:
            connections["default"].connection.close()

        await self.do(shut)


KINDS: dict[str, Callable[[], Desk]] = {
    "asyncpg": OnAsyncpg,
    "asyncpg pool": OnAsyncpgPool,
    "psycopg": OnPsycopg,
    "psycopg async": OnPsycopgAsync,
    "sqlalchemy": OnAlchemy,
    "sqlalchemy session": OnAlchemySession,
    "sqlalchemy scoped session": OnAlchemyScopedSession,
    "sqlalchemy async": OnAlchemyAsync,
    "sqlalchemy async psycopg": OnAlchemyAsyncPsycopg,
    "sqlalchemy async session": OnAlchemyAsyncSession,
    "django": OnDjango,
}
VARIANTS = ("asyncpg pool", "sqlalchemy scoped session", "sqlalchemy async psycopg")
