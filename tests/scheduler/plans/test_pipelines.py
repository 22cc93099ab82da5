"""Pipelines on a whole application: branches, failures, undo and resubmission."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import (
    From,
    Given,
    Pipeline,
    Stage,
    Supervision,
    TaskCancelled,
    TaskFailed,
    TaskUndone,
    step,
)
from stepward.client import session_of
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, hang, in_state, refuse, states, take, until, until_set


def branches(service: Service, **more: Any) -> Pipeline:
    """``a``, then ``b`` and ``c`` side by side, then ``d``."""
    stages = {
        "a": Stage(service.do, "a"),
        "b": Stage(service.do, "b", after=["a"]),
        "c": Stage(service.do, "c", after=["a"]),
        "d": Stage(service.do, "d", after=["b", "c"]),
    }
    return Pipeline("branches", stages, result="d", **more)


async def test_branches_run_side_by_side(world: World, service: Service) -> None:
    pipeline = branches(service)
    both = asyncio.Barrier(2)
    service.plan("do b", both.wait)
    service.plan("do c", both.wait)
    client = await world.start([pipeline], [service.agent], replay_check=True)
    handle = await client.submit(pipeline)
    assert await handle.result(timeout=5) == "d done"
    assert service.log[0] == "do a"
    assert service.log[-1] == "do d"
    assert not world.told("task.not_deterministic")


async def test_results_are_passed_on_as_what_they_are(world: World) -> None:
    @step()
    async def split(text: str) -> list[str]:
        return text.split()

    @step()
    async def count(words: list[str], least: int = 1) -> int:
        return len([word for word in words if len(word) >= least])

    pipeline = Pipeline(
        "words",
        {"split": Stage(split, Given("text")), "count": Stage(count, From("split"), 4)},
        given={"text": str},
        result="count",
    )
    client = await world.start([pipeline], replay_check=True)
    handle = await client.submit(pipeline, "to be or else not")
    assert await handle.result(timeout=5) == 1
    assert [each.input for each in await handle.steps()] == [
        ["to be or else not"],
        [["to", "be", "or", "else", "not"], 4],
    ]
    with pytest.raises(ValueError, match="expected"):
        await client.submit(pipeline, 5)


async def test_when_one_stage_fails_those_under_way_end_and_nothing_new_starts(world: World, service: Service) -> None:
    pipeline = branches(service)
    gate = asyncio.Event()
    service.plan("do b", refuse("not b"))
    service.plan("do c", until_set(gate))
    client = await world.start([pipeline], [service.agent])
    handle = await client.submit(pipeline)
    await until(lambda: _has(handle, "svc.do/2", "failed"))
    assert (await handle.status()).state is TaskState.PROCESSING
    gate.set()
    with pytest.raises(TaskFailed, match="not b") as failed:
        await handle.result(timeout=5)
    assert failed.value.cause["step"] == "svc.do/2"
    assert await states(handle) == {
        "svc.do/1": "completed",
        "svc.do/2": "failed",
        "svc.do/3": "completed",
        "svc.do/4": "not_started",
    }
    assert str((await handle.status()).progress) == "2 of 4"


async def test_a_step_that_is_resubmitted_goes_on_with_what_was_planned(world: World, service: Service) -> None:
    pipeline = branches(service)
    service.plan("do b", refuse("not b"))
    client = await world.start([pipeline], [service.agent], replay_check=True)
    handle = await client.submit(pipeline)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit()
    assert await handle.result(timeout=5) == "d done"
    assert sorted(service.log) == ["do a", "do b", "do c", "do d"]
    assert set((await states(handle)).values()) == {"completed"}
    assert not world.told("task.not_deterministic")
    assert not world.told("task.missed")


async def test_undo_goes_back_over_both_branches_newest_first(world: World, service: Service) -> None:
    pipeline = branches(service, supervision=Supervision(then="undo"))
    service.plan("do b", take(1))
    service.plan("do c", take(2))
    service.plan("do d", refuse("not d"))
    client = await world.start([pipeline], [service.agent])
    handle = await client.submit(pipeline)
    with pytest.raises(TaskUndone, match="not d"):
        await handle.result(timeout=60)
    assert service.log == ["do a", "do b", "do c", "undo c", "undo b", "undo a"]
    assert str((await handle.status()).progress) == "0 of 4"


async def test_what_was_planned_is_skipped_once_undo_begins(world: World, service: Service) -> None:
    pipeline = branches(service, supervision=Supervision(then="undo"))
    service.plan("do b", refuse("not b"))
    client = await world.start([pipeline], [service.agent])
    handle = await client.submit(pipeline)
    with pytest.raises(TaskUndone):
        await handle.result(timeout=60)
    assert await states(handle) == {
        "svc.do/1": "undone",
        "svc.do/1~undo": "completed",
        "svc.do/2": "failed",
        "svc.do/3": "undone",
        "svc.do/3~undo": "completed",
        "svc.do/4": "skipped",
    }


async def test_a_pipeline_that_is_cancelled_is_undone_and_what_was_planned_is_skipped(
    world: World, service: Service
) -> None:
    pipeline = branches(service)
    service.plan("do b", hang())
    service.plan("do c", hang())
    client = await world.start([pipeline], [service.agent])
    handle = await client.submit(pipeline)
    await until(lambda: _has(handle, "svc.do/3", "running"))
    await handle.cancel()
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=60)
    found = await states(handle)
    assert (found["svc.do/1"], found["svc.do/4"]) == ("undone", "skipped")


async def test_a_pipeline_that_is_cancelled_before_it_began_is_skipped_whole(world: World, service: Service) -> None:
    pipeline = branches(service)
    client = await world.client(world.app([pipeline], [service.agent]))
    handle = await client.submit(pipeline)
    assert await handle.cancel() is TaskState.CANCELLED
    assert set((await states(handle)).values()) == {"skipped"}


async def test_a_task_undone_by_an_operator_skips_what_was_planned(world: World, service: Service) -> None:
    pipeline = branches(service)
    service.plan("do a", refuse("not a"))
    client = await world.start([pipeline], [service.agent])
    handle = await client.submit(pipeline)
    await in_state(handle, TaskState.ERROR)
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    assert await states(handle) == {
        "svc.do/1": "failed",
        "svc.do/2": "skipped",
        "svc.do/3": "skipped",
        "svc.do/4": "skipped",
    }


async def test_a_plan_that_was_shortened_under_its_tasks_skips_what_it_no_longer_asks_for(
    world: World, service: Service
) -> None:
    handle = await (await world.client(world.app([branches(service)], [service.agent]))).submit("branches", id="t")
    shorter = Pipeline("branches", {"a": Stage(service.do, "a"), "note": Stage(service.note, "b", after=["a"])})
    client = await world.start([shorter], [service.agent], replay_check=True)
    assert await client.task("t").result(timeout=60) is None
    assert await states(handle) == {
        "svc.do/1": "completed",
        "svc.note/1": "completed",
        "svc.do/2": "skipped",
        "svc.do/3": "skipped",
        "svc.do/4": "skipped",
    }
    assert not world.told("task.not_deterministic")


async def test_a_plan_longer_than_a_history_may_be_ends_in_error(world: World, service: Service) -> None:
    pipeline = branches(service)
    client = await world.start([pipeline], [service.agent], history_steps=3)
    handle = await client.submit(pipeline)
    with pytest.raises(TaskFailed, match="at most 3 steps"):
        await handle.result(timeout=5)
    assert (await states(handle))["svc.do/4"] == "not_started"


async def test_retention_deletes_a_task_with_its_plan(world: World, service: Service) -> None:
    pipeline = branches(service)
    client = await world.client(world.app([pipeline], [service.agent]))
    handle = await client.submit(pipeline)
    await handle.cancel()
    store = session_of(client).store
    before = store.now() + 1
    assert (await store.operators.purge_ended(await store.supervisor.outlived(before, 10), before, "test")).tasks == 1
    async with client.transaction() as transaction:
        assert await transaction.execute("select count(*) from stepward_step") == [(0,)]


async def _has(handle: Any, key: str, state: str) -> bool:
    return (await states(handle)).get(key) == state
