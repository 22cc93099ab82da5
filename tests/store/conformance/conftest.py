"""The stores that the conformance tests run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stepward.clock import Environment
from stepward.store.contract import Store
from stepward.store.sqlite import SqliteStore
from tests.store.conformance.world import Maker, World, scheduler


def sqlite_file(folder: Path) -> Maker:
    return lambda environment: _sqlite(str(folder / "store.db"), environment)


def sqlite_memory(folder: Path) -> Maker:
    return lambda environment: _sqlite(f"file:{folder}/store.db?vfs=memdb", environment)


def _sqlite(path: str, environment: Environment) -> Store:
    return SqliteStore(path, app="shop", environment=environment)


@pytest.fixture(params=[sqlite_file, sqlite_memory], ids=lambda maker: maker.__name__)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    world = World(request.param(tmp_path))
    yield world
    await world.close()


@pytest.fixture
async def store(world: World) -> Store:
    """An open store in which the Scheduler ``s1`` is registered."""
    store = await world.open()
    await scheduler(store)
    return store
