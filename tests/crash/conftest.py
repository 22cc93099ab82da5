"""Real processes on one store; whatever a test leaves running is killed with it.

A test runs on a SQLite file, unless it is given the parameter ``store``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from servers.postgres import versions
from tests.crash.scene import Scene
from tests.store.postgres.server import Servers
from tests.tiers import sampled

BOTH = sampled(("sqlite", "postgresql"), "sqlite")

Open = Callable[[str], Coroutine[Any, Any, Scene]]


@pytest.fixture
def store() -> str:
    return "sqlite"


@pytest.fixture
async def open_scene(store: str, servers: Servers, tmp_path: Path) -> AsyncIterator[Open]:
    async with _addresses(store, servers, tmp_path) as address:
        scenes: list[Scene] = []

        async def open_scene(transport: str) -> Scene:
            scene = Scene(tmp_path, transport, address)
            await scene.open()
            scenes.append(scene)
            return scene

        yield open_scene
        for scene in scenes:
            await scene.close()


@pytest.fixture
async def address(store: str, servers: Servers, tmp_path: Path) -> AsyncIterator[str]:
    """The address of a new, empty store."""
    async with _addresses(store, servers, tmp_path) as found:
        yield found


@asynccontextmanager
async def _addresses(store: str, servers: Servers, folder: Path) -> AsyncIterator[str]:
    """The address of a new, empty store; a database of the newest server at hand goes with the block."""
    if store == "sqlite":
        yield f"sqlite:///{folder / 'tasks.db'}"
        return
    server = await asyncio.to_thread(servers.of, max(versions()))
    name = await server.create()
    yield server.address(name)
    await server.drop(name)
