"""A process that stalls in the middle of a transaction delays others for a bounded time, and no other is ended for it.

Between parsing a statement and running it the server counts no time, and rows stay locked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias, TypeVar

import asyncpg
import pytest

from stepward.errors import StoreUnavailable
from stepward.model.records import Instance, Role
from stepward.store.postgres import PostgresStore
from stepward.store.postgres.engine.connecting.connector import session_name, shared_name
from stepward.store.postgres.hot.open_transaction import PostgresTransaction
from stepward.store.postgres.server import stalled_sessions
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

T = TypeVar("T")

LEASE = 1.0
BOUNDS = {"statement_timeout": "400ms", "idle_in_transaction_session_timeout": "400ms"}
STATE = "select state, wait_event from pg_stat_activity where pid = {pid}"

NAME = session_name("stepward_shop")
SQL = 'select state from "stepward_shop".task where id = $1'
INSTANCE = "select id from stepward_shop.instance where id = 'stalled' for share"
NEIGHBOUR = "select 1"
"""A statement of an application."""

Raw: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Stall = Callable[..., Awaitable[Raw]]


@pytest.fixture
async def stall(database: Database) -> AsyncIterator[Stall]:
    """What locks rows and then stands still where no bound counts."""
    opened: list[Raw] = []

    async def stall(lock: str, name: str = NAME, sql: str = SQL) -> Raw:
        connection = await asyncpg.connect(database.address, server_settings={"application_name": name, **BOUNDS})
        opened.append(connection)
        await connection.execute("begin")
        await connection.execute(lock)
        await connection.prepare(sql)
        assert await database.rows(STATE.format(pid=connection.get_server_pid())) == [("active", "ClientRead")]
        return connection

    yield stall
    for connection in opened:
        connection.terminate()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stalled after a time that a test can wait for."""
    monkeypatch.setattr(stalled_sessions, "STALLED_SECONDS", 0.2)


async def _store(database: Database) -> PostgresStore:
    store = await database.opened()
    for id, role, lease in (("leader", Role.SUPERVISOR, 60), ("stalled", Role.SCHEDULER, LEASE)):
        await store.host.register(Instance(id=id, role=role, host="h", pid=1, serves=[]), lease)
    return store


async def _at_last(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until something comes; the store may be busy for a while."""
    async with asyncio.timeout(20):
        while True:
            try:
                if found := await ask():
                    return found
            except StoreUnavailable:
                continue


async def test_one_that_has_locked_its_own_instance_is_fenced(database: Database, stall: Stall) -> None:
    store = await _store(database)
    term = await store.supervisor.lead("leader", 60)
    assert term is not None
    await stall(INSTANCE)
    dead = await _at_last(lambda: store.supervisor.fence(term))
    assert [instance.id for instance in dead] == ["stalled"]


async def test_a_stalled_session_that_has_locked_the_leadership_prevents_no_election(
    database: Database, stall: Stall
) -> None:
    store = await _store(database)
    await stall("select 1 from stepward_shop.leadership for update")
    assert await _at_last(lambda: store.supervisor.lead("leader", 60)) == 1


async def test_a_stalled_session_that_has_locked_the_leadership_prevents_no_start(
    database: Database, stall: Stall
) -> None:
    """Also where it is the only Supervisor: no other would lead, and end it."""
    store = await _store(database)
    await stall("select 1 from stepward_shop.leadership for update")
    await store.host.register(Instance(id="new", role=Role.SCHEDULER, host="h", pid=2, serves=[]), LEASE)
    assert "new" in [instance.id for instance in await store.operators.instances()]


async def test_one_that_stands_still_in_a_session_that_is_shared_is_ended(database: Database, stall: Stall) -> None:
    store = await _store(database)
    term = await store.supervisor.lead("leader", 60)
    assert term is not None
    await stall(INSTANCE, shared_name("stepward_shop"))
    dead = await _at_last(lambda: store.supervisor.fence(term))
    assert [instance.id for instance in dead] == ["stalled"]


@pytest.mark.parametrize(
    ("lock", "name", "sql"),
    [
        ("select 1", NAME, NEIGHBOUR),
        (INSTANCE, shared_name("stepward_shop"), NEIGHBOUR),
        (INSTANCE, shared_name("stepward_blog"), SQL),
        (INSTANCE, session_name("stepward_blog"), SQL),
        (INSTANCE, "stepward", SQL),
    ],
    ids=["holds nothing of ours", "an application's statement", "shared elsewhere", "elsewhere", "another's"],
)
async def test_what_is_not_surely_ours_is_left_alone(
    database: Database, stall: Stall, lock: str, name: str, sql: str
) -> None:
    store = await _store(database)
    other = await stall(lock, name, sql)
    await _is_stalled(database, other.get_server_pid())
    await stalled_sessions.end_stalled(store._database.others)
    assert await database.rows(STATE.format(pid=other.get_server_pid())) == [("active", "ClientRead")]


@pytest.mark.parametrize(("name", "is_ended"), [(NAME, True), (shared_name("stepward_shop"), False)])
async def test_one_that_waits_for_a_row_past_every_bound_is_ended(
    database: Database, name: str, is_ended: bool
) -> None:
    """As where the server's clock was set back: it would wait on for as long as the step, and hold what it has locked.
    What an application does in a session that it shares may wait for longer."""
    store = await _store(database)
    holder = await database.connect()
    waiter = await asyncpg.connect(database.address, server_settings={"application_name": name})
    async with holder.transaction():
        await holder.execute(INSTANCE.replace("share", "update"))
        waiting = asyncio.create_task(waiter.execute(INSTANCE))
        late = "wait_event_type = 'Lock' and state_change < clock_timestamp() - interval '0.3 s'"
        while not await database.rows(
            f"select 1 from pg_stat_activity where pid = {waiter.get_server_pid()} and {late}"
        ):
            assert not waiting.done()
        await stalled_sessions.end_stalled(store._database.others)
        if is_ended:
            with pytest.raises((asyncpg.AdminShutdownError, asyncpg.ConnectionDoesNotExistError)):
                await waiting
        assert waiting.done() is is_ended
    await asyncio.gather(waiting, return_exceptions=True)
    waiter.terminate()


async def test_a_copy_that_takes_its_time_is_not_ended(database: Database) -> None:
    await database.run("create table public.parts (number integer)")
    store = await _store(database)
    sent, gate = asyncio.Event(), asyncio.Event()

    async def rows() -> AsyncIterator[tuple[int]]:
        yield (1,)
        sent.set()
        await gate.wait()
        yield (2,)

    async with store.client.transaction() as transaction:
        assert isinstance(transaction, PostgresTransaction)
        ((pid,),) = await transaction.execute("select pg_backend_pid()")
        await transaction.known(["some"])
        copy = transaction.connection.copy_records_to_table("parts", schema_name="public", records=rows())
        copying = asyncio.create_task(copy)
        await sent.wait()
        await _is_stalled(database, pid)
        term = await store.supervisor.lead("leader", 60)
        assert term is not None
        await store.supervisor.fence(term)
        gate.set()
        await copying
    assert await database.rows("select number from public.parts order by 1") == [(1,), (2,)]


async def _is_stalled(database: Database, pid: int) -> None:
    """Wait until the server has waited for that process for longer than it may."""
    late = "state = 'active' and wait_event = 'ClientRead' and state_change < clock_timestamp() - interval '0.3 s'"
    async with asyncio.timeout(20):
        while not await database.rows(f"select 1 from pg_stat_activity where pid = {pid} and {late}"):
            pass
