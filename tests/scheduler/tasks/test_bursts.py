"""A burst of work is spread over turns, each of them bounded, and what else there is to do goes on in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from stepward import Client, now, wait_for, workflow
from stepward.clock import Environment
from stepward.scheduler import turn_budget
from stepward.scheduler.turn_budget import MOST, PIECE, TURN_BYTES, TURN_SECONDS, TurnBudget
from stepward.store.contract import INBOX_ROWS, Change, Committed
from tests.scheduler.turns_seen import Commits
from tests.scheduler.world import Service, VirtualClock, World, until, until_set

WAITING = "state = 'waiting'"
BURST = MOST + 3 * PIECE


class SlowMachine(VirtualClock):
    """Each look at the clock finds that a quarter of a turn's time has passed."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def boot(self) -> float:
        self.looks += 1
        return super().boot() + self.looks * TURN_SECONDS / 4


@workflow
async def sleeper(at: float) -> None:
    await asyncio.sleep(at - now().timestamp())


@workflow
async def collector() -> str:
    return await wait_for("go", type=str)


async def test_timers_due_at_once_fire_in_several_turns_one_right_after_the_other(world: World) -> None:
    app = world.app([sleeper], evict_after="never")
    commits = Commits(await world.run(app))
    client = await world.client(app)
    at = app.environment.clock.wall() + 60
    await client.submit_many(sleeper, [(at,)] * BURST)
    await until(lambda: _count(client, WAITING, BURST))
    commits.changes.clear()
    await until(lambda: _count(client, "state = 'processed'", BURST))
    assert sum(commits.sizes) == BURST
    assert max(commits.sizes) == MOST
    assert app.environment.clock.wall() < at + 1


async def test_replies_at_once_are_taken_in_several_turns(world: World) -> None:
    @workflow
    async def order(what: str) -> str:
        return await service.do(what)

    service, go = Service(concurrency=BURST), asyncio.Event()
    for n in range(BURST):
        service.plan(f"do {n}", until_set(go))
    app = world.app([order], [service.agent], tasks_in_flight=BURST)
    commits = Commits(await world.run(app))
    client = await world.client(app)
    handles = await client.submit_many(order, [(str(n),) for n in range(BURST)])
    await until(lambda: _count(client, "agent = 'svc'", BURST))
    commits.changes.clear()
    go.set()
    await asyncio.gather(*[handle.result() for handle in handles])
    assert max(commits.sizes) <= MOST


async def test_a_turn_takes_no_more_large_payloads_than_its_bytes(world: World, service: Service) -> None:
    @workflow
    async def order(what: str) -> int:
        return len(await service.do(what))

    large = "x" * (TURN_BYTES // 2 - 100)
    app = world.app([order], [service.agent])
    commits = Commits(await world.run(app))
    client = await world.client(app)
    handles = [await client.submit(order, large) for _ in range(8)]
    assert await asyncio.gather(*[handle.result() for handle in handles]) == [len(large) + len(" done")] * 8
    assert commits.most_bytes <= TURN_BYTES + len(large)


async def test_a_turn_ends_when_its_time_is_over_and_the_next_begins_at_once(world: World) -> None:
    app = world.app([sleeper], evict_after="never")
    app.environment = Environment(SlowMachine(), app.environment.random)
    commits = Commits(await world.run(app))
    client = await world.client(app)
    at = app.environment.clock.wall() + 60
    await client.submit_many(sleeper, [(at,)] * BURST)
    await until(lambda: _count(client, WAITING, BURST))
    commits.changes.clear()
    await until(lambda: _count(client, "state = 'processed'", BURST))
    assert max(commits.sizes) < MOST


async def test_more_inbox_rows_than_one_read_gives_are_read_at_once(world: World) -> None:
    app = world.app([collector], evict_after="never")
    commits = Commits(await world.run(app, supervisor=False))
    client = await world.client(app)
    handles = await client.submit_many(collector, [()] * 3)
    await until(lambda: _count(client, WAITING, 3))
    began = app.environment.clock.wall()
    for n in range(INBOX_ROWS + 1):
        await handles[0].signal(f"other-{n}")
    await handles[1].signal("go", "now")
    assert await handles[1].result() == "now"
    assert app.environment.clock.wall() - began < 1
    assert max(commits.sizes) <= MOST


async def test_a_signal_that_comes_while_others_wait_for_a_turn_is_read_right_after_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_budget, "MOST", PIECE)
    app = world.app([collector], evict_after="never", poll="30s")
    running = await world.run(app, supervisor=False)
    client = await world.client(app)
    *many, one = await client.submit_many(collector, [()] * (3 * PIECE + 1))
    await until(lambda: _count(client, WAITING, len(many) + 1))
    commit, was_sent = running.store.scheduler.commit, asyncio.Event()

    async def signal_beside(instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        if changes and not was_sent.is_set():
            # The first piece of the rows is being committed; the others wait.
            was_sent.set()
            await one.signal("go", "now")
        return await commit(instance, changes, renew)

    running.store.scheduler.commit = signal_beside  # type: ignore[method-assign]
    began = app.environment.clock.wall()
    await asyncio.gather(*[each.signal("go", "now") for each in many])
    assert await one.result() == "now"
    assert app.environment.clock.wall() - began < 1


async def test_a_budget_is_spent_by_number_and_by_time() -> None:
    budget = TurnBudget(VirtualClock())
    assert not budget.is_spent(MOST - PIECE)
    await asyncio.sleep(TURN_SECONDS)
    assert budget.is_spent(PIECE)
    assert budget.is_cut
    budget.until, budget.is_cut = None, False
    assert budget.is_spent(MOST)


async def _count(client: Client, where: str, wanted: int) -> bool:
    return (await client.count(where=where)).number == wanted
