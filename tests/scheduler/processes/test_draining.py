"""A drain that begins while the store is busy: what started is still done, and what came in is still recorded."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import pytest

from stepward import TaskHandle, wait_for, workflow
from stepward.model.states import TaskState
from stepward.running import Running
from stepward.store.contract import Change, Committed
from stepward.transport.contract import Delivery
from tests.scheduler.world import Act, Service, World, in_state, states, take, until

COMMIT_SECONDS = 0.2
TAKE_SECONDS = 0.05


class SlowCommits:
    """Each commit takes a while; ``begun`` is set by the first that starts a step, or ends one."""

    def __init__(self, running: Running, change: str) -> None:
        self._commit = running.store.scheduler.commit
        self._change = change
        self.begun = asyncio.Event()
        running.store.scheduler.commit = self.commit  # type: ignore[method-assign]

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        if any(getattr(change, self._change) for change in changes):
            self.begun.set()
        await asyncio.sleep(COMMIT_SECONDS)
        return await self._commit(instance, changes, renew)


@pytest.mark.parametrize("transport", ["local", "store"])
@pytest.mark.parametrize("change", ["inserts", "finishes"])
async def test_a_drain_during_a_commit_leaves_no_step_unanswered(
    world: World, service: Service, change: str, transport: str
) -> None:
    """Row 9: the step under way ends within the grace, and its task counts no failure."""

    @workflow
    async def order() -> str:
        return await service.do("first") + await service.do("second")

    app = world.app([order], [service.agent], transport=transport)
    running = await world.run(app)
    commits = SlowCommits(running, change)
    client = await world.client(world.app([order]))
    handle = await client.submit(order)
    async with asyncio.timeout(10):
        await commits.begun.wait()
    await running.stop()
    steps = await handle.steps()
    assert {(step.state, step.attempt) for step in steps} <= {("completed", 1), ("not_started", 0)}
    assert len(service.log) == sum(step.state == "completed" for step in steps) > 0
    assert (await handle.status()).failure_count == 0


class SlowTakes:
    """Queues whose takes are slow, those whose names begin so; ``found`` is set by the first."""

    def __init__(self, running: Running, beginning: str) -> None:
        self._take = running.transport.take
        self._beginning = beginning
        self.found = asyncio.Event()
        running.transport.take = self.take  # type: ignore[method-assign]

    async def take(self, queue: str, limit: int, lease: float) -> list[Delivery]:
        found = await self._take(queue, limit, lease)
        if queue.startswith(self._beginning):
            self.found.set()
            await asyncio.sleep(TAKE_SECONDS)
        return found


async def test_what_agents_take_as_a_drain_begins_is_done(world: World, service: Service) -> None:
    """Row 9: for all other processes it is taken until its lease is over."""

    @workflow
    async def order() -> str:
        return await service.do("first")

    running = await world.run(world.app([order], [service.agent], transport="store"))
    client = await world.client(world.app([order]))
    takes = SlowTakes(running, "agents.")
    first = await client.submit(order)
    # The take that is under way is of before.
    await first.result(timeout=10)
    handle = await client.submit(order)
    async with asyncio.timeout(10):
        await takes.found.wait()
    await running.stop()
    assert (await handle.steps())[0].state == "completed"


async def test_a_reply_that_is_on_its_way_at_the_end_of_a_drain_is_recorded(world: World, service: Service) -> None:
    """Row 9: the next owner would ask for the step once more."""

    @workflow
    async def order() -> str:
        return await service.do("first")

    running = await world.run(world.app([order], [service.agent], transport="store"))
    client = await world.client(world.app([order]))
    SlowTakes(running, "replies.")
    await (await client.submit(order)).result(timeout=10)
    service.plan("do first", take(1))
    handle = await client.submit(order)

    async def is_asked() -> bool:
        return len(service.keys_of("do first")) == 2

    await until(is_asked)
    await running.stop()
    assert (await handle.steps())[0].state == "completed"


@pytest.mark.parametrize("transport", ["local", "store"])
async def test_an_answer_that_comes_during_a_drain_is_recorded(world: World, service: Service, transport: str) -> None:
    """Row 9: however long its commit takes, within the grace."""

    @workflow
    async def order() -> str:
        return await service.do("first")

    service.plan("do first", take(1))
    app = world.app([order], [service.agent], transport=transport)
    running = await world.run(app)
    SlowCommits(running, "finishes")
    client = await world.client(world.app([order]))
    handle = await client.submit(order)

    async def is_asked() -> bool:
        return bool(service.keys_of("do first"))

    await until(is_asked)
    await running.stop()
    assert (await handle.steps())[0].state == "completed"


async def test_a_task_that_ends_while_a_step_given_up_is_at_work_is_no_task_that_waits(
    world: World, service: Service
) -> None:
    """Row 9: its last wait is over, so nothing that comes would wake it after the drain."""

    @workflow
    async def order() -> Any:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                await service.do("slow")
        return await wait_for("word")

    service.plan("do slow", insist(2))
    app = world.app([order], [service.agent], drain=0)
    running = await world.run(app)
    client = await world.client(world.app([order]))
    handle = await client.submit(order)
    await in_state(handle, TaskState.WAITING)
    await handle.signal("word", "go on")
    await until(lambda: _is_told(handle))
    status = await handle.status()
    assert (status.state, status.waits_for) == (TaskState.PROCESSING, None)
    await running.stop()
    await world.run(world.app([order], [service.agent], drain=0))
    assert await handle.result(timeout=60) == "go on"


async def _is_told(handle: TaskHandle) -> bool:
    """Whether the signal has reached the task."""
    return "signal:word/1" in await states(handle)


def insist(seconds: float) -> Act:
    """Works on for so long, whatever is revoked."""

    async def act() -> None:
        work = asyncio.ensure_future(asyncio.sleep(seconds))
        while not work.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(work)

    return act
