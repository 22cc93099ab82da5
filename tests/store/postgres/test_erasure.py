"""What deletes a task on demand among others who want the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from stepward.model.records import Instance, Role, Task
from stepward.model.states import TaskState
from stepward.store.contract import BatchVerb, Change, TaskMove
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine.connection import Connection
from stepward.store.verbs.deletion import task_erasure
from tests.store.conformance.test_batches import advanced, started
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

QUEUE = "replies.shop.web"


async def ended(store: PostgresStore, uid: str) -> None:
    await store.host.register(Instance(id="s1", role=Role.SCHEDULER, host="h", pid=1, serves=[]), 60)
    await store.client.submit([Task(uid=uid, id=uid, workflow="order", version="1", reply_to=QUEUE)])
    await store.scheduler.claim("s1", [("order", "1")], 9)
    move = TaskMove(before=TaskState.PROCESSING, after=TaskState.PROCESSED, inbox=0, at=store.now())
    await store.scheduler.commit("s1", [Change(task=uid, move=move)], None)


async def test_an_event_whose_lease_is_shortened_during_the_deletion_is_deleted(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await database.opened()
    term = await store.supervisor.lead("supervisor", 60)
    assert term is not None
    await store.messages.put(QUEUE, [(b"other %d" % number, None) for number in range(5)])
    await store.messages.take(QUEUE, 5, 10.0)
    await ended(store, "t1")
    await store.messages.put(QUEUE, [(b"an event of t1", None)])
    events = [message.token for message in await store.messages.take(QUEUE, 9, 100.0)]
    monkeypatch.setattr(task_erasure, "SLICE", 3)
    delete = Connection.change_each

    async def shortened(self: Connection, query: str, many: Sequence[Sequence[Any]], *values: Any) -> int:
        if query == "erasure.delete_events" and not many:
            # The message moves in the index of queues to a place before those that were read.
            await store.messages.extend(QUEUE, events, 1.0)
        return await delete(self, query, many, *values)

    with monkeypatch.context() as patched:
        patched.setattr(Connection, "change_each", shortened)
        await started(store, BatchVerb.DELETE, filter="id = 't1'")
        assert (await advanced(store, term)).batch.done == 1
    left = await (await database.connect()).fetch("select body from stepward_shop.message order by token")
    assert [body for (body,) in left] == [b"other %d" % number for number in range(5)]
