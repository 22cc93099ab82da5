"""A process that stands still in the middle of a transaction keeps nobody from declaring it dead."""

from __future__ import annotations

import asyncio

import asyncpg

from stepward.model.records import Instance, Role
from tests.store.postgres.worlds import Database

LEASE = 1.0
LOCK = "select id from stepward_shop.instance where id = 'stalled' for share"
STATE = "select state, wait_event from pg_stat_activity where pid = {pid}"


async def test_a_process_that_stopped_before_it_ran_a_prepared_statement_is_fenced(database: Database) -> None:
    """Between asking for a plan and running it the server counts no time at all, and the rows stay locked."""
    store = await database.opened()
    for id, role in (("leader", Role.SUPERVISOR), ("stalled", Role.SCHEDULER)):
        record = Instance(id=id, role=role, host="h", pid=1, serves=[])
        await store.register(record, LEASE if id == "stalled" else 60)
    term = await store.lead("leader", 60)
    assert term is not None
    bounds = {"statement_timeout": "400ms", "idle_in_transaction_session_timeout": "400ms"}
    stalled = await asyncpg.connect(database.address, server_settings={"application_name": "stepward", **bounds})
    await stalled.execute("begin")
    await stalled.execute(LOCK)
    await stalled.prepare("select state from stepward_shop.task where id = $1")
    assert await database.rows(STATE.format(pid=stalled.get_server_pid())) == [("active", "ClientRead")]
    async with asyncio.timeout(20):
        dead: list[Instance] = []
        while not dead:
            dead = await store.fence(term)
    assert [instance.id for instance in dead] == ["stalled"]
    stalled.terminate()
