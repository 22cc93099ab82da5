"""Steps side by side: gather, task groups, timeouts and lost races, and what becomes of steps given up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stepward import Supervision, TaskUndone, step, workflow
from stepward.scheduler.tasks.step_rows import NEW_STEPS_PER_COMMIT
from stepward.store.contract import Change, Committed
from tests.scheduler.world import Act, Service, World, hang, refuse, states, take


async def test_three_thousand_steps_in_one_gather(world: World) -> None:
    @step()
    async def double(number: int) -> int:
        return number * 2

    @workflow
    async def wide(count: int) -> int:
        return sum(await asyncio.gather(*[double(number) for number in range(count)]))

    client = await world.start([wide])
    handle = await client.submit(wide, 3000)
    assert await handle.result(timeout=600) == 2999 * 3000
    steps = await handle.steps()
    assert len(steps) == 3000
    assert {(each.state, each.attempt) for each in steps} == {("completed", 1)}


async def test_a_step_beyond_the_first_thousand_waits_for_none_of_them(world: World, service: Service) -> None:
    absent = Service("absent")

    @workflow
    async def wide() -> str:
        for number in range(1000):
            asyncio.get_running_loop().create_task(absent.do(str(number)))
        return await asyncio.get_running_loop().create_task(service.do("last"))

    app = world.app([wide], [service.agent, absent.agent])
    await world.run(app, agents=["svc"])
    handle = await (await world.client(app)).submit(wide)
    assert await handle.result(timeout=10) == "last done"
    assert service.log == ["do last"]


async def test_a_task_group_undoes_what_was_done_when_one_fails(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        async with asyncio.TaskGroup() as group:
            for what in "abc":
                group.create_task(service.do(what))

    client = await world.start([order], [service.agent])
    service.plan("do a", take(1))
    service.plan("do b", _refuse_after(2))
    service.plan("do c", hang())
    handle = await client.submit(order)
    with pytest.raises(TaskUndone):
        await handle.result(timeout=60)
    # c was given up while it ran: it possibly happened, and is undone with the rest, as the newest.
    assert service.log == ["do a", "undo c", "undo a"]
    assert service.given == [None, "a done"]


async def test_a_step_past_a_timeout_is_undone_before_the_task_is_processed(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        try:
            async with asyncio.timeout(3):
                await service.do("slow")
        except TimeoutError:
            return await service.do("quick")
        return "never"

    service.plan("do slow", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=60) == "quick done"
    assert service.log == ["do quick", "undo slow"]
    assert service.given == [None]
    assert await states(handle) == {
        "svc.do/1": "undone",
        "timer/1": "completed",
        "svc.do/2": "completed",
        "svc.do/1~undo": "completed",
    }
    assert (await handle.status()).error is None


async def test_a_step_given_up_that_cannot_be_undone_is_listed_in_doubt(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        try:
            async with asyncio.timeout(3):
                await service.note("slow")
        except TimeoutError:
            return "went on"
        return "never"

    service.plan("note slow", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=60) == "went on"
    error = (await handle.status()).error
    assert error is not None
    assert error["in_doubt"] == ["svc.note/1"]
    assert await states(handle) == {"svc.note/1": "abandoned", "timer/1": "completed"}


async def test_the_loser_of_a_race_whose_result_comes_late_is_undone_with_it(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        slow = asyncio.create_task(service.do("slow"))
        fast = asyncio.create_task(service.do("fast"))
        done, losers = await asyncio.wait([slow, fast], return_when=asyncio.FIRST_COMPLETED)
        for loser in losers:
            loser.cancel()
        first: str = done.pop().result()
        await asyncio.sleep(8)
        return first

    service.plan("do slow", take(5))
    service.plan("do fast", take(1))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=60) == "fast done"
    assert service.log[0] == "do fast"
    assert service.log[-1] == "undo slow"


async def test_a_step_given_up_is_revoked_at_its_agent(world: World, service: Service) -> None:
    stopped: list[str] = []

    async def note_the_end() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            stopped.append("slow")
            raise

    @workflow
    async def order() -> None:
        try:
            async with asyncio.timeout(3):
                await service.note("slow")
        except TimeoutError:
            await service.note("after")

    service.plan("note slow", note_the_end)
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await handle.result(timeout=9)
    assert stopped == ["slow"]


async def test_gather_gives_the_results_in_order_and_survives_one_refusal(world: World, service: Service) -> None:
    @workflow
    async def order() -> list[str]:
        found = await asyncio.gather(*[service.do(what) for what in "abc"], return_exceptions=True)
        return [str(each) if isinstance(each, BaseException) else each for each in found]

    service.plan("do a", take(3))
    service.plan("do b", refuse("not b"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=20) == ["a done", "not b", "c done"]


def _refuse_after(seconds: float) -> Act:
    async def act() -> None:
        await asyncio.sleep(seconds)
        await refuse("b")()

    return act


async def test_many_steps_are_begun_in_slices(world: World) -> None:
    @step()
    async def double(number: int) -> int:
        return number * 2

    @workflow
    async def wide(count: int) -> int:
        return sum(await asyncio.gather(*[double(number) for number in range(count)]))

    app = world.app([wide])
    running = await world.run(app)
    begun: list[int] = []
    commit = running.store.scheduler.commit

    async def counted(instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        begun.extend(len(change.inserts) for change in changes)
        return await commit(instance, changes, renew)

    running.store.scheduler.commit = counted  # type: ignore[method-assign]
    handle = await (await world.client(app)).submit(wide, 2500)
    assert await handle.result(timeout=600) == 2499 * 2500
    assert (sum(begun), max(begun)) == (2500, NEW_STEPS_PER_COMMIT)
