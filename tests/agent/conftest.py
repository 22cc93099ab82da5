from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from stepward.agent.declaration import Agent
from tests.agent.world import World
from tests.virtual import VirtualLoop

Start = Callable[..., World]


def pytest_asyncio_loop_factories(config: Any, item: Any) -> Mapping[str, Callable[[], VirtualLoop]]:
    return {"virtual": VirtualLoop}


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts an Agent on queues in memory, in virtual time."""
    worlds: list[World] = []

    def start(agent: Agent, **options: Any) -> World:
        world = World(agent, **options)
        worlds.append(world)
        return world

    yield start
    for world in worlds:
        await world.close()
