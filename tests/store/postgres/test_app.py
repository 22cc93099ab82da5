"""Applications on a PostgreSQL store, from end to end: every actor in one process, and one process after another."""

from __future__ import annotations

import asyncio
import signal
import sys
from enum import IntEnum

import pytest

from stepward import App, TaskUndone
from stepward.model.states import TaskState
from tests.store.postgres import application
from tests.store.postgres.application import bookkeeping, failing_order, order, parent
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers


@pytest.fixture
def app(database: Database) -> App:
    application.paid.clear()
    return application.application(database.address)


async def test_orders_are_processed(app: App) -> None:
    async with app.running(), app.client() as client:
        handles = await asyncio.gather(*[client.submit(order, f"o{number}") for number in range(20)])
        results = await asyncio.gather(*[handle.result(timeout=60) for handle in handles])
    assert results == [[f"paid o{number}", f"paid o{number} too"] for number in range(20)]


async def test_a_priority_is_a_member_of_an_enumeration(app: App) -> None:
    class Urgency(IntEnum):
        HIGH = 9

    async with app.client() as client:
        handle = await client.submit(order, "pen", priority=Urgency.HIGH, delay="1h")
        assert (await client.task(handle.id).status()).state is TaskState.PENDING


async def test_an_order_that_fails_is_undone(app: App) -> None:
    async with app.running(), app.client() as client:
        with pytest.raises(TaskUndone, match="no money"):
            await (await client.submit(failing_order, "pen")).result(timeout=60)
    assert application.paid == []


async def test_signals_and_children_come_from_clients_of_their_own(app: App, database: Database) -> None:
    async with app.running(), application.application(database.address).client() as client:
        handle = await client.submit(parent, "pen", id="p")
        await client.task("p").signal("go", "now")
        assert await handle.result(timeout=60) == ["now", "paid pen", "paid pen too"]


async def test_a_steps_rows_commit_with_its_outcome(app: App, database: Database) -> None:
    await database.rows("create table entries (what text)")
    async with app.running(), app.client() as client:
        assert await (await client.submit(bookkeeping, "pen")).result(timeout=60) == "pen"
    assert await database.rows("select what from entries") == [("pen",)]


async def test_agents_in_processes_of_their_own_are_reached_through_the_store(database: Database) -> None:
    application.paid.clear()
    apps = [
        App(
            "shop",
            workflows=[order],
            agents=[application.bank],
            store=database.address,
            transport="store",
            **application.SETTINGS,
        )
        for _ in range(2)
    ]
    async with (
        apps[0].running(agents=False),
        apps[1].running(scheduler=False, supervisor=False),
        apps[0].client() as client,
    ):
        assert await (await client.submit(order, "pen")).result(timeout=60) == ["paid pen", "paid pen too"]


async def test_a_process_takes_over_from_one_that_was_killed(app: App, database: Database) -> None:
    command = [sys.executable, "-m", "stepward", "run", "tests.store.postgres.application:app"]
    env = {"STEPWARD_STORE": database.address, "HANG": "pen too", "PYTHONUNBUFFERED": "1"}
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        await _reads(process.stdout, b"Ready")
        async with app.client() as client:
            handle = await client.submit(order, "pen", id="o")
            await _reads(process.stdout, b"hanging")
            process.send_signal(signal.SIGKILL)
            async with app.running():
                assert await handle.result(timeout=60) == ["paid pen", "paid pen too"]
            status = await handle.status()
        assert (status.state, application.paid) == (TaskState.PROCESSED, ["pen too"])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _reads(stream: asyncio.StreamReader, start: bytes) -> None:
    async with asyncio.timeout(60):
        while not (line := await stream.readline()).startswith(start):
            assert line, "the process ended"
