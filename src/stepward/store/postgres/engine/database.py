"""The connections of one store object, by purpose, and the clock that they all follow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from stepward.clock import Environment
from stepward.store.address import PostgresPlace
from stepward.store.postgres.engine.clock import StoreClock
from stepward.store.postgres.engine.connecting.connector import (
    PINNED,
    READ_COMMITTED,
    REPLANNED,
    SHARED_SECONDS,
    STATEMENT_SECONDS,
    Connector,
    shared_name,
)
from stepward.store.postgres.engine.connecting.pool import Pool
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.error_translation import BROKEN, translated
from stepward.store.postgres.engine.shard_gate import ShardGate
from stepward.store.postgres.engine.transactions import Transactions
from stepward.store.postgres.engine.unconfirmed_commits import UnconfirmedCommits
from stepward.store.sealing.row_codec import RowCodec

OTHERS = 4
TRANSACTIONS = 8
FOR_OTHERS = 2
"""Of these, what transactional steps leave to submissions and to the application."""


class Database:
    """A lane for the Scheduler's turns, one for leases, which wait for nothing else, one for transactions that
    applications share, and one for all the rest."""

    def __init__(
        self,
        place: PostgresPlace,
        schema: str,
        environment: Environment,
        clock: StoreClock,
        codec: RowCodec | None = None,
    ) -> None:
        self.place = place
        self.schema = schema
        self.clock = clock
        self.codec = codec
        self.connector = Connector(place, schema, codec)
        self._unconfirmed = UnconfirmedCommits(place.shown)
        self.gate = ShardGate(schema)
        self.turns = self._lane(self.connect, 1, environment, STATEMENT_SECONDS)
        self.leases = self._lane(self.connect, 1, environment, STATEMENT_SECONDS, enters=False)
        self.others = self._lane(self.connect, OTHERS, environment, STATEMENT_SECONDS)
        self.shared = self._lane(self._connect_shared, TRANSACTIONS, environment, SHARED_SECONDS)

    @property
    def statements(self) -> int:
        """How many statements this object has executed."""
        return sum(lane.pool.statements for lane in self._lanes)

    @property
    def _lanes(self) -> tuple[Transactions, ...]:
        return self.turns, self.leases, self.others, self.shared

    def open(self) -> None:
        """Let verbs acquire connections from now on."""
        for lane in self._lanes:
            lane.pool.open()

    async def close(self) -> None:
        """Let go of every connection."""
        for lane in self._lanes:
            await lane.pool.close()

    def heed(self, lease: float) -> None:
        """Have no statement take longer than less than half of an instance's lease."""
        for lane in (self.turns, self.leases, self.others):
            lane.heed(lease)

    async def connect(self) -> Connection:
        """A new connection for our own statements."""
        return await self._with_clock(await self.connector.connect(PINNED | READ_COMMITTED))

    async def hear(self, connection: Connection) -> None:
        """Ask for the server's clock."""
        sent = self.clock.read()
        ((shown,),) = await connection.rows("turn.clock")
        self.clock.heard(shown, sent)

    async def _connect_shared(self) -> Connection:
        settings = REPLANNED | {"application_name": shared_name(self.schema)}
        return await self._with_clock(await self.connector.connect(settings, SHARED_SECONDS))

    async def _with_clock(self, connection: Connection) -> Connection:
        """The server's clock is read on each new connection, as it may be another server than before."""
        try:
            await self.hear(connection)
        except BaseException as error:
            connection.raw.terminate()
            if isinstance(error, BROKEN):
                raise translated(error, self.place.shown) from error
            raise
        return connection

    def _lane(
        self,
        connect: Callable[[], Awaitable[Connection]],
        size: int,
        environment: Environment,
        seconds: float,
        *,
        enters: bool = True,
    ) -> Transactions:
        pool, gate = Pool(connect, size, self.place.shown), self.gate if enters else None
        return Transactions(pool, environment, self.place.shown, seconds, self._unconfirmed, gate)
