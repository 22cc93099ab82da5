"""A database of its own for each test of what is PostgreSQL's own, on the newest server at hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from servers.postgres import versions
from tests.store.postgres.pairs import Pairs, Stage
from tests.store.postgres.server import Server, Servers, running
from tests.store.postgres.worlds import Database


@pytest.fixture
async def server(servers: Servers) -> Server:
    return await asyncio.to_thread(servers.of, max(versions()))


@pytest.fixture(scope="session")
def standby() -> Iterator[Server]:
    """A server that only reads."""
    with running(versions()[max(versions())], in_recovery=True) as server:
        yield server


@pytest.fixture
async def database(server: Server) -> AsyncIterator[Database]:
    name = await server.create()
    database = Database(server, name)
    yield database
    await database.close()
    await server.drop(name)


@pytest.fixture(scope="session")
def pairs() -> Iterator[Pairs]:
    with Pairs() as pairs:
        yield pairs


@pytest.fixture
def version() -> str:
    """Of the pair; tests of what the server does for itself ask for every version."""
    return max(versions())


@pytest.fixture
async def stage(pairs: Pairs, version: str) -> AsyncIterator[Stage]:
    stage = await pairs.stage(version)
    yield stage
    await stage.close()
