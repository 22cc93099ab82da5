"""Undo: what stands in its way, and how operators get past it."""

from __future__ import annotations

import pytest

from stepward import StepFailed, Supervision, TaskFailed, TaskUndone, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, details, fault, hang, in_state, refuse, states


async def test_past_an_irreversible_step_a_task_is_not_undone(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.seal("b")
        await service.do("c")

    service.plan("do c", refuse("no more"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match=r"svc\.seal/1 is irreversible"):
        await handle.result(timeout=10)
    assert service.log == ["do a", "seal b"]
    (alert,) = await client.alerts()
    assert (alert.kind, alert.step) == ("undo_failed", "svc.seal/1")


async def test_an_irreversible_step_that_was_refused_bars_nothing(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.seal("b")

    service.plan("seal b", refuse())
    client = await world.start([order], [service.agent])
    with pytest.raises(TaskUndone):
        await (await client.submit(order)).result(timeout=10)
    assert service.log == ["do a", "undo a"]


async def test_an_undo_that_fails_alerts_and_lists_what_stands(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        for what in "abc":
            await service.do(what)
        await service.do("d")

    service.plan("do d", refuse("no d"))
    service.plan("undo b", refuse("gone"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match=r"the undo of svc\.do/2 failed"):
        await handle.result(timeout=10)
    (alert,) = await client.alerts()
    assert alert.kind == "undo_failed"
    assert details(alert)["undone"] == ["svc.do/3"]
    assert details(alert)["in_doubt"] == ["svc.do/1", "svc.do/2"]
    await handle.resubmit()
    with pytest.raises(TaskUndone, match="no d"):
        await handle.result(timeout=10)
    assert service.log[3:] == ["undo c", "undo b", "undo a"]
    assert (await states(handle))["svc.do/2~undo"] == "completed"


async def test_an_undo_that_hangs_is_repeated_and_then_alerted(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=2, then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")

    service.plan("do b", refuse())
    service.plan("undo a", hang(), fault(), hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed):
        await handle.result(timeout=120)
    (alert,) = await client.alerts()
    assert alert.kind == "undo_failed"
    (undo,) = [step for step in await handle.steps() if step.kind == "undo"]
    assert (undo.state, undo.attempt, undo.failure_count) == ("failed", 3, 3)
    assert (details(alert)["undone"], details(alert)["in_doubt"]) == ([], ["svc.do/1"])
    await handle.resubmit()
    with pytest.raises(TaskUndone):
        await handle.result(timeout=30)
    assert service.log == ["do a", "undo a"]
    assert len(set(service.keys_of("undo a"))) == 1


async def test_mark_done_of_an_undo_goes_on_with_the_rest(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")
        await service.do("c")

    service.plan("do c", refuse())
    service.plan("undo b", refuse("gone"))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.mark_done("svc.do/2~undo", None)
    with pytest.raises(TaskUndone):
        await handle.result(timeout=10)
    assert service.log == ["do a", "do b", "undo a"]


async def test_an_undo_that_no_agent_declares_any_more_is_an_alert(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await service.do("a")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await handle.result(timeout=10)
    await world.close()

    bare = Service()
    bare.agent.operations["svc.do"].undo_fn = None
    other = world.app([order], [bare.agent])
    await world.run(other)
    client = await world.client(other)
    handle = client.task(handle.id)
    await handle.undo()
    with pytest.raises(TaskFailed, match="no Agent of this program declares one"):
        await handle.result(timeout=10)
    await world.close()

    await world.run(app := world.app([order], [service.agent]))
    handle = (await world.client(app)).task(handle.id)
    await handle.resubmit()
    with pytest.raises(TaskUndone):
        await handle.result(timeout=10)
    assert service.log == ["do a", "undo a"]


async def test_steps_without_an_undo_in_doubt_are_named(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0, then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.note("b")

    service.plan("note b", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskUndone) as caught:
        await handle.result(timeout=60)
    assert caught.value.cause["in_doubt"] == ["svc.note/1"]
    (alert,) = await client.alerts()
    assert (alert.kind, details(alert)["in_doubt"]) == ("in_doubt", ["svc.note/1"])


async def test_a_finally_block_starts_nothing_once_undo_began(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        try:
            await service.do("a")
            await service.do("b")
        except StepFailed:
            raise
        finally:
            await service.do("tidy up")

    service.plan("do b", refuse())
    client = await world.start([order], [service.agent])
    with pytest.raises(TaskUndone):
        await (await client.submit(order)).result(timeout=10)
    # Workflow code may compensate by itself before it gives up: that too is undone.
    assert service.log == ["do a", "do tidy up", "undo tidy up", "undo a"]
