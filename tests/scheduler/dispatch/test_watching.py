"""When the Supervisor is shown a step: a second after it started, whatever else was started before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stepward import Backoff, CircuitBreaker, Supervision, current_step, step, workflow
from stepward.scheduler import turn_budget
from stepward.scheduler.agent_replies import replies
from stepward.scheduler.turn_budget import MOST, PIECE
from stepward.store.contract import Change, Committed, Transaction
from stepward.store.sqlite.hot.scheduler import SqliteScheduler
from tests.scheduler.world import Service, World, hang
from tests.virtual import VirtualLoop


@pytest.mark.parametrize("transaction", [False, True])
async def test_a_long_local_step_delays_no_recovery(world: World, service: Service, transaction: bool) -> None:
    if transaction:

        @step(transaction=True, complete_by="1h")
        async def begin(connection: object) -> str:
            return "begun"

    else:

        @step(complete_by="1h")
        async def begin() -> str:
            return "begun"

    @workflow(supervision=Supervision(backoff=Backoff("1s")))
    async def order() -> str:
        await begin()
        return await service.do("a")

    service.plan("do a", hang())
    client = await world.start([order], [service.agent])
    handle = await client.submit(order)
    # One attempt of 10 s, a pause of 1 s, each seen at most two seconds late.
    assert await handle.result(timeout=15) == "a done"


async def test_a_local_step_past_its_complete_by_is_repeated(world: World) -> None:
    calls = []

    @step(complete_by="2s")
    async def think() -> str:
        calls.append(1)
        if len(calls) == 1:
            await hang()()
        return "thought"

    @workflow(supervision=Supervision(backoff=Backoff("1s")))
    async def order() -> str:
        return await think()

    client = await world.start([order])
    handle = await client.submit(order)
    assert await handle.result(timeout=10) == "thought"
    assert (await handle.status()).failure_count == 1


@pytest.mark.parametrize("share", [MOST, 1])
async def test_a_local_step_under_way_is_not_begun_again(
    share: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its task is read again when the Supervisor decides on another step; whenever it ends, and however long its reply
    waits for a turn that has room for it, it was called once."""
    monkeypatch.setattr(replies, "PIECE", min(share, PIECE))
    monkeypatch.setattr(turn_budget, "MOST", share)
    commit, calls = SqliteScheduler.commit, list[int]()
    service = Service(breaker=CircuitBreaker(1000), concurrency=100)

    async def slow(store: SqliteScheduler, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        await asyncio.sleep(0.3)
        return await commit(store, instance, changes, renew)

    @step(complete_by="1h")
    async def think(tenths: int) -> int:
        calls.append(tenths)
        await asyncio.sleep(tenths / 10)
        return tenths

    @workflow(supervision=Supervision(backoff=Backoff("1s")))
    async def order(tenths: int) -> tuple[int, str]:
        return await asyncio.gather(think(tenths), service.do(str(tenths)))

    monkeypatch.setattr(SqliteScheduler, "commit", slow)
    client = await world.start([order], [service.agent])
    lengths = range(95, 145)
    for tenths in lengths:
        service.plan(f"do {tenths}", hang())
    handles = [await client.submit(order, tenths) for tenths in lengths]
    assert [await handle.result(timeout=60) for handle in handles] == [(each, f"{each} done") for each in lengths]
    assert sorted(calls) == list(lengths)


def thinking(kind: str) -> tuple[Any, list[int]]:
    """A step of that kind, and the attempts in which it was called."""
    attempts: list[int] = []

    async def think() -> str:
        attempts.append(current_step().attempt)
        return "thought"

    async def transactional(connection: object) -> str:
        return await think()

    if kind == "transaction":
        return step(transaction=True, complete_by="2s")(transactional), attempts
    return step(complete_by="2s")(think), attempts


@pytest.mark.parametrize("kind", ["async", "transaction"])
async def test_a_local_step_that_is_started_too_late_is_not_called(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The commit that starts it takes longer than the step may."""
    think, attempts = thinking(kind)
    commit, outages = SqliteScheduler.commit, [3.0]

    async def slow(store: SqliteScheduler, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        committed = await commit(store, instance, changes, renew)
        if outages and any(change.inserts for change in changes):
            await asyncio.sleep(outages.pop())
        return committed

    monkeypatch.setattr(SqliteScheduler, "commit", slow)
    client = await world.start([_order_of(think)])
    assert await (await client.submit("order")).result(timeout=30) == "thought"
    assert attempts == [2]


async def test_a_process_that_slept_until_the_complete_by_calls_no_function(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    think, attempts = thinking("transaction")
    opened, naps = SqliteScheduler.transaction, [10.0]

    @asynccontextmanager
    async def slept(store: SqliteScheduler) -> AsyncIterator[Transaction]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        async with opened(store) as transaction:
            loop.now += naps.pop() if naps else 0.0
            yield transaction

    monkeypatch.setattr(SqliteScheduler, "transaction", slept)
    client = await world.start([_order_of(think)])
    assert await (await client.submit("order")).result(timeout=30) == "thought"
    assert attempts == [2]


def _order_of(think: Any) -> Any:
    @workflow(supervision=Supervision(backoff=Backoff("1s")))
    async def order() -> Any:
        return await think()

    return order
