from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from stepward.model.pipeline_plan import PlannedStage, planned_steps, to_json
from stepward.model.records import Step, Task, WorkflowRecord
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Change, Directive, StepMove, Store
from tests.store.conformance.world import START, World, claimed, finish, move, read_step, step


def stage(name: str, *waits_for: str, **fields: Any) -> PlannedStage:
    usual: dict[str, Any] = {
        "kind": StepKind.OPERATION,
        "agent": "pay",
        "complete_seconds": 9.0,
        "has_undo": True,
        "irreversible": False,
    }
    return PlannedStage(stage=name, key=f"{name}/1", name=name, waits_for=waits_for, **usual | fields)


PLAN = (stage("charge"), stage("pack", "charge", kind=StepKind.LOCAL, agent=None, irreversible=True))
PLANS = {("order", "1"): PLAN}


async def planned(world: World, store: Store) -> Task:
    """A task that the Scheduler holds, as it was submitted with its plan."""
    task = world.task()
    await store.client.submit([task], PLANS)
    (history,) = await store.scheduler.claim("s1", [("order", "1")], 1)
    return history.task


def reached(task: Task, **fields: Any) -> Step:
    """The first stage, once the workflow has asked for it."""
    usual: dict[str, Any] = {"number": 7, "input": b'["A"]', "has_undo": True, "complete_seconds": 9.0}
    return step(task, **usual | fields)


async def miss(store: Store, change: Change) -> str:
    committed = await store.scheduler.commit("s1", [change], None)
    assert list(committed.missed) == [change.task]
    return committed.missed[change.task]


async def apply(store: Store, change: Change) -> None:
    assert (await store.scheduler.commit("s1", [change], None)).missed == {}


async def test_a_submission_records_every_stage(world: World, store: Store) -> None:
    task, other = world.task(), world.task(version="2")
    await store.client.submit([task, other], PLANS)
    steps = await store.client.steps(task.id)
    assert steps == planned_steps(task, PLAN)
    assert [(each.key, each.number, each.state, each.attempt, each.input) for each in steps] == [
        ("charge/1", 1, StepState.NOT_STARTED, 0, b""),
        ("pack/1", 2, StepState.NOT_STARTED, 0, b""),
    ]
    assert (steps[1].kind, steps[1].agent, steps[1].irreversible) == (StepKind.LOCAL, None, True)
    assert await store.client.steps(other.id) == []


async def test_an_id_that_exists_is_planned_once(world: World, store: Store) -> None:
    task = world.task("mine")
    await store.client.submit([task], PLANS)
    again = world.task("mine")
    (submitted,) = await store.client.submit([again], PLANS)
    assert not submitted.created
    assert len(await store.client.steps("mine")) == 2
    async with store.client.transaction() as transaction:
        assert await transaction.execute(f"select count(*) from {world.place.steps}") == [(2,)]


async def test_a_transaction_that_rolls_back_leaves_no_plan(world: World, store: Store) -> None:
    with pytest.raises(KeyError):
        async with store.client.transaction() as transaction:
            await transaction.submit([world.task("lost")], PLANS)
            raise KeyError
    async with store.client.transaction() as transaction:
        await transaction.submit([world.task("kept")], PLANS)
    async with store.client.transaction() as transaction:
        assert await transaction.execute(f"select count(*) from {world.place.steps}") == [(2,)]


async def test_a_task_born_claimed_is_planned_and_its_first_step_filled_in_one_commit(
    world: World, store: Store
) -> None:
    task = world.born("s1")
    first = reached(task)
    await apply(store, Change(task=task.uid, born=task, plans=PLANS, fills=[first]))
    assert await store.client.steps(task.id) == [planned_steps(task, PLAN)[1], first]


async def test_children_are_planned_with_the_commit_that_begins_them(world: World, store: Store) -> None:
    parent = await claimed(world, store, workflow="other")
    child = world.task("p/order/1", parent=parent.uid, parent_run=1, parent_step="order/1")
    await apply(store, Change(task=parent.uid, children=[child], plans=PLANS))
    assert await store.client.steps(child.id) == planned_steps(child, PLAN)
    # The same child once more is left alone, with its steps.
    await apply(store, Change(task=parent.uid, children=[child], plans=PLANS))
    assert await store.client.steps(child.id) == planned_steps(child, PLAN)


async def test_a_planned_step_is_filled_as_an_insert_would_have_made_it(world: World, store: Store) -> None:
    task = await planned(world, store)
    first = reached(
        task,
        attempt=1,
        complete_by=START + 9,
        started_at=START,
        complete_seconds=3.0,
        agent="new",
        watched=True,
        irreversible=True,
    )
    await apply(store, Change(task=task.uid, fills=[first]))
    assert await read_step(store, task) == first
    await apply(store, Change(task=task.uid, finishes=[finish(first)]))
    assert (await read_step(store, task)).state is StepState.COMPLETED


async def test_a_step_is_filled_once(world: World, store: Store) -> None:
    task = await planned(world, store)
    first = reached(task, state=StepState.NOT_STARTED, attempt=0)
    await apply(store, Change(task=task.uid, fills=[first]))
    assert "fill: the step is not planned" in await miss(store, Change(task=task.uid, fills=[reached(task, number=8)]))
    assert await read_step(store, task) == first


@pytest.mark.parametrize("key", ["charge/2", "pack/1"])
async def test_what_is_not_planned_is_not_filled(world: World, store: Store, key: str) -> None:
    task = await planned(world, store)
    skip = StepMove(task.uid, 1, "pack/1", StepState.NOT_STARTED, StepState.SKIPPED, START)
    await apply(store, Change(task=task.uid, step_moves=[skip]))
    before = await store.client.steps(task.id)
    await miss(store, Change(task=task.uid, fills=[reached(task, key=key)]))
    assert await store.client.steps(task.id) == before


async def test_only_the_owner_fills(world: World, store: Store) -> None:
    task = await planned(world, store)
    await store.scheduler.commit(
        "s1", [Change(task=task.uid, move=move(task, TaskState.SUSPENDED, release=True))], None
    )
    assert "not held" in await miss(store, Change(task=task.uid, fills=[reached(task)]))


async def test_a_planned_step_is_not_inserted_again(world: World, store: Store) -> None:
    task = await planned(world, store)
    assert "refused" in await miss(store, Change(task=task.uid, inserts=[reached(task)]))


async def test_planned_steps_belong_to_the_history(world: World, store: Store) -> None:
    task = world.task()
    await store.client.submit([task], PLANS)
    (history,) = await store.scheduler.claim("s1", [("order", "1")], 1)
    assert history.steps == planned_steps(task, PLAN)


async def test_a_task_that_is_cancelled_before_it_began_skips_its_plan(world: World, store: Store) -> None:
    task, other = world.task(), world.task()
    await store.client.submit([task, other], PLANS)
    await store.client.direct(task.id, Directive(verb="cancel", actor="me"))
    assert [each.state for each in await store.client.steps(task.id)] == [StepState.SKIPPED] * 2
    assert await store.client.steps(other.id) == planned_steps(other, PLAN)


async def test_a_planned_step_is_marked_as_done_by_hand(world: World, store: Store) -> None:
    task = await planned(world, store)
    await apply(store, Change(task=task.uid, move=move(task, TaskState.ERROR, error=b'{"message":"no"}')))
    await store.client.direct(task.id, Directive(verb="mark_done", actor="me", step="pack/1", result=b'"by hand"'))
    found = await read_step(store, task, "pack/1")
    assert (found.state, found.output, found.attempt, found.input) == (StepState.COMPLETED, b'"by hand"', 0, b"")


async def test_the_plan_stands_beside_the_schema(world: World, store: Store) -> None:
    record = WorkflowRecord(name="order", version="1", schema=b"{}", policy=b"{}", plan=to_json(PLAN))
    await store.host.register_workflows([record])
    assert await store.client.workflow("order") == [record]
    code = replace(record, plan=None)
    await store.host.register_workflows([code])
    assert await store.client.workflow("order") == [code]
