"""Transactional steps: their rows and their outcome commit together, or neither does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stepward import Backoff, Client, Supervision, TaskFailed, Unrecoverable, current_step, step, workflow
from stepward.errors import CommitUnknown
from stepward.store.contract import Transaction
from stepward.store.sqlite.hot.scheduler import SqliteScheduler
from tests.scheduler.world import World


async def ledger(client: Client) -> list[Any]:
    async with client.transaction() as transaction:
        return [row[0] for row in await transaction.execute("select entry from ledger order by rowid")]


@pytest.fixture
async def made(world: World) -> World:
    async with (await world.client(world.app([]))).transaction() as transaction:
        await transaction.execute("create table ledger (entry integer)")
    return world


async def test_rows_and_outcome_commit_together(made: World) -> None:
    @step(transaction=True)
    async def book(transaction: Any, entry: int) -> int:
        await transaction.execute("insert into ledger values (?)", (entry,))
        return entry * 10

    @workflow
    async def booking() -> list[int]:
        return [await book(1), await book(2)]

    client = await made.start([booking])
    handle = await client.submit(booking)
    assert await handle.result(timeout=5) == [10, 20]
    assert await ledger(client) == [1, 2]
    assert [(each.state, each.kind) for each in await handle.steps()] == [("completed", "transaction")] * 2


async def test_a_refusal_takes_its_rows_with_it(made: World) -> None:
    @step(transaction=True)
    async def book(transaction: Any, entry: int) -> None:
        await transaction.execute("insert into ledger values (?)", (entry,))
        raise Unrecoverable("no such account")

    @workflow
    async def booking() -> None:
        await book(1)

    client = await made.start([booking])
    with pytest.raises(TaskFailed, match="no such account"):
        await (await client.submit(booking)).result(timeout=5)
    assert await ledger(client) == []


async def test_a_fault_is_repeated_and_leaves_one_row(made: World) -> None:
    faults = [1, 2]

    @step(transaction=True)
    async def book(transaction: Any, entry: int) -> None:
        await transaction.execute("insert into ledger values (?)", (entry,))
        if faults:
            faults.pop()
            raise OSError("lost the line")

    @workflow(supervision=Supervision(threshold=3, backoff=Backoff("1s")))
    async def booking() -> None:
        await book(7)

    client = await made.start([booking])
    handle = await client.submit(booking)
    await handle.result(timeout=30)
    assert await ledger(client) == [7]
    (only,) = await handle.steps()
    assert only.attempt == 3


async def test_one_that_runs_out_of_time_is_rolled_back_and_repeated(made: World) -> None:
    hangs = [True]

    @step(transaction=True, complete_by="3s")
    async def book(transaction: Any, entry: int) -> None:
        await transaction.execute("insert into ledger values (?)", (entry,))
        if hangs:
            hangs.pop()
            await asyncio.get_running_loop().create_future()

    @workflow(supervision=Supervision(threshold=3, backoff=Backoff("1s")))
    async def booking() -> None:
        await book(7)

    client = await made.start([booking])
    handle = await client.submit(booking)
    await handle.result(timeout=30)
    assert await ledger(client) == [7]


@pytest.mark.parametrize("answer", ["late", "lost"])
async def test_a_commit_that_outlasts_its_complete_by_is_reported(
    made: World, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """Its row is completed, which no Supervisor looks at."""
    opened = SqliteScheduler.transaction

    @asynccontextmanager
    async def answered_late(store: SqliteScheduler) -> AsyncIterator[Transaction]:
        await asyncio.sleep(2)  # so that the Supervisor is shown the row
        async with opened(store) as transaction:
            yield transaction
        await asyncio.sleep(4)
        raise CommitUnknown("no answer")

    @step(transaction=True, complete_by="3s" if answer == "late" else "1h")
    async def book(transaction: Any, entry: int) -> int:
        await transaction.execute("insert into ledger values (?)", (entry,))
        return entry * 10

    @workflow
    async def booking() -> int:
        return await book(7)

    client = await made.start([booking])
    monkeypatch.setattr(SqliteScheduler, "transaction", answered_late)
    handle = await client.submit(booking)
    assert await handle.result(timeout=30) == 70
    monkeypatch.undo()
    assert await ledger(client) == [7]


async def test_a_superseded_one_is_rolled_back(made: World) -> None:
    """Row 13: while it works, its attempt is given to another Scheduler."""

    @step(transaction=True)
    async def book(transaction: Any, entry: int) -> int:
        attempt = current_step().attempt
        await transaction.execute("insert into ledger values (?)", (entry * 10 + attempt,))
        if attempt == 1:
            await transaction.execute("update stepward_step set attempt = 2 where name = 'book'")
        return attempt

    @workflow(supervision=Supervision(backoff=Backoff("1s")))
    async def booking() -> int:
        return await book(7)

    client = await made.start([booking])
    handle = await client.submit(booking)
    assert await handle.result(timeout=30) == 2
    assert await ledger(client) == [72]


async def test_those_that_find_no_connection_wait_and_count_no_failure(made: World) -> None:
    """One after the other they take longer than one is waited for, and longer than each of them may."""

    @step(transaction=True, complete_by="4s")
    async def book(transaction: Any, entry: int) -> int:
        await transaction.execute("insert into ledger values (?)", (entry,))
        await asyncio.sleep(1)
        return current_step().attempt

    @workflow
    async def booking() -> list[int]:
        return await asyncio.gather(*[book(entry) for entry in range(20)])

    client = await made.start([booking])
    handle = await client.submit(booking)
    assert await handle.result(timeout=120) == [1] * 20
    assert await ledger(client) == list(range(20))


async def test_submitting_from_a_step_happens_once_with_it(made: World) -> None:
    @workflow
    async def follow_up(number: int) -> int:
        return number

    @step(transaction=True)
    async def book(transaction: Any, entry: int) -> None:
        await transaction.execute("insert into ledger values (?)", (entry,))
        await client.submit(follow_up, entry, id=f"follow-{entry}", transaction=transaction)

    @workflow
    async def booking() -> None:
        await book(7)

    client = await made.start([booking, follow_up])
    await (await client.submit(booking)).result(timeout=5)
    assert await client.task("follow-7").result(timeout=5) == 7
