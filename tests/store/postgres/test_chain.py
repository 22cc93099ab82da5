"""The chain of the audit is locked last of all: no transaction waits for a row while it holds the chain."""

from __future__ import annotations

import asyncio

import pytest

from stepward.model.states import TaskState
from stepward.store.contract import Change
from tests.store.conformance.world import World, audit, claimed, move, scheduler
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

WAITS = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'stepward_shop'"
IS_FREE = "select pg_try_advisory_xact_lock(hashtextextended('stepward audit stepward_shop', 0))"


async def test_a_turn_of_changes_that_are_applied_alone_waits_for_rows_without_the_chain(database: Database) -> None:
    """A directive that has locked that row waits for the chain: before, each waited for the other."""
    store = await database.opened()
    world = World(lambda environment: store)
    await scheduler(store)
    told, held, wrong = [await claimed(world, store) for _ in range(3)]
    changes = [
        Change(task=told.uid, audits=[audit(told)]),
        Change(task=held.uid, move=move(held, TaskState.PROCESSED)),
        # No task goes there: the turn does not commit whole, and each change is applied alone.
        Change(task=wrong.uid, move=move(wrong, TaskState.PENDING, before=TaskState.PROCESSED)),
    ]
    directive = await database.connect()
    async with directive.transaction():
        await directive.execute("select 1 from stepward_shop.task where uid = $1 for update", held.uid)
        turn = asyncio.create_task(store.scheduler.commit("s1", changes, None))
        while not await database.rows(WAITS):
            assert not turn.done()
        assert await directive.fetchval(IS_FREE)
    assert list((await turn).missed) == [wrong.uid]
    assert len(await store.operators.audits(told.id, 9)) == 1
