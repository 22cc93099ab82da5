"""Makes connections: the settings of each, the servers that are refused, and the limits of a pooler between."""

from __future__ import annotations

import asyncio
from typing import NamedTuple, TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from stepward.errors import StepwardError, StoreUnavailable, StoreUnusable
from stepward.settings.plaintext_connections import check_database
from stepward.store.address import PostgresPlace, hosts_of, rotated
from stepward.store.postgres.engine.connecting.authorities import check_authorities, system_trust
from stepward.store.postgres.engine.connecting.cancelled_connects import retrieve_errors
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.error_translation import BROKEN, translated
from stepward.store.postgres.server.primary_timeline import KnownPrimary, Lineage
from stepward.store.sealing.row_codec import RowCodec

Raw: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

CONNECT_SECONDS = 4.0
ASK_SECONDS = 1.0
"""For a word with each of several hosts."""
ASK_EVERY = 5.0
STATEMENT_SECONDS = 4.0
"""Less than half of the usual lease: what the server does not do in time it does not do at all."""
SHARED_SECONDS = 60.0
"""The same for statements of applications, and for their rests between two."""
OLDEST = 15
STATEMENTS_KEPT = 200

PINNED = {
    # A plan made while the tables are new would walk over them for ever.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
"""For our own statements alone: each is prepared once and goes over an index, whatever the tables held by then."""
READ_COMMITTED = {"default_transaction_isolation": "read committed"}
"""For our own statements: one that has waited for a lock sees what was committed by then."""
REPLANNED = {"plan_cache_mode": "force_custom_plan"}
"""For connections that applications use too: their statements are planned as if they were alone."""

PREFIX = "stepward_"
LONGEST = 63
"""Bytes that PostgreSQL keeps of a name."""

TARGET = "target_session_attrs="
UNKNOWN_PARAMETER = "unsupported startup parameter"
"""What PgBouncer says to a setting that it cannot keep for a client."""


class ServerAddress(NamedTuple):
    """What one of an address's hosts said."""

    dsn: str
    answers: bool
    line: KnownPrimary | None
    """None: a standby."""


class Connector:
    """Makes connections to the primary of one place; it notices by itself that a pooler stands between.

    A primary that another has replaced, and that still runs, is not taken for one: hosts are asked who took over last.
    """

    def __init__(self, place: PostgresPlace, schema: str, codec: RowCodec | None = None) -> None:
        check_database(place.dsn)
        check_authorities(place.dsn)
        self.place = place
        self.pooled = place.pooled
        self.lineage = Lineage()
        self._schema = schema
        self._codec = codec
        self._hosts = hosts_of(place.dsn)
        self._first = 0
        """Which of the hosts is tried first: the newest primary, another once that one has used up all the time."""
        self._asking = asyncio.Lock()
        self._ask_at = 0.0

    async def connect(self, settings: dict[str, str], seconds: float = STATEMENT_SECONDS) -> Connection:
        """A connection to the primary, on which no statement takes longer than these seconds.

        The settings are left out where a pooler stands between. Raises in Stepward's words.
        """
        try:
            await self._look_round()
            raw = await self._recognised(_bounds(seconds) | {"application_name": session_name(self._schema)} | settings)
            connection = Connection(raw, self._schema, seconds, is_bound=not self.pooled, codec=self._codec)
            await self._admit(connection)
        except StepwardError:
            raise
        except (*BROKEN, ValueError) as error:
            raise self._translated(error) from error
        return connection

    async def ask(self, host: str) -> ServerAddress:
        """Whether a host answers, and which primary it is, if it is one."""
        try:
            async with asyncio.timeout(ASK_SECONDS):
                connection = Connection(await self._driven(host, {}, any_server=True), self._schema, ASK_SECONDS)
                try:
                    return ServerAddress(host, answers=True, line=await connection.line())
                finally:
                    await connection.close()
        except (*BROKEN, ValueError):
            return ServerAddress(host, answers=False, line=None)

    async def hosts(self) -> list[ServerAddress]:
        """What each host of the address says, all asked at once."""
        return list(await asyncio.gather(*[self.ask(host) for host in self._hosts]))

    async def _look_round(self) -> None:
        """Begin with the newest primary. The answers will do for a while, as many connections are made at once."""
        if len(self._hosts) == 1:
            return
        async with self._asking:
            now = asyncio.get_running_loop().time()
            if now >= self._ask_at:
                for place, host in enumerate(await self.hosts()):
                    if host.line is not None and not self.lineage.is_outdated(host.line):
                        self.lineage.met(host.line)
                        self._first = place
                self._ask_at = now + ASK_EVERY

    async def _recognised(self, settings: dict[str, str]) -> Raw:
        """A connection with the settings, or without where a pooler refuses them."""
        try:
            return await self._connect({} if self.pooled else settings)
        except asyncpg.PostgresError as error:
            if self.pooled or UNKNOWN_PARAMETER not in str(error):
                raise
            self.pooled = True
            return await self._connect({})

    async def _connect(self, settings: dict[str, str]) -> Raw:
        first = self._first
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                raw = await self._driven(rotated(self.place.dsn, first), settings)
        except TimeoutError:
            self._first = first + 1
            raise
        try:
            self._check_version(raw.get_server_version().major)
        except BaseException:
            raw.terminate()
            raise
        return raw

    async def _driven(self, dsn: str, settings: dict[str, str], *, any_server: bool = False) -> Raw:
        retrieve_errors()
        is_any = any_server or TARGET in self.place.dsn
        raw: Raw = await asyncpg.connect(
            dsn,
            ssl=system_trust(dsn),
            timeout=CONNECT_SECONDS,
            # Through a pooler a statement may meet another process of the server than its preparation did.
            statement_cache_size=0 if self.pooled or any_server else STATEMENTS_KEPT,
            max_cached_statement_lifetime=0,
            max_cacheable_statement_size=0,
            server_settings=settings,
            target_session_attrs=None if is_any else SessionAttribute.primary,
        )
        return raw

    async def _admit(self, connection: Connection) -> None:
        """Refuse a primary that another has replaced."""
        try:
            await connection.descend(self.lineage)
            if connection.is_outdated:
                self._first += 1
                self._ask_at = 0.0
                raise StoreUnavailable(
                    f"store {self.place.shown}: expected the primary that took over last, found one that it has "
                    "replaced; stop the old primary"
                )
        except BaseException:
            connection.raw.terminate()
            raise

    def _check_version(self, found: int) -> None:
        if found < OLDEST:
            raise StoreUnusable(
                f"store {self.place.shown}: expected PostgreSQL {OLDEST} or newer, found {found}; upgrade the server"
            )

    def _translated(self, error: BaseException) -> StepwardError:
        if isinstance(error, ValueError) and not isinstance(error, OSError):
            # What the driver says of an address may repeat the password.
            return StoreUnusable(
                f"store {self.place.shown}: expected an address that PostgreSQL's driver takes, found another "
                "form; write postgresql://user@host/database"
            )
        if isinstance(error, TimeoutError):
            return StoreUnavailable(
                f"store {self.place.shown}: expected a connection within {CONNECT_SECONDS:g} s, found none; "
                "look at host and port"
            )
        return translated(error, self.place.shown)


def session_name(schema: str) -> str:
    """What the server's sessions show of a process that works on that schema."""
    return schema if schema.startswith(PREFIX) else f"stepward:{schema}"[:LONGEST]


def shared_name(schema: str) -> str:
    """The same of sessions in which statements of applications run too."""
    return f"shared {session_name(schema)}"[:LONGEST]


def _bounds(seconds: float) -> dict[str, str]:
    return {
        "statement_timeout": f"{seconds:g}s",
        "idle_in_transaction_session_timeout": f"{seconds:g}s",
        "tcp_user_timeout": f"{2 * STATEMENT_SECONDS:g}s",
        # A role may be set to receive errors only: a commit that no standby has confirmed is reported as a warning.
        "client_min_messages": "warning",
    }
