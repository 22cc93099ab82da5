"""Steps that were given up and that their Agent has stopped: their task ends at once, not at their complete-by."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from stepward import Agent, Supervision, TaskFailed, step, workflow
from tests.scheduler.world import World, states

HOURS = 7200


class Slow:
    """An Agent whose operation takes until its complete-by, hours from now."""

    def __init__(self, **options: Any) -> None:
        self.agent = Agent("slow", **options)
        self.log: list[str] = []

        @self.agent.operation(complete_by="2h")
        async def work(what: str) -> str:
            self.log.append(f"began {what}")
            await asyncio.sleep(HOURS - 1)
            return "done"

        @work.undo
        async def undo_work(result: str | None, what: str) -> None:
            self.log.append(f"undid {what}, {result}")

        @self.agent.operation(complete_by="2h")
        async def finish(what: str) -> str:
            """Cannot be stopped half way."""
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(HOURS - 1)
            return "done"

        @finish.undo
        async def undo_finish(result: str | None, what: str) -> None:
            self.log.append(f"undid {what}, {result}")

        self.work, self.finish = work, finish


@pytest.mark.parametrize("transport", ["local", "store"])
async def test_a_task_whose_step_was_stopped_ends_at_once(world: World, transport: str) -> None:
    slow = Slow()

    @workflow
    async def order() -> str:
        try:
            async with asyncio.timeout(5):
                return await slow.work("a")
        except TimeoutError:
            return "too slow"

    client = await world.start([order], [slow.agent], transport=transport)
    began_at = asyncio.get_running_loop().time()
    handle = await client.submit(order)
    assert await handle.result(timeout=HOURS * 2) == "too slow"
    assert asyncio.get_running_loop().time() - began_at < 60
    assert slow.log == ["began a", "undid a, None"]
    assert (await states(handle))["slow.work/1"] == "undone"


async def test_a_task_whose_step_was_stopped_in_another_process_ends_soon(world: World) -> None:
    slow = Slow()

    @workflow
    async def order() -> str:
        try:
            async with asyncio.timeout(5):
                return await slow.work("a")
        except TimeoutError:
            return "too slow"

    apart = {"transport": "store"}
    await world.run(world.app([order], [slow.agent], **apart), scheduler=False, supervisor=False)
    app = world.app([order], [slow.agent], **apart)
    await world.run(app, agents=False)
    began_at = asyncio.get_running_loop().time()
    handle = await (await world.client(app)).submit(order)
    assert await handle.result(timeout=HOURS * 2) == "too slow"
    assert asyncio.get_running_loop().time() - began_at < 60
    assert slow.log == ["began a", "undid a, None"]


async def test_a_step_for_which_there_is_no_agent_counts_as_stopped(world: World) -> None:
    slow = Slow()

    @workflow
    async def order() -> str:
        try:
            async with asyncio.timeout(5):
                return await slow.work("a")
        except TimeoutError:
            return "too slow"

    app = world.app([order], [slow.agent], transport="store")
    await world.run(app, agents=False)
    began_at = asyncio.get_running_loop().time()
    handle = await (await world.client(app)).submit(order)
    assert await handle.result(timeout=HOURS * 2) == "too slow"
    assert asyncio.get_running_loop().time() - began_at < 60
    assert slow.log == []


@pytest.mark.parametrize("transport", ["local", "store"])
async def test_a_step_that_never_began_counts_as_stopped(world: World, transport: str) -> None:
    slow = Slow(concurrency=1)

    @workflow
    async def order() -> str:
        try:
            async with asyncio.timeout(5):
                await asyncio.gather(slow.work("a"), slow.work("b"))
        except TimeoutError:
            return "too slow"
        return "never"

    client = await world.start([order], [slow.agent], transport=transport)
    began_at = asyncio.get_running_loop().time()
    assert await (await client.submit(order)).result(timeout=HOURS * 2) == "too slow"
    assert asyncio.get_running_loop().time() - began_at < 60
    assert slow.log[0] == "began a"
    assert "undid a, None" in slow.log


async def test_a_step_that_ends_well_while_it_is_stopped_is_undone_with_its_result(world: World) -> None:
    slow = Slow()

    @workflow
    async def order() -> str:
        try:
            async with asyncio.timeout(5):
                return await slow.finish("a")
        except TimeoutError:
            return "too slow"

    client = await world.start([order], [slow.agent])
    assert await (await client.submit(order)).result(timeout=60) == "too slow"
    assert slow.log == ["undid a, done"]


@pytest.mark.parametrize("kind", ["plain", "in a thread", "transaction"])
@pytest.mark.parametrize("policy", [Supervision(threshold=0, then="alert"), Supervision(threshold=1, then="alert")])
async def test_a_local_step_that_cancels_itself_is_a_failed_attempt_at_once(
    world: World, kind: str, policy: Supervision
) -> None:
    calls: list[float] = []

    def cancelled() -> None:
        calls.append(asyncio.get_running_loop().time() if kind != "in a thread" else 0.0)
        raise asyncio.CancelledError

    @step(complete_by="2h")
    async def plain() -> None:
        cancelled()

    @step(complete_by="2h")
    def threaded() -> None:
        cancelled()

    @step(complete_by="2h", transaction=True)
    async def transaction(transaction: Any) -> None:
        cancelled()

    wanted: Any = {"plain": plain, "in a thread": threaded, "transaction": transaction}[kind]

    @workflow(supervision=policy)
    async def order() -> None:
        await wanted()

    client = await world.start([order])
    began_at = asyncio.get_running_loop().time()
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="CancelledError"):
        await handle.result(timeout=HOURS * 3)
    assert asyncio.get_running_loop().time() - began_at < 60
    assert len(calls) == policy.threshold + 1
