"""A process that stands still in the middle of a transaction holds up nobody for long.

Between asking for the plan of a statement and running it the server counts no time, and what was locked stays locked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import asyncpg
import pytest

from stepward.errors import StoreUnavailable
from stepward.model.records import Instance, Role
from stepward.store.contract import Store
from tests.store.postgres.worlds import Database

T = TypeVar("T")

LEASE = 1.0
BOUNDS = {"statement_timeout": "400ms", "idle_in_transaction_session_timeout": "400ms"}
STATE = "select state, wait_event from pg_stat_activity where pid = {pid}"

Stall = Callable[[str], Awaitable[None]]


@pytest.fixture
async def stall(database: Database) -> AsyncIterator[Stall]:
    """What locks rows and then stands still where no bound counts."""
    stalled = await asyncpg.connect(database.address, server_settings={"application_name": "stepward", **BOUNDS})

    async def stall(lock: str) -> None:
        await stalled.execute("begin")
        await stalled.execute(lock)
        await stalled.prepare("select state from stepward_shop.task where id = $1")
        assert await database.rows(STATE.format(pid=stalled.get_server_pid())) == [("active", "ClientRead")]

    yield stall
    stalled.terminate()


async def _store(database: Database) -> Store:
    store = await database.opened()
    for id, role, lease in (("leader", Role.SUPERVISOR, 60), ("stalled", Role.SCHEDULER, LEASE)):
        await store.register(Instance(id=id, role=role, host="h", pid=1, serves=[]), lease)
    return store


async def _at_last(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until something comes; the store may be busy for a while."""
    async with asyncio.timeout(20):
        while True:
            try:
                if found := await ask():
                    return found
            except StoreUnavailable:
                continue


async def test_one_that_has_locked_its_own_instance_is_fenced(database: Database, stall: Stall) -> None:
    store = await _store(database)
    term = await store.lead("leader", 60)
    assert term is not None
    await stall("select id from stepward_shop.instance where id = 'stalled' for share")
    dead = await _at_last(lambda: store.fence(term))
    assert [instance.id for instance in dead] == ["stalled"]


async def test_one_that_has_locked_the_seat_keeps_nobody_from_leading(database: Database, stall: Stall) -> None:
    store = await _store(database)
    await stall("select 1 from stepward_shop.leadership for update")
    assert await _at_last(lambda: store.lead("leader", 60)) == 1


async def test_one_that_has_locked_the_seat_keeps_nobody_from_starting(database: Database, stall: Stall) -> None:
    """Also where it is the only Supervisor: nobody else would lead, and end it."""
    store = await _store(database)
    await stall("select 1 from stepward_shop.leadership for update")
    await store.register(Instance(id="new", role=Role.SCHEDULER, host="h", pid=2, serves=[]), LEASE)
    assert "new" in [instance.id for instance in await store.instances()]
