"""A new version of the application is rolled out while tasks are in flight: none is lost, each ends in its version."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tests.cli.processes import Process
from tests.many.floor import APP, Floor

pytestmark = pytest.mark.servers

OLD, NEW = [f"old-{number}" for number in range(5)], [f"new-{number}" for number in range(5)]
OLD_STEPS = [("pay", "1"), ("ship", "1")]
NEW_STEPS = [("pay", "2"), ("insure", "2"), ("ship", "2")]
UNSERVED = "workflow order@1: expected a Scheduler that serves it, found none; start one"
LATER = """
update stepward_shop.task set created_at = created_at - 60;
update stepward_shop.instance set dead_at = dead_at - 60 where dead_at is not null
"""


async def begin(floor: Floor, code: str) -> Process:
    """A process of that code."""
    floor.deploy(code)
    return await floor.begin("run", APP)


async def drain(floor: Floor, process: Process) -> None:
    """Tell it to end, and let the calls under way end."""
    process.tell(signal.SIGTERM)
    await asyncio.to_thread(process.read_until, "Draining")
    await floor.gate.open(lambda arrival: (arrival.step, arrival.version) == ("pay", "1"))
    assert await asyncio.to_thread(process.ended) == 0


async def versions(floor: Floor, names: list[str]) -> set[str]:
    return {(await floor.client.task(name).status()).version for name in names}


@pytest.mark.parametrize("end", [pytest.param(signal.SIGTERM, marks=pytest.mark.faults), signal.SIGKILL])
async def test_old_tasks_end_in_their_version_where_both_are_declared(floor: Floor, end: signal.Signals) -> None:
    old = await begin(floor, "old")
    olds = await floor.submit(*OLD)
    await floor.gate.until(lambda: len(floor.gate.standing) == 5)
    new = await begin(floor, "both")
    news = await floor.submit(*NEW)
    await floor.gate.until(lambda: floor.gate.pids() == {old.pid: 5, new.pid: 5})
    if end == signal.SIGTERM:
        await drain(floor, old)
    else:
        await floor.ends(old, end)
    await floor.gate.open()
    assert await floor.results(olds) == [["pay 1", "ship 1"]] * 5
    assert await floor.results(news) == [["pay 2", "insure 2", "ship 2"]] * 5
    assert [floor.gate.steps_of(name) for name in OLD + NEW] == [OLD_STEPS] * 5 + [NEW_STEPS] * 5
    assert (await versions(floor, OLD), await versions(floor, NEW)) == ({"1"}, {"2"})
    assert {arrival.pid for arrival in floor.gate.done if arrival.step == "ship"} == {new.pid}
    assert await floor.alerts() == []


async def test_while_an_old_process_runs_it_alone_goes_on_with_old_tasks(floor: Floor) -> None:
    old = await begin(floor, "old")
    olds = await floor.submit(*OLD)
    await floor.gate.until(lambda: len(floor.gate.standing) == 5)
    new = await begin(floor, "new")
    news = await floor.submit(*NEW)
    await floor.gate.open()
    assert await floor.results(olds + news) == [["pay 1", "ship 1"]] * 5 + [["pay 2", "insure 2", "ship 2"]] * 5
    by = {(arrival.version, arrival.pid) for arrival in floor.gate.done}
    assert by == {("1", old.pid), ("2", new.pid)}


async def test_unserved_tasks_raise_one_alert_which_ends_when_they_are_served(floor: Floor) -> None:
    old = await begin(floor, "old")
    olds = await floor.submit(*OLD)
    await floor.gate.until(lambda: len(floor.gate.standing) == 5)
    await begin(floor, "new")
    await drain(floor, old)
    assert await floor.alerts() == []
    await floor.database.run(LATER)

    async def is_told() -> bool:
        return await floor.alerts() == [UNSERVED]

    await floor.until(is_told)
    await floor.gate.open()
    assert await floor.results(await floor.submit(*NEW)) == [["pay 2", "insure 2", "ship 2"]] * 5
    assert [floor.gate.steps_of(name) for name in OLD] == [OLD_STEPS[:1]] * 5
    assert {(await order.status()).state for order in olds} == {"pending"}
    await begin(floor, "both")
    assert await floor.alerts() == []
    assert await floor.results(olds) == [["pay 1", "ship 1"]] * 5
    assert [floor.gate.steps_of(name) for name in OLD] == [OLD_STEPS] * 5
    (alert,) = await floor.client.alerts(open_only=False)
    assert str(alert.acknowledged_by).startswith("scheduler-")


async def test_the_processes_of_a_group_are_restarted_one_after_the_other_with_new_code(floor: Floor) -> None:
    group = await floor.group(2)
    olds = await floor.submit(*OLD)
    await floor.gate.until(lambda: len(floor.gate.standing) == 5)
    floor.deploy("both")
    await floor.gate.open()
    for number in (1, 2):
        os.kill(group.pids[number], signal.SIGTERM)
        said = await asyncio.to_thread(group.heir, number)
        assert "ended in good order" in said
    assert await floor.results(olds) == [["pay 1", "ship 1"]] * 5
    assert await floor.results(await floor.submit(*NEW)) == [["pay 2", "insure 2", "ship 2"]] * 5
