"""Agents in other languages have an instance in the store for as long as they call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from stepward import Agent
from stepward.client import Endings
from stepward.clock import Environment, SystemClock
from stepward.errors import StoreUnavailable
from stepward.events import Event, Hints, Observers
from stepward.host import Parts
from stepward.host.queues.remote_agents import RemoteAgents
from stepward.model.agents import AgentHealth
from stepward.model.records import Instance, Role
from stepward.settings import Settings
from stepward.store.sqlite.store import SqliteStore
from stepward.transport.contract import OnAnnouncement as Listener
from stepward.transport.memory.memory_transport import MemoryTransport
from stepward.transport.store.store_queues import StoreQueues
from stepward.workflow.registry import Registry

LEASE = 10.0
ONE, OTHER = "/stepward/shop/mail-1", "/stepward/shop/mail-2"


class HandClock(SystemClock):
    """A clock that a test sets on."""

    def __init__(self) -> None:
        self.instant = 1000.0

    def boot(self) -> float:
        return self.instant


class Air(MemoryTransport):
    """What all processes hear."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self._hearers: list[Listener] = []

    def on_announcement(self, listener: Listener) -> Callable[[], None]:
        self._hearers.append(listener)
        return lambda: self._hearers.remove(listener)

    def call(self, source: str, agent: str = "mail", capacity: int = 16) -> None:
        for listener in self._hearers:
            listener(source, AgentHealth(agent=agent, capacity=capacity, in_flight=1))


class World:
    """Scheduler hosts on one store."""

    def __init__(self, folder: Path) -> None:
        self.clock = HandClock()
        self.air = Air()
        self.events: list[Event] = []
        self.hinted = 0
        self.store = SqliteStore(str(folder / "app.db"), app="shop", environment=Environment(self.clock))
        self._tasks: list[asyncio.Task[None]] = []

    def host(self) -> None:
        """Have one more listen."""
        hints = Hints()
        hints.listen(self._hint)
        parts = Parts(
            app="shop",
            registry=Registry([], []),
            agents=[Agent("mail"), Agent("till")],
            submissions=[],
            schedules=[],
            queues=StoreQueues(self.store.messages, poll=1.0),
            settings=Settings.load({"lease": LEASE}, {}, Path.cwd()),
            environment=Environment(self.clock),
            observers=Observers(self.events.append),
            store=self.store,
            transport=self.air,
            hints=hints,
            endings=Endings(),
            sinks=[],
        )
        self._tasks.append(asyncio.get_running_loop().create_task(RemoteAgents(parts).keep()))

    async def instances(self) -> list[Instance]:
        """Those alive, once every host has processed the announcements."""
        for _ in range(100):
            await asyncio.sleep(0)
        found = [each for each in await self.store.operators.instances() if each.alive]
        assert all((each.role, each.pid) == (Role.AGENT, 0) for each in found)
        return found

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.store.close()

    def _hint(self) -> None:
        self.hinted += 1


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        world = World(tmp_path)
        await world.store.open()
        stack.push_async_callback(world.close)
        world.host()
        await asyncio.sleep(0)
        yield world


async def test_an_announced_agent_is_registered_with_its_health(world: World) -> None:
    world.air.call(ONE)
    (instance,) = await world.instances()
    assert (instance.host, instance.serves, instance.capacity) == (ONE, ["mail"], 16)
    assert instance.health == [AgentHealth(agent="mail", capacity=16, in_flight=1)]
    assert world.hinted == 1


async def test_repeated_announcements_renew_one_instance(world: World) -> None:
    world.air.call(ONE)
    (first,) = await world.instances()
    for _ in range(5):
        world.clock.instant += LEASE / 3
        world.air.call(ONE)
        (same,) = await world.instances()
        assert (same.id, same.expires_at) == (first.id, world.store.now() + LEASE)
    assert world.hinted == 1, "nothing is news"


async def test_its_capacity_may_change(world: World) -> None:
    world.air.call(ONE)
    await world.instances()
    world.air.call(ONE, capacity=0)
    (instance,) = await world.instances()
    assert [health.room for health in instance.health] == [0]
    assert world.hinted == 2


async def test_each_process_and_each_agent_has_its_own(world: World) -> None:
    world.air.call(ONE)
    world.air.call(OTHER)
    world.air.call(ONE, agent="till")
    found = {(each.host, *each.serves) for each in await world.instances()}
    assert found == {(ONE, "mail"), (OTHER, "mail"), (ONE, "till")}


async def test_an_announcement_after_silence_makes_another_instance(world: World) -> None:
    world.air.call(ONE)
    (first,) = await world.instances()
    await world.store.host.retire(first.id)
    world.air.call(ONE)
    (second,) = await world.instances()
    assert second.id != first.id


async def test_two_hosts_that_register_it_at_once_go_on_with_one(world: World) -> None:
    world.host()
    await asyncio.sleep(0)
    world.air.call(ONE)
    found = sorted(each.id for each in await world.instances())
    world.clock.instant += LEASE / 2
    world.air.call(ONE)
    renewed = [each.id for each in await world.instances() if each.expires_at == world.store.now() + LEASE]
    assert renewed == found[:1]


async def test_an_announcement_for_an_unknown_agent_is_reported_and_ignored(world: World) -> None:
    world.air.call(ONE, agent="bank")
    assert await world.instances() == []
    assert [event.name for event in world.events] == ["agent.not_ours"]


async def test_an_announcement_for_another_application_is_ignored(world: World) -> None:
    for source in ("/stepward/bank/mail-1", "/stepward/shop", "mail-1"):
        world.air.call(source)
    assert await world.instances() == []
    assert [event.name for event in world.events] == ["agent.not_ours"] * 3


async def test_an_unavailable_store_is_reported_and_retried(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away() -> list[Instance]:
        raise StoreUnavailable("store: expected it, found it away")

    with monkeypatch.context() as outage:
        outage.setattr(world.store.operators, "instances", away)
        world.air.call(ONE)
        for _ in range(10):
            await asyncio.sleep(0)
    world.air.call(ONE)
    assert len(await world.instances()) == 1
    assert [event.name for event in world.events] == ["store.unavailable"]
