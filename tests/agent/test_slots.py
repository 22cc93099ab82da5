"""Slots under the limit of all instances: what an instance does when it is given more or fewer."""

from __future__ import annotations

import asyncio

from stepward.agent.declaration import Agent
from tests.agent.world import World


class Desk:
    """An Agent whose calls are under way until they are let go."""

    def __init__(self) -> None:
        self.agent = Agent("desk", concurrency=8)
        self.running = 0
        self.over = asyncio.Event()

        @self.agent.operation(complete_by="1h")
        async def serve(number: int) -> int:
            self.running += 1
            await self.over.wait()
            self.running -= 1
            return number


async def asked(world: World, first: int, count: int) -> None:
    for number in range(first, first + count):
        await world.ask("desk.serve", number, key=f"desk.serve/{number}", complete_by=world.now() + 3600)


async def settled() -> None:
    await asyncio.sleep(5)


async def test_no_more_calls_begin_than_there_are_slots() -> None:
    desk = Desk()
    world = World(desk.agent)
    world.runner.allow(2)
    await asked(world, 1, 5)
    await settled()
    assert desk.running == 2
    world.runner.allow(4)
    await settled()
    assert desk.running == 4
    world.runner.allow(None)
    await settled()
    assert desk.running == 5


async def test_requests_that_come_when_slots_have_become_fewer_go_back() -> None:
    desk = Desk()
    world = World(desk.agent)
    world.runner.allow(4)
    await settled()  # It waits for requests by now, with room for four.
    world.runner.allow(1)
    await asked(world, 1, 3)
    await settled()
    assert desk.running == 1
    desk.over.set()
    assert {reply.key for reply in await world.replies(3)} == {f"desk.serve/{number}" for number in (1, 2, 3)}


async def test_no_call_begins_once_the_lease_on_the_slots_is_over() -> None:
    desk = Desk()
    world = World(desk.agent)
    world.runner.allow(3, until=world.now() + 10)
    await asked(world, 1, 1)
    await asyncio.sleep(20)
    await asked(world, 2, 1)
    await settled()
    assert desk.running == 1
    world.runner.allow(3, until=world.now() + 10)
    await settled()
    assert desk.running == 2
