"""Submission: ids, transactions of the application's own, and results across connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, assert_type
from uuid import UUID

import pytest
from msgspec import Meta

from stepward import TaskHandle, step, workflow
from stepward.client import ClientSession, client_on
from stepward.clock import Environment
from stepward.errors import InvalidArguments, InvalidDuration, Refused, StoreUnavailable, TaskConflict, TaskNotFound
from stepward.model.states import TaskState
from tests.scheduler.world import VirtualClock, World


@step()
async def double(number: int) -> int:
    return 2 * number


@workflow
async def doubling(number: int) -> int:
    return await double(number)


async def test_the_result_of_a_task_that_has_ended_is_given_at_once(world: World) -> None:
    client = await world.start([doubling], poll="30s")
    await (await client.submit(doubling, 4, id="order-1")).result(timeout=5)
    began = asyncio.get_running_loop().time()
    assert await client.task("order-1").result(timeout=60) == 8
    assert asyncio.get_running_loop().time() - began < 1


async def test_an_id_that_exists_starts_nothing(world: World) -> None:
    client = await world.start([doubling])
    first = await client.submit(doubling, 4, id="order-1")
    again = await client.submit(doubling, 4, id="order-1")
    assert (await first.result(timeout=5), await again.result(timeout=5)) == (8, 8)
    after = await client.submit(doubling, 4, id="order-1")
    assert await after.result(timeout=5) == 8
    with pytest.raises(TaskConflict):
        await client.submit(doubling, 5, id="order-1")
    assert len(await client.tasks()) == 1
    assert len(await first.steps()) == 1


async def test_type_checkers_know_what_a_handle_gives(world: World) -> None:
    client = await world.start([doubling])
    assert_type(await client.submit(doubling, 4), TaskHandle[int])
    assert_type(await client.submit("doubling", 4), TaskHandle[Any])
    (handle,) = await client.submit_many(doubling, [(4,)])
    assert_type(await handle.result(timeout=5), int)


async def test_fifty_submissions_of_one_id_at_once_are_one_task(world: World) -> None:
    client = await world.start([doubling])
    other = await world.client(world.app([doubling]))
    handles = await asyncio.gather(*[each.submit(doubling, 4, id="x") for each in (client, other) for _ in range(25)])
    assert {await handle.result(timeout=5) for handle in handles} == {8}
    assert len(await client.tasks()) == 1
    assert len(await handles[0].steps()) == 1


async def test_a_transaction_that_rolls_back_leaves_nothing(world: World) -> None:
    client = await world.start([doubling])
    async with client.transaction() as transaction:
        await transaction.execute("create table orders (number integer)")

    class Stop(Exception):
        pass

    with pytest.raises(Stop):
        async with client.transaction() as transaction:
            await transaction.execute("insert into orders values (1)")
            await client.submit(doubling, 1, id="lost", transaction=transaction)
            raise Stop
    await asyncio.sleep(3)
    with pytest.raises(TaskNotFound):
        await client.task("lost").status()
    async with client.transaction() as transaction:
        assert await transaction.execute("select * from orders") == []


async def test_a_transaction_commits_rows_and_task_together(world: World) -> None:
    client = await world.start([doubling])
    async with client.transaction() as transaction:
        await transaction.execute("create table orders (number integer)")
        await transaction.execute("insert into orders values (21)")
        handle = await client.submit(doubling, 21, transaction=transaction)
        many = await client.submit_many(doubling, [(1,), (2,)], transaction=transaction)
        # Not committed yet: neither is visible from outside.
        assert await client.tasks() == []
    assert await handle.result(timeout=5) == 42
    assert [await each.result(timeout=5) for each in many] == [2, 4]


async def test_a_client_without_code_submits_and_waits_from_another_connection(world: World) -> None:
    await world.start([doubling])
    environment = Environment(VirtualClock())
    async with client_on(ClientSession(world.store, app="shop", environment=environment)) as client:
        handle = await client.submit("doubling", 4)
        assert await handle.result(timeout=5) == 8
        with pytest.raises(Refused, match="doubling"):
            await client.submit("doubling", "four")
        with pytest.raises(Refused, match="nothing"):
            await client.submit("nothing", 1)
        assert len(await client.tasks(workflow="doubling")) == 1


async def test_many_at_once_are_all_or_none(world: World) -> None:
    client = await world.start([doubling])
    with pytest.raises(Refused):
        await client.submit_many(doubling, [(1,), ("two",)])  # type: ignore[arg-type]
    assert await client.tasks() == []
    handles = await client.submit_many(doubling, [(n,) for n in range(300)], ids=[f"n{n}" for n in range(300)])
    assert [await handle.result(timeout=30) for handle in handles] == [2 * n for n in range(300)]
    assert len(await client.tasks(state=TaskState.PROCESSED, limit=1000)) == 300


async def test_a_result_is_waited_for_only_so_long(world: World) -> None:
    client = await world.client(world.app([doubling]))
    handle = await client.submit(doubling, 1)
    with pytest.raises(TimeoutError):
        await handle.result(timeout=2)
    assert (await handle.status()).state is TaskState.PENDING


async def test_a_client_without_code_sends_what_one_with_code_does(world: World) -> None:
    @workflow
    async def greeting(name: str, word: str = "hello", *, times: int = 2) -> str:
        return f"{word} {name} " * times

    client = await world.start([greeting])
    async with client_on(ClientSession(world.store, app="shop", environment=Environment(VirtualClock()))) as bare:
        first = await client.submit(greeting, "you", id="g")
        again = await bare.submit("greeting", "you", id="g")
        assert await again.result(timeout=5) == await first.result(timeout=5) == "hello you hello you "


@workflow
async def dating(
    count: int,
    on: date,
    at: Annotated[datetime, Meta(tz=True)],
    price: Decimal,
    key: UUID,
    within: timedelta = timedelta(1),
) -> str:
    return f"{count} {on} {at} {price} {key} {within}"


FITTING: list[Any] = [1, "2026-01-31", "2026-01-31T12:00:00Z", "1.50", "12345678-1234-5678-1234-567812345678", "PT1M"]


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, 1.0), (0, True), (1, "31 January"), (2, "noon"), (3, "much"), (4, "1234"), (5, "1m"), (5, 3)],
)
async def test_a_client_without_code_refuses_what_the_workflow_would(world: World, place: int, value: object) -> None:
    client = await world.start([dating])
    values = [*FITTING]
    values[place] = value
    async with client_on(ClientSession(world.store, app="shop", environment=Environment(VirtualClock()))) as bare:
        for submit in (client.submit, bare.submit):
            with pytest.raises(InvalidArguments):
                await submit("dating", *values)
        assert await client.tasks() == []
        handle = await bare.submit("dating", *FITTING)
        assert await handle.result(timeout=5) == f"1 2026-01-31 2026-01-31 12:00:00+00:00 1.50 {FITTING[4]} 0:01:00"


@pytest.mark.parametrize(
    ("what", "ask"),
    [
        ("workflow: expected", lambda client: client.submit(3)),
        ("workflow: expected", lambda client: client.submit(double, 3)),
        ("labels: expected", lambda client: client.submit(doubling, 3, labels=3)),
        ("labels: expected", lambda client: client.submit(doubling, 3, labels={"": "x"})),
        ("fairness_key: expected", lambda client: client.submit(doubling, 3, fairness_key=3)),
        ("label: expected", lambda client: client.tasks(label="customer=42")),
        ("limit: expected", lambda client: client.tasks(limit=-1)),
        ("signal id: expected", lambda client: client.task("t").signal("go", id="")),
        ("signal id: expected", lambda client: client.task("t").signal("go", id="x" * 201)),
    ],
)
async def test_what_a_client_cannot_mean_is_refused_in_one_line(
    world: World, what: str, ask: Callable[[Any], Awaitable[object]]
) -> None:
    client = await world.start([doubling])
    with pytest.raises(Refused, match=f"^{what}"):
        await ask(client)
    assert await client.tasks() == []


async def test_a_conflict_among_many_leaves_none_of_them(world: World) -> None:
    client = await world.start([doubling])
    await client.submit(doubling, 1, id="taken")
    with pytest.raises(TaskConflict, match="id 'taken': expected a new id"):
        await client.submit_many(doubling, [(4,), (5,), (6,)], ids=["a", "taken", "b"])
    with pytest.raises(TaskConflict, match="id 'c': expected a new id"):
        await client.submit_many(doubling, [(4,), (5,)], ids=["c", "c"])
    assert [task.id for task in await client.tasks()] == ["taken"]


async def test_a_conflict_among_more_than_fit_a_batch_leaves_none_of_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepward.client.submitting.submissions.BATCH", 2)
    client = await world.start([doubling])
    await client.submit(doubling, 1, id="taken")
    with pytest.raises(TaskConflict):
        await client.submit_many(doubling, [(4,)] * 5, ids=["a", "b", "c", "d", "taken"])
    assert [task.id for task in await client.tasks()] == ["taken"]


async def test_a_conflict_among_many_takes_only_them_out_of_a_transaction(world: World) -> None:
    client = await world.start([doubling])
    await client.submit(doubling, 1, id="taken")
    async with client.transaction() as transaction:
        await client.submit(doubling, 2, id="before", transaction=transaction)
        with pytest.raises(TaskConflict):
            await client.submit_many(doubling, [(4,), (5,)], ids=["a", "taken"], transaction=transaction)
    assert sorted(task.id for task in await client.tasks()) == ["before", "taken"]


async def test_a_transaction_that_is_awaited_within_another_does_not_wait_for_ever(world: World) -> None:
    client = await world.start([doubling])

    async def inner() -> None:
        async with client.transaction():
            pass

    async with client.transaction() as transaction:
        await client.submit(doubling, 2, id="before", transaction=transaction)
        with pytest.raises(StoreUnavailable, match="found another transaction open all the while"):
            await asyncio.gather(inner())
    await asyncio.gather(inner())
    assert [task.id for task in await client.tasks()] == ["before"]


async def test_nothing_is_submitted_in_a_transaction_that_has_ended(world: World) -> None:
    client = await world.start([doubling])
    async with client.transaction() as ended:
        pass
    with pytest.raises(KeyError):
        async with client.transaction():
            with pytest.raises(Refused, match="expected use within its block, found it ended"):
                await client.submit(doubling, 2, id="lost", transaction=ended)
            raise KeyError
    assert await client.tasks() == []


@pytest.mark.parametrize(("delay", "complete_by"), [("1h", "1h"), ("2h", "1h"), ("2h", None)])
async def test_a_delay_beyond_the_complete_by_is_refused(world: World, delay: str, complete_by: str | None) -> None:
    @workflow(complete_by="1h")
    async def limited() -> None: ...

    client = await world.start([limited])
    with pytest.raises(InvalidDuration, match="delay: expected less than the 1:00:00 until the complete-by, found"):
        await client.submit(limited, delay=delay, complete_by=complete_by)
    assert await client.tasks() == []
    await client.submit(limited, delay="59m", complete_by=complete_by)
