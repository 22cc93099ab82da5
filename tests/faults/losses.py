"""Requests that stand with a broker, confirmed and with nobody at work on them, so that they can be lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.crash.scene import until
from tests.faults.wires import Wire
from tests.faults.world import World

ORDERS = 10
WELL_BEFORE = 25.0
"""Seconds within which all is done although the complete-by is a minute away."""
CONFIRMED = 0.5


async def lost_while_they_stand(folder: Path, address: str, lose: Callable[[World], Awaitable[object]]) -> World:
    """Have requests lost that the broker had confirmed; all are done in their first attempt, long before its end."""
    port = int(address.rstrip("/").rpartition(":")[2])
    async with Wire(port) as wire, World(folder, address, complete_by=60.0) as world:
        await world.start("scheduler", "supervisor")
        await world.start("agent", transport=address.replace(str(port), str(wire.port)))
        await world.submit("order", 2)
        await world.settled()
        assert wire.hang() >= 1
        ids = await world.submit("order", ORDERS)
        await until(lambda: _are_out(world, ids))
        await asyncio.sleep(CONFIRMED)
        await lose(world)
        wire.cut()
        await world.settled(within=WELL_BEFORE)
        assert [await world.attempts(id) for id in ids] == [[1, 1, 1, 1]] * ORDERS
        assert world.told("scheduler.asked_again")
        return world


async def _are_out(world: World, ids: list[str]) -> bool:
    """Whether each has a step that runs."""
    return all([await world.attempts(id) == [1] for id in ids])
