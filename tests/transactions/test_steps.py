"""Transactional steps on PostgreSQL: their rows and their outcome commit together, or neither does."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from stepward import App, Backoff, Supervision, TaskFailed, Unrecoverable, current_step, step, workflow
from stepward.errors import Refused
from stepward.store.postgres.engine.database import FOR_OTHERS, TRANSACTIONS
from tests.store.postgres.worlds import Database
from tests.transactions.steps_process import booking, steps_app

pytestmark = pytest.mark.servers

BOUND = 120.0
SETTINGS: dict[str, Any] = {"poll": "100ms", "supervisor_every": "50ms", "lease": "1s"}


@pytest.fixture
async def ledger(database: Database) -> Database:
    await database.run("create table public.ledger (entry text)")
    return database


async def entries(database: Database) -> list[str]:
    return [row[0] for row in await database.rows("select entry from public.ledger order by entry")]


async def run(database: Database, *workflows: Any, args: tuple[Any, ...] = ()) -> Any:
    """What the first of these workflows returns."""
    app = App("shop", workflows=workflows, store=database.address, **SETTINGS)
    async with app.running(), app.client() as client:
        handle = await client.submit(workflows[0], *args)
        return await handle.result(timeout=BOUND)


async def test_a_refusal_takes_its_rows_with_it(ledger: Database) -> None:
    @step(transaction=True)
    async def book(transaction: Any) -> None:
        await transaction.execute("insert into public.ledger values ('lost')")
        raise Unrecoverable("no such account")

    @workflow
    async def refused() -> None:
        await book()

    with pytest.raises(TaskFailed, match="no such account"):
        await run(ledger, refused)
    assert await entries(ledger) == []


async def test_a_fault_is_repeated_and_leaves_one_row(ledger: Database) -> None:
    faults = [1, 2]

    @step(transaction=True)
    async def book(transaction: Any) -> int:
        await transaction.execute("insert into public.ledger values ('kept')")
        if faults:
            faults.pop()
            await transaction.execute("select 1 / 0")
        return current_step().attempt

    @workflow(supervision=Supervision(threshold=3, backoff=Backoff("50ms")))
    async def faulty() -> int:
        return await book()

    assert await run(ledger, faulty) == 3
    assert await entries(ledger) == ["kept"]


async def test_one_that_runs_out_of_time_is_rolled_back_and_repeated(ledger: Database) -> None:
    hangs = [True]

    @step(transaction=True, complete_by="1s")
    async def book(transaction: Any) -> None:
        await transaction.execute("insert into public.ledger values ('kept')")
        if hangs:
            hangs.pop()
            await asyncio.get_running_loop().create_future()

    @workflow(supervision=Supervision(threshold=3, backoff=Backoff("50ms")))
    async def slow() -> None:
        await book()

    await run(ledger, slow)
    assert await entries(ledger) == ["kept"]


async def test_a_superseded_one_is_rolled_back(ledger: Database) -> None:
    """While it works, its attempt is given to another process."""
    superseded: list[int] = []

    @step(transaction=True)
    async def book(transaction: Any) -> int:
        attempt = current_step().attempt
        await transaction.execute("insert into public.ledger values ($1)", [f"attempt {attempt}"])
        if not superseded:
            superseded.append(attempt)
            await ledger.run("update stepward_shop.step set attempt = attempt + 1")
        return attempt

    @workflow(supervision=Supervision(threshold=3, backoff=Backoff("50ms")))
    async def crossed() -> int:
        return await book()

    app = App("shop", workflows=[crossed], store=ledger.address, **SETTINGS)
    async with app.running(), app.client() as client, asyncio.timeout(BOUND):
        await client.submit(crossed)
        while not superseded:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert "attempt 1" not in await entries(ledger)


async def test_many_at_once_leave_connections_to_others(ledger: Database) -> None:
    """Those for which there is no room wait as steps, not for a connection."""
    room = TRANSACTIONS - FOR_OTHERS
    inside, all_inside, gate = list[int](), asyncio.Event(), asyncio.Event()

    @step(transaction=True)
    async def book(transaction: Any) -> int:
        inside.append(current_step().attempt)
        if len(inside) == room:
            all_inside.set()
        await gate.wait()
        return current_step().attempt

    @workflow
    async def busy() -> list[int]:
        return await asyncio.gather(*[book() for _ in range(24)])

    app = App("shop", workflows=[busy], store=ledger.address, **SETTINGS)
    async with app.running(), app.client() as client, asyncio.timeout(BOUND):
        handle = await client.submit(busy)
        await all_inside.wait()
        states = Counter(each.state.value for each in await handle.steps())
        gate.set()
        assert states == {"running": room, "not_started": 24 - room}
        assert await handle.result() == [1] * 24


async def test_submitting_from_a_step_happens_once_with_it(ledger: Database) -> None:
    @workflow
    async def follow_up(number: int) -> int:
        return number

    clients: list[Any] = []

    @step(transaction=True)
    async def book(transaction: Any) -> None:
        await clients[0].submit(follow_up, 7, id="follow", transaction=transaction)

    @workflow
    async def leader() -> None:
        await book()

    app = App("shop", workflows=[leader, follow_up], store=ledger.address, **SETTINGS)
    async with app.running(), app.client() as client:
        clients.append(client)
        await (await client.submit(leader)).result(timeout=BOUND)
        assert await client.task("follow").result(timeout=BOUND) == 7


async def test_the_drivers_own_connection_is_there_too(ledger: Database) -> None:
    @step(transaction=True)
    async def book(transaction: Any) -> int:
        connection: asyncpg.Connection[Any] = transaction.connection
        await connection.copy_records_to_table("ledger", schema_name="public", records=[("a",), ("b",)])
        return len(await transaction.execute("select * from public.ledger"))

    @workflow
    async def copying() -> int:
        return await book()

    assert await run(ledger, copying) == 2
    assert await entries(ledger) == ["a", "b"]


async def test_a_step_that_ends_the_transaction_itself_has_no_outcome(ledger: Database) -> None:
    @step(transaction=True)
    async def book(transaction: Any) -> None:
        await transaction.execute("insert into public.ledger values ('early')")
        await transaction.connection.execute("commit")

    @workflow(supervision=Supervision(threshold=1, then="alert"))
    async def hasty() -> None:
        await book()

    with pytest.raises(TaskFailed, match="expected it open until the step ends, found it ended"):
        await run(ledger, hasty)


@pytest.mark.parametrize(
    "point", ["inside", "store.commit.before:3", "transaction.commit.after", "transaction.commit.after:2"]
)
async def test_a_process_that_is_killed_leaves_each_entry_once(ledger: Database, point: str) -> None:
    """Within the step, around its commit, and after it: what was committed is not done again, the rest is."""
    command = [sys.executable, "-m", "tests.transactions.steps_process", ledger.address]
    env = {**os.environ, "STEPWARD_FAILPOINT": "" if point == "inside" else point, "INSIDE": point}
    app = steps_app(ledger.address)
    async with app.client() as client:
        handle = await client.submit(booking, id="b")
        process = await asyncio.create_subprocess_exec(*command, env=env, cwd=Path(__file__).parents[2])
        async with asyncio.timeout(BOUND):
            assert await process.wait() in (137, -signal.SIGKILL)
        async with app.running():
            assert await handle.result(timeout=BOUND) == ["first", "second", "third"]
    assert await entries(ledger) == ["first", "second", "third"]


async def test_a_connection_kept_beyond_its_step_can_do_nothing_more(ledger: Database) -> None:
    kept: list[Any] = []

    @step(transaction=True)
    async def keep(transaction: Any) -> None:
        raw = transaction.connection
        assert isinstance(raw, asyncpg.Connection)
        await raw.copy_records_to_table("ledger", schema_name="public", records=[("kept",)])
        cursor = await raw.cursor("select 1 union all select 2")
        kept.extend([transaction, raw, cursor, await raw.prepare("select 1")])

    @step(transaction=True)
    async def use(transaction: Any) -> None:
        ended, raw, cursor, prepared = kept
        insert = "insert into public.ledger values ('lost')"
        uses: list[Callable[[], Any]] = [
            lambda: ended.execute(insert),
            lambda: raw.execute(insert),
            lambda: raw.fetch(insert),
            lambda: cursor.fetch(1),
            prepared.fetch,
        ]
        for use_of_it in uses:
            with pytest.raises((Refused, asyncpg.InterfaceError)):
                await use_of_it()
        with pytest.raises(Refused, match="found it ended"):
            _ = ended.connection
        with pytest.raises(asyncpg.InterfaceError):
            raw.transaction()
        await transaction.execute("insert into public.ledger values ('used')")

    @workflow
    async def both() -> None:
        await keep()
        await use()

    await run(ledger, both)
    assert await entries(ledger) == ["kept", "used"]
