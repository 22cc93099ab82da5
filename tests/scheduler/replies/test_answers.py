"""Replies at awkward moments: none is lost with the turn that it came in, and none is processed twice."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from stepward import Backoff, StepFailed, Supervision, TaskUndone, Unrecoverable, wait_for, workflow
from stepward.model.messages.requests import Outcome, Reply, reply_queue
from stepward.model.records import Role
from stepward.model.states import TaskState
from stepward.running import Running
from tests.scheduler.processes.test_instances import declare_dead
from tests.scheduler.world import Service, World, hang, in_state, refuse, states, take, until, until_set


async def test_an_answer_in_the_turn_that_ends_its_task_is_recorded(world: World, service: Service) -> None:
    gate = asyncio.Event()

    async def refuse_then() -> None:
        await gate.wait()
        raise Unrecoverable("no")

    @workflow
    async def order() -> list[str]:
        return list(await asyncio.gather(service.do("bad"), service.do("good")))

    service.plan("do bad", refuse_then)
    service.plan("do good", until_set(gate))
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    await asyncio.sleep(0.2)
    gate.set()
    await in_state(handle, TaskState.ERROR)
    await asyncio.sleep(0.1)
    assert await states(handle) == {"svc.do/1": "failed", "svc.do/2": "completed"}
    await handle.resubmit()
    assert await handle.result(timeout=30) == ["bad done", "good done"]
    assert len(service.keys_of("do good")) == 1


async def test_a_late_success_after_the_steps_undo_is_an_alert(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0, then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")

    gate = asyncio.Event()
    service.plan("do b", hang())
    service.plan("undo a", until_set(gate))
    app = world.app([order], [service.agent])
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)

    async def is_undone() -> bool:
        return (await states(handle)).get("svc.do/2") == "undone"

    await until(is_undone)
    await _tell(running, (await handle.status()).uid, "svc.do/2", b'"b done"')
    await until(client.alerts)
    gate.set()
    with pytest.raises(TaskUndone):
        await handle.result(timeout=30)
    assert [(alert.kind, alert.step) for alert in await client.alerts()] == [("late_effect_after_undo", "svc.do/2")]


async def test_a_late_success_of_a_generation_that_was_undone_first_is_an_alert(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> None:
        await service.do("a")
        await wait_for("go")

    service.plan("do a", hang())
    app = world.app([order], [service.agent])
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(input=["better"], doubt="undo")
    await in_state(handle, TaskState.WAITING)
    await _tell(running, (await handle.status()).uid, "svc.do/1", b'"a done"')
    await until(client.alerts)
    assert [(alert.kind, alert.step) for alert in await client.alerts()] == [("late_effect_after_undo", "svc.do/1~1")]


async def test_a_late_success_that_a_repair_recorded_as_not_done_is_an_alert(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> None:
        await service.do("a")
        await wait_for("go")

    service.plan("do a", hang())
    app = world.app([order], [service.agent])
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)
    await in_state(handle, TaskState.ERROR)
    await handle.resubmit(input=["better"], doubt="did_not_happen")
    await in_state(handle, TaskState.WAITING)
    await _tell(running, (await handle.status()).uid, "svc.do/1", b'"a done"')
    await until(client.alerts)
    assert [(alert.kind, alert.step) for alert in await client.alerts()] == [("late_effect", "svc.do/1")]


async def test_a_known_result_that_is_repeated_after_its_undo_is_no_alert(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("bad")

    gate = asyncio.Event()
    service.plan("do bad", refuse())
    service.plan("undo a", until_set(gate))
    app = world.app([order], [service.agent])
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)
    await in_state(handle, TaskState.UNDOING)
    uid = (await handle.status()).uid
    for _ in range(2):
        await _tell(running, uid, "svc.do/1", b'"a done"')
        await asyncio.sleep(2)
        gate.set()
        await in_state(handle, TaskState.UNDONE)
    assert await client.alerts() == []


async def test_the_result_of_a_step_given_up_reaches_its_undo(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0, then="undo"))
    async def order() -> None:
        try:
            async with asyncio.timeout(1):
                await service.do("slow")
        except TimeoutError:
            await service.do("bad")

    async def will_not_stop() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await hang()()
        await hang()()

    service.plan("do slow", will_not_stop)
    service.plan("do bad", refuse())
    app = world.app([order], [service.agent])
    running = await world.run(app)
    handle = await (await world.client(app)).submit(order)
    await in_state(handle, TaskState.UNDOING)
    await _tell(running, (await handle.status()).uid, "svc.do/1", b'"slow done"')
    with pytest.raises(TaskUndone):
        await handle.result(timeout=3)
    assert service.given == ["slow done"]


async def test_the_answer_to_a_scheduler_that_is_over_reaches_its_heir(world: World, service: Service) -> None:
    @service.agent.operation(complete_by="1h")
    async def think() -> str:
        service.log.append("think")
        await take(40)()
        return "thought"

    @workflow
    async def order() -> str:
        return await think()

    app = world.app([order], [service.agent])
    await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)
    await asyncio.sleep(5)
    await declare_dead(client, Role.SCHEDULER)
    assert await handle.result(timeout=60) == "thought"
    assert service.log == ["think"]


async def test_a_failure_that_tells_no_reason_is_a_failure(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        try:
            return await service.do("a")
        except StepFailed as error:
            return str(error)

    service.plan("do a", hang())
    app = world.app([order], [service.agent])
    running = await world.run(app)
    handle = await (await world.client(app)).submit(order)
    await asyncio.sleep(0.5)
    await _tell(running, (await handle.status()).uid, "svc.do/1", None, Outcome.FAILED)
    assert await handle.result(timeout=5) == "svc.do/1 failed"


async def _tell(
    running: Running, task: str, key: str, output: bytes | None, outcome: Outcome = Outcome.COMPLETED
) -> None:
    scheduler = running.host.scheduler
    assert scheduler is not None
    reply = Reply(task=task, run=1, key=key, attempt=1, outcome=outcome, output=output)
    await running.transport.publish(reply_queue(scheduler.instance), [reply])


async def test_a_late_refusal_after_the_steps_undo_is_no_alert(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0, then="undo"))
    async def order() -> None:
        await service.do("a")
        await service.do("b")

    gate = asyncio.Event()
    service.plan("do b", hang())
    service.plan("undo a", until_set(gate))
    app = world.app([order], [service.agent])
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)

    async def is_undone() -> bool:
        return (await states(handle)).get("svc.do/2") == "undone"

    await until(is_undone)
    await _tell(running, (await handle.status()).uid, "svc.do/2", None, Outcome.FAILED)
    await asyncio.sleep(1)
    gate.set()
    with pytest.raises(TaskUndone):
        await handle.result(timeout=30)
    assert await client.alerts() == []


@pytest.mark.parametrize("way", ["queue", "inbox"])
async def test_the_answer_to_an_attempt_that_was_given_up_is_no_answer_to_the_next(
    world: World, service: Service, way: str
) -> None:
    @workflow(supervision=Supervision(backoff=Backoff("1s")))
    async def order() -> str:
        return await service.do("a")

    gate = asyncio.Event()
    service.plan("do a", hang(), until_set(gate))
    app = world.app([order], [service.agent])
    running = await world.run(app)
    client = await world.client(app)
    handle = await client.submit(order)

    async def runs_again() -> bool:
        (step,) = await handle.steps()
        return (step.attempt, step.state) == (2, "running")

    await until(runs_again)
    uid = (await handle.status()).uid
    if way == "queue":
        await _tell(running, uid, "svc.do/1", b'"too late"')
    else:
        late = Reply(task=uid, run=1, key="svc.do/1", attempt=1, outcome=Outcome.COMPLETED, output=b'"too late"')
        await running.store.scheduler.settle_misrouted([late])
    await asyncio.sleep(3)
    assert await runs_again()
    gate.set()
    assert await handle.result(timeout=10) == "a done"
