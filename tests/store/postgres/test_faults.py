"""A server that goes away, is slow or refuses: nothing is assumed done, and what comes later works again."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import asyncpg
import pytest

from stepward.errors import CommitUnknown, Refused, StoreUnavailable
from stepward.model.states import StepState
from stepward.store.contract import Change
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine.connecting import pool
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.database import OTHERS
from tests.store.conformance.world import (
    SERVED,
    World,
    add_steps,
    claimed,
    finish,
    ids,
    read_step,
    scheduler,
    step,
    until,
)
from tests.store.listing import listed
from tests.store.postgres.server import Server
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

ENDED = """
select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""


@pytest.fixture
def world(database: Database) -> World:
    return World(lambda environment: database.store())


class Blocked:
    """A commit that waits for a row which another transaction has locked."""

    def __init__(self, database: Database, world: World) -> None:
        self.database = database
        self.world = world

    async def begin(self, store: PostgresStore, lease: float) -> asyncio.Task[object]:
        await scheduler(store, "s1", lease)
        self.task = await claimed(self.world, store)
        self.charge = step(self.task)
        await add_steps(store, self.task, self.charge)
        self.beside = await self.database.connect()
        await self.beside.execute("begin")
        await self.beside.execute("select 1 from stepward_shop.step for update")
        told = Change(task=self.task.uid, finishes=[finish(self.charge)])
        committing = asyncio.create_task(store.scheduler.commit("s1", [told], None))
        while not await self.waiting():
            assert not committing.done()
        return committing

    async def waiting(self) -> list[int]:
        rows = await self.beside.fetch("select pid from pg_locks where not granted")
        return [row[0] for row in rows]

    async def let_go(self) -> None:
        await self.beside.execute("rollback")


async def test_a_commit_whose_answer_is_lost_is_unknown(database: Database, world: World) -> None:
    store = await database.opened()
    blocked = Blocked(database, world)
    committing = await blocked.begin(store, 60)
    await blocked.beside.execute(f"select pg_terminate_backend({(await blocked.waiting())[0]})")
    with pytest.raises(CommitUnknown, match="read what became of it"):
        await committing
    await blocked.let_go()
    assert (await read_step(store, blocked.task)).state is StepState.RUNNING
    told = Change(task=blocked.task.uid, finishes=[finish(blocked.charge)])
    assert (await store.scheduler.commit("s1", [told], None)).missed == {}


async def test_a_statement_takes_less_than_half_of_a_lease(database: Database, world: World) -> None:
    store = await database.opened()
    blocked = Blocked(database, world)
    committing = await blocked.begin(store, 1.0)
    async with asyncio.timeout(0.5):
        with pytest.raises(StoreUnavailable, match="expected an answer within the time allowed"):
            await committing
    await blocked.let_go()
    assert (await read_step(store, blocked.task)).state is StepState.RUNNING


async def test_a_transaction_that_rests_after_its_outcome_is_given_up_by_the_server(
    database: Database, world: World
) -> None:
    store = await database.opened()
    await scheduler(store, "s1", 0.6)
    task = await claimed(world, store)
    await add_steps(store, task, step(task))
    # The client may send the commit before it notices that the session has ended.
    with pytest.raises((StoreUnavailable, CommitUnknown)):
        async with store.client.transaction() as transaction:
            assert await transaction.finish("s1", finish(step(task)))
            ((pid,),) = await transaction.execute("select pg_backend_pid()")
            async with asyncio.timeout(10):
                while await database.rows(f"select 1 from pg_stat_activity where pid = {pid}"):
                    pass
    assert (await read_step(store, task)).state is StepState.RUNNING


async def test_a_connection_lost_before_the_commit_changes_nothing(database: Database, world: World) -> None:
    store = await database.opened()

    async def half(connection: Connection) -> None:
        await connection.run("create table half (x integer)")
        await database.rows(f"select pg_terminate_backend({connection.raw.get_server_pid()})")
        await connection.run("create table whole (x integer)")

    with pytest.raises(StoreUnavailable):
        await store._database.others.write(half)
    assert await database.rows("select relname from pg_class where relname in ('half', 'whole')") == []
    assert await listed(store) == []


async def test_who_cannot_read_what_it_claims_claims_nothing(
    database: Database, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would keep tasks of which it knows nothing, for as long as it lives."""
    store = await database.opened()
    await scheduler(store)
    task = world.task("a")
    await store.client.submit([task])
    ask = Connection.rows

    async def lost(connection: Connection, query: str, *values: object) -> list[object]:
        if query == "scheduler.steps":
            await database.rows(f"select pg_terminate_backend({connection.raw.get_server_pid()})")
        return await ask(connection, query, *values)

    with monkeypatch.context() as outage:
        outage.setattr(Connection, "rows", lost)
        with pytest.raises(StoreUnavailable):
            await store.scheduler.claim("s1", SERVED, 9)
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == ["a"]


async def test_a_commit_on_which_the_driver_lost_the_thread_may_be_done(
    database: Database, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await database.opened()
    run = Connection.run

    async def confused(connection: Connection, sql: str, seconds: float | None = None) -> str:
        answer = await run(connection, sql, seconds)
        if sql == "commit":
            raise asyncpg.InternalClientError("got result for unknown protocol state")
        return answer

    with monkeypatch.context() as fault:
        fault.setattr(Connection, "run", confused)
        with pytest.raises(CommitUnknown):
            async with store.client.transaction() as transaction:
                await transaction.submit([world.task("a")])
    assert [task.id for task in await listed(store)] == ["a"]


async def test_a_commit_that_the_server_refuses_is_not_taken_as_done(database: Database, world: World) -> None:
    """Tried again outside of its transaction it would succeed, with nothing to commit."""
    store = await database.opened()
    other = await database.connect()
    await database.rows("create table public.seat (taken boolean)")
    await other.execute("begin isolation level serializable; select count(*) from public.seat")
    with pytest.raises(StoreUnavailable, match="begin again"):
        async with store.client.transaction() as transaction:
            await transaction.execute("set transaction isolation level serializable")
            await transaction.execute("select count(*) from public.seat")
            await other.execute("insert into public.seat values (true)")
            await transaction.execute("insert into public.seat values (true)")
            await transaction.submit([world.task("a")])
            await other.execute("commit")
    assert await listed(store) == []


async def test_a_caller_cancelled_while_a_transaction_begins_cancels_no_other(database: Database, world: World) -> None:
    """Else the connection is used again, and what it acknowledges next is within a transaction that is given up."""
    store = await database.opened()
    lane = store._database.others
    for turns in range(12):
        writing = asyncio.create_task(store.client.submit([world.task(f"left-{turns}")]))
        for _ in range(turns):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        kept = [connection for connection in lane.pool._idle if connection.usable]
        for connection in kept:
            # In a transaction the clock of its beginning stands still.
            first, second = [await connection.fetched("select now(), pg_sleep(0.001)") for _ in range(2)]
            assert first[0][0] != second[0][0]


async def test_a_transaction_whose_connection_is_lost_says_so_in_our_words(database: Database) -> None:
    store = await database.opened()
    with pytest.raises(StoreUnavailable):
        async with store.client.transaction() as transaction:
            ((pid,),) = await transaction.execute("select pg_backend_pid()")
            await database.rows(f"select pg_terminate_backend({pid})")
            await transaction.execute("select 1")


async def test_after_a_crash_of_the_server_all_goes_on(database: Database, world: World, server: Server) -> None:
    store = await database.opened()
    await scheduler(store)
    await store.client.submit([world.task("a")])
    await asyncio.to_thread(server.stop, immediate=True)
    with pytest.raises(StoreUnavailable):
        await store.client.submit([world.task("b")])
    await asyncio.to_thread(server.start)
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == ["a"]
    await until(store.host.changed, 30)
    other = await database.opened()
    store.host.changed()
    await other.client.submit([world.task("c")])
    await until(store.host.changed)


async def test_a_read_only_server_is_reported(database: Database, world: World) -> None:
    store = await database.opened()
    await database.rows(f"alter database {database.name} set default_transaction_read_only = on")
    await database.rows(ENDED)
    with pytest.raises(StoreUnavailable, match="expected the primary, found a server that only reads"):
        while True:  # The first tries may meet the connections that have just ended.
            await _submitted(store, world)


async def _submitted(store: PostgresStore, world: World) -> None:
    try:
        await store.client.submit([world.task()])
    except StoreUnavailable as error:
        if "only reads" in str(error):
            raise
    except CommitUnknown:
        pass  # The connection ended under its one statement.


@pytest.mark.parametrize("error", [asyncpg.DeadlockDetectedError, asyncpg.SerializationError])
async def test_what_another_transaction_kept_from_its_end_is_done_again(
    database: Database, error: type[Exception]
) -> None:
    store = await database.opened()
    tries = []

    async def unlucky(connection: Connection) -> int:
        tries.append(1)
        await connection.run("create table mark (x integer)")
        if len(tries) < 3:
            raise error("made by the test")
        return len(tries)

    assert await store._database.others.write(unlucky) == 3

    async def hopeless(connection: Connection) -> None:
        raise error("made by the test")

    with pytest.raises(StoreUnavailable, match="expected an end without conflict"):
        await store._database.others.write(hopeless)


async def test_refused_data_is_reported_in_one_line(database: Database, world: World) -> None:
    store = await database.opened()
    with pytest.raises(Refused, match="expected data that its tables allow, found CheckViolationError") as caught:
        await store.client.submit([world.task(run=0)])
    assert "\n" not in str(caught.value)


async def test_a_message_that_quotes_nul_is_reported_all_the_same(database: Database, world: World) -> None:
    store = await database.opened()
    await scheduler(store)
    await store.messages.put("q", [(b"1", None)])
    ((token),) = [message.token for message in await store.messages.take("q", 1, 10)]
    await store.messages.bury("q", [(token, "expected JSON, found \0")])
    (letter,) = await store.operators.dead_letters(9)
    assert letter.reason == "expected JSON, found �"


async def test_statements_that_end_the_transaction_are_refused(database: Database) -> None:
    store = await database.opened()
    for statement in ("commit", " /* now */ END", "rollback;", "-- so\nbegin", "prepare transaction 'x'"):
        with pytest.raises(Refused, match="leave that to Stepward"):
            async with store.client.transaction() as transaction:
                await transaction.execute("create table cart (name text)")
                await transaction.execute(statement)
    assert await database.rows("select 1 from pg_class where relname = 'cart'") == []


async def test_transactions_of_one_store_run_beside_one_another(database: Database, world: World) -> None:
    store = await database.opened()
    both = asyncio.Barrier(2)

    async def submit(id: str) -> set[str]:
        async with store.client.transaction() as transaction:
            await transaction.submit([world.task(id)])
            await both.wait()
            known = await transaction.known(["a", "b"])
            await both.wait()
        return set(known)

    one, other = await asyncio.gather(submit("a"), submit("b"))
    assert (one, other) == ({"a"}, {"b"})
    assert {task.id for task in await listed(store)} == {"a", "b"}


async def test_one_id_submitted_by_two_at_once_is_one_task(database: Database, world: World) -> None:
    store = await database.opened()
    async with store.client.transaction() as one:
        await one.submit([world.task("a", input=b"[1]")])
        other = asyncio.create_task(store.client.submit([world.task("a", input=b"[2]"), world.task("b")]))
        while not await database.rows("select 1 from pg_locks where not granted"):
            assert not other.done()
    answers = await other
    assert [(answer.created, answer.same) for answer in answers] == [(False, False), (True, True)]
    found = await store.client.task("a")
    assert found is not None
    assert found.input == b"[1]"


async def test_a_lease_is_renewed_though_all_other_connections_are_in_use(database: Database) -> None:
    store = await database.opened()
    await scheduler(store, "s1", 60)
    async with AsyncExitStack() as stack:
        for _ in range(OTHERS):
            await stack.enter_async_context(store._database.others.pool.acquired())
        async with asyncio.timeout(2):
            assert await store.host.renew(["s1"], 60) == {"s1"}


async def test_more_at_once_than_there_are_connections_wait_their_turn(database: Database, world: World) -> None:
    store = await database.opened()
    await asyncio.gather(*[store.client.submit([world.task(f"t{number}")]) for number in range(5 * OTHERS)])
    assert len(await listed(store)) == 5 * OTHERS


async def test_all_connections_in_use_is_reported(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WAIT_SECONDS", 0.05)
    store = await database.opened()
    async with AsyncExitStack() as stack:
        for _ in range(OTHERS):
            await stack.enter_async_context(store._database.others.pool.acquired())
        with pytest.raises(StoreUnavailable, match=f"expected one of {OTHERS} connections within 0.05 s"):
            await listed(store)
    assert await listed(store) == []
