from __future__ import annotations

from typing import Any

import pytest

from stepward.errors import IllegalTransition, TaskNotFound
from stepward.model.records import InboxKind, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Change, Directive, Store
from tests.store.conformance.world import (
    DONE,
    FAILED,
    SERVED,
    World,
    add_steps,
    claimed,
    end,
    ids,
    move,
    read,
    read_step,
    step,
)

BLAMES_CHARGE = b'{"message":"no","step":"charge/1"}'


async def direct(store: Store, task: Task, verb: str, **fields: Any) -> TaskState:
    return await store.client.direct(task.id, Directive(verb=verb, actor="ada", **fields))


async def in_error(world: World, store: Store, *steps: Any, error: bytes = BLAMES_CHARGE, **fields: Any) -> Task:
    """A task in error with these steps (made from functions of the task)."""
    task = await claimed(world, store, **fields)
    await add_steps(store, task, *[make(task) for make in steps])
    await end(store, task, TaskState.ERROR, error=error)
    return await read(store, task)


def failed(key: str = "charge/1", number: int = 1, **fields: Any) -> Any:
    fields = {"state": StepState.FAILED, "error": FAILED, "ordinal": number, "finished_at": 5.0} | fields
    return lambda task: step(task, key, number, **fields)


async def test_a_directive_needs_a_task(store: Store) -> None:
    with pytest.raises(TaskNotFound, match="nobody"):
        await store.client.direct("nobody", Directive(verb="undo", actor="ada"))


async def test_a_task_that_never_started_is_cancelled_at_once(world: World, store: Store) -> None:
    task = world.task()
    await store.client.submit([task])
    assert await direct(store, task, "cancel") is TaskState.CANCELLED
    found = await read(store, task)
    assert (found.state, found.finished_at) == (TaskState.CANCELLED, store.now())
    assert await store.scheduler.claim("s1", SERVED, 9) == []


async def test_a_free_task_is_undone_at_once(world: World, store: Store) -> None:
    task = await in_error(world, store)
    assert await direct(store, task, "undo") is TaskState.UNDOING
    found = await read(store, task)
    assert (found.undo_to, found.finished_at) == (TaskState.UNDONE, None)
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [task.id]


async def test_a_delayed_task_that_is_undone_is_claimable_at_once(world: World, store: Store) -> None:
    task = world.task(wake_at=store.now() + 500)
    await store.client.submit([task])
    await direct(store, task, "undo")
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [task.id]


async def test_a_suspended_task_rests_until_it_is_resumed(world: World, store: Store) -> None:
    task = world.task()
    await store.client.submit([task])
    assert await direct(store, task, "suspend") is TaskState.SUSPENDED
    assert await store.scheduler.claim("s1", SERVED, 9) == []
    assert await direct(store, task, "resume") is TaskState.PENDING
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [task.id]


@pytest.mark.parametrize("verb", ["undo", "cancel", "suspend"])
async def test_an_owner_is_notified(world: World, store: Store, verb: str) -> None:
    task = await claimed(world, store)
    assert await direct(store, task, verb) is TaskState.PROCESSING
    (row,) = await store.scheduler.read_inbox("s1", 0)
    assert (row.task, row.kind, row.sender) == (task.uid, InboxKind(verb), "ada")
    assert (await read(store, task)).inbox == 1


async def test_what_the_state_forbids_changes_nothing(world: World, store: Store) -> None:
    task = await claimed(world, store)
    with pytest.raises(IllegalTransition, match="expected a task that is error, found it processing by s1"):
        await direct(store, task, "resubmit")
    assert await read(store, task) == task
    assert await store.operators.audits(task.id, 9) == []


async def test_every_directive_is_audited(world: World, store: Store) -> None:
    task = await in_error(world, store, failed(input=b"[1]"))
    await direct(store, task, "resubmit", input=b"[5]")
    (entry,) = await store.operators.audits(task.id, 9)
    assert (entry.actor, entry.act, entry.step, entry.at) == ("ada", "resubmit", "charge/1", store.now())
    assert (entry.before, entry.after, entry.details) == ("error", "pending", b'{"input":[5]}')


async def test_resubmission_goes_on_from_the_step_that_failed(world: World, store: Store) -> None:
    task = await in_error(world, store, failed(), recovery_count=2)
    assert await direct(store, task, "resubmit") is TaskState.PENDING
    found = await read_step(store, task)
    assert (found.state, found.repeat_at, found.ordinal) == (StepState.TO_REPEAT, store.now(), None)
    assert (found.error, found.generation, found.attempt) == (FAILED, 1, 1)
    again = await read(store, task)
    assert (again.error, again.finished_at, again.recovery_count) == (None, None, 0)


@pytest.mark.parametrize(("in_doubt", "input", "generation"), [(True, None, 0), (True, b"[2]", 1), (False, None, 1)])
async def test_a_new_generation_follows_a_known_failure_or_edited_input(
    world: World, store: Store, in_doubt: bool, input: bytes | None, generation: int
) -> None:
    task = await in_error(world, store, failed(in_doubt=in_doubt, input=b"[1]"))
    await direct(store, task, "resubmit", step="charge/1", input=input)
    found = await read_step(store, task)
    assert (found.generation, found.input) == (generation, input or b"[1]")


async def test_resubmission_takes_along_what_expired_untold_and_nothing_else(world: World, store: Store) -> None:
    task = await in_error(
        world,
        store,
        failed(asked=5),
        failed("told/1", 2, in_doubt=True),
        failed("untold/1", 3, in_doubt=True, ordinal=None),
        failed("caught/1", 4),
        lambda task: step(task, "at_work/1", 5),
    )
    await direct(store, task, "resubmit")
    states = {found.key: found.state for found in await store.client.steps(task.id)}
    assert states == {
        "charge/1": StepState.TO_REPEAT,
        "told/1": StepState.FAILED,
        "untold/1": StepState.TO_REPEAT,
        "caught/1": StepState.FAILED,
        "at_work/1": StepState.RUNNING,
    }


async def test_resubmission_of_a_failed_undo_goes_on_undoing(world: World, store: Store) -> None:
    task = await claimed(world, store)
    undo: Step = step(task, "charge/1~undo", 1, kind=StepKind.UNDO, state=StepState.FAILED, ordinal=1)
    await add_steps(store, task, undo)
    turned = move(task, TaskState.UNDOING, undo_to=TaskState.CANCELLED)
    await store.scheduler.commit("s1", [Change(task=task.uid, move=turned)], None)
    await end(store, await read(store, task), TaskState.ERROR, undo_to=TaskState.CANCELLED)
    assert await direct(store, task, "resubmit") is TaskState.UNDOING
    assert (await read_step(store, task, "charge/1~undo")).state is StepState.TO_REPEAT


async def test_resubmission_without_a_failed_step_runs_the_workflow_again(world: World, store: Store) -> None:
    task = await in_error(world, store, error=b'{"message":"a bug"}')
    assert await direct(store, task, "resubmit") is TaskState.PENDING
    task = await in_error(world, store, error=b'{"message":"a bug"}')
    with pytest.raises(IllegalTransition, match="name it"):
        await direct(store, task, "resubmit", input=b"[1]")


@pytest.mark.parametrize(
    ("verb", "named", "match"),
    [
        ("resubmit", "done/1", "expected it failed, found it completed"),
        ("resubmit", "none/1", "expected a step none/1, found none"),
        ("mark_done", "done/1", "found it completed"),
        ("mark_done", "none/1", "expected a step none/1, found none"),
    ],
)
async def test_a_step_named_wrongly_changes_nothing(
    world: World, store: Store, verb: str, named: str, match: str
) -> None:
    told = failed(ordinal=2)
    task = await in_error(world, store, told, failed("done/1", 2, state=StepState.COMPLETED, ordinal=1))
    before = await store.client.steps(task.id)
    with pytest.raises(IllegalTransition, match=match):
        await direct(store, task, verb, step=named)
    assert (await read(store, task), await store.client.steps(task.id)) == (task, before)


async def test_a_step_at_work_is_left_alone(world: World, store: Store) -> None:
    task = await in_error(world, store, step)
    assert await direct(store, task, "resubmit", step="charge/1") is TaskState.PENDING
    assert (await read_step(store, task)).state is StepState.RUNNING


async def test_a_step_is_marked_done_by_hand(world: World, store: Store) -> None:
    task = await in_error(world, store, failed(in_doubt=True))
    assert await direct(store, task, "mark_done", result=DONE) is TaskState.PENDING
    found = await read_step(store, task)
    assert (found.state, found.output, found.error) == (StepState.COMPLETED, DONE, None)
    assert (found.ordinal, found.in_doubt, found.finished_at) == (None, False, store.now())


async def test_a_task_undone_past_its_deadline_has_none(world: World, store: Store) -> None:
    late = await in_error(world, store, deadline=store.now() + 5)
    world.clock.advance(6)
    await direct(store, late, "undo")
    assert (await read(store, late)).deadline is None


@pytest.mark.parametrize("verb", ["resubmit", "mark_done"])
async def test_a_task_past_its_deadline_goes_on_with_a_new_one_alone(world: World, store: Store, verb: str) -> None:
    late = await in_error(world, store, failed(), deadline=store.now() + 5)
    world.clock.advance(6)
    with pytest.raises(IllegalTransition, match="expected it within its own complete-by, found that past"):
        await direct(store, late, verb)
    assert (await read(store, late)).state is TaskState.ERROR
    by = store.now() + 60
    await direct(store, late, verb, deadline=by)
    assert (await read(store, late)).deadline == by


async def test_a_task_past_its_deadline_needs_a_new_one(world: World, store: Store) -> None:
    late = await in_error(world, store, failed(), error=b'{"message":"late","type":"TaskExpired","step":null}')
    with pytest.raises(IllegalTransition, match="give it a new one"):
        await direct(store, late, "resubmit")
