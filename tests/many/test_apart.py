"""Actors in processes of their own on PostgreSQL, over the store's queues: each may be killed and replaced."""

from __future__ import annotations

import signal

import pytest

from stepward import Queues
from tests.many.floor import APP, KILLED, Floor

pytestmark = [pytest.mark.servers, pytest.mark.faults]

APART = {"STEPWARD_TRANSPORT": "store"}
FIRST, SECOND = [f"first-{number}" for number in range(10)], [f"second-{number}" for number in range(10)]
ROLES = ("scheduler", "agent", "supervisor", "submission")


async def begin(floor: Floor, role: str) -> None:
    """Another process of that role; the Supervisor needs no code."""
    floor.processes[role] = await floor.begin(role, floor.database.address if role == "supervisor" else APP, **APART)


@pytest.mark.parametrize("role", ROLES)
async def test_each_is_killed_and_replaced_and_no_order_is_lost(floor: Floor, role: str) -> None:
    for each in ROLES:
        await begin(floor, each)
    async with Queues(floor.database.address, app="shop") as queues:
        for name in FIRST:
            await queues.post("orders", {}, id=name)
        await floor.gate.until(lambda: len(floor.gate.standing) == 10)
        assert await floor.ends(floor.processes[role], signal.SIGKILL) == KILLED
        for name in SECOND:
            await queues.post("orders", {}, id=name)
    await begin(floor, role)
    await floor.gate.open()
    await floor.gate.until(lambda: floor.gate.names("ship") == {*FIRST, *SECOND})
    results = await floor.results([floor.client.task(name) for name in FIRST + SECOND])
    assert results == [["pay 1", "ship 1"]] * 20
    assert [floor.gate.steps_of(name) for name in FIRST + SECOND] == [[("pay", "1"), ("ship", "1")]] * 20
    for each in ROLES:
        assert await floor.ends(floor.processes[each], signal.SIGTERM) == 0
