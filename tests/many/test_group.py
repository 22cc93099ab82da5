"""``stepward run --processes`` on PostgreSQL: the processes share the tasks, and whatever dies loses none of them."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.many.floor import KILLED, Floor, kill

pytestmark = pytest.mark.servers

DONE = ["pay 1", "ship 1"]
STEPS = [("pay", "1"), ("ship", "1")]
NAMES = [f"o{number}" for number in range(30)]
TEN = {"STEPWARD_TASKS_IN_FLIGHT": "10"}


async def test_the_processes_share_the_tasks(floor: Floor) -> None:
    group = await floor.group(3, **TEN)
    orders = await floor.submit(*NAMES)
    await floor.gate.until(lambda: floor.gate.pids() == dict.fromkeys(group.pids.values(), 10))
    await floor.gate.open()
    assert await floor.results(orders) == [DONE] * 30


@pytest.mark.faults
async def test_what_a_killed_process_held_is_taken_over_and_another_begins(floor: Floor) -> None:
    group = await floor.group(3, **TEN)
    orders = await floor.submit(*NAMES)
    await floor.gate.until(lambda: len(floor.gate.standing) == 30)
    kill(group.pids[2])
    await asyncio.to_thread(group.heir, 2)
    # All others have their hands full.
    await floor.gate.until(lambda: group.pids[2] in floor.gate.pids())
    await floor.gate.open()
    assert await floor.results(orders) == [DONE] * 30
    assert [floor.gate.steps_of(name) for name in NAMES] == [STEPS] * 30
    assert await floor.ends(group.process, signal.SIGTERM) == 0


@pytest.mark.faults
async def test_a_signal_drains_them_all_and_others_go_on(floor: Floor) -> None:
    group = await floor.group(3, **TEN)
    orders = await floor.submit(*NAMES)
    await floor.gate.until(lambda: len(floor.gate.standing) == 30)
    group.process.tell(signal.SIGTERM)
    await asyncio.to_thread(group.process.read_until, "Draining")
    await floor.gate.open(lambda arrival: arrival.step == "pay")
    assert await asyncio.to_thread(group.process.ended) == 0
    assert [(await order.status()).locked_by for order in orders] == [None] * 30
    assert not any(instance.alive for instance in await floor.client.instances())
    assert [floor.gate.steps_of(name) for name in NAMES] == [STEPS[:1]] * 30
    await floor.group(1)
    await floor.gate.open()
    assert await floor.results(orders) == [DONE] * 30
    assert [floor.gate.steps_of(name) for name in NAMES] == [STEPS] * 30


@pytest.mark.faults
async def test_no_process_outlives_a_parent_that_was_killed(floor: Floor) -> None:
    group = await floor.group(3, STEPWARD_DRAIN="0s")
    orders = await floor.submit("a", "b")
    await floor.gate.until(lambda: len(floor.gate.standing) == 2)

    async def end() -> None:
        assert await floor.ends(group.process, signal.SIGKILL) == KILLED

    assert await floor.are_over(list(group.pids.values()), end)
    await floor.group(1)
    await floor.gate.open()
    assert await floor.results(orders) == [DONE] * 2
