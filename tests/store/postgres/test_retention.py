"""What deletes old tasks among others who want the same rows."""

from __future__ import annotations

import pytest

from stepward.model.records import Instance, Role, Task
from stepward.model.states import TaskState
from stepward.store.contract import Change, Outlived, Purged, TaskMove
from stepward.store.postgres import PostgresStore
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

REOPEN = "update stepward_shop.task set state = 'undoing', undo_to = 'undone', finished_at = null where uid = $1"


async def ended(store: PostgresStore, *uids: str) -> list[Outlived]:
    """Tasks that have ended, as a deletion reads them."""
    await store.host.register(Instance(id="s1", role=Role.SCHEDULER, host="h", pid=1, serves=[]), 60)
    await store.client.submit([Task(uid=uid, id=uid, workflow="order", version="1") for uid in uids])
    await store.scheduler.claim("s1", [("order", "1")], 9)
    move = TaskMove(before=TaskState.PROCESSING, after=TaskState.PROCESSED, inbox=0, at=store.now())
    await store.scheduler.commit("s1", [Change(task=uid, move=move) for uid in uids], None)
    return await store.supervisor.outlived(store.now() + 1, 9)


async def test_a_task_that_an_operator_reopens_at_that_moment_stays(database: Database) -> None:
    store = await database.opened()
    batch = await ended(store, "t1", "t2")
    term = await store.supervisor.lead("supervisor", 60)
    assert term is not None
    operator = await database.connect()
    async with operator.transaction():
        await operator.execute(REOPEN, "t1")
        # A deletion that waited for the operator would delete the rows that are there afterwards.
        assert await store.supervisor.purge(term, batch) == Purged(tasks=1, more=False)
    assert [task.id for task in await store.supervisor.outlived_tasks(["t1", "t2"], "")] == ["t1"]


async def test_a_task_that_was_reopened_just_before_stays(database: Database) -> None:
    store = await database.opened()
    batch = await ended(store, "t1")
    await (await database.connect()).execute(REOPEN, "t1")
    assert await store.operators.purge_ended(batch, store.now(), "ada") == Purged(tasks=0, more=False)
    assert await store.client.task("t1")
