"""A Scheduler that ends lets its tasks go in parts, between which the event loop runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from stepward import wait_for, workflow
from stepward.model.states import TaskState
from stepward.scheduler.turn_budget import MOST
from tests.scheduler.world import World, in_state

TASKS = 2 * MOST + 100
SCHEDULING = "Host._keep_scheduling"


class Closed:
    """The workflows whose code was closed."""

    def __init__(self) -> None:
        self.count = 0


@pytest.fixture
def closed() -> Closed:
    return Closed()


async def most_at_once(closed: Closed) -> int:
    """The most workflows that were closed in one iteration of the event loop; runs until all are closed."""
    most = before = closed.count
    while before < TASKS:
        await asyncio.sleep(0)
        most, before = max(most, closed.count - before), closed.count
    return most


async def cancel_meanwhile(closed: Closed) -> int:
    """Cancel the Scheduler again once it has let some of its tasks go; how many were closed by then."""
    while not closed.count:  # noqa: ASYNC110  each iteration of the loop is looked at
        await asyncio.sleep(0)
    count = closed.count
    (scheduling,) = (task for task in asyncio.all_tasks() if task.get_name() == SCHEDULING)
    scheduling.cancel()
    return count


async def ended(world: World, closed: Closed, watch: Callable[[Closed], Coroutine[Any, Any, int]]) -> int:
    """Run and end an application that holds many tasks; the result of ``watch``, which runs meanwhile."""

    @workflow
    async def counted(number: int) -> None:
        try:
            await wait_for("go")
        finally:
            closed.count += 1

    app = world.app([counted], evict_after="never")
    client = await world.client(app)
    async with app.running() as running:
        last = (await client.submit_many(counted, [(number,) for number in range(TASKS)]))[-1]
        await in_state(last, TaskState.WAITING)
        scheduler = running.host.scheduler
        assert scheduler is not None
        assert scheduler.held == TASKS
        watching = asyncio.create_task(watch(closed))
    return await watching


async def test_the_loop_runs_while_a_scheduler_that_ends_lets_its_tasks_go(world: World, closed: Closed) -> None:
    assert await ended(world, closed, most_at_once) <= MOST
    assert closed.count == TASKS


async def test_a_scheduler_that_is_cancelled_meanwhile_lets_the_others_go_at_once(world: World, closed: Closed) -> None:
    assert await ended(world, closed, cancel_meanwhile) < TASKS
    assert closed.count == TASKS
