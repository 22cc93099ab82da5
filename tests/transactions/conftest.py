"""A server, a database with the store and a table of the application's in it, and a connection of each kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from servers.postgres import versions
from stepward import App, Client
from tests.store.postgres.server import Server, Servers
from tests.store.postgres.worlds import Database
from tests.tiers import sampled
from tests.transactions.application import application
from tests.transactions.connections import KINDS, VARIANTS, Desk

CART = "create table public.cart (name text)"

RECOGNISED_BY = "test_rows_and_task_commit_together"
"""What each change asks every variant."""

Opened = Callable[[str], Awaitable[Desk]]


@pytest.fixture
async def server(servers: Servers) -> Server:
    return await asyncio.to_thread(servers.of, max(versions()))


@pytest.fixture
def alters() -> None:
    """Asked for by a test that alters the store's tables: its database is its own."""


@pytest.fixture
async def database(server: Server, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """One that was emptied, which takes a tenth of the time that a new one takes, unless the test alters it."""
    is_own = "alters" in request.fixturenames
    database = Database(server, await (server.create() if is_own else server.emptied()))
    await database.run(CART)
    yield database
    await database.close()
    if is_own:
        await server.drop(database.name)


@pytest.fixture
def app(database: Database) -> App:
    return application(database.address)


@pytest.fixture
async def client(app: App) -> AsyncIterator[Client]:
    async with app.client() as client:
        yield client


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Those of a kind's variants that differ only in how they are recognised are asked what all must do."""
    if "kind_of_connection" in metafunc.fixturenames:
        everything = metafunc.module.__name__.endswith("test_commit")
        usual = [kind for kind in KINDS if kind not in VARIANTS]
        kept = KINDS if metafunc.function.__name__ == RECOGNISED_BY else usual
        metafunc.parametrize("kind_of_connection", sampled(KINDS, *kept) if everything else usual)


@pytest.fixture
async def opened(kind_of_connection: str, app: App, client: Client) -> AsyncIterator[Opened]:
    """Opens a connection of the kind, to that address."""
    desks: list[Desk] = []

    async def opened(address: str) -> Desk:
        desk = KINDS[kind_of_connection]()
        await desk.open(app, address)
        desks.append(desk)
        return desk

    yield opened
    for desk in desks:
        await desk.close()


@pytest.fixture
async def desk(opened: Opened, database: Database) -> Desk:
    """A connection of the kind to the database that the store is in."""
    return await opened(database.address)
