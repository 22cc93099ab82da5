"""What a task that waits in memory takes of it, counted by allocations: SQLite's own pages are not among them."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stepward import wait_for, workflow
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow
from tests.scheduler.world import World, in_state

TASKS = 1_000
MOST_BYTES = 5 * 1024
"""Bytes of a waiting task: 4.0 KiB at a timer and 4.2 KiB at a signal are known, and Pythons differ."""
PLANTED = 2 * 1024
MONTH = 30 * 86_400.0


@workflow
async def for_signal(number: int) -> None:
    await wait_for("go")


@workflow
async def for_timer(number: int) -> None:
    await asyncio.sleep(MONTH)


@workflow
async def with_ballast(number: int) -> int:
    ballast = bytes([number % 256]) * PLANTED
    await wait_for("go")
    return len(ballast)


@contextmanager
def traced() -> Iterator[None]:
    """Allocations from here on are counted."""
    gc.collect()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


async def bytes_of_each(world: World, waiting: Workflow[Any, Any]) -> float:
    """The bytes that each of many waiting tasks of the workflow takes in the memory of a Scheduler's process."""
    app = world.app([waiting], evict_after="never")
    running, client = await world.run(app), await world.client(app)
    scheduler = running.host.scheduler
    assert scheduler is not None
    with traced():
        last = (await client.submit_many(waiting, [(number,) for number in range(TASKS)]))[-1]
        await in_state(last, TaskState.WAITING)
        assert scheduler.held == TASKS
        world.events.clear()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / TASKS


@pytest.mark.parametrize("waiting", [for_signal, for_timer], ids=lambda waiting: waiting.name)
async def test_a_waiting_task_takes_few_bytes(world: World, waiting: Workflow[Any, Any]) -> None:
    assert await bytes_of_each(world, waiting) <= MOST_BYTES


async def test_two_more_kibibytes_in_each_task_are_too_many(world: World) -> None:
    assert await bytes_of_each(world, with_ballast) > MOST_BYTES
