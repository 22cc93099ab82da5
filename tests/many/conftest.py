"""A database of its own for each test, on a server of the session's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from servers.postgres import versions
from stepward import Client
from tests.many.floor import Floor
from tests.many.gate import Gate
from tests.store.postgres.server import Server, Servers
from tests.store.postgres.worlds import Database


@pytest.fixture
async def server(servers: Servers) -> Server:
    return await asyncio.to_thread(servers.of, max(versions()))


@pytest.fixture
async def database(server: Server) -> AsyncIterator[Database]:
    name = await server.create()
    database = Database(server, name)
    yield database
    await database.close()
    await server.drop(name)


@pytest.fixture
async def floor(database: Database, tmp_path: Path) -> AsyncIterator[Floor]:
    # The path of a socket has to be short.
    gate = Gate(Path("/tmp") / f"gate-{os.getpid()}-{database.name}")
    await gate.start()
    async with Client(database.address, app="shop") as client:
        floor = Floor(tmp_path, database, gate, client)
        yield floor
        await gate.close()
        await floor.close()
    gate.path.unlink(missing_ok=True)
