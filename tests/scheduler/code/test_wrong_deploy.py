"""Code that does not fit a task's record: nothing is done, and the task goes on with code that does."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from stepward import StepFailed, TaskHandle, wait_for, workflow
from stepward.errors import IllegalTransition
from stepward.model.states import TaskState
from stepward.model.tasks.stopped_tasks import FIRST_RETRY, WAITS_FOR
from stepward.workflow.definition import Workflow
from tests.scheduler.world import Service, World, details, in_state, refuse, states, until, until_set

Flow = Workflow[[], Any]


def flow(body: Any) -> Flow:
    """A workflow that always has the same name, whatever it does."""
    return workflow(name="order")(body)


async def is_stopped(handle: TaskHandle) -> bool:
    return (await handle.status()).waits_for == WAITS_FOR


async def is_stopped_at(handle: TaskHandle, place: str) -> bool:
    status = await handle.status()
    return status.waits_for == WAITS_FOR and place in str((status.error or {}).get("place"))


async def waiting(world: World, before: Flow, service: Service, *more: Any) -> TaskHandle:
    """A task that waits for a signal with ``before``; then its process ends."""
    app = world.app([before, *more], [service.agent])
    await world.run(app)
    handle = await (await world.client(app)).submit(before)
    await in_state(handle, TaskState.WAITING)
    await world.close()
    return handle


async def deployed(world: World, after: Flow, service: Service, handle: TaskHandle, *more: Any) -> TaskHandle:
    client = await world.start([after, *more], [service.agent])
    return client.task(handle.id)


async def test_a_renamed_step_is_not_called_and_both_sides_are_named(world: World, service: Service) -> None:
    @flow
    async def old() -> None:
        await service.do("charge")
        await wait_for("go")

    @flow
    async def renamed() -> None:
        await service.note("charge")
        await wait_for("go")

    handle = await deployed(world, renamed, service, await waiting(world, old, service))
    before = await states(handle)
    await handle.signal("go")
    await until(lambda: is_stopped(handle))
    status = await handle.status()
    assert status.state is TaskState.WAITING
    assert status.error is not None
    assert (
        "the record has svc.do as command 1, the code asks for svc.note (test_wrong_deploy.py:"
        in status.error["message"]
    )
    assert await states(handle) == before
    assert service.log == ["do charge"]
    await world.close()

    handle = await deployed(world, old, service, handle)
    await handle.result(timeout=5)
    assert service.log == ["do charge"]
    assert (await handle.status()).error is None


async def test_the_exception_of_the_code_is_named_with_its_place(world: World, service: Service) -> None:
    @flow
    async def old() -> None:
        await service.do("charge")
        await wait_for("go")

    @flow
    async def raising() -> None:
        raise KeyError("typo")

    handle = await deployed(world, raising, service, await waiting(world, old, service))
    await handle.signal("go")
    await until(lambda: is_stopped(handle))
    status = await handle.status()
    assert status.error is not None
    assert (
        "the record goes on with svc.do (ordinal 1), the code raised KeyError: 'typo' at test_wrong_deploy.py:"
        in (status.error["message"])
    )


async def test_a_step_in_flight_that_the_code_no_longer_asks_for_is_noticed_and_its_outcome_kept(
    world: World, service: Service
) -> None:
    charged = asyncio.Event()
    service.plan("do charge", until_set(charged), until_set(charged))

    @flow
    async def old() -> str:
        return await service.do("charge")

    @flow
    async def without() -> str:
        return "nothing to charge"

    async def is_charged() -> bool:
        return (await states(handle))["svc.do/1"] == "completed"

    app = world.app([old], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = await client.submit(old)
        await in_state(handle, TaskState.PROCESSING)
    async with (app := world.app([without], [service.agent])).running(drain=0), app.client() as client:
        handle = client.task(handle.id)
        await until(lambda: is_stopped(handle))
        message = (await handle.status()).error["message"]  # type: ignore[index]
        assert "the record goes on with svc.do (command 1), the code returned" in message
        assert (await handle.status()).state is TaskState.WAITING
    async with (app := world.app([old], [service.agent])).running(drain=0), app.client() as client:
        handle = client.task(handle.id)
        charged.set()
        assert await handle.result(timeout=60) == "charge done"
    assert service.log.count("do charge") == 1


async def test_the_outcome_of_a_child_is_recorded_while_the_code_of_its_parent_does_not_fit(
    world: World, service: Service
) -> None:
    @workflow
    async def child() -> str:
        await wait_for("end")
        return "grown"

    @flow
    async def old() -> str:
        grown: str = await child()
        await service.do(grown)
        return grown

    @flow
    async def without() -> None:
        await service.note("no child")

    async def is_recorded() -> bool:
        return (await states(handle)).get("child/1") == "completed"

    handle = await waiting(world, old, service, child)
    client = await world.start([without, child], [service.agent])
    handle = client.task(handle.id)
    await client.task(f"{handle.id}/child/1").signal("end")
    await until(is_recorded)
    assert await is_stopped(handle)
    assert service.log == []
    await world.close()
    handle = await deployed(world, old, service, handle, child)
    assert await handle.result(timeout=5) == "grown"
    assert service.log == ["do grown"]


async def test_one_alert_tells_of_all_tasks_that_stop_at_one_place(world: World, service: Service) -> None:
    @flow
    async def old() -> None:
        await service.do("charge")
        await wait_for("go")

    @flow
    async def renamed() -> None:
        await service.note("charge")
        await wait_for("go")

    async def all_are_stopped() -> bool:
        return all([await is_stopped(client.task(handle.id)) for handle in handles])

    app = world.app([old], [service.agent])
    await world.run(app)
    client = await world.client(app)
    handles = [await client.submit(old) for _ in range(3)]
    for handle in handles:
        await in_state(handle, TaskState.WAITING)
    await world.close()
    client = await world.start([renamed], [service.agent])
    for handle in handles:
        await client.task(handle.id).signal("go")
    await until(all_are_stopped)
    (alert,) = await client.alerts()
    assert alert.kind == "non_deterministic"
    told = details(alert)
    assert (told["workflow"], told["version"]) == ("order", "1")
    assert told["place"].startswith("svc.note (test_wrong_deploy.py:")


async def test_it_is_tried_again_by_itself_and_less_often_each_time(world: World, service: Service) -> None:
    fits = False

    @flow
    async def switched() -> None:
        await (service.do("charge") if fits else service.note("charge"))
        await wait_for("go")

    fits = True
    handle = await waiting(world, switched, service)
    fits = False
    handle = await deployed(world, switched, service, handle)
    await handle.signal("go")
    loop = asyncio.get_running_loop()
    await until(lambda: is_stopped(handle))
    begun = loop.time()
    await asyncio.sleep(FIRST_RETRY * 2)
    assert (await handle.status()).error["tries"] == 2  # type: ignore[index]
    fits = True
    await handle.result(timeout=300)
    assert loop.time() - begun > FIRST_RETRY * 3 - 1
    assert service.log == ["do charge"]


async def test_an_operators_resubmission_tries_at_once_and_repeats_nothing(world: World, service: Service) -> None:
    fits = True

    @flow
    async def switched() -> None:
        await (service.do("charge") if fits else service.note("charge"))
        await wait_for("go")

    handle = await waiting(world, switched, service)
    fits = False
    handle = await deployed(world, switched, service, handle)
    await handle.signal("go")
    await until(lambda: is_stopped(handle))
    with pytest.raises(IllegalTransition, match="expected nothing of a step"):
        await handle.resubmit("svc.do/1")
    begun = asyncio.get_running_loop().time()
    await handle.resubmit()
    await until(lambda: is_stopped(handle))
    fits = True
    await handle.resubmit()
    await handle.result(timeout=5)
    assert asyncio.get_running_loop().time() - begun < FIRST_RETRY
    assert service.log == ["do charge"]


async def test_the_alert_is_settled_when_no_task_waits_at_its_place_any_more(world: World, service: Service) -> None:
    fits = True

    @flow
    async def switched() -> None:
        await (service.do("charge") if fits else service.note("charge"))
        await wait_for("go")

    async def is_settled() -> bool:
        return not await client.alerts()

    handle = await waiting(world, switched, service)
    fits = False
    client = await world.start([switched], [service.agent])
    handle = client.task(handle.id)
    await handle.signal("go")
    await until(lambda: is_stopped(handle))
    await asyncio.sleep(100)
    assert len(await client.alerts()) == 1
    fits = True
    await handle.resubmit()
    await handle.result(timeout=5)
    await until(is_settled)


async def test_a_second_wrong_deploy_leaves_the_alert_of_its_own_place_alone(world: World, service: Service) -> None:
    @flow
    async def old() -> None:
        await service.do("charge")
        await wait_for("go")

    @flow
    async def renamed() -> None:
        await service.note("charge")
        await wait_for("go")

    @flow
    async def removed() -> None:
        await wait_for("go")

    handle = await waiting(world, old, service)
    for wrong, place in ((renamed, "svc.note"), (removed, "a wait for signal go")):
        handle = await deployed(world, wrong, service, handle)
        await handle.signal("go")
        await until(partial(is_stopped_at, handle, place))
        client = await world.client(world.app([wrong], [service.agent]))
        assert [details(alert)["place"].split(" (")[0] for alert in await client.alerts()] == [place]
        await world.close()
    handle = await deployed(world, old, service, handle)
    await handle.result(timeout=5)
    client = await world.client(world.app([old], [service.agent]))
    assert await client.alerts() == []


async def test_a_task_that_waits_for_code_can_be_cancelled_from_its_record(world: World, service: Service) -> None:
    @flow
    async def old() -> None:
        await service.do("charge")
        await wait_for("go")

    @flow
    async def raising() -> None:
        raise KeyError("typo")

    handle = await deployed(world, raising, service, await waiting(world, old, service))
    await handle.signal("go")
    await until(lambda: is_stopped(handle))
    await handle.cancel()
    await in_state(handle, TaskState.CANCELLED)
    assert service.log == ["do charge", "undo charge"]


async def test_the_alert_is_settled_when_the_last_task_at_its_place_ends_by_its_deadline(
    world: World, service: Service
) -> None:
    fits = True

    @workflow(name="order", complete_by="1m")
    async def switched() -> None:
        await (service.do("charge") if fits else service.note("charge"))
        await wait_for("go")

    handle = await waiting(world, switched, service)
    fits = False
    client = await world.start([switched], [service.agent])
    handle = client.task(handle.id)
    await handle.signal("go")
    await until(lambda: is_stopped(handle))
    await in_state(handle, TaskState.ERROR)
    # The warning before the deadline is resolved by the next pass of a Supervisor.
    assert {alert.kind for alert in await client.alerts()} - {"task_late"} == {"task_error"}


async def test_a_failure_recorded_meanwhile_is_delivered_and_not_repeated(world: World, service: Service) -> None:
    begun = asyncio.Event()
    service.plan("do charge", until_set(begun), until_set(begun), refuse())

    @flow
    async def old() -> str:
        try:
            await service.do("charge")
        except StepFailed:
            return await service.note("refused")
        return "charged"

    @flow
    async def without() -> None:
        await service.note("nothing")

    app = world.app([old], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = await client.submit(old)
        await in_state(handle, TaskState.PROCESSING)
    async with (app := world.app([without], [service.agent])).running(drain=0), app.client() as client:
        handle = client.task(handle.id)
        await until(lambda: is_stopped(handle))
    async with (app := world.app([old], [service.agent])).running(drain=0), app.client() as client:
        begun.set()
        assert await client.task(handle.id).result(timeout=60) in ("charged", "refused done")


@pytest.mark.parametrize("rows", [1500])
async def test_a_record_too_large_for_one_commit_replays_with_its_numbers(
    world: World, service: Service, rows: int
) -> None:
    @flow
    async def wide() -> int:
        first = asyncio.create_task(service.do("first"))
        done = await asyncio.gather(first, *(service.note(str(number)) for number in range(rows)))
        await wait_for("go")
        return len(done)

    app = world.app([wide], [service.agent])
    async with app.running(drain=0), app.client() as client:
        handle = await client.submit(wide)
        await in_state(handle, TaskState.WAITING)
    handle = await deployed(world, wide, service, handle)
    await handle.signal("go")
    assert await handle.result(timeout=60) == rows + 1
    assert len(service.log) == rows + 1
