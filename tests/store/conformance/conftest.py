"""The stores that the conformance tests run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from servers import pgbouncer
from servers.postgres import versions
from stepward.store.contract import Store
from stepward.store.sqlite import SqliteStore
from tests.programs import program
from tests.store.conformance.world import MadePlace, Maker, Place, World, scheduler
from tests.store.postgres.pooler import pooler
from tests.store.postgres.server import Servers
from tests.store.postgres.worlds import SchemaPlace
from tests.tiers import nightly, served

POOLED = "postgres_pooled"
BOUNCED = "postgres_bounced"
NEWEST = f"postgres_{max(versions())}"
"""Each change is tried on it; on the oldest a stream of all verbs is (``tests/store/test_differential.py``)."""
SERVED = [f"postgres_{version}" for version in versions()]
PLACES = [
    "sqlite_file",
    nightly("sqlite_memory"),
    *(served(name) if name == NEWEST else nightly(name) for name in SERVED),
    nightly(POOLED),
    nightly(BOUNCED),
]


@pytest.fixture(params=PLACES)
async def world(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> AsyncIterator[World]:
    async with _place(request.param, servers, tmp_path) as place:
        world = World(place)
        yield world
        await world.close()


@asynccontextmanager
async def _place(name: str, servers: Servers, folder: Path) -> AsyncIterator[Place]:
    kind, _, variety = name.partition("_")
    if name == POOLED:
        address = await servers.emptied(max(versions()))
        port = urlsplit(address).port
        assert port is not None
        async with pooler(port) as ours:
            yield PooledPlace(address.replace(str(port), str(ours)))
    elif name == BOUNCED:
        program(str(pgbouncer.PROGRAM), "Debian's package pgbouncer")
        address = await servers.emptied(max(versions()))
        port = urlsplit(address).port
        assert port is not None
        with pgbouncer.running(port, "transaction") as ours:
            yield PooledPlace(address.replace(str(port), str(ours)))
    elif kind == "postgres":
        yield SchemaPlace(await servers.emptied(variety))
    else:
        path = f"{folder}/store.db"
        yield MadePlace(_sqlite(path)) if variety == "file" else MemoryPlace(_sqlite(f"file:{path}?vfs=memdb"))


class PooledPlace(SchemaPlace):
    """The same through a pooler in transaction mode."""

    hears = False
    notified = False


class MemoryPlace(MadePlace):
    """A place in memory: a store that waits looks whether anything was committed."""

    notified = False


def _sqlite(path: str) -> Maker:
    return lambda environment: SqliteStore(path, app="shop", environment=environment)


@pytest.fixture
async def store(world: World) -> Store:
    """An open store in which the Scheduler ``s1`` is registered."""
    store = await world.open()
    await scheduler(store)
    return store
