"""The five paths of ``docs/life-of-a-task.md``, walked by a real application on SQLite, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from stepward import Supervision, workflow
from stepward.model.records import Role
from stepward.model.states import TaskState
from tests.life.trace import Trace
from tests.scheduler.world import Service, World, hang, in_state, refuse, take, until

Walk = Callable[[World, Trace], Awaitable[None]]


async def submit(world: World, trace: Trace) -> None:
    """From the client's call until it returns: the task is recorded, claimed, and its first step is asked for."""
    service = Service()

    @workflow
    async def fulfil(order: str) -> None:
        await service.do(order)

    app = world.app([fulfil], [service.agent])
    await world.run(app, supervisor=False)
    client = await world.client(app)
    await (await client.submit(fulfil, "before")).result()
    await asyncio.sleep(1)
    trace.begin()
    handle = await client.submit(fulfil, "a")
    trace.end()
    await handle.result()


async def step(world: World, trace: Trace) -> None:
    """From a step's call until the commit that records its outcome, which the request for the next step follows.

    It is the second step, half a second after the start and between two looks for changes: nothing runs for the first
    time, and nothing else is at work.
    """
    service = Service()

    @workflow
    async def fulfil(order: str) -> None:
        await service.do("before")
        trace.begin()
        await service.do(order)
        await service.do("after")

    async def asked() -> None:
        trace.end()

    service.plan("do before", take(0.55))
    service.plan("do after", asked)
    app = world.app([fulfil], [service.agent])
    await world.run(app, supervisor=False)
    client = await world.client(app)
    await (await client.submit(fulfil, "a")).result()


async def undo(world: World, trace: Trace) -> None:
    """From the reply that a step failed for good until the task has ended undone."""
    service = Service()

    @workflow(supervision=Supervision(then="undo"))
    async def fulfil(order: str) -> None:
        await service.do(order)
        await service.note(order)

    async def refused() -> None:
        trace.begin()
        await refuse()()

    service.plan("note a", refused)
    app = world.app([fulfil], [service.agent])
    await world.run(app, supervisor=False)
    client = await world.client(app)
    await in_state(await client.submit(fulfil, "a"), TaskState.UNDONE)
    trace.end()


async def decision(world: World, trace: Trace) -> None:
    """From the Supervisor's pass that finds a step past its complete-by until an Agent has its next attempt."""
    service = Service()

    @workflow
    async def fulfil(order: str) -> None:
        await service.do(order)

    async def again() -> None:
        trace.end()

    service.plan("do a", hang(), again)
    app = world.app([fulfil], [service.agent])
    await world.run(app, supervisor_every="100ms")
    client = await world.client(app)
    handle = await client.submit(fulfil, "a")
    await asyncio.sleep(9.9)
    trace.begin()
    await handle.result()


async def takeover(world: World, trace: Trace) -> None:
    """From the Supervisor's pass that finds a dead Scheduler until another one has asked for its task's next step."""
    service = Service()
    gate, at_work = asyncio.Event(), asyncio.Event()

    @workflow
    async def fulfil(order: str) -> None:
        await service.do(order)
        await service.do("after")

    async def hold() -> None:
        at_work.set()
        await gate.wait()

    async def asked() -> None:
        trace.end()

    service.plan("do a", hold)
    service.plan("do after", asked)
    app = world.app([fulfil], [service.agent])
    await world.run(app, supervisor=False)
    await world.run(world.app([fulfil]), scheduler=False, supervisor_every="100ms")
    client = await world.client(app)
    handle = await client.submit(fulfil, "a")
    await at_work.wait()
    trace.begin()
    async with client.transaction() as transaction:
        await transaction.execute("update stepward_instance set expires_at = 1.0 where role = ?", (Role.SCHEDULER,))
    await until(lambda: fenced(world))
    gate.set()
    await handle.result()


async def fenced(world: World) -> bool:
    return bool(world.told("scheduler.fenced"))


PATHS: dict[str, Walk] = {"submit": submit, "step": step, "undo": undo, "decision": decision, "takeover": takeover}
