from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import TRIM_ROWS, Change, Store, Trim
from tests.store.conformance.world import World, add_steps, claimed, move, read, step


async def in_run(store: Store, task: Task, run: int) -> Task:
    """The task as its next runs begin, up to that one."""
    while task.run < run:
        begun = replace(move(task, TaskState.PROCESSING), run=task.run + 1, input=b"[]")
        assert (await store.scheduler.commit("s1", [Change(task=task.uid, move=begun)], None)).missed == {}
        task = await read(store, task)
    return task


async def trimmed(store: Store, task: Task, trim: Trim) -> None:
    assert (await store.scheduler.commit("s1", [Change(task=task.uid, trim=trim)], None)).missed == {}


def effects(task: Task) -> list[Step]:
    """What undo has to reach, must not go past or has to name."""
    return [
        step(task, "done/1", 1, state=StepState.COMPLETED, has_undo=True),
        step(task, "doubt/1", 2, state=StepState.FAILED, in_doubt=True, has_undo=True),
        step(task, "left/1", 3, state=StepState.ABANDONED, has_undo=True),
        step(task, "sealed/1", 4, state=StepState.COMPLETED, irreversible=True),
        step(task, "child/1", 5, state=StepState.COMPLETED, kind=StepKind.CHILD, agent=None),
        step(task, "unclear/1", 6, state=StepState.FAILED, in_doubt=True),
        step(task, "open/1", 7, state=StepState.ABANDONED),
        step(task, "by hand/1", 8, state=StepState.COMPLETED, attempt=0),
    ]


def settled(task: Task) -> list[Step]:
    return [
        step(task, "plain/1", 11, state=StepState.COMPLETED, started_at=1.0),
        step(task, "no/1", 12, state=StepState.FAILED, has_undo=True),
        step(task, "skip/1", 13, state=StepState.SKIPPED, attempt=0, has_undo=True),
        step(task, "back/1", 14, state=StepState.UNDONE, has_undo=True),
        step(task, "timer/1", 15, state=StepState.COMPLETED, kind=StepKind.TIMER, agent=None),
    ]


@pytest.mark.parametrize("keeps", [False, True])
async def test_former_runs_are_deleted_but_for_what_is_kept(world: World, store: Store, keeps: bool) -> None:
    task = await claimed(world, store)
    kept = effects(task)
    await add_steps(store, task, *kept, *settled(task))
    task = await in_run(store, task, 3)
    now = step(task, "plain/1")
    await add_steps(store, task, now)
    await trimmed(store, task, Trim(1, 2, keeps))
    assert {each.key for each in await store.client.steps(task.id) if each.run == 1} == {
        each.key for each in kept if keeps
    }
    assert [each for each in await store.client.steps(task.id) if each.run == 3] == [now]


async def test_other_tasks_and_later_runs_stay(world: World, store: Store) -> None:
    task, other = await claimed(world, store), await claimed(world, store)
    for each in (task, other):
        await add_steps(store, each, *settled(each))
    second = await in_run(store, task, 2)
    await add_steps(store, second, *settled(second))
    await trimmed(store, task, Trim(1, 1, keeps_effects=False))
    assert [each.run for each in await store.client.steps(task.id)] == [2] * 5
    assert len(await store.client.steps(other.id)) == 5


async def test_one_change_deletes_a_bounded_piece(world: World, store: Store) -> None:
    task = await claimed(world, store)
    many = [step(task, f"plain/{n}", n, state=StepState.COMPLETED) for n in range(1, TRIM_ROWS + 12)]
    await add_steps(store, task, *many)
    task = await in_run(store, task, 3)
    await trimmed(store, task, Trim(1, 1, keeps_effects=False))
    assert len(await store.client.steps(task.id)) == 11
    await trimmed(store, task, Trim(1, 1, keeps_effects=False))
    assert await store.client.steps(task.id) == []


async def test_ids_of_signals_of_former_runs_are_forgotten(world: World, store: Store) -> None:
    task = await claimed(world, store)
    assert await store.client.signal(task.id, "go", b"1", "first")
    task = await in_run(store, task, 2)
    assert await store.client.signal(task.id, "go", b"1", "second")
    await trimmed(store, task, Trim(1, 1, keeps_effects=True))
    assert not await store.client.signal(task.id, "go", b"1", "second")
    assert await store.client.signal(task.id, "go", b"1", "first")
