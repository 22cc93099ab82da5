"""Requests that a queue refused or lost are asked for again, the same attempt under the same key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from stepward import App, workflow
from stepward.client import session_of
from stepward.errors import StoreUnavailable, TransportError
from stepward.model.messages.requests import Request
from stepward.model.records import Role
from stepward.model.states import TaskState
from stepward.running import Running
from stepward.transport.contract import AgentMessage, Lost
from tests.scheduler.processes.test_instances import declare_dead
from tests.scheduler.world import Service, World, in_state, take, until

pytestmark = pytest.mark.usefixtures("verbs_alone")


class Queue:
    """Stands between an application and its transport: shut, slow, or one that loses what it took."""

    def __init__(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_shut = False
        self.loses = False
        self.asked: list[Request] = []
        self._publish = running.transport.publish
        monkeypatch.setattr(running.transport, "publish", self.publish)

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        if self.is_shut:
            raise TransportError("expected it open, found it shut")
        self.asked += [message for message in messages if isinstance(message, Request)]
        if not self.loses or queue.startswith("replies."):
            await self._publish(queue, messages)


class Listeners(list[Lost]):
    """Listeners for losses."""

    def tell(self, queue: str | None) -> None:
        for listener in tuple(self):
            listener(queue)


@pytest.fixture
def listeners(monkeypatch: pytest.MonkeyPatch) -> Listeners:
    listeners = Listeners()

    def on_lost(self: Any, listener: Lost) -> Callable[[], None]:
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    for transport in ("memory.memory_transport.MemoryTransport", "store.store_transport.StoreTransport"):
        monkeypatch.setattr(f"stepward.transport.{transport}.on_lost", on_lost)
    return listeners


def simple(world: World, service: Service) -> tuple[App, Any]:
    @workflow
    async def order(what: str) -> str:
        return await service.do(what)

    return world.app([order], [service.agent]), order


async def test_what_a_queue_refused_is_done_in_its_first_attempt(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, order = simple(world, service)
    queue = Queue(await world.run(app), monkeypatch)
    client = await world.client(app)
    queue.is_shut = True
    handle = await client.submit(order, "a")
    await asyncio.sleep(5)
    (step,) = await handle.steps()
    assert (step.state, step.attempt) == ("running", 1)
    # Who takes it over in this state asks at once.
    assert not (await session_of(client).store.client.steps(handle.id))[0].watched
    queue.is_shut = False
    assert await handle.result(timeout=3) == "a done"
    assert [step.attempt for step in await handle.steps()] == [1]


async def test_what_a_queue_refuses_until_its_complete_by_is_judged(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, order = simple(world, service)
    queue = Queue(await world.run(app), monkeypatch)
    client = await world.client(app)
    queue.is_shut = True
    handle = await client.submit(order, "a")
    await asyncio.sleep(14)
    queue.is_shut = False
    assert await handle.result(timeout=20) == "a done"
    assert [step.attempt for step in await handle.steps()] == [2]
    assert service.log == ["do a"]


async def test_while_a_queue_takes_its_time_the_scheduler_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = Service("slow"), Service("quick")

    @workflow
    async def order(which: str) -> str:
        return await (slow if which == "slow" else quick).do(which)

    app = world.app([order], [slow.agent, quick.agent])
    running = await world.run(app)
    client = await world.client(app)
    publish, gate = running.transport.publish, asyncio.Event()

    async def dawdle(queue: str, messages: Sequence[AgentMessage]) -> None:
        if queue == "agents.slow":
            await gate.wait()
        await publish(queue, messages)

    monkeypatch.setattr(running.transport, "publish", dawdle)
    waiting = await client.submit(order, "slow")
    assert await (await client.submit(order, "quick")).result(timeout=1) == "quick done"
    gate.set()
    assert await waiting.result(timeout=1) == "slow done"


async def test_what_a_queue_lost_is_asked_for_again(
    world: World, service: Service, listeners: Listeners, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, order = simple(world, service)
    queue = Queue(await world.run(app), monkeypatch)
    client = await world.client(app)
    await (await client.submit(order, "done")).result(timeout=1)
    queue.loses = True
    handle = await client.submit(order, "a")
    await asyncio.sleep(3)
    queue.loses = False
    listeners.tell("agents.other")
    await asyncio.sleep(1)
    assert service.log == ["do done"]
    listeners.tell("agents.svc")
    assert await handle.result(timeout=1) == "a done"
    first, again = queue.asked[1:]
    assert first == again


@pytest.mark.parametrize("by", ["all", "replies"])
async def test_where_replies_were_lost_everything_is_asked_for_again(
    world: World, service: Service, listeners: Listeners, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    app, order = simple(world, service)
    running = await world.run(app)
    queue = Queue(running, monkeypatch)
    client = await world.client(app)
    queue.loses = True
    handle = await client.submit(order, "a")
    await asyncio.sleep(0.1)
    queue.loses = False
    assert running.host.scheduler is not None
    listeners.tell(None if by == "all" else f"replies.{running.host.scheduler.instance}")
    assert await handle.result(timeout=1) == "a done"


async def test_what_a_dead_scheduler_had_asked_when_it_was_lost_is_asked_for_again_by_its_successor(
    world: World, service: Service, listeners: Listeners, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the loss is noticed the dead instance still counts as alive, so that it still holds its tasks."""

    @workflow
    async def order(what: str) -> str:
        return await service.do(what)

    def application() -> App:
        return world.app([order], [service.agent], transport="store", lease="1s", supervisor_every="0.1s")

    dying = await world.run(application(), agents=False, supervisor=False)
    await world.run(application(), scheduler=False)
    queue = Queue(dying, monkeypatch)
    queue.loses = True
    client = await world.client(application())
    handle = await client.submit(order, "a")
    await asyncio.sleep(2)
    deaf = len(listeners)
    await world.run(application(), agents=False)
    with monkeypatch.context() as dead:
        dead.setattr(dying.store.host, "renew", unavailable)
        for verb in ("claim", "commit", "load"):
            dead.setattr(dying.store.scheduler, verb, unavailable)
        for listener in listeners[deaf:]:
            listener(None)
        assert await handle.result(timeout=6) == "a done"
    assert [step.attempt for step in await handle.steps()] == [1]


async def unavailable(*_: Any, **__: Any) -> Any:
    raise StoreUnavailable("expected a store, found none")


async def test_what_is_under_way_is_asked_again_once_and_done_once(
    world: World, service: Service, listeners: Listeners, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several queues are found missing one after the other; the Agent that works on a request takes a double for it."""
    app, order = simple(world, service)
    service.plan("do a", take(5))
    queue = Queue(await world.run(app), monkeypatch)
    client = await world.client(app)
    handle = await client.submit(order, "a")
    await asyncio.sleep(1)
    for lost in (None, "agents.svc", None):
        listeners.tell(lost)
    assert await handle.result(timeout=6) == "a done"
    assert len(queue.asked) == 2
    assert service.log == ["do a"]


async def test_what_waits_to_leave_is_not_asked_twice(
    world: World, service: Service, listeners: Listeners, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, order = simple(world, service)
    queue = Queue(await world.run(app), monkeypatch)
    client = await world.client(app)
    queue.is_shut = True
    handle = await client.submit(order, "a")
    await until(lambda: _failed(world))
    listeners.tell(None)
    await asyncio.sleep(2)
    queue.is_shut = False
    await handle.result(timeout=3)
    assert len(queue.asked) == 1


async def test_an_ended_scheduler_is_not_notified_of_losses(
    world: World, service: Service, listeners: Listeners
) -> None:
    app, _ = simple(world, service)
    async with app.running():
        assert len(listeners) == 1
    assert listeners == []


async def _failed(world: World) -> bool:
    return bool(world.told("scheduler.publish_failed"))


async def test_a_request_of_a_suspended_task_that_was_lost_is_asked_for_again(
    world: World, service: Service, listeners: Listeners, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Scheduler has the task in memory; its step's outcome is recorded long before its complete-by."""
    app, order = simple(world, service)
    queue = Queue(await world.run(app), monkeypatch)
    client = await world.client(app)
    queue.loses = True
    handle = await client.submit(order, "a")
    await asyncio.sleep(2)
    await handle.suspend()
    await in_state(handle, TaskState.SUSPENDED)
    queue.loses = False
    listeners.tell("agents.other")
    await asyncio.sleep(1)
    assert service.log == []
    listeners.tell("agents.svc")
    await asyncio.sleep(1)
    assert [(step.state, step.attempt) for step in await handle.steps()] == [("completed", 1)]
    assert len({(request.idempotency_key, request.attempt) for request in queue.asked}) == 1
    await handle.resume()
    assert await handle.result(timeout=1) == "a done"
    assert service.log == ["do a"]


async def test_a_new_owner_leaves_what_is_watched_to_the_supervisor(
    world: World, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where requests outlive the process that sent them, one that was shown to the Supervisor is not sent again."""

    @workflow
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", take(8))
    app = world.app([order], [service.agent], transport="store")
    running = await world.run(app)
    queue = Queue(running, monkeypatch)
    client = await world.client(app)
    handle = await client.submit(order)
    await asyncio.sleep(3)
    await declare_dead(client, Role.SCHEDULER)
    assert await handle.result(timeout=30) == "a done"
    # The first owner's commit wrote it: a publication would be a second request.
    assert [request.attempt for request in queue.asked].count(1) == 0
