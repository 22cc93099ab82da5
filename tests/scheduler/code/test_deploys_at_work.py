"""Every kind of wrong deploy at every point of a task's life: nothing is called, the right code goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import StepFailed, TaskHandle, wait_for, workflow
from stepward.model.states import TaskState
from stepward.model.tasks.stopped_tasks import WAITS_FOR
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, hang, in_state, refuse, states, until

Flow = Workflow[..., Any]


def code(service: Service, change: str = "") -> Flow:
    """The reference workflow, with one change."""

    async def body(*, order: str) -> str:
        if change == "added before":
            await service.note("new")
        await (service.note(order) if change == "renamed" else service.do(order))
        if change == "sleep added":
            await asyncio.sleep(1)
        if change == "raises":
            raise KeyError("typo")
        if change != "removed":
            await asyncio.gather(service.do("left"), service.do("right"))
        if change == "asks once more":
            await service.note("more")
        await wait_for("veto" if change == "other signal" else "approval")
        await service.do("last")
        return "whole"

    if change == "parameter added":

        @workflow(name="order")
        async def wider(order: str, size: int) -> str:
            return await body(order=order)

        return wider

    @workflow(name="order")
    async def reference(order: str) -> str:
        return await body(order=order)

    return reference


FIRST = {"renamed", "added before", "parameter added"}
"""What does not fit from the first step on."""
BEFORE_THE_WAIT = FIRST | {"removed", "sleep added", "raises"}
ALL = BEFORE_THE_WAIT | {"asks once more", "other signal"}


async def is_stopped(handle: TaskHandle) -> bool:
    return (await handle.status()).waits_for == WAITS_FOR


async def at(world: World, service: Service, point: str) -> TaskHandle:
    """A task of the reference code that has come to ``point`` when its process ends."""
    if point in ("first in flight", "both in flight"):
        name = "a" if point == "first in flight" else "right"
        service.plan(f"do {name}", hang())
    if point == "last in flight":
        service.plan("do last", hang())

    async def is_there() -> bool:
        found = await states(handle)
        if point == "first in flight":
            return found.get("svc.do/1") == "running"
        if point == "both in flight":
            return found.get("svc.do/3") == "running" and found.get("svc.do/2") == "completed"
        if point == "waiting":
            return (await handle.status()).waits_for == "signal approval"
        return found.get("svc.do/4") == "running"

    app = world.app([code(service)], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = await client.submit(code(service), "a")
        if point == "last in flight":
            await handle.signal("approval")
        await until(is_there)
    return handle


@pytest.mark.parametrize(
    ("point", "change"),
    [("first in flight", change) for change in sorted(FIRST)]
    + [("both in flight", change) for change in sorted(BEFORE_THE_WAIT)]
    + [("waiting", change) for change in sorted(BEFORE_THE_WAIT)]
    + [("last in flight", change) for change in sorted(ALL)],
)
async def test_a_wrong_deploy_calls_nothing_and_the_right_code_goes_on(
    world: World, service: Service, point: str, change: str
) -> None:
    handle = await at(world, service, point)
    called, before = list(service.log), await keys(world, service, handle)
    app = world.app([code(service, change)], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = client.task(handle.id)
        if point == "waiting":
            await handle.signal("approval")
        await until(lambda: is_stopped(handle))
        error = (await handle.status()).error
        assert error is not None
        assert "the record " in error["message"]
        assert "the code " in error["message"]
        assert [line for line in service.log if line.startswith("note")] == []
        assert set(await states(handle)) == before
        assert len(await client.alerts()) == 1
    assert service.log == called
    app = world.app([code(service)], [service.agent])
    async with app.running(), app.client() as client:
        handle = client.task(handle.id)
        if point not in ("waiting", "last in flight"):
            await handle.signal("approval")
        assert await handle.result(timeout=300) == "whole"
        assert await client.alerts() == []
    assert service.log == ["do a", *sorted(service.log[1:3]), "do last"]
    assert sorted(service.log) == ["do a", "do last", "do left", "do right"]


async def keys(world: World, service: Service, handle: TaskHandle) -> set[str]:
    async with world.app([code(service)], [service.agent]).client() as client:
        return set(await states(client.task(handle.id)))


async def test_a_task_that_is_undoing_asks_no_code(world: World, service: Service) -> None:
    service.plan("undo left", hang())

    async def is_undoing_left() -> bool:
        return (await states(handle)).get("svc.do/2~undo") == "running"

    app = world.app([code(service)], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = await client.submit(code(service), "a")
        await in_state(handle, TaskState.WAITING)
        await handle.undo()
        await until(is_undoing_left)
    for change in sorted(ALL):
        app = world.app([code(service, change)], [service.agent])
        async with app.running(drain=0), app.client() as client:
            assert (await client.task(handle.id).status()).state in (TaskState.UNDOING, TaskState.UNDONE)
            assert [alert.kind for alert in await client.alerts()] == []
    async with (app := world.app([code(service, "renamed")], [service.agent])).running(), app.client() as client:
        await in_state(client.task(handle.id), TaskState.UNDONE)
    assert sorted(line for line in service.log if line.startswith("undo")) == ["undo a", "undo left", "undo right"]


async def test_a_caught_failure_is_not_met_by_code_that_catches_it_no_more(world: World, service: Service) -> None:
    def catching(*, catches: bool) -> Flow:
        @workflow(name="order")
        async def order(name: str) -> str:
            try:
                await service.do(name)
            except StepFailed:
                if not catches:
                    raise
                await service.note("instead")
            await wait_for("approval")
            return "whole"

        return order

    service.plan("do a", refuse())
    app = world.app([catching(catches=True)], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = await client.submit(catching(catches=True), "a")
        await in_state(handle, TaskState.WAITING)
    app = world.app([catching(catches=False)], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = client.task(handle.id)
        await handle.signal("approval")
        await until(lambda: is_stopped(handle))
        assert "the code raised StepFailed: " in (await handle.status()).error["message"]  # type: ignore[index]
    async with (app := world.app([catching(catches=True)], [service.agent])).running(), app.client() as client:
        assert await client.task(handle.id).result(timeout=300) == "whole"
    assert service.log == ["note instead"]
