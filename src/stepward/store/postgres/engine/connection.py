"""One connection to PostgreSQL: named queries of the catalogue, counted; one verb at a time uses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, TypeVar

import asyncpg

from stepward.store.postgres.engine.array_literals import column_literals
from stepward.store.postgres.engine.column_arrays import columns_of
from stepward.store.postgres.engine.connecting.session_reset import MARK, Use, cleaning
from stepward.store.postgres.engine.error_translation import AGAIN, BROKEN, DATA, LOST, CommitUncertain, NotReplicated
from stepward.store.postgres.engine.query_catalogue import load_catalogue
from stepward.store.postgres.hot.compact_rows import form_of
from stepward.store.postgres.server.primary_timeline import KnownPrimary, Lineage
from stepward.store.sealing.row_codec import RowCodec
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection

T = TypeVar("T")
Row = Any
"""The driver's own kind of row: read by place, as SQLite's is."""

MILLISECONDS = 1000
CLOSE_SECONDS = 1.0
ANSWER_SECONDS = 1.0
"""How much longer than the server may take its answer is waited for."""
CUTS_WAITS = "syncrep.c"
"""The server's source that warns of a commit which no standby has confirmed; the words depend on its language."""


class Connection(VerbConnection):
    """A connection with the queries of one schema."""

    def __init__(
        self,
        raw: asyncpg.Connection[asyncpg.Record],
        schema: str,
        seconds: float,
        *,
        is_bound: bool = False,
        codec: RowCodec | None = None,
    ) -> None:
        super().__init__(load_catalogue(schema))
        self.raw = raw
        self.codec = codec
        """Seals and opens payloads by the names of queries; None where they are not encrypted."""
        self.schema = schema
        self.statements = 0
        self.use = Use.NONE
        self._seconds = seconds
        """What a statement, and a rest within a transaction, may take."""
        self._first_seconds = seconds
        """The same as it was when the connection was made: what cleaning it goes back to."""
        self._is_bound = is_bound
        """Whether the server holds it to that; through a pooler that is not ours to say."""
        self.audits: list[tuple[Any, ...]] = []
        """Acts that the open transaction appends to the chain at its end."""
        self._savepoints = 0
        self._marks = count(1)
        self._commits = False
        self._is_cut_short = False
        self._lineage: Lineage | None = None
        self._line: KnownPrimary | None = None
        raw.add_log_listener(self._warned)

    async def rows(self, query: str, *values: Any) -> list[Row]:
        """All rows of a query."""
        return self.opened(query, await super().rows(query, *self.sent(query, values)))

    async def pages(self, query: str, size: int, *values: Any) -> AsyncIterator[list[Row]]:
        cursor = await self._answered(self.raw.cursor(self._queries[query], *self.sent(query, values)))
        while page := self.opened(query, await self._answered(cursor.fetch(size))):
            yield page

    def sent(self, query: str, values: Sequence[Any]) -> Sequence[Any]:
        """The parameters of a query as they are sent: payloads sealed, columns as literals."""
        if self.codec is not None:
            values = self.codec.sealed(query, values)
        literals = column_literals(self._queries[query])
        if not literals:
            return values
        sent = list(values)
        for place, literal in literals:
            sent[place] = literal(sent[place])
        return sent

    def opened(self, query: str, rows: list[Row]) -> list[Row]:
        return rows if self.codec is None else self.codec.opened(query, rows)

    async def change(self, query: str, *values: Any) -> int:
        """Run a changing query; how many rows it changed."""
        status = await self._answered(self.raw.execute(self._queries[query], *self.sent(query, values)))
        return int(status.rpartition(" ")[2])

    async def change_each(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> int:
        """Run a changing query over arrays of the columns of ``many``, and values; how many rows it changed."""
        return await self.change(query, *columns_of(many), *values) if many else 0

    async def applied(self, query: str, many: Sequence[Sequence[Any]], *values: Any) -> list[int]:
        """As ``change_each``, of a query that returns which rows of ``many`` changed something, counted from 1."""
        found = await self.rows(query, *columns_of(many), *values) if many else []
        return sorted(row[0] - 1 for row in found)

    async def insert_each(self, query: str, many: Sequence[Sequence[Any]]) -> list[Row]:
        """Run a changing query over arrays of the columns of ``many``; the rows that it returns."""
        if not many:
            return []
        form, columns = form_of(query, many)
        return await self.rows(form, *columns)

    async def follow_commits(self) -> None:
        """A commit that writes waits for the standbys to have all that came before it."""
        await self.rows("replication.follow")

    async def append_audits(self, acts: Sequence[tuple[Any, ...]]) -> None:
        """Have acts appended at the end of the transaction: who locked rows after the chain would wait for one who has
        locked them and waits for the chain."""
        self.audits += acts if self.codec is None else self.codec.acts(acts)

    async def link_audits(self) -> None:
        """Append what waits for the end of the transaction."""
        waiting, self.audits = self.audits, []
        await alerts_and_audit.link(self, waiting)

    async def lock_chain(self) -> None:
        """Keep the chain of audits for this transaction alone until its end."""
        await self.row("alerts_and_audit.lock_chain", self.schema)

    async def fetched(self, sql: str, *values: Any) -> list[Row]:
        return list(await self._answered(self.raw.fetch(sql, *values)))

    def _arrays(self, many: Sequence[Sequence[Any]]) -> Sequence[Any]:
        return columns_of(many)

    async def run(self, sql: str, seconds: float | None = None) -> str:
        """Run statements without parameters; what the server says of the last. None: the usual time is waited."""
        return await self._answered(self.raw.execute(sql), seconds)

    async def commits(self, work: Awaitable[T]) -> T:
        """The result of work that commits.

        A caller that is cancelled or stops waiting does not cancel it at the server: a commit that waits for a standby
        would then count as done without it. The connection is dropped instead, and the server waits on. Raises
        NotReplicated when the wait was cut short by a cancel request.
        """
        doing = asyncio.ensure_future(work)
        self._commits = True
        try:
            async with asyncio.timeout(self._seconds + ANSWER_SECONDS):
                result = await asyncio.shield(doing)
        finally:
            self._commits = False
            if not doing.done():
                self.raw.terminate()
                await asyncio.gather(doing, return_exceptions=True)
        if self._is_cut_short:
            self.raw.terminate()
            raise NotReplicated
        return result

    async def end(self, how: str) -> str:
        """Commit or roll back; what the server says.

        The statements that clean the session stand in the same message: it saves a round trip, and a pooler gives the
        session to another client with the end of the message that ends the transaction.
        """
        if self.use is Use.NONE or (self.use is Use.DRIVER and self._is_bound):
            return await self.run(how)
        mark = f"{next(self._marks)}"
        try:
            # In a transaction that has failed the first statement ends the message, and nothing of the rest is done.
            first = f"set {MARK} = {mark}; " if how == "commit" else ""
            await self.run(f"{first}{how}; {cleaning(self.use)}")
        except asyncpg.InFailedSQLTransactionError:
            return await self.end("rollback")
        except LOST:
            raise
        except asyncpg.PostgresError as error:
            if not self._is_bound:
                raise error if isinstance(error, (*DATA, *AGAIN)) else CommitUncertain(str(error)) from error
            if how == "commit" and not await self._has_committed(mark):
                raise
        else:
            self._cleaned()
        return how.upper()

    async def clean(self) -> None:
        """Take out of the session what an application may have left there; where that fails it is not used again."""
        if self.use is Use.NONE or self.use is Use.DRIVER or self.raw.is_closed() or self.raw.is_in_transaction():
            return
        try:
            await self.run(cleaning(self.use))
        except BROKEN:
            self.raw.terminate()
        else:
            self._cleaned()

    async def bind(self, seconds: float) -> None:
        """Have nothing take more than these seconds."""
        if self._seconds > seconds:
            if self._is_bound:
                await self.run(_bounds("set", seconds))
            self._seconds = seconds

    async def bind_transaction(self, seconds: float) -> None:
        """Have the server allow no more than these seconds until the open transaction ends."""
        await self.run(_bounds("set local", seconds))

    @asynccontextmanager
    async def savepoint(self, check: Callable[[], None] = lambda: None) -> AsyncIterator[None]:
        """A part of the open transaction that is rolled back by itself when an exception leaves it; ``check`` raises
        where the transaction has ended meanwhile: by then the connection may be in another's."""
        name, audits = f"part_{self._savepoints}", list(self.audits)
        self._savepoints += 1
        await self.run(f"savepoint {name}")
        try:
            yield
        except BaseException:
            check()
            self.audits = audits
            if not self.raw.is_closed():
                await self.run(f"rollback to {name}; release {name}")
            raise
        else:
            check()
            await self.run(f"release {name}")
        finally:
            self._savepoints -= 1

    async def close(self) -> None:
        """Take leave of the server, and wait until the socket is closed."""
        try:
            await self.raw.close(timeout=CLOSE_SECONDS)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            self.raw.terminate()

    async def descend(self, lineage: Lineage) -> None:
        """Learn which primary this is; one that another has replaced is not used, now and later."""
        self._lineage = lineage
        self._line = await self.line()
        lineage.met(self._line)

    async def line(self) -> KnownPrimary | None:
        """Which primary this is; None of a standby, and of a service that does not tell."""
        try:
            return KnownPrimary.read(await self.row("replication.line"))
        except LOST:
            raise
        except asyncpg.PostgresError:
            return None

    @property
    def usable(self) -> bool:
        """Whether the connection is open and clean, without a transaction, and to the same server as before."""
        return not (self.raw.is_closed() or self.raw.is_in_transaction() or self.is_outdated or self.use)

    @property
    def is_outdated(self) -> bool:
        """Whether its server is a primary that another has replaced."""
        return self._lineage is not None and self._lineage.is_outdated(self._line)

    async def _answered(self, asked: Awaitable[T], seconds: float | None = None) -> T:
        """The answer; a connection on which none comes in time is not used again."""
        self.statements += 1
        if self._commits:
            return await asked
        try:
            async with asyncio.timeout(self._seconds + ANSWER_SECONDS if seconds is None else seconds):
                return await asked
        except TimeoutError:
            self.raw.terminate()
            raise

    async def _has_committed(self, mark: str) -> bool:
        """Whether the transaction that set the mark committed: then the message failed after that, in the cleaning.

        What the cleaning did is rolled back with that, the reset of the mark too.
        """
        ((found,),) = await self.fetched(f"select current_setting('{MARK}', true)")
        return bool(found == mark)

    def _cleaned(self) -> None:
        self._seconds = self._first_seconds
        if self.use is not Use.DRIVER:
            self.use = Use.NONE

    def _warned(self, connection: Any, message: asyncpg.PostgresLogMessage) -> None:
        """Received before the answer: the driver delivers both in order."""
        self._is_cut_short |= getattr(message, "server_source_filename", None) == CUTS_WAITS


def _bounds(how: str, seconds: float) -> str:
    allowed = int(seconds * MILLISECONDS)
    return f"{how} statement_timeout = {allowed}; {how} idle_in_transaction_session_timeout = {allowed}"
