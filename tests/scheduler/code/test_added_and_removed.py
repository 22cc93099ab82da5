"""Calls added in front of recorded ones, and recorded ones removed: no outcome goes to another, nothing acts twice."""

from __future__ import annotations

import asyncio
from typing import Any

from stepward import TaskHandle, wait_for, workflow
from stepward.model.states import TaskState
from stepward.model.tasks.stopped_tasks import WAITS_FOR
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, hang, in_state, states, until

Flow = Workflow[[], Any]


def flow(body: Any) -> Flow:
    """A workflow that always has the same name, whatever it does."""
    return workflow(name="order")(body)


async def is_stopped(handle: TaskHandle) -> bool:
    return (await handle.status()).waits_for == WAITS_FOR


async def test_an_operation_added_in_front_of_itself_does_not_take_its_outcome(world: World, service: Service) -> None:
    given: list[str] = []

    @flow
    async def old() -> str:
        await service.do("order")
        await service.note("order")
        await wait_for("go")
        return "whole"

    @flow
    async def with_one_in_front() -> None:
        given.append(await service.note("order"))
        await service.do("order")
        await service.note("order")
        await wait_for("go")

    async with (app := world.app([old], [service.agent])).running(drain=0), app.client() as client:
        handle = await client.submit(old)
        await in_state(handle, TaskState.WAITING)
    app = world.app([with_one_in_front], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = client.task(handle.id)
        await handle.signal("go")
        await until(lambda: is_stopped(handle))
    assert given == []
    assert service.log == ["do order", "note order"]
    async with (app := world.app([old], [service.agent])).running(), app.client() as client:
        assert await client.task(handle.id).result(timeout=300) == "whole"
    assert service.log == ["do order", "note order"]


async def test_a_wait_added_in_front_does_not_take_the_signal_of_another(world: World, service: Service) -> None:
    told: list[Any] = []

    @flow
    async def old() -> Any:
        await service.do("first")
        word = await wait_for("word")
        await wait_for("go")
        return word

    @flow
    async def with_one_in_front() -> None:
        told.append(await wait_for("word"))
        await service.do("first")
        told.append(await wait_for("word"))
        await wait_for("go")

    async def waits_for_go() -> bool:
        return (await handle.status()).waits_for == "signal go"

    async with (app := world.app([old], [service.agent])).running(drain=0), app.client() as client:
        handle = await client.submit(old)
        await handle.signal("word", "paid")
        await until(waits_for_go)
    app = world.app([with_one_in_front], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = client.task(handle.id)
        await handle.signal("word", "second")
        await handle.signal("go")
        await until(lambda: is_stopped(handle))
    assert told == []
    async with (app := world.app([old], [service.agent])).running(), app.client() as client:
        assert await client.task(handle.id).result(timeout=300) == "paid"


async def test_a_mail_under_way_as_a_step_was_removed_goes_out_once(world: World, service: Service) -> None:
    service.plan("note mail", hang())

    @flow
    async def old() -> str:
        await service.do("charge")
        await service.note("mail")
        return "whole"

    @flow
    async def without_the_charge() -> str:
        await service.note("mail")
        return "whole"

    async def is_mailing() -> bool:
        return (await states(handle)).get("svc.note/1") == "running"

    async with (app := world.app([old], [service.agent])).running(drain=0), app.client() as client:
        handle = await client.submit(old)
        await until(is_mailing)
    app = world.app([without_the_charge], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = client.task(handle.id)
        await until(lambda: is_stopped(handle))
        await asyncio.sleep(30)
    async with (app := world.app([old], [service.agent])).running(), app.client() as client:
        assert await client.task(handle.id).result(timeout=300) == "whole"
    assert service.log == ["do charge", "note mail"]
