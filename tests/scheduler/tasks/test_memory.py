"""What a task that waits in memory takes of it, counted by allocations: SQLite's own pages are not among them."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stepward import Agent, wait_for, workflow
from stepward.model.states import TaskState
from stepward.model.tracing.submission_span import API
from stepward.workflow.definition import Workflow
from tests.scheduler.world import World, in_state, until

TASKS = 1_000
MOST_BYTES = 4 * 1024
"""Bytes of a waiting task."""
STEPS = 1_000
MOST_BYTES_OF_A_STEP = 4_864
"""Bytes of an active step with its call in the Agent: 4,640 are known, of which 1,600 are two bare tasks of asyncio."""
WATCHED = 2.0
"""Seconds after which its row is shown to the Supervisor, and nothing of its dispatch is left."""
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


class Held:
    """An Agent whose calls wait until they are let go."""

    def __init__(self) -> None:
        self.agent = Agent("held", concurrency=2 * STEPS)
        self.begun = 0
        self.gate = asyncio.Event()

        @self.agent.operation(complete_by="1h")
        async def work(number: int) -> int:
            self.begun += 1
            await self.gate.wait()
            return number

        self.work = work

    async def is_full(self) -> bool:
        """Whether all calls are under way."""
        return self.begun == STEPS


async def bytes_of_an_active_step(world: World) -> float:
    """The bytes that each of many steps takes that an Agent of the same process works on, a second after they began."""
    held = Held()

    @workflow
    async def parallel(first: int) -> None:
        await asyncio.gather(*(held.work(first + number) for number in range(STEPS)))

    app = world.app([parallel], [held.agent])
    client = await world.client(app)
    await world.run(app)
    with traced():
        handle = await client.submit(parallel, 0)
        await until(held.is_full)
        await asyncio.sleep(WATCHED)
        world.events.clear()
        gc.collect()
        found = tracemalloc.get_traced_memory()[0] / STEPS
    held.gate.set()
    await handle.result()
    return found


async def test_an_active_step_takes_few_bytes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # An application that traces has a span for each attempt; variables of the context are copied with each step.
    monkeypatch.delitem(sys.modules, API, raising=False)
    measure = asyncio.create_task(bytes_of_an_active_step(world), context=contextvars.Context())
    assert await measure <= MOST_BYTES_OF_A_STEP
