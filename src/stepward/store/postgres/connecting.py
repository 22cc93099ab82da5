"""How a connection is made: what each sets for itself, who is refused, and what a pooler between leaves of it."""

from __future__ import annotations

import asyncio

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from stepward.errors import StepwardError, StoreUnavailable, StoreUnusable
from stepward.store.address import PostgresPlace, rotated
from stepward.store.postgres.connection import Connection
from stepward.store.postgres.faults import BROKEN, translated

CONNECT_SECONDS = 4.0
STATEMENT_SECONDS = 4.0
"""Less than half of the usual lease: what the server does not do in time it does not do at all."""
SHARED_SECONDS = 60.0
"""The same for statements of applications, and for their rests between two."""
ANSWER_SECONDS = 1.0
"""How much longer than the server may take its answer is waited for."""
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
REPLANNED = {"plan_cache_mode": "force_custom_plan"}
"""For connections that applications use too: their statements are planned as if they were alone."""

TARGET = "target_session_attrs="
UNKNOWN_PARAMETER = "unsupported startup parameter"
"""What PgBouncer says to a setting that it cannot keep for a client."""


class Connector:
    """Makes connections to one place; it notices by itself that a pooler stands between."""

    def __init__(self, place: PostgresPlace, schema: str) -> None:
        self.place = place
        self.pooled = place.pooled
        self._schema = schema
        self._first = 0
        """Which of the hosts is asked first: another, once that one has used up all the time."""

    async def connect(self, settings: dict[str, str], seconds: float = STATEMENT_SECONDS) -> Connection:
        """A connection to the primary, on which no statement takes longer than these seconds.

        The settings are left out where a pooler stands between. Raises in Stepward's words.
        """
        try:
            try:
                raw = await self._connect({} if self.pooled else _bounds(seconds) | settings, seconds)
            except asyncpg.PostgresError as error:
                if self.pooled or UNKNOWN_PARAMETER not in str(error):
                    raise
                self.pooled = True
                raw = await self._connect({}, seconds)
        except StepwardError:
            raise
        except (*BROKEN, ValueError) as error:
            raise self._told(error) from error
        return Connection(raw, self._schema, None if self.pooled else seconds)

    async def _connect(self, settings: dict[str, str], seconds: float) -> asyncpg.Connection[asyncpg.Record]:
        async with asyncio.timeout(CONNECT_SECONDS):
            raw: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
                rotated(self.place.dsn, self._first),
                timeout=CONNECT_SECONDS,
                command_timeout=seconds + ANSWER_SECONDS,
                # Through a pooler a statement may meet another process of the server than its preparation did.
                statement_cache_size=0 if self.pooled else STATEMENTS_KEPT,
                max_cached_statement_lifetime=0,
                max_cacheable_statement_size=0,
                server_settings=settings,
                target_session_attrs=None if TARGET in self.place.dsn else SessionAttribute.primary,
            )
        try:
            self._check_version(raw.get_server_version().major)
        except BaseException:
            raw.terminate()
            raise
        return raw

    def _check_version(self, found: int) -> None:
        if found < OLDEST:
            raise StoreUnusable(
                f"store {self.place.shown}: expected PostgreSQL {OLDEST} or newer, found {found}; upgrade the server"
            )

    def _told(self, error: BaseException) -> StepwardError:
        if isinstance(error, ValueError) and not isinstance(error, OSError):
            # What the driver says of an address may repeat the password.
            return StoreUnusable(
                f"store {self.place.shown}: expected an address that PostgreSQL's driver takes, found another "
                "form; write postgresql://user@host/database"
            )
        if isinstance(error, TimeoutError):
            self._first += 1
            return StoreUnavailable(
                f"store {self.place.shown}: expected a connection within {CONNECT_SECONDS:g} s, found none; "
                "look at host and port"
            )
        return translated(error, self.place.shown)


def _bounds(seconds: float) -> dict[str, str]:
    return {
        "application_name": "stepward",
        "statement_timeout": f"{seconds:g}s",
        "idle_in_transaction_session_timeout": f"{seconds:g}s",
        "tcp_user_timeout": f"{2 * STATEMENT_SECONDS:g}s",
    }
