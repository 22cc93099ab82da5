"""The complete-by of a task's present work, on its row (R22, R23)."""

from __future__ import annotations

import pytest

from stepward.model.states import TaskState
from stepward.model.tasks.complete_by import of_claim
from stepward.store.contract import AddedEvents, Change, Store
from tests.store.conformance.world import World, claimed, end, move, read, scheduler


@pytest.fixture
async def term(store: Store) -> int:
    leading = await store.supervisor.lead("supervisor", 1000)
    assert leading is not None
    return leading


async def test_a_claim_sets_it_and_a_submission_does_not(world: World, store: Store) -> None:
    task = world.task(deadline=store.now() + 500)
    await store.client.submit([task])
    assert (await read(store, task)).complete_by is None
    (found,) = await store.scheduler.claim("s1", [("order", "1")], 1)
    assert found.task.complete_by == of_claim(store.now())
    assert await read(store, task) == found.task


async def test_a_commit_moves_it_with_a_move_or_alone(world: World, store: Store) -> None:
    task = await claimed(world, store, reply_to="replies.shop.web")
    turn = move(task, TaskState.WAITING, complete_by=store.now() + 70)
    await store.scheduler.commit("s1", [Change(task=task.uid, move=turn)], None)
    assert (await read(store, task)).complete_by == store.now() + 70
    await store.scheduler.commit("s1", [Change(task=task.uid, complete_by=store.now() + 90)], None)
    found = await read(store, task)
    assert (found.complete_by, found.state) == (store.now() + 90, TaskState.WAITING)
    told = AddedEvents(found.events, [b"{}"], [("replies.shop.web",)])
    await store.scheduler.commit("s1", [Change(task=task.uid, status_events=told)], None)
    assert (await read(store, task)).complete_by == store.now() + 90
    told = AddedEvents(found.events + 1, [b"{}"], [("replies.shop.web",)])
    await store.scheduler.commit("s1", [Change(task=task.uid, status_events=told, complete_by=store.now() + 95)], None)
    assert (await read(store, task)).complete_by == store.now() + 95
    await store.scheduler.commit("s1", [Change(task=task.uid, move=move(found, TaskState.PROCESSING))], None)
    assert (await read(store, task)).complete_by is None


async def test_only_the_owner_moves_it(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await scheduler(store, "s2")
    committed = await store.scheduler.commit("s2", [Change(task=task.uid, complete_by=1.0)], None)
    assert list(committed.missed) == [task.uid]
    assert (await read(store, task)).complete_by == task.complete_by


async def test_it_ends_with_the_task_and_with_the_claim(world: World, store: Store, term: int) -> None:
    ended = await claimed(world, store)
    await end(store, ended, TaskState.PROCESSED)
    assert (await read(store, ended)).complete_by is None
    given_back = await claimed(world, store, instance=await scheduler(store, "s2"))
    await store.host.retire("s2")
    assert (await read(store, given_back)).complete_by is None
    freed = await claimed(world, store, instance=await scheduler(store, "s3", lease=1))
    world.clock.advance(2)
    await store.host.renew(["s1"], 10)
    await store.supervisor.fence(term)
    await store.supervisor.free(term, 5)
    assert (await read(store, freed)).complete_by is None


async def test_after_an_outage_it_gets_the_grace_of_the_steps(world: World, store: Store, term: int) -> None:
    await scheduler(store, "s2")
    task = await claimed(world, store)
    world.clock.advance(60)
    assert await store.supervisor.forgive(term, 10)
    assert (await read(store, task)).complete_by == store.now() + 10
