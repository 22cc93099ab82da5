"""Real clocks are moved: the server's, and those of the hosts on which the processes run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest

from servers.clocks import MovedClock
from tests.store.postgres.moved import NEEDS_LIBRARY, moved_server
from tests.store.postgres.server import Server
from tests.store.postgres.test_clock_apart import ALL, LAYOUTS, WITHIN, Works, application
from tests.store.postgres.worlds import Database

pytestmark = [
    pytest.mark.servers,
    NEEDS_LIBRARY,
]
QUIET = {"instance.fenced", "steps.judged", "step.failed"}
"""The alerts and failures that a moved clock would have caused."""
SHORT = (LAYOUTS[0], 60.0)


@pytest.fixture(scope="module")
def moved() -> Iterator[tuple[Server, MovedClock]]:
    with moved_server() as server:
        yield server


@pytest.fixture
async def database(moved: tuple[Server, MovedClock]) -> AsyncIterator[Database]:
    server, clock = moved
    clock.move("+0")
    name = await server.create()
    database = Database(server, name)
    yield database
    clock.move("+0")
    await database.close()
    await server.drop(name)


def named(layout: tuple[set[str], ...]) -> str:
    return "+".join("-".join(sorted(roles)) for roles in layout)


async def test_a_clock_of_a_server_that_is_set_is_followed(
    database: Database, moved: tuple[Server, MovedClock]
) -> None:
    await set_while_they_work(database, moved[1], *SHORT)


@pytest.mark.faults
@pytest.mark.parametrize("seconds", [-3600.0, -60.0, -15.0, 15.0, 60.0, 3600.0])
@pytest.mark.parametrize("layout", LAYOUTS, ids=named)
async def test_a_clock_of_a_server_that_is_set_costs_no_instance_and_no_task(
    database: Database, moved: tuple[Server, MovedClock], layout: tuple[set[str], ...], seconds: float
) -> None:
    await set_while_they_work(database, moved[1], layout, seconds)


async def set_while_they_work(
    database: Database, clock: MovedClock, layout: tuple[set[str], ...], seconds: float
) -> None:
    """Sets the server's clock while a step runs: no instance is declared dead, and the task ends."""
    works = Works()
    async with AsyncExitStack() as stack:
        for process, roles in enumerate(layout):
            # What a clock that is set ahead has put past its complete-by is repeated, as it should be.
            app = application(database.address, works, process, complete_by="2h")
            await stack.enter_async_context(app.running(**{role: role in roles for role in ALL}))
        client = await stack.enter_async_context(application(database.address, works, -1).client())
        handle = await client.submit("journey", id="before")
        async with asyncio.timeout(WITHIN):
            await works.begun.wait()
        clock.move(f"{seconds:+g}")
        await works.tell("clock.jumped", len(layout))
        await works.tell("supervisor.forgave", 1)
        works.go_on.set()
        assert await handle.result(timeout=WITHIN) == [0, 1, 2]
        assert await client.alerts() == []
    assert [event for _, event in works.told if event.name in QUIET] == []


@pytest.mark.faults
@pytest.mark.parametrize("seconds", [-60.0, -15.0])
@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=named)
async def test_requests_after_a_clock_was_set_back_expire_at_no_agent(
    database: Database, moved: tuple[Server, MovedClock], layout: tuple[set[str], ...], seconds: float
) -> None:
    """Their complete-by is nearer than the clock was moved: an Agent that followed its own would drop them all."""
    works = Works()
    works.go_on.set()
    async with AsyncExitStack() as stack:
        for process, roles in enumerate(layout):
            app = application(database.address, works, process, complete_by="10s")
            await stack.enter_async_context(app.running(**{role: role in roles for role in ALL}))
        client = await stack.enter_async_context(application(database.address, works, -1).client())
        moved[1].move(f"{seconds:+g}")
        await works.tell("clock.jumped", len(layout))
        assert await (await client.submit("journey")).result(timeout=WITHIN) == [0, 1, 2]
        assert await client.alerts() == []
    assert [event for _, event in works.told if event.name in QUIET] == []


@pytest.mark.faults
@pytest.mark.parametrize("rate", ["0.9", "1.1"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=named)
async def test_a_clock_of_a_server_that_runs_at_another_rate_is_followed_without_a_jump(
    database: Database, moved: tuple[Server, MovedClock], layout: tuple[set[str], ...], rate: str
) -> None:
    works = Works()
    moved[1].move(f"+0 x{rate}")
    async with AsyncExitStack() as stack:
        for process, roles in enumerate(layout):
            app = application(database.address, works, process)
            await stack.enter_async_context(app.running(**{role: role in roles for role in ALL}))
        client = await stack.enter_async_context(application(database.address, works, -1).client())
        handle = await client.submit("journey")
        async with asyncio.timeout(WITHIN):
            await works.begun.wait()
        # Two leases pass, by the server's clock, while the step runs.
        for _ in range(2):
            await database.rows("select pg_sleep(3)")
        works.go_on.set()
        assert await handle.result(timeout=WITHIN) == [0, 1, 2]
        assert await client.alerts() == []
    assert [event for _, event in works.told if event.name in {*QUIET, "clock.jumped"}] == []
