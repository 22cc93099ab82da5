"""Transactions beside one another, cancelled ones, and how soon a committed task is found."""

from __future__ import annotations

import asyncio
import threading

import psycopg
import pytest
from django.db import transaction as django_transaction
from sqlalchemy import create_engine, event
from sqlalchemy.orm import Session

from stepward import App, Client
from stepward.client import session_of
from stepward.errors import StoreUnavailable, TaskConflict
from tests.store.postgres.worlds import Database
from tests.transactions.application import application, order
from tests.transactions.connections import OnDjango

pytestmark = pytest.mark.servers

BOUND = 45  # less than the minute after which a patient application looks by itself


async def _waits_for_a_lock(database: Database, pid: int) -> None:
    """Wait until that server process waits for another's transaction."""
    connection = await database.connect()
    sql = "select wait_event_type = 'Lock' from pg_stat_activity where pid = $1"
    async with asyncio.timeout(BOUND):
        while not await connection.fetchval(sql, pid):  # noqa: ASYNC110  the server sends no notification
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("commits", [True, False])
async def test_the_second_of_an_id_waits_for_the_first(client: Client, database: Database, commits: bool) -> None:
    first, second = await database.connect(), await database.connect()
    one, two = first.transaction(), second.transaction()
    await one.start()
    await two.start()
    await client.submit(order, "pen", id="o", transaction=first)
    waiting = asyncio.create_task(client.submit(order, "pencil", id="o", transaction=second))
    await _waits_for_a_lock(database, second.get_server_pid())
    await (one.commit() if commits else one.rollback())
    if commits:
        with pytest.raises(TaskConflict):
            await waiting
    else:
        await waiting
    await two.commit()
    record = await session_of(client).record("o")
    assert record.input == (b'["pen"]' if commits else b'["pencil"]')


async def test_of_two_transactions_that_wait_for_each_other_one_raises(client: Client, database: Database) -> None:
    connections = [await database.connect() for _ in range(2)]
    transactions = [connection.transaction() for connection in connections]
    for transaction, connection, id in zip(transactions, connections, "ab", strict=True):
        await transaction.start()
        await client.submit(order, "pen", id=id, transaction=connection)
    crossing = [
        asyncio.create_task(client.submit(order, "pen", id=id, transaction=connection))
        for connection, id in zip(connections, "ba", strict=True)
    ]
    await asyncio.wait(crossing, return_when=asyncio.FIRST_COMPLETED, timeout=BOUND)
    failed = 0 if crossing[0].done() else 1
    with pytest.raises(StoreUnavailable, match="found another transaction waiting for this one; begin it again"):
        await crossing[failed]
    # Its transaction can still be used, and gives way only when it ends.
    await connections[failed].execute("select 1")
    await transactions[failed].rollback()
    await crossing[1 - failed]
    await transactions[1 - failed].commit()
    assert sorted(task.id for task in await client.tasks()) == ["a", "b"]


async def test_a_cancelled_submission_takes_only_its_own_part_along(client: Client, database: Database) -> None:
    first, second = await database.connect(), await database.connect()
    async with first.transaction():
        await client.submit(order, "pen", id="o", transaction=first)
        async with second.transaction():
            await second.execute("insert into public.cart values ('pen')")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await client.submit(order, "pen", id="o", transaction=second)
            await client.submit(order, "ink", id="o2", transaction=second)
    assert sorted(task.id for task in await client.tasks()) == ["o", "o2"]
    assert await database.rows("select name from public.cart") == [("pen",)]


async def test_after_a_restart_of_the_server_the_database_is_still_the_stores(
    client: Client, database: Database
) -> None:
    connection = await database.connect()
    async with connection.transaction():
        await client.submit(order, "pen", id="before", transaction=connection)
    server = database.server
    await asyncio.to_thread(server.stop, immediate=True)
    await asyncio.to_thread(server.start)
    connection = await database.connect()
    async with connection.transaction():
        await client.submit(order, "pen", id="after", transaction=connection)
    with application(database.address).sync_client() as blocking, psycopg.connect(database.address) as other:
        blocking.submit(order, "pen", id="blocking", transaction=other)
    assert sorted(task.id for task in await client.tasks()) == ["after", "before", "blocking"]


async def test_waiting_on_the_handle_makes_schedulers_look_at_once(database: Database) -> None:
    """The Scheduler of another process would look only in a minute."""
    patient = App("shop", workflows=[order], store=database.address, poll="1m")
    connection = await database.connect()
    async with (
        patient.running(),
        App("shop", workflows=[order], store=database.address).client() as client,
        asyncio.timeout(BOUND),
    ):
        for number in range(3):
            async with connection.transaction():
                handle = await client.submit(order, "pen", id=f"o{number}", transaction=connection)
            assert await handle.result() == "packed pen"


async def test_a_task_without_a_waiter_is_found_by_the_poll(app: App, client: Client, database: Database) -> None:
    connection = await database.connect()
    async with app.running(), connection.transaction():
        await client.submit(order, "pen", id="o", transaction=connection)
    async with app.running(), asyncio.timeout(BOUND), app.client() as other:
        assert await other.task("o").result() == "packed pen"


def test_everything_on_a_blocking_connection_is_done_in_the_thread_that_calls(app_of: str) -> None:
    threads: set[int] = set()
    engine = create_engine(app_of.replace("://", "+psycopg://"))
    event.listen(engine, "before_cursor_execute", lambda *_: threads.add(threading.get_ident()))
    with application(app_of).sync_client() as client, Session(engine) as session, session.begin():
        client.submit(order, "pen", id="o", transaction=session)
    engine.dispose()
    assert threads == {threading.get_ident()}


def test_a_nested_block_of_django_that_fails_takes_its_task_with_it(app_of: str) -> None:
    desk = OnDjango()
    desk.connect(app_of)
    try:
        with application(app_of).sync_client() as client:
            with django_transaction.atomic():
                client.submit(order, "pen", id="outer", transaction=desk.given)
                with pytest.raises(KeyError), django_transaction.atomic():
                    client.submit(order, "pen", id="inner", transaction=desk.given)
                    raise KeyError
            assert [task.id for task in client.tasks()] == ["outer"]
    finally:
        desk.disconnect()


@pytest.fixture
def app_of(database: Database) -> str:
    """The store's address, for tests without a loop."""
    return database.address
