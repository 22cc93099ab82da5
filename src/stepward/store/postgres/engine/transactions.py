"""Transactions on the connections of one purpose: retried where that is safe, never assumed committed, with clear
errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Concatenate, ParamSpec, TypeVar

from stepward.clock import Environment
from stepward.errors import StoreUnavailable
from stepward.store.postgres.engine.connecting.pool import Pool
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.error_translation import AGAIN, BROKEN, DATA, UNKNOWN, translated
from stepward.store.postgres.engine.shard_gate import ShardGate
from stepward.store.postgres.engine.unconfirmed_commits import UnconfirmedCommits
from stepward.store.store_errors import commit_unknown, detail, refused

P = ParamSpec("P")
T = TypeVar("T")

TRIES = 5
"""How often work is repeated that other transactions kept from its end."""
PAUSE_SECONDS = (0.001, 0.02)
LEAST_SECONDS = 0.2
SHARE_OF_LEASE = 0.4


class Transactions:
    """Connections of one purpose, and how work is done on them."""

    def __init__(
        self,
        pool: Pool,
        environment: Environment,
        place: str,
        seconds: float,
        unconfirmed: UnconfirmedCommits,
        gate: ShardGate | None = None,
    ) -> None:
        self.pool = pool
        self._gate = gate
        """What transactions enter as they begin; None: they write nothing that moves."""
        self._unconfirmed = unconfirmed
        self._environment = environment
        self._place = place
        self.seconds = seconds
        """What the server allows a statement, and a rest within a transaction."""

    def heed(self, lease: float) -> None:
        """Have no statement take longer than less than half of an instance's lease."""
        self.seconds = max(LEAST_SECONDS, min(self.seconds, lease * SHARE_OF_LEASE))

    async def read(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work that only reads, each statement for itself."""

        async def attempt() -> T:
            async with self._acquired() as connection:
                return await work(connection, *args, **kwargs)

        return await self._translated(attempt)

    async def read_more(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work that reads with several statements, each for itself."""
        return await self.read(work, *args, **kwargs)

    async def read_beside(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same: the server does the work."""
        return await self.read(work, *args, **kwargs)

    async def single(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work that writes with one statement, which commits by itself."""

        async def attempt() -> T:
            async with self._acquired() as connection:
                await self._unconfirmed.settle(connection)
                with self._commits():
                    return await connection.commits(work(connection, *args, **kwargs))

        return await self._translated(attempt)

    async def batch(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work that changes many rows with one statement, which commits by itself."""
        return await self.single(work, *args, **kwargs)

    async def write(
        self, work: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run work in one transaction that commits when it returns; it may run again from its beginning."""

        async def attempt() -> T:
            async with self._acquired() as connection:
                await self._begin(connection)
                try:
                    result = await work(connection, *args, **kwargs)
                    await connection.link_audits()
                except Exception:
                    await _roll_back(connection)
                    raise
                await self._commit(connection)
                return result

        return await self._translated(attempt)

    @asynccontextmanager
    async def transaction(self, *, enters: bool = True) -> AsyncIterator[Connection]:
        """A transaction that stays open across awaits; what its statements raise within comes out as it is.

        What an application leaves in the session is taken out of it. ``enters``: whether it enters the gate of shards.
        """
        async with self._acquired() as connection:
            await self._translated(lambda: self._begin(connection, enters=enters))
            try:
                try:
                    yield connection
                    await connection.link_audits()
                except BaseException:
                    await _roll_back(connection)
                    raise
                await self._translated(lambda: self._commit(connection), tries=1)
            finally:
                await connection.clean()

    async def _translated(self, attempt: Callable[[], Awaitable[T]], tries: int = TRIES) -> T:
        """Attempt it, again while other transactions keep it from its end; what is raised is in Stepward's words.

        A commit that was refused is not tried again: nothing of its transaction is left.
        """
        for _ in range(tries):
            try:
                return await attempt()
            except AGAIN as error:
                last = error
                await asyncio.sleep(self._environment.random.uniform(*PAUSE_SECONDS))
            except DATA as error:
                raise refused(error, self._place) from error
            except BROKEN as error:
                raise translated(error, self._place) from error
        raise StoreUnavailable(
            f"store {self._place}: expected an end without conflict, found {detail(last)}; begin again"
        ) from last

    @asynccontextmanager
    async def _acquired(self) -> AsyncIterator[Connection]:
        async with self.pool.acquired() as connection:
            await connection.bind(self.seconds)
            yield connection

    async def _begin(self, connection: Connection, *, enters: bool = True) -> None:
        await self._unconfirmed.settle(connection)
        try:
            if self._gate is None or not enters:
                connection.held = None
                await connection.run("begin")
            else:
                await self._gate.begin(connection)
        except asyncio.CancelledError:
            # It may open after all, under the next verb that acquires the connection.
            connection.raw.terminate()
            raise

    async def _commit(self, connection: Connection) -> None:
        with self._commits():
            status = await connection.commits(connection.end("commit"))
        if status != "COMMIT":
            raise StoreUnavailable(
                f"store {self._place}: expected a transaction to commit, found it rolled back by an earlier statement; "
                "leave it when a statement fails, or use a savepoint"
            )

    @contextmanager
    def _commits(self) -> Iterator[None]:
        """Wraps a commit: when its answer is lost, its outcome is unknown."""
        self._environment.failpoint("store.commit.before")
        try:
            yield
        except asyncio.CancelledError:
            self._unconfirmed.commit_lost()
            raise
        except UNKNOWN as error:
            self._unconfirmed.commit_lost()
            raise commit_unknown(error, self._place) from error
        self._environment.failpoint("store.commit.after")


async def _roll_back(connection: Connection) -> None:
    """Give the transaction up; a connection on which that fails is not used again."""
    connection.audits = []
    try:
        if not connection.raw.is_closed():
            await connection.end("rollback")
    except BROKEN:
        connection.raw.terminate()
