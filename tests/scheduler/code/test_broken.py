"""Workflow code that breaks its rules: ends in an error, with nothing else written."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from stepward import Supervision, TaskFailed, workflow
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World


@workflow
async def opens_a_socket() -> None:
    await asyncio.open_connection("127.0.0.1", 9)


@workflow
async def uses_a_thread() -> None:
    await asyncio.to_thread(socket.gethostname)


@workflow
async def waits_for_nothing() -> None:
    await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("broken", [opens_a_socket, uses_a_thread, waits_for_nothing], ids=lambda w: w.name)
async def test_what_a_workflow_may_not_do_is_a_clear_error(world: World, broken: Workflow[[], None]) -> None:
    client = await world.start([broken])
    handle = await client.submit(broken)
    with pytest.raises(TaskFailed) as caught:
        await handle.result(timeout=10)
    message = caught.value.cause["message"]
    assert "expected" in message or "step" in message, message
    assert len(await client.alerts()) == 1


async def test_one_broken_task_does_not_hold_up_the_others(world: World, service: Service) -> None:
    @workflow
    async def good(number: int) -> int:
        await service.do(str(number))
        return number

    client = await world.start([good, waits_for_nothing], [service.agent])
    handles = [await client.submit(good, number) for number in range(5)]
    bad = await client.submit(waits_for_nothing)
    more = [await client.submit(good, number) for number in range(5, 10)]
    results = await asyncio.gather(*[handle.result(timeout=10) for handle in (*handles, *more)])
    assert results == list(range(10))
    with pytest.raises(TaskFailed):
        await bad.result(timeout=10)


async def test_a_result_that_is_not_json_is_a_bug(world: World) -> None:
    @workflow
    async def order() -> Any:
        return object()

    client = await world.start([order])
    with pytest.raises(TaskFailed, match="result of order"):
        await (await client.submit(order)).result(timeout=10)


async def test_a_payload_over_the_limit_fails_its_step(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await service.do("x" * 3000)

    client = await world.start([order], [service.agent], payload_bytes="2KiB")
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="2,048 bytes"):
        await handle.result(timeout=10)
    assert service.log == []


async def test_a_workflow_that_uses_a_client_is_broken_off_and_starts_nothing(world: World) -> None:
    @workflow
    async def child() -> None: ...

    @workflow
    async def submitting() -> None:
        await client.submit(child)

    client = await world.start([child, submitting])
    with pytest.raises(TaskFailed, match=r"the workflow called client.submit\(\); a workflow does no I/O"):
        await (await client.submit(submitting)).result(timeout=10)
    assert [task.workflow for task in await client.tasks()] == ["submitting"]


async def test_a_bug_is_never_undone_whatever_the_policy_says(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> str:
        done = {"what": await service.do("a")}
        return done["waht"]

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="waht"):
        await handle.result(timeout=10)
    assert service.log == ["do a"]
    assert (await handle.status()).state is TaskState.ERROR
