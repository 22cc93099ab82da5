"""Scheduler, Agents, Supervisor and submission on hosts whose wall clocks are set while they work, each its own way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servers.clocks import MovedClock
from stepward import Queues
from tests.many.floor import APP, Floor
from tests.many.test_apart import APART, FIRST, ROLES
from tests.store.postgres.moved import NEEDS_LIBRARY

pytestmark = [
    pytest.mark.servers,
    pytest.mark.faults,
    NEEDS_LIBRARY,
]


@pytest.mark.parametrize("seconds", [15.0, 60.0, 3600.0])
async def test_hosts_whose_clocks_are_set_lose_nothing_and_say_how_far_they_are_apart(
    floor: Floor, tmp_path: Path, seconds: float
) -> None:
    ahead = dict(zip(ROLES, (seconds, -seconds, seconds / 2, -seconds / 2), strict=True))
    clocks = {role: MovedClock(_made(tmp_path / f"clock-{role}")) for role in ROLES}
    for role in ROLES:
        target = floor.database.address if role == "supervisor" else APP
        await floor.begin(role, target, **APART, **clocks[role].environment)
    async with Queues(floor.database.address, app="shop") as queues:
        for name in FIRST[:5]:
            await queues.post("orders", {}, id=name)
        await floor.gate.until(lambda: len(floor.gate.standing) == 5)
        for role, clock in clocks.items():
            clock.move(f"{ahead[role]:+g}")
        for name in FIRST[5:]:
            await queues.post("orders", {}, id=name)
        await floor.gate.until(lambda: len(floor.gate.standing) == 10)
    await floor.until(lambda: _told(floor, ahead))
    await floor.gate.open()
    results = await floor.results([floor.client.task(name) for name in FIRST])
    assert results == [["pay 1", "ship 1"]] * 10
    assert [floor.gate.steps_of(name) for name in FIRST] == [[("pay", "1"), ("ship", "1")]] * 10
    assert len(floor.gate.done) == 20, "nothing was repeated"
    assert await floor.alerts() == []
    checked = await floor.command("check", "--json", "--store", floor.database.address)
    warned = [line for line in json.loads(checked.stdout)["warnings"] if "wall clock" in line]
    assert len(warned) == 1, "all of them run on one host"


async def _told(floor: Floor, ahead: dict[str, float]) -> bool:
    """Whether each instance has said how far its clock is apart."""
    said = {str(each.role): each.ahead or 0.0 for each in await floor.client.instances()}
    return all(abs(said[role] - seconds) < 5.0 for role, seconds in ahead.items())


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
