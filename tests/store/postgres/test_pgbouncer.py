"""Through PgBouncer itself: what works through the tests' own pooler works through it, in both of its usual modes."""

from __future__ import annotations

import asyncio

import pytest

from servers import pgbouncer
from stepward.model.states import TaskState
from stepward.store.contract import Change
from tests.programs import program
from tests.store.conformance.world import World, add_steps, claimed, end, finish, scheduler, step
from tests.store.postgres.test_pooler import works
from tests.store.postgres.worlds import Database
from tests.tiers import sampled

pytestmark = pytest.mark.servers
MODES = ("transaction", "session")


@pytest.fixture(autouse=True)
def _installed() -> None:
    program(str(pgbouncer.PROGRAM), "Debian's package pgbouncer")


@pytest.mark.parametrize("mode", sampled(MODES, "transaction"))
async def test_pgbouncer_is_recognised_and_worked_through(database: Database, mode: str) -> None:
    world = World(lambda environment: database.store())
    with pgbouncer.running(database.server.port, mode) as port:
        store = await database.opened(address=f"postgresql://postgres@127.0.0.1:{port}/{database.name}")
        assert store._database.connector.pooled
        await works(world, store)
        await store.close()


@pytest.mark.faults
@pytest.mark.parametrize("mode", MODES)
async def test_many_at_once_share_few_processes_of_the_server(database: Database, mode: str) -> None:
    world = World(lambda environment: database.store())
    # In session mode a connection keeps its process: as many as the store may open.
    with pgbouncer.running(database.server.port, mode, size=2 if mode == "transaction" else 20) as port:
        store = await database.opened(address=f"postgresql://postgres@127.0.0.1:{port}/{database.name}")
        await scheduler(store)
        tasks = [await claimed(world, store) for _ in range(20)]

        async def done(number: int) -> None:
            task = tasks[number]
            charge = step(task)
            await add_steps(store, task, charge)
            async with store.client.transaction() as transaction:
                await transaction.submit([world.task()])
                await transaction.execute("set local search_path = pg_catalog")
            assert (
                await store.scheduler.commit("s1", [Change(task=task.uid, finishes=[finish(charge)])], None)
            ).missed == {}
            await end(store, task, TaskState.PROCESSED)

        await asyncio.gather(*[done(number) for number in range(20)])
        for task in tasks:
            found = await store.client.task(task.id)
            assert found is not None
            assert found.state is TaskState.PROCESSED
        await store.close()


@pytest.mark.parametrize("mode", sampled(MODES, "transaction"))
async def test_what_an_application_sets_is_no_other_clients(database: Database, mode: str) -> None:
    with pgbouncer.running(database.server.port, mode, size=1 if mode == "transaction" else 20) as port:
        address = f"postgresql://postgres@127.0.0.1:{port}/{database.name}"
        store = await database.opened(address=address)
        async with store.client.transaction() as transaction:
            await transaction.execute("set work_mem = '77MB'")
            await transaction.execute("create temporary table mine (name text)")
        async with store.client.transaction() as transaction:
            ((shown,),) = await transaction.execute("show work_mem")
            ((left,),) = await transaction.execute("select count(*) from pg_class where relname = 'mine'")
        assert (shown, left) == ("4MB", 0)
        await store.close()
