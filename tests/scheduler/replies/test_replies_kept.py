"""A reply is let go of once what it said is committed, and never before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from stepward import TaskFailed, workflow
from stepward.model.messages.requests import Reply
from stepward.running import Running
from stepward.scheduler import turn_budget
from stepward.scheduler.agent_replies import replies
from stepward.store.contract import Change, Committed
from stepward.transport.contract import Delivery
from tests.scheduler.world import Service, World, refuse, states, until, until_set


class Witness:
    """Stands at the store and the queues; the first commits that record an outcome miss, as many as ``misses``."""

    def __init__(self, running: Running, misses: int = 0) -> None:
        self.log: list[str] = []
        self.missed: list[Change] = []
        self._misses = misses
        self._commit, self._settle = running.store.scheduler.commit, running.transport.settle
        running.store.scheduler.commit = self.commit  # type: ignore[method-assign]
        running.transport.settle = self.settle  # type: ignore[method-assign]

    async def commit(self, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        ended = [finish.key for change in changes for finish in change.finishes]
        if ended and len(self.missed) < self._misses:
            self.missed += changes
            return Committed({change.task: "somebody was there first" for change in changes})
        committed = await self._commit(instance, changes, renew)
        self.log += [f"committed {key}" for key in ended]
        return committed

    async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
        self.log += [f"settled {each.message.key}" for each in deliveries if isinstance(each.message, Reply)]
        await self._settle(queue, deliveries)


async def test_a_reply_is_settled_after_the_commit_of_its_outcome(world: World, service: Service) -> None:
    """A Scheduler that dies between the two receives it again from the queue, and no attempt has to be repeated for
    it."""

    @workflow
    async def order() -> list[str]:
        return [await service.do(what) for what in "ab"]

    app = world.app([order], [service.agent])
    witness = Witness(await world.run(app))
    client = await world.client(app)
    await (await client.submit(order)).result(timeout=5)

    async def look() -> bool:
        return len(witness.log) == 4

    await until(look)
    assert witness.log == [f"{what} svc.do/{n}" for n in (1, 2) for what in ("committed", "settled")]


async def test_replies_that_wait_for_a_later_turn_are_settled_after_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deliveries of one take are settled together, once all their outcomes are committed."""
    monkeypatch.setattr(replies, "PIECE", 1)
    monkeypatch.setattr(turn_budget, "MOST", 1)
    service, go = Service(concurrency=3), asyncio.Event()

    @workflow
    async def order(what: str) -> str:
        return await service.do(what)

    for what in "abc":
        service.plan(f"do {what}", until_set(go))
    app = world.app([order], [service.agent])
    witness = Witness(await world.run(app))
    client = await world.client(app)
    handles = await client.submit_many(order, [(what,) for what in "abc"])

    async def at_work() -> bool:
        return len(service.keys) == 3

    async def settled() -> bool:
        return len(witness.log) == 6

    await until(at_work)
    go.set()
    await until(settled)
    assert witness.log == ["committed svc.do/1"] * 3 + ["settled svc.do/1"] * 3
    await asyncio.gather(*[handle.result() for handle in handles])


async def test_the_reply_of_a_change_that_missed_is_settled_after_the_one_that_is_committed(
    world: World, service: Service
) -> None:
    @workflow
    async def order() -> str:
        return await service.do("a")

    app = world.app([order], [service.agent])
    witness = Witness(await world.run(app), misses=1)
    client = await world.client(app)
    assert await (await client.submit(order)).result(timeout=5) == "a done"

    async def settled() -> bool:
        return len(witness.log) >= 2

    await until(settled)
    assert witness.log == ["committed svc.do/1", "settled svc.do/1"]


@pytest.mark.parametrize("misses", [1, 2])
async def test_the_replies_of_a_change_that_missed_are_processed_again(
    world: World, service: Service, misses: int
) -> None:
    @workflow
    async def order() -> list[Any]:
        return list(await asyncio.gather(service.do("a"), service.do("b")))

    both = asyncio.Event()
    service.plan("do a", until_set(both))
    service.plan("do b", until_set(both))
    app = world.app([order], [service.agent])
    witness = Witness(await world.run(app), misses)
    client = await world.client(app)
    handle = await client.submit(order)
    both.set()
    # Well before the complete-by: nothing was lost that had to be repeated.
    assert await handle.result(timeout=5) == ["a done", "b done"]
    assert len(witness.missed) == misses
    assert [step.attempt for step in await handle.steps()] == [1, 1]
    assert sorted(service.log) == ["do a", "do b"]


async def test_what_was_answered_is_not_asked_for_again_though_the_change_missed_that_said_so(
    world: World, service: Service
) -> None:
    """A signal may come in at any time, and costs no second call of a service that keeps no keys."""

    @workflow
    async def order() -> str:
        done = await service.do("a")
        await asyncio.sleep(5)
        return done

    app = world.app([order], [service.agent])
    witness = Witness(await world.run(app), misses=1)
    client = await world.client(app)
    assert await (await client.submit(order)).result(timeout=10) == "a done"
    assert len(witness.missed) == 1
    assert service.keys == service.keys[:1]


async def test_what_a_change_began_that_missed_does_not_leave(world: World, service: Service) -> None:
    """No row says that it runs: it leaves with the change that is committed, once."""

    @workflow
    async def order() -> str:
        await service.do("a")
        done = await service.do("b")
        await asyncio.sleep(5)
        return done

    app = world.app([order], [service.agent])
    witness = Witness(await world.run(app), misses=1)
    client = await world.client(app)
    assert await (await client.submit(order)).result(timeout=10) == "b done"
    assert len(witness.missed) == 1
    assert [call for call, _ in service.keys] == ["do a", "do b"]


async def test_so_are_those_that_came_after_what_ended_the_task(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        await asyncio.gather(service.do("bad"), service.do("b"))

    both = asyncio.Event()

    async def refuse_then() -> None:
        await both.wait()
        await refuse()()

    service.plan("do bad", refuse_then)
    service.plan("do b", until_set(both))
    app = world.app([order], [service.agent])
    witness = Witness(await world.run(app), misses=1)
    client = await world.client(app)
    handle = await client.submit(order)
    both.set()
    with pytest.raises(TaskFailed):
        await handle.result(timeout=5)
    assert len(witness.missed) == 1

    async def look() -> bool:
        return await states(handle) == {"svc.do/1": "failed", "svc.do/2": "completed"}

    await until(look, within=5)


async def test_a_task_whose_changes_never_fit_is_an_operators(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await service.do("a")

    app = world.app([order], [service.agent])
    witness = Witness(await world.run(app), misses=100)
    client = await world.client(app)
    with pytest.raises(TaskFailed, match="its changes were refused again and again: somebody was there first"):
        await (await client.submit(order)).result(timeout=5)
    assert len(witness.missed) == 3
    assert [alert.kind for alert in await client.alerts()] == ["change_refused"]


async def test_what_was_begun_in_the_turn_that_ends_its_task_has_no_row(world: World, service: Service) -> None:
    """It never left, so no undo and no operator need fear that it acted."""

    async def twice() -> None:
        await service.do("a")
        await service.do("next")

    @workflow
    async def order() -> None:
        await asyncio.gather(twice(), service.do("bad"))

    both = asyncio.Event()

    async def refuse_then() -> None:
        await both.wait()
        await refuse()()

    async def completed_just_before() -> None:
        await both.wait()
        # The reply to a failure takes longer.
        await asyncio.sleep(0)

    service.plan("do a", completed_just_before)
    service.plan("do bad", refuse_then)
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    both.set()
    with pytest.raises(TaskFailed):
        await handle.result(timeout=5)
    assert await states(handle) == {"svc.do/1": "completed", "svc.do/2": "failed"}
    assert sorted(service.keys) == sorted(set(service.keys))
    assert service.log == ["do a"]


async def test_a_busy_scheduler_renews_its_lease_with_few_of_its_commits(world: World, service: Service) -> None:
    @workflow
    async def order() -> None:
        for number in range(30):
            await service.do(str(number))

    app = world.app([order], [service.agent])
    running = await world.run(app)
    renewed: list[bool] = []
    commit = running.store.scheduler.commit

    async def counted(instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        renewed.append(renew is not None)
        return await commit(instance, changes, renew)

    running.store.scheduler.commit = counted  # type: ignore[method-assign]
    client = await world.client(app)
    await (await client.submit(order)).result(timeout=5)
    assert sum(renewed) <= 2 < 25 < len(renewed)
