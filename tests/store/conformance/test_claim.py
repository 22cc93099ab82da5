from __future__ import annotations

import pytest

from stepward.errors import InstanceFenced
from stepward.model.states import StepState, TaskState
from stepward.store.contract import Change, Store
from tests.store.conformance.world import (
    SERVED,
    START,
    World,
    add_steps,
    claimed,
    ids,
    move,
    read,
    scheduler,
    step,
)


async def test_a_claim_takes_by_priority_then_age_up_to_the_limit(world: World, store: Store) -> None:
    low, first, second = world.task("low", priority=1), world.task("first"), world.task("second")
    await store.client.submit([low, second, first])
    assert ids(await store.scheduler.claim("s1", SERVED, 2)) == ["first", "second"]
    assert ids(await store.scheduler.claim("s1", SERVED, 2)) == ["low"]
    assert await store.scheduler.claim("s1", SERVED, 2) == []


async def test_a_claim_is_exclusive_and_marks_the_task(world: World, store: Store) -> None:
    other = await world.open()
    await scheduler(other, "s2")
    await store.client.submit([world.task("a")])
    (history,) = await store.scheduler.claim("s1", SERVED, 10)
    assert await other.scheduler.claim("s2", SERVED, 10) == []
    assert (history.task.state, history.task.locked_by) == (TaskState.PROCESSING, "s1")
    assert history.task.started_at == store.now()
    assert history.task == await other.client.task("a")


async def test_a_claim_takes_only_what_is_served(world: World, store: Store) -> None:
    await store.client.submit([world.task("a", version="2"), world.task("b", workflow="refund"), world.task("c")])
    assert ids(await store.scheduler.claim("s1", [("refund", "1"), ("order", "2")], 10)) == ["a", "b"]
    assert await store.scheduler.claim("s1", [], 10) == []


async def test_many_workflows_are_claimed_in_one_order(world: World, store: Store) -> None:
    await store.client.submit([world.task(f"t{n}", workflow=f"w{n}", priority=n % 7) for n in range(600)])
    served = [(f"w{n}", "1") for n in range(600)]
    found = await store.scheduler.claim("s1", served, 5)
    assert ids(found) == ["t6", "t13", "t20", "t27", "t34"]


async def test_a_delayed_task_is_not_claimable_before_its_time(world: World, store: Store) -> None:
    await store.client.submit([world.task("a", wake_at=store.now() + 60)])
    assert await store.scheduler.claim("s1", SERVED, 10) == []
    assert await store.scheduler.next_wake() == pytest.approx(START + 60, abs=1)
    world.clock.advance(61)
    assert ids(await store.scheduler.claim("s1", SERVED, 10)) == ["a"]


async def test_a_sleeping_task_wakes_by_its_timer_and_takes_its_place_by_priority(world: World, store: Store) -> None:
    task = await claimed(world, store, priority=9)
    release = move(task, TaskState.WAITING, release=True, wake_at=store.now() + 60, waits_for="a timer")
    await store.scheduler.commit("s1", [Change(task=task.uid, move=release)], None)
    assert (await read(store, task)).waits_for == "a timer"
    await store.client.submit([world.task("b")])
    assert ids(await store.scheduler.claim("s1", SERVED, 10)) == ["b"]
    world.clock.advance(61)
    await store.client.submit([world.task("c")])
    histories = await store.scheduler.claim("s1", SERVED, 10)
    assert ids(histories) == [task.id, "c"]
    assert (histories[0].task.wake_at, histories[0].task.waits_for) == (None, "a timer")
    assert histories[0].task.started_at == task.started_at


async def test_next_wake_is_past_while_something_is_claimable(world: World, store: Store) -> None:
    assert await store.scheduler.next_wake() is None
    await store.client.submit([world.task("a")])
    wake = await store.scheduler.next_wake()
    assert wake is not None
    assert wake < store.now()
    await store.scheduler.claim("s1", SERVED, 10)
    assert await store.scheduler.next_wake() is None


async def test_a_dead_or_unknown_instance_claims_nothing(world: World, store: Store) -> None:
    await store.client.submit([world.task("a")])
    await store.host.retire("s1")
    for instance in ("s1", "stranger"):
        with pytest.raises(InstanceFenced, match=instance):
            await store.scheduler.claim(instance, SERVED, 10)
    assert ids(await store.scheduler.claim(await scheduler(store, "s2"), SERVED, 10)) == ["a"]


async def test_a_history_has_the_steps_of_the_current_run_in_order(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task, "old/1", state=StepState.COMPLETED))
    again = move(task, TaskState.PROCESSING, run=2, input=b"[2]")
    await store.scheduler.commit("s1", [Change(task=task.uid, move=again)], None)
    (history,) = await store.scheduler.load("s1", [task.uid])
    assert (history.task.run, history.task.input, history.steps) == (2, b"[2]", [])
    second = [step(history.task, "b/1", 1), step(history.task, "a/1", 2)]
    await add_steps(store, history.task, *second)
    (history,) = await store.scheduler.load("s1", [task.uid])
    assert history.steps == second


async def test_a_history_of_an_undoing_task_has_every_run(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task, "old/1", state=StepState.COMPLETED))
    again = move(task, TaskState.PROCESSING, run=2, input=b"[2]")
    await store.scheduler.commit("s1", [Change(task=task.uid, move=again)], None)
    (history,) = await store.scheduler.load("s1", [task.uid])
    await add_steps(store, history.task, step(history.task, "new/1"))
    undo = move(history.task, TaskState.UNDOING, undo_to=TaskState.UNDONE)
    await store.scheduler.commit("s1", [Change(task=task.uid, move=undo)], None)
    (history,) = await store.scheduler.load("s1", [task.uid])
    assert [(found.run, found.key) for found in history.steps] == [(1, "old/1"), (2, "new/1")]


async def test_load_gives_only_what_the_instance_holds(world: World, store: Store) -> None:
    await scheduler(store, "s2")
    mine, other = await claimed(world, store), await claimed(world, store, "s2")
    assert ids(await store.scheduler.load("s1", [mine.uid, other.uid, "none"])) == [mine.id]
