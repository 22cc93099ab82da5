"""While the store is busy with one turn, the next begins with the replies that concern none of its tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from stepward import workflow
from stepward.running import Running
from stepward.store.contract import Change, Committed
from tests.scheduler.world import Service, World, until, until_set


class SlowDisk:
    """Holds the next commit that records the outcome of a step."""

    def __init__(self, running: Running) -> None:
        self._commit = running.store.scheduler.commit
        self.held = asyncio.Event()
        self.free = asyncio.Event()
        self.records: list[list[str]] = []
        """The keys of the steps that each commit ended."""
        running.store.scheduler.commit = self.commit  # type: ignore[method-assign]

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        ended = [finish.key for change in changes for finish in change.finishes]
        if ended:
            self.records.append(ended)
        if ended and not self.held.is_set():
            self.held.set()
            await self.free.wait()
        return await self._commit(instance, changes, renew)


async def test_another_task_goes_on_while_a_commit_takes_its_time(world: World, service: Service) -> None:
    went_on: list[str] = []

    @workflow
    async def order(what: str) -> None:
        await service.do(what)
        went_on.append(what)

    first, second = asyncio.Event(), asyncio.Event()
    service.plan("do first", until_set(first))
    service.plan("do second", until_set(second))
    app = world.app([order], [service.agent])
    disk = SlowDisk(await world.run(app))
    client = await world.client(app)
    handles = [await client.submit(order, what) for what in ("first", "second")]
    first.set()
    await disk.held.wait()
    second.set()

    async def look() -> bool:
        return went_on == ["first", "second"]

    await until(look)
    assert len(disk.records) == 1
    disk.free.set()
    await asyncio.gather(*[handle.result(timeout=5) for handle in handles])


async def test_a_reply_to_a_task_that_is_being_committed_waits_for_that(world: World, service: Service) -> None:
    @workflow
    async def order() -> list[Any]:
        return list(await asyncio.gather(service.do("left"), service.do("right")))

    left, right = asyncio.Event(), asyncio.Event()
    service.plan("do left", until_set(left))
    service.plan("do right", until_set(right))
    app = world.app([order], [service.agent])
    disk = SlowDisk(await world.run(app))
    client = await world.client(app)
    handle = await client.submit(order)
    left.set()
    await disk.held.wait()
    right.set()

    async def look() -> bool:
        return len(service.log) == 2

    await until(look)
    disk.free.set()
    # Well before the complete-by: nothing was lost that had to be repeated.
    assert await handle.result(timeout=5) == ["left done", "right done"]
    assert disk.records == [["svc.do/1"], ["svc.do/2"]]
    assert [step.attempt for step in await handle.steps()] == [1, 1]
