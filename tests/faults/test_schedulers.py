"""Schedulers that die while Agents work for them, over brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepward.client import session_of
from tests.crash.scene import until
from tests.faults.world import World

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("broker", ["nats", "rabbitmq"], indirect=True)
async def test_replies_to_a_dead_scheduler_reach_its_heir(broker: str, tmp_path: Path) -> None:
    """Rows 2-5: what was asked is done once, and the answer counts."""
    async with World(tmp_path, broker, complete_by=60.0) as world:
        await world.start("agent", "supervisor")
        first = await world.begin("scheduler")
        ids = await world.submit("slow wait:5", 5)
        await until(lambda: _are_watched(world, ids))
        await first.kill()
        await world.start("scheduler")
        await world.settled()
        for id in ids:
            assert await world.attempts(id) == [1, 1]
        assert set(world.calls().values()) == {1}


async def _are_watched(world: World, ids: list[str]) -> bool:
    """A step that its Scheduler has shown to the Supervisor is not sent again by who takes over."""
    steps = [step for id in ids for step in await session_of(world.client).store.client.steps(id)]
    return len(steps) == len(ids) and all(step.watched for step in steps)
