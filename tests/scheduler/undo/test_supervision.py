"""Steps that fail or run out of time: each strategy of R9."""

from __future__ import annotations

import pytest

from stepward import Backoff, LongWait, StepFailed, Supervision, TaskFailed, TaskUndone, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, details, fault, hang, in_state, refuse, states, take

QUICK = Backoff("1s", factor=2.0, maximum="1m")


async def test_a_step_that_hangs_is_repeated_after_a_growing_backoff(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=3, backoff=QUICK))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", hang(), hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=60) == "a done"
    (step,) = await handle.steps()
    assert (step.attempt, step.failure_count, service.log) == (3, 2, ["do a"])
    assert len(set(service.keys_of("do a"))) == 1
    status = await handle.status()
    assert status.failure_count == 2
    assert status.finished_at is not None
    # Two attempts of 10 s, and pauses of 1 s and 2 s, each seen at most two seconds late.
    assert 23 <= status.finished_at - status.created_at <= 27


async def test_a_reply_gave_up_does_not_wait_for_the_complete_by(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=3, backoff=QUICK))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", fault())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=4) == "a done"
    (step,) = await handle.steps()
    assert (step.attempt, step.failure_count, step.in_doubt) == (2, 1, False)


async def test_a_backoff_below_the_supervisors_pause_is_honoured(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=3, backoff=Backoff("100ms", factor=1.0)))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", fault(), fault(), fault())
    client = await world.start([order], [service.agent], supervisor_every="5s")
    handle = await client.submit(order)
    assert await handle.result(timeout=4) == "a done"
    status = await handle.status()
    assert status.finished_at is not None
    assert 0.3 <= status.finished_at - status.created_at <= 0.6


async def test_a_supervisor_in_another_process_hears_of_a_failed_attempt(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=1, backoff=Backoff("100ms", factor=1.0)))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", fault())
    other = world.app([order], [service.agent], supervisor_every="20s")
    await world.run(other, scheduler=False, agents=False)
    app = world.app([order], [service.agent])
    await world.run(app, supervisor=False)
    handle = await (await world.client(app)).submit(order)
    assert await handle.result(timeout=10) == "a done"
    status = await handle.status()
    assert status.finished_at is not None
    assert status.finished_at - status.created_at <= 1


async def test_a_long_wait_follows_the_threshold(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=1, backoff=QUICK, then=LongWait("1m", times=2, then="alert")))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", fault(), fault(), fault())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout="10m") == "a done"
    status = await handle.status()
    assert status.finished_at is not None
    assert 120 < status.finished_at - status.created_at < 130
    assert await client.alerts() == []


async def test_past_the_last_long_wait_an_operator_is_alerted(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0, then=LongWait("1m", times=2, then="alert")))
    async def order() -> str:
        await service.do("first")
        return await service.do("a")

    service.plan("do a", *[hang()] * 5)
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="did not finish within its complete-by 3 times"):
        await handle.result(timeout="10m")
    (alert,) = await client.alerts()
    assert (alert.kind, alert.task_id, alert.step) == ("task_error", handle.id, "svc.do/2")
    assert details(alert)["error"]["in_doubt"] == ["svc.do/2"]
    assert (await handle.status()).process_state == "Error"
    assert service.log == ["do first"]


async def test_undo_past_the_threshold_undoes_newest_first(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0, then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")
        await service.do("c")

    service.plan("do c", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskUndone) as caught:
        await handle.result(timeout=60)
    assert caught.value.cause["type"] == "StepExpired"
    assert service.log == ["do a", "do b", "undo c", "undo b", "undo a"]
    assert service.given == [None, "b done", "a done"]
    assert (await states(handle))["svc.do/3"] == "undone"


async def test_undo_at_once_when_a_step_failed_leaves_the_workflow(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")

    service.plan("do b", refuse("no money", code=5))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    with pytest.raises(TaskUndone, match="no money") as caught:
        await handle.result(timeout=5)
    assert (caught.value.cause["step"], caught.value.cause["data"]) == ("svc.do/2", {"code": 5})
    # The service refused b: there is nothing to undo of it.
    assert service.log == ["do a", "undo a"]


async def test_a_refusal_that_may_have_acted_is_undone_too(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")

    service.plan("do a", refuse("late", maybe_done=True))
    client = await world.start([order], [service.agent])
    with pytest.raises(TaskUndone):
        await (await client.submit(order)).result(timeout=5)
    assert service.log == ["undo a"]
    assert service.given == [None]


async def test_raise_past_the_threshold_reaches_the_workflow(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=1, backoff=QUICK, then="raise"))
    async def order() -> str:
        try:
            return await service.do("a")
        except StepFailed as error:
            assert error.maybe_done
            return await service.do(f"instead of {error.step}")

    service.plan("do a", hang(), hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=60) == "instead of svc.do/1 done"
    (first, _) = await handle.steps()
    assert (first.state, first.attempt, first.in_doubt) == ("failed", 2, True)


async def test_a_workflow_catches_what_its_service_refuses(world: World, service: Service) -> None:
    @workflow
    async def order() -> list[object]:
        try:
            await service.do("a")
        except StepFailed as error:
            return [error.step, error.data, error.maybe_done, str(error)]
        return []

    service.plan("do a", refuse("no money", code=5))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=5) == ["svc.do/1", {"code": 5}, False, "no money"]
    assert await client.alerts() == []


async def test_a_late_answer_to_an_attempt_that_was_repeated_changes_nothing(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=3, backoff=QUICK))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", take(10.5))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=60) == "a done"
    assert service.log == ["do a"]
    assert await in_state(handle, TaskState.PROCESSED) is TaskState.PROCESSED
