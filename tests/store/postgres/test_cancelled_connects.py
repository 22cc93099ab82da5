"""A connection attempt that is cancelled at any moment leaves no error behind for asyncio to log."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from typing import Any

import pytest

from stepward.errors import StoreUnavailable
from stepward.store.address import postgres_place
from stepward.store.postgres.engine.connecting.connector import Connector

MOST_TURNS = 12
"""Turns of the event loop after which asyncpg waits for the server's first byte."""


@pytest.mark.parametrize("turns", range(MOST_TURNS))
async def test_a_cancelled_connection_attempt_leaves_no_unretrieved_error(turns: int) -> None:
    logged: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: logged.append(context))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        connector = Connector(postgres_place(f"postgresql://ada@127.0.0.1:{port}/shop"), "shop")
        connecting = asyncio.create_task(connector.connect({}))
        for _ in range(turns):
            await asyncio.sleep(0)
        connecting.cancel()
        with contextlib.suppress(asyncio.CancelledError, StoreUnavailable):
            await connecting
        del connecting
        for _ in range(MOST_TURNS):
            await asyncio.sleep(0)
    gc.collect()
    assert logged == []
