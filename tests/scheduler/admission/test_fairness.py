"""The order of tasks when there are more than room: by priority, then fairness keys in turn, then by age."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from stepward import Agent, Client, workflow
from stepward.model.states import TaskState
from stepward.running import Running
from tests.scheduler.hearing import BEGUN, QUEUE, Hearing
from tests.scheduler.world import World, in_state, until


class Desk:
    """An Agent that serves a few at once and keeps a book of whom, and the workflows that ask it."""

    def __init__(self, concurrency: int = 1, seconds: float = 1.0, spread: float = 0.0) -> None:
        self.served: list[str] = []
        self.standing = 0
        self.agent = Agent("desk", concurrency=concurrency)
        chance = random.Random(3)

        @self.agent.operation(complete_by="1h")
        async def serve(what: str) -> None:
            self.served.append(what)
            self.standing += 1
            await asyncio.sleep(seconds + spread * (chance.random() - 0.5))
            self.standing -= 1

        @workflow
        async def order(what: str, steps: int) -> None:
            for _ in range(steps):
                await serve(what)

        @workflow
        async def pair(what: str) -> None:
            await asyncio.gather(serve(f"{what}/1"), serve(f"{what}/2"))

        self.order, self.pair = order, pair

    async def begin(self, world: World, **settings: Any) -> tuple[Client, Running]:
        app = world.app([self.order, self.pair], [self.agent], **settings)
        running = await world.run(app)
        return await world.client(app), running

    async def submit(self, client: Client, what: str, steps: int = 1, **options: Any) -> Any:
        return await client.submit(self.order, what, steps, id=what, **options)

    async def line(self, client: Client, count: int, **options: Any) -> list[Any]:
        """So many tasks, each older than the next."""
        handles = []
        for number in range(count):
            handles.append(await self.submit(client, f"{options.get('fairness_key') or 'low'}-{number}", **options))
            await asyncio.sleep(0.002)
        return handles

    async def crowd(self, client: Client, count: int, steps: int = 1, **options: Any) -> None:
        """So many tasks of one age."""
        names = [f"{options.get('fairness_key') or 'low'}-{number:05}" for number in range(count)]
        await client.submit_many(self.order, [(name, steps) for name in names], ids=names, **options)

    async def until_served(self, count: int) -> None:
        async def look() -> bool:
            return len(self.served) >= count

        await until(look)


async def test_a_high_priority_overtakes_ten_thousand_that_wait(world: World) -> None:
    desk = Desk(seconds=0.2)
    client, running = await desk.begin(world)
    await desk.crowd(client, 10_000, steps=10, priority=1)
    # Every task in memory has begun, and none ends for long: no room comes of itself.
    await desk.until_served(1100)
    assert running.host.scheduler is not None
    assert not running.host.local_submissions.has_room
    handle = await desk.submit(client, "urgent", priority=9)
    before = len(desk.served)
    await handle.result(timeout=60)
    assert desk.served.index("urgent") <= before + 1
    assert running.host.scheduler.held <= 1000
    (step, *_) = await client.task(desk.served[before]).steps()
    assert (step.attempt, step.failure_count) == (1, 0)


async def test_each_of_many_high_priorities_overtakes(world: World) -> None:
    desk = Desk()
    client, _ = await desk.begin(world, tasks_in_flight=20)
    await desk.crowd(client, 200, steps=5, priority=1)
    await desk.until_served(3)
    handles = [await desk.submit(client, f"urgent-{number}", priority=9) for number in range(40)]
    before = len(desk.served)
    await asyncio.gather(*[handle.result(timeout=100) for handle in handles])
    served = desk.served[before:]
    urgent = [name for name in served if name.startswith("urgent")]
    assert sorted(urgent) == sorted(handle.id for handle in handles)
    assert served.index(urgent[-1]) <= 41


async def test_who_was_overtaken_comes_back_in_the_order_of_age(world: World) -> None:
    desk = Desk()
    client, _ = await desk.begin(world, tasks_in_flight=4)
    low = await desk.line(client, 10, priority=1)
    high = [await desk.submit(client, f"urgent-{number}", priority=9) for number in range(3)]
    await asyncio.gather(*[handle.result(timeout=60) for handle in (*low, *high)])
    assert set(desk.served[1:4]) == {"urgent-0", "urgent-1", "urgent-2"}
    assert [name for name in desk.served if name.startswith("low")] == [handle.id for handle in low]
    for handle in low:
        status = await handle.status()
        assert (status.state, status.failure_count) == (TaskState.PROCESSED, 0)


async def test_who_was_overtaken_tells_its_start_once(world: World) -> None:
    desk = Desk()
    client, _ = await desk.begin(world, tasks_in_flight=2)
    first = await desk.submit(client, "first", priority=1)
    second = await desk.submit(client, "second", priority=1, reply_to=QUEUE)
    await desk.until_served(1)
    urgent = await desk.submit(client, "urgent", priority=9)
    await in_state(second, TaskState.PENDING)
    assert (await second.status()).locked_by is None
    await asyncio.gather(*[handle.result(timeout=60) for handle in (first, second, urgent)])
    assert desk.served == ["first", "urgent", "second"]
    lines = await Hearing(client).lines("second")
    assert lines == [*BEGUN, "step.completed desk.serve/1", "completed = None"]


async def test_who_is_served_is_not_overtaken(world: World) -> None:
    desk = Desk(concurrency=3, seconds=5)
    client, _ = await desk.begin(world, tasks_in_flight=3)
    low = [await desk.submit(client, f"low-{number}", priority=1) for number in range(3)]
    await desk.until_served(3)
    urgent = await desk.submit(client, "urgent", priority=9)
    await asyncio.sleep(2)
    assert (await urgent.status()).state is TaskState.PENDING
    assert all([(await handle.status()).locked_by for handle in low])
    await asyncio.gather(*[handle.result(timeout=60) for handle in (*low, urgent)])
    assert len(desk.served) == 4


async def test_who_is_served_and_waits_for_more_is_not_overtaken(world: World) -> None:
    desk = Desk()
    client, _ = await desk.begin(world, tasks_in_flight=1)
    pair = await client.submit(desk.pair, "pair", priority=1)
    await desk.until_served(1)
    urgent = await desk.submit(client, "urgent", priority=9)
    await asyncio.sleep(0.5)
    assert (await pair.status()).locked_by is not None
    await asyncio.gather(pair.result(timeout=60), urgent.result(timeout=60))
    assert desk.served == ["pair/1", "pair/2", "urgent"]


async def test_a_task_of_equal_priority_overtakes_none(world: World) -> None:
    desk = Desk()
    client, _ = await desk.begin(world, tasks_in_flight=4)
    handles = await desk.line(client, 12)
    held = {task.id for task in await client.tasks() if task.locked_by}
    for number in range(5):
        handles.append(await desk.submit(client, f"new-{number}"))
        await asyncio.sleep(0.1)
        assert {task.id for task in await client.tasks() if task.locked_by} == held
    await asyncio.gather(*[handle.result(timeout=60) for handle in handles])
    assert desk.served == [handle.id for handle in handles]


async def test_who_is_new_waits_behind_those_that_wait_for_room(world: World) -> None:
    desk = Desk()
    client, _ = await desk.begin(world, tasks_in_flight=2)
    handles = await desk.line(client, 6)
    for number in range(5):
        await handles[number].result(timeout=60)
        # At this moment there is room, and no Scheduler has claimed it yet.
        handles.append(await desk.submit(client, f"new-{number}"))
    await asyncio.gather(*[handle.result(timeout=60) for handle in handles])
    assert desk.served == [handle.id for handle in handles]


async def test_steps_that_wait_take_turns_by_key(world: World) -> None:
    desk = Desk()
    client, _ = await desk.begin(world)
    handles = await desk.line(client, 6, fairness_key="big")
    for key in ("b", "c"):
        handles += await desk.line(client, 2, fairness_key=key)
    await asyncio.gather(*[handle.result(timeout=60) for handle in handles])
    turns = [name.partition("-")[0] for name in desk.served]
    assert turns == ["big", "big", "b", "c", "big", "b", "c", "big", "big", "big"]


async def test_a_tenant_that_fills_everything_lets_others_in(world: World) -> None:
    desk = Desk()
    client, _ = await desk.begin(world, tasks_in_flight=100)
    await desk.crowd(client, 3000, steps=20, fairness_key="big")
    await desk.until_served(300)
    before = len(desk.served)
    small = [await desk.submit(client, f"small-{number}", fairness_key="small") for number in range(5)]
    await asyncio.gather(*[handle.result(timeout=60) for handle in small])
    turns = [name.partition("-")[0] for name in desk.served[before:]]
    assert turns.count("small") == 5
    # One turn each, and what was under way when they came.
    assert turns.count("big") <= 7


def waited(delays: list[float]) -> float:
    return sorted(delays)[int(len(delays) * 0.99)]


async def others(desk: Desk, client: Client) -> list[float]:
    """How long the tasks of ten tenants take that come in now and then, for two minutes."""
    delays: list[float] = []

    async def one(name: str, key: str, at: float) -> None:
        await asyncio.sleep(at)
        began = asyncio.get_running_loop().time()
        handle = await desk.submit(client, name, fairness_key=key)
        await handle.result(timeout=600)
        delays.append(asyncio.get_running_loop().time() - began)

    chance = random.Random(1)
    comings = ((f"t{number}", f"tenant{number % 10}", chance.random() * 120) for number in range(120))
    await asyncio.gather(*[one(*coming) for coming in comings])
    return delays


async def course(world: World, flood: int) -> list[float]:
    """The same two minutes, beside a tenant with so many tasks."""
    desk = Desk(concurrency=4, spread=1.0)
    client, _ = await desk.begin(world, tasks_in_flight=100)
    await desk.crowd(client, flood, fairness_key="big")
    return await others(desk, client)


async def test_one_tenant_with_a_hundred_times_as_much_does_not_starve_the_others(tmp_path: Path) -> None:
    """The 99th percentile of what the others' tasks take, with and without it."""
    found = []
    for flood in (0, 1200):
        (folder := tmp_path / str(flood)).mkdir()
        world = World(folder)
        found.append(waited(await course(world, flood)))
        await world.close()
    calm, busy = found
    assert busy < 2 * calm
