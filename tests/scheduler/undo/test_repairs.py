"""Repairs that rewind: caught failures, attempts in doubt, children that are started again."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from stepward import StepFailed, Supervision, TaskFailed, wait_for, workflow
from stepward.client import session_of
from stepward.errors import IllegalTransition, Refused
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow
from tests.scheduler.fallback import is_running, with_fallback
from tests.scheduler.world import Service, World, hang, in_state, refuse, states, take, until


async def test_resubmission_after_a_caught_failure_names_what_would_be_set_aside(
    world: World, service: Service
) -> None:
    order = with_fallback(service)
    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    preview = await handle.preview()
    assert (preview.step, preview.set_aside, preview.can_undo) == ("svc.do/2", ["svc.do/3"], ["svc.do/3"])
    with pytest.raises(IllegalTransition, match=r"found svc\.do/3, which would be set aside; .*later=undo"):
        await handle.resubmit()
    assert (await handle.status()).state is TaskState.ERROR


async def test_resubmission_after_a_caught_failure_undoes_the_fallback_and_goes_on(
    world: World, service: Service
) -> None:
    order = with_fallback(service)
    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(later="undo")
    assert await handle.result(timeout=30) == ["a done", "b done", "c done"]
    assert service.log == ["do a", "do fallback", "undo fallback", "do b", "do c"]
    assert service.given == ["fallback done"]
    first, again = service.keys_of("do fallback")[0], service.keys_of("do c")[0]
    assert again == f"{first}#1"
    assert (await states(handle))["svc.do/3~1"] == "undone"


async def test_resubmission_after_a_caught_failure_keeps_the_fallback_and_a_later_undo_reaches_it(
    world: World, service: Service
) -> None:
    order = with_fallback(service)
    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(later="keep")
    assert await handle.result(timeout=30) == ["a done", "b done", "c done"]
    assert service.log == ["do a", "do fallback", "do b", "do c"]
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    assert service.log[4:] == ["undo c", "undo b", "undo fallback", "undo a"]


async def test_a_step_marked_as_done_after_its_failure_was_caught_goes_on(world: World, service: Service) -> None:
    order = with_fallback(service)
    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.mark_done("svc.do/2", "b by hand", later="undo")
    assert await handle.result(timeout=30) == ["a done", "b by hand", "c done"]
    assert service.log == ["do a", "do fallback", "undo fallback", "do c"]


async def test_what_was_marked_as_done_is_undone_before_what_that_set_aside(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> None:
        try:
            await service.do("b")
        except StepFailed as failed:
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await service.do("fallback")
            raise failed from None
        await wait_for("never")

    service.plan("do b", refuse())
    service.plan("do fallback", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.mark_done("svc.do/1", "b by hand", later="keep")
    await in_state(handle, TaskState.WAITING)
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    assert service.log == ["undo b", "undo fallback"]


async def test_undo_right_after_a_repair_goes_back_over_what_it_set_aside_first(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> None:
        beside = asyncio.ensure_future(service.do("beside"))
        try:
            await service.do("b")
        except StepFailed:
            await beside
            await service.do("what follows")
            raise

    service.plan("do beside", take(1))
    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(later="keep")
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    assert service.log == ["do beside", "do what follows", "undo what follows", "undo beside"]


async def test_what_was_under_way_when_the_failure_was_caught_is_delivered_after_it(
    world: World, service: Service
) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> list[str]:
        beside = asyncio.ensure_future(service.note("beside"))
        try:
            one = await service.do("b")
        except StepFailed:
            await beside
            await asyncio.sleep(5)
            raise
        return [one, await beside]

    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit()
    assert await handle.result(timeout=30) == ["b done", "beside done"]
    assert service.log == ["note beside", "do b"]


async def test_a_signal_taken_after_the_failure_is_given_again(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> list[str]:
        try:
            one = await service.do("b")
        except StepFailed:
            await wait_for("go", type=str)
            raise
        return [one, await wait_for("go", type=str)]

    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await handle.signal("go", "now")
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit()
    assert await handle.result(timeout=30) == ["b done", "now"]


async def test_a_child_that_was_undone_is_started_again_with_its_parent(world: World, service: Service) -> None:
    @workflow
    async def child(what: str) -> str:
        return await service.do(what)

    @workflow
    async def parent() -> str:
        return await child("inner")

    service.plan("do inner", refuse())
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    await in_state(handle, TaskState.ERROR)
    inner = client.task("p/child/1")
    await inner.undo()
    await in_state(inner, TaskState.UNDONE)
    await handle.resubmit()
    assert await handle.result(timeout=30) == "inner done"
    assert (await client.task("p/child/1#1").status()).state is TaskState.PROCESSED
    assert (await inner.status()).state is TaskState.UNDONE
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    assert service.log == ["do inner", "undo inner"]


async def test_the_alert_of_a_task_that_is_mended_is_closed(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        return await service.do("b")

    service.plan("do b", refuse(), refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    assert [alert.kind for alert in await client.alerts()] == ["task_error"]
    await handle.resubmit()
    assert await client.alerts() == []
    await in_state(handle, TaskState.ERROR)
    assert len(await client.alerts()) == 1
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    assert await client.alerts() == []
    assert {alert.acknowledged_by for alert in await client.alerts(open_only=False)} == {"stepward"}


async def test_a_listing_tells_of_a_task_what_its_status_tells(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        await service.do("a")
        return await service.do("b")

    service.plan("do b", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await until(lambda: is_running(handle, "svc.do/2"))
    (listed,) = await client.tasks()
    assert listed == await handle.status()
    assert (listed.steps, listed.steps_done, listed.progress.done) == (2, 1, 1)
    await handle.result(timeout=60)
    assert await client.tasks() == [await handle.status()]


async def test_a_task_past_its_own_complete_by_goes_on_with_a_new_one(world: World, service: Service) -> None:
    @workflow(complete_by="15s")
    async def order() -> str:
        await asyncio.sleep(20)
        return await service.do("b")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    with pytest.raises(IllegalTransition, match=r"give it a new one \(complete_by=…\)"):
        await handle.resubmit()
    now = session_of(client).store.now()
    await handle.resubmit(complete_by="10s")
    assert (await handle.status()).deadline == pytest.approx(now + 10)
    assert await handle.result(timeout=30) == "b done"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"input": [7]}, r"arguments of svc\.do: expected \(what: str\).*, found `int` instead of `str`"),
        ({"input": ["b", "c"]}, r"arguments of svc\.do: expected \(what: str\)"),
        ({"result": 7}, r"result of svc\.do: expected str, found `int` instead of `str`"),
    ],
)
async def test_what_a_repair_gives_and_the_operation_could_not_read_is_refused(
    world: World, service: Service, given: dict[str, Any], why: str
) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        return await service.do("b")

    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    repair = handle.mark_done if "result" in given else handle.resubmit
    with pytest.raises(Refused, match=why):
        await repair("svc.do/1", **given)
    assert (await handle.status()).state is TaskState.ERROR
    await handle.resubmit(input=["c"])
    assert await handle.result(timeout=30) == "c done"


def approval(service: Service) -> Workflow[[], list[Any]]:
    @workflow
    async def order() -> list[Any]:
        amount = await wait_for("approve", type=int)
        return [amount, await service.do("pay")]

    return order


async def test_a_signal_of_the_wrong_type_is_replaced_by_an_operator(world: World, service: Service) -> None:
    order = approval(service)
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await handle.signal("approve", "twelve")
    with pytest.raises(TaskFailed, match="signal approve: expected"):
        await handle.result(timeout=30)
    await handle.mark_done("signal:approve/1", 12)
    assert await handle.result(timeout=30) == [12, "pay done"]


async def test_a_signal_of_the_wrong_type_is_dropped_for_another(world: World, service: Service) -> None:
    order = approval(service)
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await handle.signal("approve", "twelve")
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit("signal:approve/1")
    await in_state(handle, TaskState.WAITING)
    await handle.signal("approve", 12)
    assert await handle.result(timeout=30) == [12, "pay done"]


@pytest.mark.parametrize("before", [True, False])
async def test_a_step_given_up_before_or_after_the_failure_is_what_the_code_makes_of_it(
    world: World, service: Service, before: bool
) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> list[str]:
        beside = asyncio.ensure_future(service.note("beside"))
        await asyncio.sleep(1)
        if before:
            beside.cancel()
        try:
            one = await service.do("b")
        except StepFailed:
            beside.cancel()
            await asyncio.sleep(1)
            raise
        return [one] if before else [one, await beside]

    service.plan("note beside", take(4))
    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    assert (await states(handle))["svc.note/1"] == "abandoned"
    await handle.resubmit()
    assert await handle.result(timeout=30) == (["b done"] if before else ["b done", "beside done"])
    assert len(set(service.keys_of("note beside"))) == 1
