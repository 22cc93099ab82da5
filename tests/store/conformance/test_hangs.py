from __future__ import annotations

import msgspec

from stepward.model.records import InboxKind
from stepward.model.states import TaskState
from stepward.store.contract import Change, Directive, Store
from tests.store.conformance.world import SERVED, World, claimed, move, read, scheduler


async def test_the_second_hang_of_a_task_puts_the_word_to_fail_into_its_inbox(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    assert await store.host.count_hang(task.uid, "s1", "job.py:8 in run") == 1
    assert await store.scheduler.read_inbox("s1", 0) == []
    assert await store.host.count_hang(task.uid, "s1", "job.py:9 in run") == 2
    (row,) = await store.scheduler.read_inbox("s1", 0)
    assert (row.task, row.kind) == (task.uid, InboxKind.FAIL)
    assert "2 times, last at job.py:9 in run" in msgspec.json.decode(row.body)["message"]
    assert ((await read(store, task)).hangs, (await read(store, other)).hangs) == (2, 0)
    acts = [(audit.act, msgspec.json.decode(audit.details)) for audit in await store.operators.audits(task.id, 10)]
    assert ("hang", {"hangs": 2, "at": "job.py:9 in run"}) in acts


async def test_a_hang_counts_on_a_task_that_its_owner_gave_back(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.host.retire("s1")
    assert await store.host.count_hang(task.uid, "s1", "here") == 1
    assert await store.host.count_hang(task.uid, "s2", "here") == 2
    (history,) = await store.scheduler.claim(await scheduler(store, "s2"), SERVED, 9)
    assert [row.kind for row in history.inbox] == [InboxKind.FAIL]
    assert (history.task.failure_count, history.task.recovery_count) == (0, 0)


async def test_a_hang_of_a_task_that_ended_or_never_was_counts_nowhere(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.scheduler.commit(
        "s1", [Change(task=task.uid, move=move(task, TaskState.PROCESSED, release=True))], None
    )
    assert await store.host.count_hang(task.uid, "s1", "here") is None
    assert await store.host.count_hang("nobody", "s1", "here") is None
    assert (await read(store, task)).hangs == 0


async def test_a_resubmitted_task_begins_with_no_hangs(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await store.host.count_hang(task.uid, "s1", "here")
    error = b'{"type":"Hangs","message":"it hangs"}'
    await store.scheduler.commit(
        "s1", [Change(task=task.uid, move=move(task, TaskState.ERROR, release=True, error=error))], None
    )
    await store.client.direct(task.id, Directive(verb="resubmit", actor="ada"))
    assert (await read(store, task)).hangs == 0
