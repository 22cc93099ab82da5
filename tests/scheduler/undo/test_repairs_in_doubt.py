"""Repairs while an attempt is in doubt or under way: what it may have done is undone or kept, and never forgotten."""

from __future__ import annotations

import asyncio

import pytest

from stepward import StepFailed, Supervision, TaskFailed, workflow
from stepward.client import session_of
from stepward.errors import IllegalTransition
from stepward.model.effects import place_of
from stepward.model.states import TaskState
from tests.scheduler.fallback import is_running, with_fallback
from tests.scheduler.world import Service, World, hang, in_state, refuse, take, until


async def test_resubmission_with_edited_input_is_refused_while_an_attempt_is_in_doubt(
    world: World, service: Service
) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        return await service.do("b")

    service.plan("do b", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    with pytest.raises(IllegalTransition, match=r"found 1/svc\.do/1 maybe done; undo it first .*did_not_happen"):
        await handle.resubmit(input=["better"])
    assert (await handle.preview()).in_doubt == ["svc.do/1"]


async def test_resubmission_with_edited_input_first_undoes_the_attempt_in_doubt(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        return await service.do("b")

    service.plan("do b", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(input=["better"], doubt="undo")
    assert await handle.result(timeout=30) == "better done"
    assert service.log == ["undo b", "do better"]
    assert service.given == [None]
    (entry,) = [audit for audit in await client.audits(handle.id) if audit.act == "resubmit"]
    assert b'"doubt":"undo"' in entry.details
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    assert service.log == ["undo b", "do better", "undo better"]


async def test_an_operators_statement_that_it_did_not_happen_is_audited_and_ends_the_doubt(
    world: World, service: Service
) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        return await service.note("b")

    service.plan("note b", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    with pytest.raises(IllegalTransition, match="expected an undo of what is in doubt"):
        await handle.resubmit(input=["better"], doubt="undo")
    await handle.resubmit(input=["better"], doubt="did_not_happen")
    assert await handle.result(timeout=30) == "better done"
    (entry,) = [audit for audit in await client.audits(handle.id) if audit.act == "resubmit"]
    assert b'"did_not_happen":["svc.note/1~1"]' in entry.details
    assert (await handle.status()).error is None


async def test_undo_covers_every_generation_that_may_have_acted(world: World, service: Service) -> None:
    order = with_fallback(service)
    service.plan("do fallback", hang())
    service.plan("do b", refuse(), hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit("svc.do/2", later="keep")
    await in_state(handle, TaskState.ERROR)
    await handle.undo()
    await in_state(handle, TaskState.UNDONE)
    steps = {step.key: step for step in await session_of(client).store.client.steps(handle.id)}
    doubtful = [place_of(step) for step in steps.values() if step.set_aside_at is not None]
    assert doubtful == [(1, "svc.do/3", 0)]
    assert service.log == ["do a", "undo b", "undo fallback", "undo a"]


async def test_an_undo_before_going_on_that_fails_is_repeated_by_a_resubmission(world: World, service: Service) -> None:
    order = with_fallback(service)
    service.plan("do b", refuse())
    service.plan("undo fallback", refuse("not now"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(later="undo")
    with pytest.raises(TaskFailed, match="the undo of svc"):
        await handle.result(timeout=30)
    assert "do b" not in service.log
    await handle.resubmit()
    assert await handle.result(timeout=30) == ["a done", "b done", "c done"]
    assert service.log == ["do a", "do fallback", "undo fallback", "do b", "do c"]


@pytest.mark.parametrize("verb", ["undo", "cancel"])
async def test_an_undo_before_going_on_that_fails_is_repeated_by_an_undo_of_the_task(
    world: World, service: Service, verb: str
) -> None:
    order = with_fallback(service)
    service.plan("do b", refuse())
    service.plan("undo fallback", refuse("not now"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(later="undo")
    with pytest.raises(TaskFailed, match="the undo of svc"):
        await handle.result(timeout=30)
    await getattr(handle, verb)()
    await in_state(handle, TaskState.UNDONE if verb == "undo" else TaskState.CANCELLED)
    assert service.log == ["do a", "do fallback", "undo fallback", "undo a"]


ALIVE = {"running", "to_repeat"}


async def test_a_task_in_error_shows_no_step_at_work_and_goes_on_with_it_when_resubmitted(
    world: World, service: Service
) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> list[str]:
        return list(await asyncio.gather(service.do("slow"), service.do("bad")))

    service.plan("do slow", take(5))
    service.plan("do bad", refuse())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    slow = (await handle.steps())[0]
    assert (slow.state, slow.in_doubt) == ("abandoned", True)
    await handle.resubmit()
    assert await handle.result(timeout=30) == ["slow done", "bad done"]
    assert service.log.count("do slow") == 1


@pytest.mark.parametrize("verb", ["undo", "cancel"])
async def test_a_task_that_was_undone_keeps_no_row_at_work(world: World, service: Service, verb: str) -> None:
    @workflow
    async def order() -> list[str]:
        return list(await asyncio.gather(service.do("a"), service.note("slow")))

    service.plan("note slow", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await until(lambda: is_running(handle, "svc.note/1"))
    await getattr(handle, verb)()
    await in_state(handle, TaskState.UNDONE, TaskState.CANCELLED)
    rows = {step.key: step for step in await session_of(client).store.client.steps(handle.id)}
    assert not ALIVE & {step.state for step in rows.values()}
    assert rows["svc.note/1"].state == "abandoned"
    assert (await handle.status()).error["in_doubt"] == ["svc.note/1"]  # type: ignore[index]


async def test_what_is_still_under_way_is_waited_for_before_it_is_undone_and_then_the_task_goes_on(
    world: World, service: Service
) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        try:
            return await service.do("b")
        except StepFailed:
            beside = asyncio.ensure_future(service.do("fallback"))
            await asyncio.sleep(1)
            assert not beside.done()
            raise

    service.plan("do b", refuse())
    service.plan("do fallback", take(5))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(later="undo")
    assert await handle.result(timeout=60) == "b done"
    assert service.log == ["do fallback", "undo fallback", "do b"]
    assert service.given == ["fallback done"]


async def test_a_repair_works_across_a_restart_in_the_middle_of_what_is_undone_first(
    world: World, service: Service
) -> None:
    order = with_fallback(service, threshold=3)
    service.plan("do b", refuse())
    service.plan("undo fallback", hang())
    app = world.app([order], [service.agent])
    running = app.running()
    await running.__aenter__()
    client = await world.client(app)
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(later="undo")
    await until(lambda: is_running(handle, "svc.do/3~1~undo"))
    await running.__aexit__(None, None, None)
    again = await world.start([order], [service.agent])
    assert await again.task(handle.id).result(timeout=60) == ["a done", "b done", "c done"]
    assert service.log == ["do a", "do fallback", "undo fallback", "do b", "do c"]
