"""Transactions on the store's file: retried while another process writes, in one piece while they run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from stepward.clock import Environment
from stepward.errors import CommitUnknown, StoreUnavailable
from stepward.store.sqlite.connection import BEGIN_READ, BEGIN_WRITE, Connection
from stepward.store.sqlite.faults import BUSY, DATA, detail, refused, translated
from stepward.store.sqlite.schema import check_owner, use_log

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE = 0.0004
LONGEST_PAUSE = 0.01


class Database:
    """The connections of one store object to its file."""

    def __init__(self, path: str, environment: Environment, busy_seconds: float, synchronous: str) -> None:
        self.path = path
        self.environment = environment
        self.connection: Connection | None = None
        self._busy_seconds = busy_seconds
        self._synchronous = synchronous
        self._second: Connection | None = None
        self._second_used = asyncio.Lock()
        self._version = 0

    @property
    def statements(self) -> int:
        """How many statements this object has executed."""
        return sum(connection.statements for connection in (self.connection, self._second) if connection)

    async def open(self) -> None:
        """Connect to a file that is there; refuses what is no database or another program's."""
        self.close()
        self.connection = await self.retried(self._connect)
        self._version = self.connection.version()

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that reads with one statement."""
        return await self.retried(lambda: work(self._open(), *args, **kwargs))

    async def single(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that writes with one statement, which commits by itself."""
        return await self.retried(lambda: work(self._open(), *args, **kwargs))

    async def snapshot(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that reads with several statements, all of which see the same state."""
        return await self.retried(lambda: self._viewed(lambda c: work(c, *args, **kwargs)))

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work in one transaction that commits when it returns; it may run again while others write."""
        return await self.retried(lambda: self._written(lambda c: work(c, *args, **kwargs)))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A transaction that stays open across awaits, on a connection of its own; one at a time."""
        async with self._second_used:
            connection = await self.retried(self._begin_second, holds_second=True)
            try:
                yield connection
                await self.retried(lambda: self._commit(connection), holds_second=True)
            finally:
                connection.rollback()

    async def stirred(self, every: float) -> None:
        """See ``HostStore.stirred``: processes on a file send each other no word."""
        await asyncio.sleep(every)

    def changed(self) -> bool:
        """Whether another connection has committed since the last call; nobody knows while the file cannot be read."""
        try:
            version = self._open().version()
        except apsw.Error:
            return False
        before, self._version = self._version, version
        return version != before

    def close(self) -> None:
        """Let go of every connection."""
        for connection in (self._second, self.connection):
            if connection is not None:
                connection.close()
        self._second = self.connection = None

    async def retried(self, work: Callable[[], T], *, holds_second: bool = False) -> T:
        """Run work, again while others hold the lock; what SQLite raises comes out in Stepward's words.

        Who holds the second connection waits for other processes alone, never for its own transaction.
        """
        until: float | None = None
        pause = FIRST_PAUSE
        while True:
            try:
                return work()
            except BUSY:
                until = await self._pause(pause, until, holds_second=holds_second)
                pause = min(2 * pause, LONGEST_PAUSE)
            except DATA as error:
                raise refused(error, self.path) from error
            except apsw.Error as error:
                raise translated(error, self.path) from error

    async def _pause(self, pause: float, until: float | None, *, holds_second: bool) -> float:
        now = self.environment.clock.boot()
        if until is None:
            until = now + self._busy_seconds
        if now >= until:
            raise self._too_busy()
        if self._second_used.locked() and not holds_second:
            await self._second_free(until - now)
        else:
            await asyncio.sleep(self.environment.random.uniform(pause / 2, pause))
        return until

    async def _second_free(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds), self._second_used:
                pass
        except TimeoutError:
            raise self._too_busy() from None

    def _too_busy(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"store {self.path}: expected to write within {self._busy_seconds:g} s, found another "
            "transaction open all the while; try again, and keep transactions short"
        )

    def _viewed(self, work: Callable[[Connection], T]) -> T:
        connection = self._open()
        connection.begin(BEGIN_READ)
        try:
            return work(connection)
        finally:
            connection.rollback()

    def _written(self, work: Callable[[Connection], T]) -> T:
        connection = self._open()
        connection.begin(BEGIN_WRITE)
        try:
            result = work(connection)
            self._commit(connection)
        except BaseException:
            connection.rollback()
            raise
        return result

    def _commit(self, connection: Connection) -> None:
        try:
            self.environment.failpoint("store.commit.before")
            connection.commit()
            self.environment.failpoint("store.commit.after")
        except apsw.IOError as error:
            raise CommitUnknown(
                f"store {self.path}: expected a commit done, found {detail(error)}; read what became of it"
            ) from error

    def _connect(self) -> Connection:
        connection = Connection(self.path)
        try:
            check_owner(connection, self.path)
            use_log(connection, self.path)
            connection.tune(self._synchronous)
        except BaseException:
            connection.close()
            raise
        return connection

    def _begin_second(self) -> Connection:
        if self._second is None:
            self._second = Connection(self.path)
            self._second.tune(self._synchronous)
            self._second.keep_transactions_ours()
        self._second.begin(BEGIN_WRITE)
        return self._second

    def _open(self) -> Connection:
        if self.connection is None:
            raise StoreUnavailable(f"store {self.path}: expected an open store, found a closed one; call open() first")
        return self.connection
