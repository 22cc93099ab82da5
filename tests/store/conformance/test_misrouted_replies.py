from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stepward.model import failures
from stepward.model.messages.requests import Outcome, Reply
from stepward.model.records import InboxKind, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Change, Store
from tests.store.conformance.world import (
    DONE,
    FAILED,
    SERVED,
    World,
    add_steps,
    claimed,
    ids,
    move,
    read,
    read_step,
    step,
)


def reply(task: Task, outcome: Outcome = Outcome.COMPLETED, **fields: Any) -> Reply:
    usual: dict[str, Any] = {"key": "charge/1", "attempt": 1, "output": DONE}
    return Reply(task=task.uid, run=1, outcome=outcome, **usual | fields)


async def free(world: World, store: Store, *steps: Step, after: TaskState = TaskState.WAITING) -> Task:
    """A task with these steps (whose task is filled in) and without an owner."""
    task = await claimed(world, store)
    rows = [msgspec.structs.replace(row, task=task.uid) for row in steps]
    await add_steps(store, task, *rows)
    let_go = move(task, after, release=True)
    assert (await store.scheduler.commit("s1", [Change(task=task.uid, move=let_go)], None)).missed == {}
    return await read(store, task)


@pytest.fixture
def charge(world: World) -> Step:
    return step(world.task())


async def test_the_owner_gets_the_reply(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task))
    answer = reply(task)
    await store.scheduler.settle_misrouted([answer])
    (row,) = await store.scheduler.read_inbox("s1", 0)
    assert (row.kind, row.name, msgspec.json.decode(row.body, type=Reply)) == (InboxKind.REPLY, "1/charge/1", answer)
    assert (await read_step(store, task)).state is StepState.RUNNING
    assert (await read(store, task)).inbox == 1


@pytest.mark.parametrize(("outcome", "state"), [("completed", "completed"), ("failed", "failed")])
async def test_an_outcome_of_a_free_task_is_recorded_and_wakes_it(
    world: World, store: Store, charge: Step, outcome: str, state: str
) -> None:
    task = await free(world, store, charge)
    await store.scheduler.settle_misrouted([reply(task, Outcome(outcome), error=FAILED, maybe_done=True)])
    found = await read_step(store, task)
    error = FAILED if state == "completed" else failures.settled(FAILED, attempt=1, maybe_done=True, before=None)
    assert (found.state, found.output, found.error, found.ordinal) == (state, DONE, error, None)
    assert found.in_doubt == (state == "failed")
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [task.id]


async def test_a_doubt_about_an_earlier_attempt_outlives_a_failure_that_did_nothing(
    world: World, store: Store, charge: Step
) -> None:
    charge.in_doubt = True
    task = await free(world, store, charge)
    await store.scheduler.settle_misrouted([reply(task, Outcome.FAILED, error=FAILED)])
    found = await read_step(store, task)
    assert found.in_doubt
    assert failures.read(found.error)["maybe_done"] is True


@pytest.mark.parametrize("fields", [{"attempt": 2}, {"key": "none/1"}, {"outcome": Outcome.GAVE_UP}])
async def test_a_reply_that_fits_nothing_is_audited_and_changes_nothing(
    world: World, store: Store, charge: Step, fields: dict[str, Any]
) -> None:
    task = await free(world, store, charge)
    await store.scheduler.settle_misrouted([reply(task, **fields)])
    assert (await read_step(store, task)).state is StepState.RUNNING
    assert await read(store, task) == task
    (entry,) = await store.operators.audits(task.id, 9)
    assert (entry.act, entry.actor) == ("late_reply", "agent")
    assert await store.operators.alerts(9, open_only=True) == []


async def test_a_reply_for_no_task_is_audited(world: World, store: Store) -> None:
    await store.scheduler.settle_misrouted([reply(world.task())])
    assert [entry.act for entry in await store.operators.audits(None, 9)] == ["late_reply"]


@pytest.mark.parametrize(("attempt", "alerted"), [(1, ["late_effect_after_undo"]), (2, [])], ids=["its own", "another"])
async def test_an_effect_of_a_generation_that_was_undone_first_is_alerted(
    world: World, store: Store, charge: Step, attempt: int, alerted: list[str]
) -> None:
    aside = msgspec.structs.replace(charge, key="charge/1~1", state=StepState.UNDONE, set_aside_at=5.0, attempt=1)
    charge.state, charge.attempt, charge.output = StepState.COMPLETED, 3, DONE
    task = await free(world, store, charge, aside)
    await store.scheduler.settle_misrouted([reply(task, attempt=attempt)])
    assert [alert.kind for alert in await store.operators.alerts(9, open_only=True)] == alerted


@pytest.mark.parametrize(("attempt", "alerted"), [(1, ["late_effect"]), (2, [])], ids=["its own", "another"])
async def test_an_effect_that_a_repair_declared_as_not_executed_is_alerted(
    world: World, store: Store, charge: Step, attempt: int, alerted: list[str]
) -> None:
    aside = msgspec.structs.replace(charge, key="charge/1~1", state=StepState.FAILED, set_aside_at=5.0, attempt=1)
    charge.state, charge.attempt, charge.output = StepState.COMPLETED, 3, DONE
    task = await free(world, store, charge, aside)
    await store.scheduler.settle_misrouted([reply(task, attempt=attempt)])
    assert [alert.kind for alert in await store.operators.alerts(9, open_only=True)] == alerted


@pytest.mark.parametrize("undone", [True, False], ids=["undone", "being undone"])
async def test_an_effect_after_its_undo_began_is_alerted(
    world: World, store: Store, charge: Step, undone: bool
) -> None:
    charge.state = StepState.UNDONE if undone else StepState.FAILED
    undo = msgspec.structs.replace(charge, key="charge/1~undo", kind=StepKind.UNDO, state=StepState.RUNNING)
    task = await free(world, store, charge, *([] if undone else [undo]))
    await store.scheduler.settle_misrouted([reply(task, Outcome.FAILED)])
    assert await store.operators.alerts(9, open_only=True) == []
    await store.scheduler.settle_misrouted([reply(task)])
    (alert,) = await store.operators.alerts(9, open_only=True)
    assert (alert.kind, alert.task_id, alert.step) == ("late_effect_after_undo", task.id, "charge/1")
