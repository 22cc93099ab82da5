"""Resubmission of tasks in error: repeated, edited, done by hand, and after a fix."""

from __future__ import annotations

import asyncio

import pytest

from stepward import StepFailed, Supervision, TaskFailed, workflow
from stepward.errors import IllegalTransition, InvalidPayload, PayloadTooLarge
from stepward.model.states import TaskState
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, hang, in_state, refuse, take


def ordered(service: Service) -> Workflow[[], list[str]]:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> list[str]:
        return [await service.do("a"), await service.do("b"), await service.do("c")]

    return order


async def test_a_refused_step_is_repeated_under_a_new_key(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("do b", refuse("no money"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="no money"):
        await handle.result(timeout=5)
    assert await handle.resubmit() is TaskState.PENDING
    assert await handle.result(timeout=5) == ["a done", "b done", "c done"]
    assert service.log == ["do a", "do b", "do c"]
    # The service knows the old key as refused: only a new one gets another answer.
    first, second = service.keys_of("do b")
    assert second == f"{first}#1"
    assert len(service.keys_of("do a")) == 1


async def test_a_step_whose_outcome_is_unknown_keeps_its_key(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("do b", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed):
        await handle.result(timeout=30)
    await handle.resubmit()
    assert await handle.result(timeout=5) == ["a done", "b done", "c done"]
    first, second = service.keys_of("do b")
    assert first == second


async def test_edited_input_makes_a_new_key_and_another_call(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("do b", refuse("no such thing"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed):
        await handle.result(timeout=5)
    await handle.resubmit(step="svc.do/2", input=["better b"])
    assert await handle.result(timeout=5) == ["a done", "better b done", "c done"]
    assert service.keys_of("do better b")[0] == service.keys_of("do b")[0] + "#1"
    assert (await handle.steps())[1].input == ["better b"]


async def test_a_task_goes_on_after_edited_input_on_another_scheduler(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("do b", refuse())
    service.plan("do c", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(input=["better b"])
    # The replay asks for "b" where the record holds "better b": an operator's word, not another workflow.
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit()
    assert await handle.result(timeout=5) == ["a done", "better b done", "c done"]


async def test_a_result_given_by_hand_is_bound_by_the_limit_that_was_set(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await service.do("b")

    service.plan("do b", refuse())
    client = await world.start([order], [service.agent], payload_bytes="2KiB")
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    with pytest.raises(PayloadTooLarge, match="expected at most 2,048 bytes"):
        await handle.mark_done("svc.do/1", "b" * 3000)


async def test_mark_done_goes_on_with_the_given_result(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.mark_done("svc.do/2", "b by hand")
    assert await handle.result(timeout=5) == ["a done", "b by hand", "c done"]
    assert service.log == ["do a", "do c"]
    assert "mark_done" in [audit.act for audit in await client.audits(handle.id)]


async def test_a_result_by_hand_that_does_not_fit_is_refused_and_given_again(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("do b", refuse("no money"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed):
        await handle.result(timeout=5)
    with pytest.raises(InvalidPayload, match="expected str"):
        await handle.mark_done("svc.do/2", {"not": "text"})
    with pytest.raises(IllegalTransition, match="found it completed"):
        await handle.mark_done("svc.do/1", "what the workflow was told before is not changed")
    await handle.mark_done("svc.do/2", "b by hand")
    assert await handle.result(timeout=5) == ["a done", "b by hand", "c done"]


async def test_only_a_task_in_error_is_resubmitted(world: World, service: Service) -> None:
    order = ordered(service)
    service.plan("do b", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(IllegalTransition, match="expected a task that is error"):
        await handle.resubmit()
    await in_state(handle, TaskState.ERROR)
    with pytest.raises(IllegalTransition, match=r"expected a step svc\.do/9, found none"):
        await handle.resubmit(step="svc.do/9")
    with pytest.raises(IllegalTransition, match="expected it failed, found it completed"):
        await handle.resubmit(step="svc.do/1")
    assert (await handle.status()).state is TaskState.ERROR


async def test_a_bug_is_an_error_and_nothing_is_undone(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> str:
        await service.do("a")
        raise KeyError("sku")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="sku") as caught:
        await handle.result(timeout=5)
    assert caught.value.cause["type"] == "KeyError"
    assert "test_resubmit.py" in caught.value.cause["at"]
    assert service.log == ["do a"]
    assert [alert.kind for alert in await client.alerts()] == ["task_error"]


async def test_after_a_fix_a_resubmitted_task_goes_on_where_it_was(world: World, service: Service) -> None:
    is_fixed = False

    @workflow
    async def order() -> str:
        await service.do("a")
        if not is_fixed:
            raise KeyError("sku")
        return await service.do("b")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    is_fixed = True
    await handle.resubmit()
    assert await handle.result(timeout=5) == "b done"
    assert service.log == ["do a", "do b"]
    assert (await handle.status()).error is None


async def test_the_bug_may_come_again(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        await service.do("a")
        raise KeyError("sku")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit()
    await in_state(handle, TaskState.ERROR)
    assert service.log == ["do a"]
    assert len(await client.alerts(open_only=False)) == 2
    assert len(await client.alerts()) == 1


async def test_a_parent_goes_on_with_the_result_of_its_mended_child(world: World, service: Service) -> None:
    @workflow
    async def child() -> str:
        return await service.do("inner")

    @workflow
    async def parent() -> str:
        return await child()

    service.plan("do inner", refuse())
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    await in_state(handle, TaskState.ERROR)
    inner = client.task("p/child/1")
    await inner.resubmit()
    assert await inner.result(timeout=5) == "inner done"
    await handle.resubmit()
    assert await handle.result(timeout=5) == "inner done"


async def test_resubmission_of_a_parent_resubmits_its_child(world: World, service: Service) -> None:
    @workflow
    async def child() -> str:
        return await service.do("inner")

    @workflow
    async def parent() -> str:
        return await child()

    service.plan("do inner", refuse())
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit()
    assert await handle.result(timeout=5) == "inner done"
    assert (await client.task("p/child/1").status()).state is TaskState.PROCESSED


async def test_a_child_that_ends_while_its_parent_is_in_error_is_not_forgotten(world: World, service: Service) -> None:

    @workflow
    async def child() -> str:
        return await service.do("inner")

    @workflow
    async def parent() -> list[str]:
        return list(await asyncio.gather(child(), service.do("bad")))

    service.plan("do inner", take(5))
    service.plan("do bad", refuse())
    client = await world.start([parent, child], [service.agent])
    handle = await client.submit(parent, id="p")
    await in_state(handle, TaskState.ERROR)
    await client.task("p/child/1").result(timeout=10)
    await handle.resubmit()
    assert await handle.result(timeout=5) == ["inner done", "bad done"]


async def test_steps_that_were_under_way_when_the_task_failed_are_not_asked_twice(
    world: World, service: Service
) -> None:

    @workflow
    async def order() -> list[str]:
        return list(await asyncio.gather(service.do("slow"), service.do("bad")))

    service.plan("do slow", take(5))
    service.plan("do bad", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await asyncio.sleep(6)
    await handle.resubmit()
    assert await handle.result(timeout=30) == ["slow done", "bad done"]
    assert len(set(service.keys_of("do slow"))) == 1


async def test_a_step_failed_that_was_caught_is_not_repeated_by_a_resubmission(world: World, service: Service) -> None:
    is_fixed = False

    @workflow
    async def order() -> str:
        try:
            await service.do("a")
        except StepFailed:
            await service.do("b")
        if not is_fixed:
            raise KeyError("x")
        return "fixed"

    service.plan("do a", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    is_fixed = True
    await handle.resubmit()
    assert await handle.result(timeout=5) == "fixed"
    assert service.log == ["do b"]
