"""Steps that are asked of Agents while no live instance holds their tasks, as one look after another finds them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from stepward.model.records import Task
from stepward.model.states import StepKind, TaskState
from stepward.store.contract import Change, Store, UnownedStep, WatchedPlace
from tests.store.conformance.world import World, add_steps, claimed, end, move, scheduler, step, watch

BEGIN: WatchedPlace = (0.0, "", 0, "")


async def asked(world: World, store: Store, seconds: float, **fields: Any) -> Task:
    """A task of ``s1`` whose step is watched for so long."""
    task = await claimed(world, store)
    until = store.now() + seconds
    charge = step(task, complete_by=until, **fields)
    await add_steps(store, task, charge)
    change = Change(task=task.uid)
    change.watch(watch(charge, until))
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    return task


async def let_go(store: Store, *tasks: Task) -> None:
    for task in tasks:
        change = Change(task=task.uid, move=move(task, TaskState.SUSPENDED, release=True))
        assert (await store.scheduler.commit("s1", [change], None)).missed == {}


async def all_of(store: Store, agents: Collection[str] | None = None, limit: int = 2) -> list[UnownedStep]:
    place: WatchedPlace | None = BEGIN
    found: list[UnownedStep] = []
    while place is not None:
        looked = await store.scheduler.unowned_steps(place, agents, limit)
        found += looked.steps
        place = looked.after
    return found


async def uids(store: Store, agents: Collection[str] | None = None) -> list[str]:
    return [each.task.uid for each in await all_of(store, agents)]


async def test_steps_of_tasks_without_an_owner_are_found_in_the_order_of_their_ends(world: World, store: Store) -> None:
    tasks = [await asked(world, store, seconds) for seconds in (9, 7, 8, 6, 5)]
    await let_go(store, *tasks[:4])
    assert await uids(store) == [tasks[number].uid for number in (3, 1, 2, 0)]
    assert [each.step.key for each in (await store.scheduler.unowned_steps(BEGIN, None, 9)).steps] == ["charge/1"] * 4


async def test_what_a_live_instance_holds_is_left_to_it_until_it_is_dead(world: World, store: Store) -> None:
    task = await asked(world, store, 60)
    assert await uids(store) == []
    await scheduler(store, "s2")
    world.clock.advance(11)
    await store.host.renew(["s2"], 10.0)
    await store.supervisor.lead("s2", 10.0)
    await store.host.retire("s1")
    assert await uids(store) == [task.uid]


async def test_only_what_is_asked_of_these_agents_is_found(world: World, store: Store) -> None:
    ours = await asked(world, store, 5)
    theirs = await asked(world, store, 6, agent="mail")
    deferred = await asked(world, store, 7, deferred_at=store.now())
    ended = await asked(world, store, 8)
    child = await asked(world, store, 9, kind=StepKind.CHILD, agent=None)
    await let_go(store, ours, theirs, deferred, child)
    await end(store, ended, TaskState.ERROR)
    assert await uids(store, ["pay"]) == [ours.uid]
    assert await uids(store) == [ours.uid, theirs.uid]


async def test_an_undo_comes_with_what_it_undoes(world: World, store: Store) -> None:
    task = await claimed(world, store)
    until = store.now() + 9
    undo = step(task, "charge/1~undo", kind=StepKind.UNDO, complete_by=until)
    await add_steps(store, task, step(task), undo)
    change = Change(task=task.uid)
    change.watch(watch(undo, until))
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}
    await let_go(store, task)
    ((found),) = await all_of(store)
    assert found.step.key == "charge/1~undo"
    assert found.undone is not None
    assert found.undone.key == "charge/1"
