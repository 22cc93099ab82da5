"""The stores that the conformance tests run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stepward.store.contract import Store
from stepward.store.sqlite import SqliteStore
from tests.store.conformance.world import Maker, World, scheduler
from tests.store.postgres.server import Servers, versions
from tests.store.postgres.worlds import SchemaPlace


@pytest.fixture(params=["sqlite_file", "sqlite_memory", *(f"postgres_{version}" for version in versions())])
async def world(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> AsyncIterator[World]:
    kind, _, variety = request.param.partition("_")
    if kind == "postgres":
        world = World(SchemaPlace(await servers.emptied(variety)))
    else:
        path = f"{tmp_path}/store.db"
        world = World(_sqlite(path if variety == "file" else f"file:{path}?vfs=memdb"))
    yield world
    await world.close()


def _sqlite(path: str) -> Maker:
    return lambda environment: SqliteStore(path, app="shop", environment=environment)


@pytest.fixture
async def store(world: World) -> Store:
    """An open store in which the Scheduler ``s1`` is registered."""
    store = await world.open()
    await scheduler(store)
    return store
