"""Transactions on the store's file: retried while another process writes, in one piece while they run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Concatenate

import apsw

from stepward.clock import Environment
from stepward.errors import StoreUnavailable
from stepward.store.sealing.row_codec import RowCodec
from stepward.store.sqlite.engine.busy_wait import TURN_WAITS, BusyWait
from stepward.store.sqlite.engine.connection import BEGIN_READ, BEGIN_WRITE, Connection, is_memory
from stepward.store.sqlite.engine.error_translation import BUSY, DATA, translated
from stepward.store.sqlite.engine.reading_thread import BesideReader
from stepward.store.sqlite.engine.writer_queue import Work, WriterQueue, writer_lock
from stepward.store.sqlite.schema.migration import check_owner, use_log
from stepward.store.store_errors import closed, commit_unknown, refused
from stepward.store.verbs.connection import P, T


class Database:
    """The connections of one store object to its file."""

    def __init__(
        self,
        path: str,
        environment: Environment,
        busy_seconds: float,
        synchronous: str,
        codec: RowCodec | None = None,
    ) -> None:
        self.path = path
        self.environment = environment
        self.connection: Connection | None = None
        self._busy_seconds = busy_seconds
        self._synchronous = synchronous
        self._codec = codec
        self._second: Connection | None = None
        self._second_used = asyncio.Lock()
        self._reader: BesideReader | None = None
        self._turn: asyncio.Lock | None = None
        """The lock of writers to this file on this event loop."""
        self._writers: WriterQueue | None = None
        self._busy = BusyWait(path, environment, busy_seconds, self._latest_version)
        self._gate = self._busy.gate
        self._is_arriving = False
        """Whether a writer that found no other lets the event loop run, before it writes."""
        self._has_run = True
        """Whether the event loop has run since the last write."""
        self._are_many = False
        """Whether others came when a writer last let the event loop run."""
        self._version = 0

    @property
    def statements(self) -> int:
        """How many statements this object has executed."""
        return sum(connection.statements for connection in (self.connection, self._second) if connection)

    async def open(self) -> None:
        """Connect to a file that is there; refuses what is no database or another program's."""
        self.close()
        self._turn = writer_lock(self.path)
        self._writers = WriterQueue(self._turn, self, self._busy, now=self.environment.clock.boot)
        self.connection = await self._retried(self._connect)
        self._version = self.connection.version()

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that reads with one statement."""
        await asyncio.sleep(0)
        return await self._retried(lambda: work(self._open(), *args, **kwargs))

    async def single(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that writes with one statement, which commits by itself."""
        return await self._in_turn(lambda c: work(c, *args, **kwargs), is_single=True)

    async def snapshot(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that reads with several statements, all of which see the same state."""
        await asyncio.sleep(0)
        return await self._retried(lambda: self._viewed(lambda c: work(c, *args, **kwargs)))

    async def beside(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As ``snapshot``, in a thread where the store is a file: the loop goes on meanwhile."""
        if is_memory(self.path):
            return await self.snapshot(work, *args, **kwargs)
        self._open()
        if self._reader is None:
            self._reader = BesideReader(self.path, self._busy_seconds, self._synchronous, self._codec)
        try:
            return await self._reader.run(lambda connection: work(connection, *args, **kwargs))
        except BUSY:
            raise self._busy.too_busy() from None
        except apsw.Error as error:
            raise translated(error, self.path) from error

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work in one transaction that commits when it returns, with that of others who wait; it may run again."""
        return await self._in_turn(lambda c: work(c, *args, **kwargs), is_single=False)

    @contextlib.asynccontextmanager
    async def transaction(self, *, is_within: bool = False) -> AsyncIterator[Connection]:
        """A transaction that stays open across awaits, on a connection of its own; one at a time.

        One that another of this object is open around, which may wait for it, does not wait for ever.
        """
        async with (
            self._busy.held(self._second_used, 1 if is_within else None),
            self._busy.held(self._open_turn(), 1 if is_within else TURN_WAITS),
        ):
            connection = await self._busy.write(lambda: self._tried(self._begin_second), self._busy.waited)
            try:
                yield connection
                await self._retried(lambda: self._commit(connection))
            finally:
                connection.rollback()

    def changed(self) -> bool:
        """Whether another connection has committed since the last call; False while the file cannot be read."""
        try:
            version = self._open().version()
        except apsw.Error:
            return False
        before, self._version = self._version, version
        return version != before

    def break_off(self) -> bool:
        """Only the connection for transactions that stay open can hold the file."""
        return self._second is not None and self._second.break_off()

    def close(self) -> None:
        """Let go of every connection; the last one writes the log into the file, which one that only reads may not."""
        for connection in (self._reader, self._second, self.connection):
            if connection is not None:
                connection.close()
        self._busy.forget()
        self._second = self.connection = self._reader = None

    def alone(self, work: Work[T], *, is_single: bool) -> T:
        """Run work in a transaction of its own; ``is_single``: it is one statement, which commits by itself."""
        self._note_write()
        return self._tried(work, self._open()) if is_single else self._tried(self._written, work)

    def together(self, fill: Callable[[Connection], None]) -> None:
        """Run the work of several writers in one transaction."""
        self._note_write()
        self._tried(self._written, fill)

    def part(self, connection: Connection, work: Work[T]) -> T:
        """Run the work of one of them, in a savepoint."""
        with connection.writers_part():
            return self._tried(work, connection)

    async def _in_turn(self, work: Work[T], *, is_single: bool) -> T:
        """Run work that writes: at once if no other writes, else together with them.

        The event loop runs first where others may be about to come, or where it has not run since the last write: no
        loop of writes keeps others waiting.
        """
        queue = self._queue()
        is_first = not (self._is_arriving or queue.waiting)
        if is_first:
            if self._are_many or not self._has_run:
                self._is_arriving = True
                try:
                    await asyncio.sleep(0)
                finally:
                    self._is_arriving = False
                self._are_many = bool(queue.waiting)
            if not (queue.waiting or self._open_turn().locked()) and (self._gate is None or self._gate.is_open()):
                try:
                    return self.alone(work, is_single=is_single)
                except BUSY:
                    pass
        return await queue.write(work, is_single=is_single, is_first=is_first)

    def _note_write(self) -> None:
        if self._has_run:
            self._has_run = False
            asyncio.get_running_loop().call_soon(self._note_run)

    def _note_run(self) -> None:
        self._has_run = True

    async def _retried(self, work: Callable[[], T]) -> T:
        """Run work, again while other processes hold the lock."""
        with contextlib.suppress(*BUSY):
            return self._tried(work)
        return await self._busy.run(lambda: self._tried(work))

    def _tried(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work; what SQLite raises comes out in Stepward's words, but for BUSY."""
        try:
            return work(*args, **kwargs)
        except BUSY:
            raise
        except DATA as error:
            raise refused(error, self.path) from error
        except apsw.Error as error:
            raise translated(error, self.path) from error

    def _open_turn(self) -> asyncio.Lock:
        if self._turn is None:
            raise closed(self.path)
        return self._turn

    def _queue(self) -> WriterQueue:
        if self._writers is None:
            raise closed(self.path)
        return self._writers

    def _latest_version(self) -> int:
        """The number of the last commit of another connection; 0 while the file cannot be read."""
        try:
            return self._open().version()
        except (apsw.Error, StoreUnavailable):
            return 0

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
            raise commit_unknown(error, self.path) from error

    def _connect(self) -> Connection:
        connection = Connection(self.path, self._codec)
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
            self._second = Connection(self.path, self._codec)
            self._second.tune(self._synchronous)
            self._second.keep_transactions_ours()
        self._second.begin(BEGIN_WRITE)
        return self._second

    def _open(self) -> Connection:
        if self.connection is None:
            raise closed(self.path)
        return self.connection
