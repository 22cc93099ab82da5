"""Tasks that go on by ``continue_as_new`` for ever: the store does not grow, and undo reaches what its rule says."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from stepward import StepFailed, Unrecoverable, continue_as_new, current_task, step, wait_for, workflow
from stepward.errors import DeclarationError
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, in_state, until

RUNS = 60
service = Service()


@step()
async def look(number: int) -> str:
    return "x" * 1000


@workflow
async def part(number: int) -> int:
    return number


@workflow
async def daily(runs: int) -> None:
    await service.do(f"charge {runs}")
    await look(runs)
    await part(runs)
    await wait_for("next")
    continue_as_new(runs + 1)


@workflow(undo="all runs")
async def pages(runs: int) -> None:
    await service.do(f"charge {runs}")
    await look(runs)
    await wait_for("next")
    continue_as_new(runs + 1)


@workflow(undo="all runs")
async def notes(runs: int) -> None:
    with suppress(StepFailed):
        await service.note(f"day {runs}")
    await wait_for("next")
    continue_as_new(runs + 1)


@pytest.fixture(autouse=True)
def forget_calls() -> None:
    service.log.clear()


async def go_on(world: World, flow: Any, runs: int) -> Any:
    client = await world.start([flow, part], [service.agent])
    handle = await client.submit(flow, 1, id="t")
    for number in range(1, runs):
        await until(partial(_is_at, handle, number))
        await handle.signal("next", id=f"day {number}")
    await until(partial(_is_at, handle, runs))
    await in_state(handle, TaskState.WAITING)
    return handle


async def _is_at(handle: Any, run: int) -> bool:
    return bool((await handle.status()).run >= run)


def count(world: World, sql: str) -> int:
    connection = sqlite3.connect(world.store.removeprefix("sqlite:///"))
    try:
        return int(connection.execute(sql).fetchone()[0] or 0)
    finally:
        connection.close()


async def test_many_runs_leave_the_rows_of_two_and_bounded_bytes(world: World) -> None:
    await go_on(world, daily, RUNS)
    assert count(world, "select count(*) from stepward_step") <= 24
    assert count(world, "select max(run) - min(run) from stepward_step") <= 2
    assert count(world, "select sum(length(input) + coalesce(length(output), 0)) from stepward_step") < 10_000
    assert count(world, "select count(*) from stepward_signal_seen") <= 3
    assert count(world, "select count(*) from stepward_inbox") == 0


async def test_cancelling_undoes_what_this_run_has_done_alone(world: World) -> None:
    handle = await go_on(world, daily, 4)
    await handle.cancel()
    await in_state(handle, TaskState.CANCELLED)
    assert [line for line in service.log if line.startswith("undo")] == ["undo charge 4"]


async def test_a_workflow_may_say_that_undo_reaches_all_runs(world: World) -> None:
    handle = await go_on(world, pages, 6)
    assert count(world, "select count(*) from stepward_step where run < 4 and kind <> 'operation'") == 0
    assert count(world, "select count(*) from stepward_step where run < 4") == 3
    await handle.cancel()
    await in_state(handle, TaskState.CANCELLED)
    undone = [line for line in service.log if line.startswith("undo")]
    assert undone == [f"undo charge {number}" for number in range(6, 0, -1)]


async def test_a_doubt_of_a_run_long_ago_is_named_when_the_task_is_undone(world: World) -> None:
    async def unclear() -> None:
        raise Unrecoverable("no answer", maybe_done=True)

    service.plan("note day 1", unclear)
    handle = await go_on(world, notes, 6)
    assert count(world, "select count(*) from stepward_step where run < 4") == 1
    await handle.cancel()
    await in_state(handle, TaskState.CANCELLED)
    alerts = await handle._client.store.operators.alerts(100, open_only=True)
    assert [(alert.kind, "note/1" in alert.message) for alert in alerts] == [("in_doubt", True)]


async def test_a_signal_that_comes_again_in_the_same_run_is_still_known(world: World) -> None:
    @workflow
    async def listening() -> int:
        await wait_for("a")
        await wait_for("b")
        return current_task().run

    client = await world.start([listening])
    handle = await client.submit(listening, id="t")
    assert await handle.signal("a", id="x")
    assert not await handle.signal("a", id="x")


def test_a_rule_that_there_is_not_is_refused() -> None:
    with pytest.raises(DeclarationError, match="expected undo='this run' or 'all runs', found 'some'"):

        @workflow(undo="some")  # type: ignore[call-overload, untyped-decorator]
        async def odd() -> None: ...
