"""Things that happen at once: given-up children, directives on top of one another, deadlines of sleeping tasks."""

from __future__ import annotations

import asyncio

import pytest

from stepward import Backoff, Supervision, TaskCancelled, TaskFailed, step, wait_for, workflow
from stepward.errors import IllegalTransition
from stepward.model.states import TASK_ENDS, TaskState
from stepward.running import Running
from tests.scheduler.world import Service, World, hang, in_state, states, take, until


async def test_a_child_given_up_is_cancelled_before_its_parent_is_processed(world: World, service: Service) -> None:
    @workflow
    async def child() -> None:
        await service.do("inner")
        await wait_for("never")

    @workflow
    async def parent() -> str:
        try:
            async with asyncio.timeout(3):
                await child()
        except TimeoutError:
            return "gave up"
        return "never"

    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    assert await handle.result(timeout=60) == "gave up"
    assert service.log == ["do inner", "undo inner"]
    assert (await client.task("p/child/1").status()).state is TaskState.CANCELLED
    assert (await states(handle))["child/1"] == "undone"


async def test_a_child_given_up_in_the_middle_of_a_step_is_undone_with_its_result(
    world: World, service: Service
) -> None:
    @workflow
    async def child() -> None:
        await service.do("inner")

    @workflow
    async def parent() -> str:
        try:
            async with asyncio.timeout(3):
                await child()
        except TimeoutError:
            return "gave up"
        return "never"

    service.plan("do inner", take(5))
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    assert await handle.result(timeout=60) == "gave up"
    assert (service.log, service.given) == (["do inner", "undo inner"], ["inner done"])
    assert (await client.task("p/child/1").status()).state is TaskState.CANCELLED


async def test_a_suspension_gives_way_to_the_undo_that_follows_it(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")
        await wait_for("never")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.WAITING)
    await asyncio.gather(handle.suspend(), handle.undo())
    assert await in_state(handle, TaskState.UNDONE, TaskState.SUSPENDED) is TaskState.UNDONE
    assert service.log == ["do a", "undo a"]


async def test_a_sleeping_task_past_its_deadline_is_ended(world: World) -> None:
    @workflow
    async def order() -> None:
        await wait_for("never")

    app = world.app([order], evict_after="1s")
    running = await world.run(app)
    handle = await (await world.client(app)).submit(order, complete_by="15s")
    await until(lambda: _left_memory(running))
    with pytest.raises(TaskFailed, match="was not done by its complete-by"):
        await handle.result(timeout=30)


async def test_a_task_goes_on_in_another_process_where_its_record_ends(world: World, service: Service) -> None:
    @workflow
    async def order() -> list[object]:
        found: list[object] = [await service.do("a")]
        await asyncio.sleep(30)
        found.append(await wait_for("go"))
        found.append(await service.do("b"))
        return found

    app = world.app([order], [service.agent])
    await world.run(app)
    handle = await (await world.client(app)).submit(order)
    await in_state(handle, TaskState.WAITING)
    await asyncio.sleep(10)
    await world.close()
    client = await world.start([order], [service.agent])
    handle = client.task(handle.id)
    await handle.signal("go", 1)
    assert await handle.result(timeout=60) == ["a done", 1, "b done"]
    assert service.log == ["do a", "do b"]
    status = await handle.status()
    assert status.finished_at is not None
    assert 30 <= status.finished_at - status.created_at < 32


async def test_a_bug_in_a_local_step_is_repeated_like_any_failure(world: World) -> None:
    faults = [1, 2]

    @step()
    async def shaky() -> str:
        if faults:
            faults.pop()
            raise ZeroDivisionError
        return "done"

    @workflow(supervision=Supervision(threshold=3, backoff=Backoff("1s")))
    async def order() -> str:
        return await shaky()

    client = await world.start([order])
    handle = await client.submit(order)
    assert await handle.result(timeout=30) == "done"
    (only,) = await handle.steps()
    assert (only.attempt, only.failure_count) == (3, 2)


async def test_a_local_step_that_hangs_is_stopped_and_repeated(world: World) -> None:
    hangs = [1]

    @step(complete_by="5s")
    async def slow() -> str:
        if hangs:
            hangs.pop()
            await asyncio.get_running_loop().create_future()
        return "done"

    @workflow(supervision=Supervision(threshold=3, backoff=Backoff("1s")))
    async def order() -> str:
        return await slow()

    client = await world.start([order])
    handle = await client.submit(order)
    assert await handle.result(timeout=30) == "done"
    assert (await handle.steps())[0].attempt == 2


async def test_a_delayed_task_is_cancelled_at_once(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order, delay="1h")
    assert await handle.cancel() is TaskState.CANCELLED
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=1)


@pytest.mark.parametrize("first", ["cancel", "undo", "suspend"])
@pytest.mark.parametrize("second", ["cancel", "undo", "suspend", "resume"])
async def test_two_directives_at_once_lead_to_one_legal_end(
    world: World, service: Service, first: str, second: str
) -> None:
    """Row 69: whichever comes first, the task ends whole, and the second act is done or refused in words."""

    @workflow
    async def order() -> str:
        await service.do("a")
        await service.do("b")
        return await service.do("c")

    service.plan("do b", take(2))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await until(lambda: _asked(service, "do b"))
    acts = {"cancel": handle.cancel, "undo": handle.undo, "suspend": handle.suspend, "resume": handle.resume}
    await acts[first]()
    try:
        await acts[second]()
    except IllegalTransition as refused:
        assert "possible now" in str(refused) or "nothing can be asked" in str(refused)
    state = await in_state(handle, *TASK_ENDS, TaskState.SUSPENDED, within=60)
    if state is TaskState.SUSPENDED:
        await handle.resume()
        state = await in_state(handle, *TASK_ENDS, within=60)
    assert state in (TaskState.PROCESSED, TaskState.UNDONE, TaskState.CANCELLED)
    whole = ["do a", "do b", "do c"] if state is TaskState.PROCESSED else ["do a", "do b", "undo b", "undo a"]
    assert service.log == whole


async def test_signals_to_a_task_that_is_undoing_do_no_harm(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")
        await wait_for("go")

    service.plan("undo a", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.WAITING)
    await handle.cancel()
    await in_state(handle, TaskState.UNDOING)
    await handle.signal("go", 1)
    with pytest.raises(TaskCancelled):
        await handle.result(timeout=60)
    assert service.log == ["do a", "undo a"]


async def _left_memory(running: Running) -> bool:
    scheduler = running.host.scheduler
    return scheduler is not None and scheduler.held == 0


async def _asked(service: Service, call: str) -> bool:
    return bool(service.keys_of(call))
