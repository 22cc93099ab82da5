"""Submission processes: their leases, several of them on one file, and how they end."""

from __future__ import annotations

import asyncio

from stepward import Accepted, Message
from stepward.client import session_of
from stepward.model.records import Instance, Role
from stepward.store.contract import Transaction
from tests.submission.world import ALONE, LEASE, World, fulfil, until


async def instances(world: World, *, alive: bool = True) -> list[Instance]:
    return [each for each in await world.client.instances() if each.alive is alive]


async def test_an_instance_registers_its_queues(world: World) -> None:
    app = world.app()
    app.submission("returns", accept=world.desk.accept)
    await world.run(app)
    (instance,) = await instances(world)
    assert (instance.role, instance.serves) == (Role.SUBMISSION, ["orders", "returns"])
    assert instance.id.startswith("submission-")


async def test_each_queue_has_its_own_accept(world: World) -> None:
    async def other(message: Message, transaction: Transaction) -> Accepted:
        return Accepted(fulfil, "returned")

    app = world.app()
    app.submission("returns", accept=other)
    await world.run(app)
    await world.queues.post("returns", None, id="R-1")
    await world.post("A-1")
    await world.emptied()
    await until(lambda: _is_there(world, "R-1"))
    assert (world.desk.ids, await world.tasks()) == (["A-1"], ["A-1", "R-1"])


async def test_an_app_without_submissions_has_no_instance_of_them(world: World) -> None:
    async with world.app().running(**{**ALONE, "submission": False}):
        await world.post("A-1")
        assert await instances(world) == []
    assert not await world.is_empty()


async def test_an_instance_lives_as_long_as_it_runs(world: World) -> None:
    async with world.app().running(**ALONE):
        (instance,) = await instances(world)
        await asyncio.sleep(100)
        assert [each.id for each in await instances(world)] == [instance.id]
    assert await instances(world) == []
    assert [each.id for each in await instances(world, alive=False)] == [instance.id]


async def test_an_instance_that_was_declared_dead_is_followed_by_another(world: World) -> None:
    await world.run()
    (lost,) = await instances(world)
    async with world.client.transaction() as transaction:
        await transaction.execute("update stepward_instance set alive = 0, dead_at = 1.0")

    async def look() -> list[Instance]:
        return await instances(world)

    (heir,) = await until(look)
    assert (heir.role, heir.serves) == (Role.SUBMISSION, lost.serves)
    assert heir.id != lost.id
    assert world.told("instance.lost") == [{"instance": lost.id}]
    await world.post("A-1")
    await world.emptied()
    assert await world.both() == ["A-1"]


async def test_two_processes_share_one_queue(world: World) -> None:
    ids = [f"n-{n:03}" for n in range(300)]
    await world.run()
    await world.run()
    for start in range(0, len(ids), 10):
        await world.post(*ids[start : start + 10], *ids[start : start + 5])
    await world.emptied()
    assert sorted(await world.both()) == ids
    assert sorted(world.desk.ids) == ids


async def test_running_work_is_finished_when_the_process_drains(world: World) -> None:
    entered = asyncio.Event()

    async def takes_three_seconds(message: Message, transaction: Transaction) -> Accepted:
        entered.set()
        await asyncio.sleep(3)
        return Accepted(fulfil, "tea")

    world.desk.plans["a"] = takes_three_seconds
    await world.post("a", "b")
    async with world.app(drain="20s").running(**ALONE):
        await entered.wait()
    assert await world.both() == ["a", "b"]
    assert await world.is_empty()
    assert await instances(world) == []


async def test_messages_unfinished_within_the_grace_period_come_again(world: World) -> None:
    entered = asyncio.Event()

    async def hangs(message: Message, transaction: Transaction) -> None:
        entered.set()
        await asyncio.Event().wait()

    world.desk.plans["b"] = [hangs]
    await world.post("a", "b")
    began = session_of(world.client).store.now()
    async with world.app(drain="2s").running(**ALONE):
        await entered.wait()
    assert session_of(world.client).store.now() - began < 10
    assert await world.both() == []
    await world.run()
    await world.emptied()
    assert session_of(world.client).store.now() - began >= LEASE
    assert await world.both() == ["a", "b"]


async def test_nothing_new_is_taken_while_the_process_ends(world: World) -> None:
    entered = asyncio.Event()

    async def takes_three_seconds(message: Message, transaction: Transaction) -> Accepted:
        entered.set()
        await asyncio.sleep(3)
        return Accepted(fulfil, "tea")

    ids = [f"n-{n:03}" for n in range(500)]
    world.desk.plans[ids[0]] = takes_three_seconds
    await world.post(*ids, "late")
    async with world.app(drain="20s").running(**ALONE):
        await entered.wait()
    assert await world.both() == ids
    assert world.rows("select tries, taken_until from stepward_message") == [(0, 0.0)]


async def _is_there(world: World, id: str) -> bool:
    return id in await world.tasks()
