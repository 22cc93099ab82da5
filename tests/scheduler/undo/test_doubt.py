"""Whether a failed step may have acted: the same live, after replay, for operators and for undo."""

from __future__ import annotations

from typing import Any

import pytest

from stepward import Client, StepFailed, Supervision, TaskFailed, TaskHandle, TaskUndone, step, wait_for, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, hang, in_state, refuse, until

BIG = "x" * 3000


async def told(call: Any) -> bool | None:
    """Whether the failed step may have acted, as the workflow receives it."""
    try:
        await call
    except StepFailed as error:
        return error.maybe_done
    return None


def doubtful(call: Any) -> Any:
    """A workflow that returns the errors it received before and after it moved to another process."""

    @workflow
    async def order() -> list[bool | None]:
        first = await told(call())
        await wait_for("go")
        return [first]

    return order


async def live_and_replayed(world: World, order: Any, **app: Any) -> tuple[TaskHandle, list[bool | None]]:
    """The errors that the workflow received: live, and in another process that replays the record."""
    first = world.app([order], **app)
    async with first.running(), first.client() as client:
        handle = await client.submit(order)
        await in_state(handle, TaskState.PROCESSING)
        await signalled(client, handle, "svc")
    second = world.app([order], **app)
    await world.run(second)
    handle = (await world.client(second)).task(handle.id)
    await handle.signal("go")
    return handle, await handle.result(timeout=30)


async def signalled(client: Client, handle: TaskHandle, name: str) -> None:
    """Wait until the task waits for its signal."""

    async def look() -> bool:
        steps = await handle.steps()
        return bool(steps) and all(each.state.value in ("failed", "completed") for each in steps)

    await until(look)


@pytest.mark.parametrize("maybe_done", [True, False])
async def test_a_refusal_says_itself_whether_it_may_have_acted(
    world: World, service: Service, maybe_done: bool
) -> None:
    service.plan("do a", refuse("no", maybe_done=maybe_done))
    handle, said = await live_and_replayed(world, doubtful(lambda: service.do("a")), agents=[service.agent])
    assert said == [maybe_done]
    (failed,) = [each for each in await handle.steps() if each.kind == "operation"]
    assert (failed.in_doubt, failed.error["maybe_done"]) == (maybe_done, maybe_done)


async def test_a_result_that_is_too_large_has_acted(world: World, service: Service) -> None:
    @service.agent.operation()
    async def fetch() -> str:
        return BIG

    order = doubtful(fetch)
    handle, said = await live_and_replayed(world, order, agents=[service.agent], payload_bytes=2048)
    assert said == [True]
    (failed,) = [each for each in await handle.steps() if each.kind == "operation"]
    assert failed.in_doubt


async def test_a_result_of_the_wrong_type_has_acted(world: World, service: Service) -> None:
    @service.agent.operation()
    async def count() -> int:
        return "seven"  # type: ignore[return-value]

    _, said = await live_and_replayed(world, doubtful(count), agents=[service.agent])
    assert said == [True]


async def test_a_child_in_error_may_have_acted_and_one_that_was_undone_has_not(world: World, service: Service) -> None:
    @workflow
    async def broken() -> None:
        await service.do("a")
        raise ValueError("bug")

    @workflow(supervision=Supervision(then="undo"))
    async def undone() -> None:
        await service.do("b")
        raise StepFailed("no")

    @workflow
    async def parent() -> list[bool | None]:
        return [await told(broken()), await told(undone())]

    client = await world.start([parent, broken, undone], [service.agent])
    assert await (await client.submit(parent)).result(timeout=30) == [True, False]


@pytest.mark.parametrize(
    ("transaction", "result", "maybe_done"),
    [(False, BIG, True), (True, BIG, False), (False, "seven", True), (True, "seven", False)],
    ids=["too large", "too large, rolled back", "of the wrong type", "of the wrong type, rolled back"],
)
async def test_a_local_step_whose_result_cannot_be_kept(
    world: World, transaction: bool, result: Any, maybe_done: bool
) -> None:
    if transaction:

        @step(transaction=True)
        async def count(connection: Any) -> int:
            return result  # type: ignore[no-any-return]
    else:

        @step()
        async def count() -> int:
            return result  # type: ignore[no-any-return]

    order = doubtful(count)
    handle, said = await live_and_replayed(world, order, payload_bytes=2048)
    assert said == [maybe_done]
    assert (await handle.steps())[0].in_doubt is maybe_done


@pytest.mark.parametrize(("transaction", "maybe_done"), [(False, True), (True, False)])
async def test_a_local_step_that_keeps_failing(world: World, transaction: bool, maybe_done: bool) -> None:
    async def fails() -> None:
        raise OSError("disk")

    if transaction:

        @step(transaction=True)
        async def write(connection: Any) -> None:
            await fails()
    else:

        @step()
        async def write() -> None:
            await fails()

    @workflow(supervision=Supervision(threshold=1, then="raise"))
    async def order() -> bool | None:
        return await told(write())

    client = await world.start([order])
    handle = await client.submit(order)
    assert await handle.result(timeout=30) is maybe_done
    (failed,) = await handle.steps()
    assert (failed.in_doubt, failed.error["type"], failed.error["message"]) == (maybe_done, "OSError", "disk")


async def test_a_doubt_about_an_earlier_attempt_is_reported_after_a_plain_refusal(
    world: World, service: Service
) -> None:

    service.plan("do a", hang(), refuse("no such card"))
    _, said = await live_and_replayed(world, doubtful(lambda: service.do("a")), agents=[service.agent])
    assert said == [True]


async def test_the_error_of_the_task_tells_of_the_doubt(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")

    service.plan("do a", refuse("lost", maybe_done=True))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed) as caught:
        await handle.result(timeout=30)
    assert caught.value.cause["maybe_done"] is True
    assert caught.value.cause["failure"]["type"] == "Unrecoverable"
    await handle.undo()
    with pytest.raises(TaskUndone):
        await handle.result(timeout=30)
    assert service.log == ["undo a"]
