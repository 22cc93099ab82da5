"""A task past its own deadline: ended by the policy's last rung, or repeated as the pattern has it (R26, R28)."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from stepward import Supervision, TaskFailed, wait_for, workflow
from stepward.model.states import TaskState
from tests.scheduler.world import Service, World, hang, in_state

REPEATED = Supervision(threshold=3, at_deadline="repeat")


async def test_the_patterns_rule_counts_a_failure_and_gives_the_task_a_new_deadline(
    world: World, service: Service
) -> None:
    @workflow(complete_by="20s", supervision=REPEATED)
    async def order() -> object:
        return await wait_for("go")

    client = await world.start([order], [service.agent])
    handle = await client.submit(order, id="o")
    await in_state(handle, TaskState.WAITING)
    first = await handle.status()
    await asyncio.sleep(24)
    again = await handle.status()
    assert first.deadline is not None
    assert again.deadline is not None
    assert (again.failure_count, again.process_state) == (1, "Processing")
    assert 20 <= again.deadline - first.deadline <= 24
    await handle.signal("go", 7)
    assert await handle.result(timeout=5) == 7
    (repeat,) = [audit for audit in await client.audits("o") if audit.act == "repeat"]
    assert (repeat.before, repeat.after) == ("waiting", "pending")
    assert msgspec.json.decode(repeat.details) == {"failure_count": 1, "deadline": again.deadline}


async def test_past_the_threshold_it_ends_in_error_with_an_alert(world: World, service: Service) -> None:
    @workflow(complete_by="20s", supervision=REPEATED)
    async def order() -> object:
        return await wait_for("never")

    client = await world.start([order])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="was not done by its complete-by"):
        await handle.result(timeout=200)
    status = await handle.status()
    assert status.finished_at is not None
    assert 80 <= status.finished_at - status.created_at <= 96
    assert status.failure_count == 3
    # The warning before the deadline is resolved by the next pass of a Supervisor.
    assert {alert.kind for alert in await client.alerts()} - {"task_late"} == {"task_error"}


async def test_any_scheduler_may_go_on_with_it_under_the_same_keys(world: World, service: Service) -> None:
    @workflow(complete_by="8s", supervision=Supervision(threshold=9, at_deadline="repeat"))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", hang(), hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    assert await handle.result(timeout=120) is not None
    assert len(set(service.keys_of("do a"))) == 1
    assert (await handle.status()).failure_count >= 2


async def test_where_nothing_is_said_a_deadline_is_the_hard_end(world: World, service: Service) -> None:
    @workflow(complete_by="20s", supervision=Supervision(threshold=3))
    async def order() -> object:
        return await wait_for("never")

    client = await world.start([order])
    handle = await client.submit(order)
    with pytest.raises(TaskFailed, match="was not done by its complete-by"):
        await handle.result(timeout=60)
    status = await handle.status()
    assert status.finished_at is not None
    assert status.finished_at - status.created_at <= 24
