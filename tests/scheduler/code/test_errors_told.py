"""The record of failed attempts in the store and in the log, and what never leaves the process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stepward import Backoff, Supervision, TaskFailed, Unrecoverable, step, wait_for, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, details, fault, hang, in_state

QUICK = Backoff("1s", factor=1.0)


async def test_every_attempts_error_stays_on_the_step(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=3, backoff=QUICK))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", fault("first"), hang(), fault("third"), fault("fourth"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="fourth"):
        await handle.result(timeout=60)
    (step,) = await handle.steps()
    error = step.error
    assert (error["message"], error["type"], error["attempt"]) == ("fourth", "StepwardError", 4)
    assert error["at"].startswith("world.py:")
    assert error["traceback"].endswith("StepwardError: fourth")
    assert [(each["attempt"], each["type"]) for each in error["earlier"]] == [
        (1, "StepwardError"),
        (2, "StepExpired"),
        (3, "StepwardError"),
    ]
    assert (error["expired"], error["failures"]) == (1, 4)
    (alert,) = await client.alerts()
    assert details(alert)["error"]["traceback"] == error["traceback"]
    assert [event["error"] for event in world.told("step.gave_up")] == ["first", "third", "fourth"]


async def test_what_is_redacted_reaches_neither_the_record_nor_the_log(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await pay("4111")

    @service.agent.operation()
    async def pay(card: str) -> str:
        raise Unrecoverable(f"card {card} was refused", card=card, list=[{"card": card}])

    client = await world.start([order], [service.agent], redact=lambda text: text.replace("4111", "****"))
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match=r"card \*\*\*\* was refused") as caught:
        await handle.result(timeout=10)
    (step,) = await handle.steps()
    assert "4111" not in str(step.error)
    assert "4111" not in str(caught.value.cause)
    assert step.error["data"] == {"card": "****", "list": [{"card": "****"}]}
    assert "4111" not in str([event.fields for event in world.events])


class Mute:
    """What cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("data", [nested(100_000), Mute(), 10**5000], ids=["deep", "mute", "large"])
@pytest.mark.parametrize("where", ["operation", "step", "workflow"])
async def test_data_that_cannot_be_shown_hide_no_failure(
    world: World, service: Service, where: str, data: object
) -> None:
    async def refuse() -> None:
        raise Unrecoverable("refused", data=data)

    calls: dict[str, Callable[[], Awaitable[None]]] = {
        "operation": service.agent.operation(refuse),
        "step": step(refuse),
        "workflow": refuse,
    }

    @workflow
    async def order() -> None:
        await calls[where]()

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="refused") as caught:
        await handle.result(timeout=10)
    assert "refused" in caught.value.cause["message"]
    assert [each.error["type"] for each in await handle.steps()] == ["Unrecoverable"] * (where != "workflow")


async def test_an_error_of_the_workflows_own_code_is_recorded_with_its_place(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        raise KeyError("card 4111")

    client = await world.start([order], [service.agent], redact=lambda text: text.replace("4111", "****"))
    handle = await client.submit(order)
    with pytest.raises(TaskFailed):
        await handle.result(timeout=10)
    error = (await handle.status()).error or {}
    assert (error["type"], error["message"]) == ("KeyError", "'card ****'")
    assert error["at"].startswith("test_errors_told.py:")
    assert error["at"].endswith("in order")
    assert "****" in error["traceback"]
    assert "4111" not in str(error)
    (told,) = world.told("task.error")
    assert (told["error"], told["type"]) == (error["message"], error["type"])
    assert (told["at"], told["traceback"]) == (error["at"], error["traceback"])


async def test_a_failed_step_is_reported_with_the_tasks_end(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", fault("no"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed):
        await handle.result(timeout=10)
    (told,) = world.told("task.error")
    assert (told["error"], told["step"], told["at"][:9]) == ("no", "svc.do/1", "world.py:")


async def test_without_tracebacks_the_place_is_kept(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", fault())
    client = await world.start([order], [service.agent], traceback_bytes=0)
    handle = await client.submit(order)
    with pytest.raises(TaskFailed):
        await handle.result(timeout=10)
    (step,) = await handle.steps()
    assert "traceback" not in step.error
    assert step.error["at"].startswith("world.py:")


async def test_a_task_that_leaves_memory_makes_no_error_of_its_end(world: World) -> None:
    read: list[str] = []

    def redact(text: str) -> str:
        read.append(text)
        return text

    @workflow
    async def order() -> str:
        return await wait_for("go", type=str)

    client = await world.start([order], evict_after=0, redact=redact)
    handle = await client.submit(order)
    await in_state(handle, TaskState.WAITING)
    await asyncio.sleep(5)
    await handle.signal("go", "now")
    assert await handle.result() == "now"
    assert read == []
