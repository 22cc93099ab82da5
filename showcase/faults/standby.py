"""What the standby holds: read from it, past the primary."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from examples.orders.database import OrderState
from servers.keeper.pair_process import USER
from servers.keeper.pair_state import DATABASE, ClusterMember, Standing

ALWAYS_THERE = "postgres"
REPLAYED_SECONDS = 10
LOOK_SECONDS = 0.05


async def states_at_standby(standing: Standing) -> dict[str, OrderState]:
    """The orders as the standby has them, once it has replayed what the primary has written by now.

    Nothing if there is no standby, or it does not come that far in time.
    """
    if standing.standby is None:
        return {}
    try:
        async with asyncio.timeout(REPLAYED_SECONDS):
            await _replayed(standing.primary, standing.standby)
    except TimeoutError:
        return {}
    async with _connected(standing.standby, DATABASE) as standby:
        rows = await standby.fetch("SELECT id, state FROM customer_order")
    return {row["id"]: OrderState(row["state"]) for row in rows}


async def _replayed(primary: ClusterMember, standby: ClusterMember) -> None:
    # Not in the shop's database: the standby may not have come as far as that it was created.
    async with _connected(primary, ALWAYS_THERE) as ahead, _connected(standby, ALWAYS_THERE) as behind:
        # Where the next record would go may lie behind the head of a page of its own, which no standby reaches.
        written = await ahead.fetchval("SELECT pg_current_wal_flush_lsn()")
        while True:
            if await behind.fetchval("SELECT pg_last_wal_replay_lsn() >= $1", written):
                return
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def _connected(server: ClusterMember, database: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(host="127.0.0.1", port=server.port, user=USER, database=database)
    try:
        yield connection
    finally:
        await connection.close()
