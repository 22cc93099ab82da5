"""Requests that are at a broker, confirmed and not worked on, so that they can be lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from stepward.client import session_of
from stepward.model.states import StepState, TaskState
from tests.crash.scene import until
from tests.faults.wires import Wire
from tests.faults.world import World

ORDERS = 10
WELL_BEFORE = 25.0
"""Seconds within which all is done although the complete-by is a minute away."""
CONFIRMED = 1.5
"""Seconds after which a request that is out is with the broker, and shown to the Supervisor."""


async def lost_while_they_stand(folder: Path, address: str, lose: Callable[[World], Awaitable[object]]) -> World:
    """Have requests lost that the broker had confirmed; all are done in their first attempt, long before its end.

    Half of the tasks are suspended meanwhile, so that no Scheduler has them in memory.
    """
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
        suspended = ids[::2]
        for id in suspended:
            await world.client.task(id).suspend()
        await until(lambda: _are_suspended(world, suspended))
        await lose(world)
        wire.cut()
        await until(lambda: _have_ended_a_step(world, suspended), within=WELL_BEFORE)
        for id in suspended:
            await world.client.task(id).resume()
        await world.settled(within=WELL_BEFORE)
        assert [await world.attempts(id) for id in ids] == [[1, 1, 1, 1]] * ORDERS
        assert world.told("scheduler.asked_again")
        return world


async def _are_out(world: World, ids: list[str]) -> bool:
    """Whether each has a step that runs."""
    return all([await world.attempts(id) == [1] for id in ids])


async def _are_suspended(world: World, ids: Sequence[str]) -> bool:
    """Whether the broker has none of them any more."""
    found = [await world.client.task(id).status() for id in ids]
    return all(each.state is TaskState.SUSPENDED and each.locked_by is None for each in found)


async def _have_ended_a_step(world: World, ids: Sequence[str]) -> bool:
    """Whether the step of each that ran when it was suspended has an outcome."""
    steps = [await session_of(world.client).store.client.steps(id) for id in ids]
    return all([step.state for step in of_task] == [StepState.COMPLETED] for of_task in steps)
