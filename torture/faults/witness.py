"""Decides whether a fault hit a working process: a fault at an idle one proves nothing."""

from __future__ import annotations

from typing import Any

import asyncpg
import httpx

from torture.application.application import LEASE
from torture.application.keeper import ActorProcess
from torture.servers.cluster import SCHEMA, PostgresPair

RECENT_SECONDS = 1.0
HELD = f"""
select count(*) from {SCHEMA}.task as t join {SCHEMA}.instance as i on i.id = t.locked_by
where i.alive and i.pid = $1 and t.state in ('processing', 'undoing')
"""
LEADS = f"""
select count(*) from {SCHEMA}.leadership as l join {SCHEMA}.instance as i on i.id = l.instance
where i.alive and i.pid = $1 and l.expires_at > extract(epoch from clock_timestamp())
    and exists (select 1 from {SCHEMA}.task where finished_at is null)
"""
PLACED = """
select count(*) from placed
where pid = $1 and at between clock_timestamp() - interval '1 second' and clock_timestamp()
"""
ASKS = {"scheduler": HELD, "supervisor": LEADS, "submission": PLACED}
COMMITTED = f"""
select count(*) from {SCHEMA}.step
where greatest(started_at, finished_at) between extract(epoch from clock_timestamp()) - {RECENT_SECONDS}
    and extract(epoch from clock_timestamp())
"""
AHEAD = f"select max(ahead) from {SCHEMA}.instance where alive and pid = $1"
ALIVE = f"select count(*) from {SCHEMA}.instance where alive and pid = $1"
BLIND = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, httpx.HTTPError)


class Witness:
    """Reads the store and the ledger, apart from the application."""

    def __init__(self, cluster: PostgresPair, ledger_url: str) -> None:
        self._cluster = cluster
        self._ledger = httpx.AsyncClient(base_url=ledger_url, timeout=5)

    async def is_working(self, actor: ActorProcess) -> bool:
        """Whether it holds tasks, has just asked the service for something, leads, or has just accepted messages."""
        if not actor.is_running or actor.is_stopped:
            return False
        try:
            if actor.role == "agent":
                return await self._has_called(actor.pid)
            return await self._count(ASKS[actor.role], actor.pid) > 0
        except BLIND:
            return False

    async def is_fenced(self, actor: ActorProcess) -> bool:
        """Whether none of its instances passes for alive any more."""
        try:
            return await self._count(ALIVE, actor.pid) == 0
        except BLIND:
            return False

    async def are_committing(self) -> bool:
        """Whether steps began or ended within the last second."""
        try:
            return await self._count(COMMITTED) > 0
        except BLIND:
            return False

    async def ahead(self, pid: int) -> float | None:
        """How far a process says that the clock of its host is ahead of the server's."""
        found: float | None = (await self._cluster.rows(AHEAD, pid))[0][0]
        return found

    async def book(self) -> dict[str, list[Any]]:
        """The ledger's book."""
        found: dict[str, list[Any]] = (await self._ledger.get("/book", timeout=60)).json()
        return found

    async def close(self) -> None:
        await self._ledger.aclose()

    async def _has_called(self, pid: int) -> bool:
        found = await self._ledger.get("/recent", params={"pid": pid, "seconds": RECENT_SECONDS})
        return int(found.json()["calls"]) > 0

    async def _count(self, sql: str, *values: int) -> int:
        return int((await self._cluster.rows(sql, *values))[0][0])


PAST_LEASE = (1.4 * LEASE, 2.5 * LEASE)
"""How long a process is stopped so that its lease runs out meanwhile."""
