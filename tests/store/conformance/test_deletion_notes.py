"""Deletions note their tasks where something of them is kept outside the store: objects, or files of an archive."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from stepward.model.records import Audit, Task
from stepward.model.states import TaskState
from stepward.store.contract import AuditedAct, BatchVerb, ErasedTask, Outlived, Store
from stepward.store.rules.audit.audit_chain import DELETED, erased_act
from tests.store.conformance.test_batches import advanced, started
from tests.store.conformance.world import World, claimed, end, read


@pytest.fixture
async def term(store: Store) -> int:
    term = await store.supervisor.lead("supervisor", 1000)
    assert term is not None
    return term


async def ended(world: World, store: Store, id: str) -> Task:
    task = await claimed(world, store, id=id)
    await end(store, task, TaskState.PROCESSED, at=store.now())
    return await read(store, task)


async def purge(store: Store, term: int, task: Task) -> None:
    await store.supervisor.purge(term, [Outlived(task.uid, task.finished_at or 0.0)])


async def delete(store: Store, term: int, where: str) -> str:
    batch = await started(store, BatchVerb.DELETE, filter=where, id=where[-3:-1])
    await advanced(store, term)
    return batch.id


async def test_a_purged_task_is_noted_once_payloads_are_kept_outside(world: World, store: Store, term: int) -> None:
    before, after = await ended(world, store, "before"), await ended(world, store, "after")
    await purge(store, term, before)
    assert (await store.host.uses_large_payloads(), await store.supervisor.deleted_owners(9)) == (False, [])
    await store.host.use_large_payloads()
    await store.host.use_large_payloads()
    await purge(store, term, after)
    assert (await store.host.uses_large_payloads(), await store.supervisor.deleted_owners(9)) == (True, [after.uid])
    await store.supervisor.forget_owners([after.uid])
    assert await store.supervisor.deleted_owners(9) == []


async def test_tasks_are_known_by_their_uids_and_descendants_by_the_beginning_of_theirs(
    world: World, store: Store
) -> None:
    task = await ended(world, store, "one")
    child = replace(world.task(id="one/child/1"), uid=f"{task.uid}/1/child/1")
    await store.client.submit([child, replace(world.task(id="two"), uid=f"{task.uid}0")])
    assert await store.supervisor.known_owners([task.uid, "none"]) == {task.uid}
    assert await store.supervisor.family(task.uid, 9) == [child.uid]


async def test_a_task_deleted_on_demand_is_noted_once_tasks_are_archived(world: World, store: Store, term: int) -> None:
    await ended(world, store, "before")
    after = await ended(world, store, "after")
    await delete(store, term, "id = 'before'")
    assert await store.supervisor.erased_tasks(9) == []
    await store.supervisor.use_archive()
    batch = await delete(store, term, "id = 'after'")
    (noted,) = await store.supervisor.erased_tasks(9)
    assert (noted.uid, noted.batch) == (after.uid, batch)
    await store.supervisor.forget_erased([after.uid])
    assert await store.supervisor.erased_tasks(9) == []


async def test_the_erasure_of_archived_details_is_recorded_by_the_leader(store: Store, term: int) -> None:
    act = AuditedAct(Audit(number=7, at=1.0, actor="ada", act="resubmit", task="t", details=b'{"input":[1]}'), b"h")
    task = ErasedTask("t", "ada", "batch")
    assert not await store.supervisor.erase_archived(term + 1, task, [act])
    assert await store.supervisor.erase_archived(term, task, [act])
    (recorded,) = [each for each in await store.operators.audits(None, 9) if each.act == DELETED]
    number, hash_, left = erased_act(act)
    details = json.loads(recorded.details)
    assert (recorded.actor, recorded.task, details["erased"]) == ("ada", "t", f"{number}:{hash_}:{left}")
