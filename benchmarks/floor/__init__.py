"""The raw limit: a hand-written loop that writes the same rows into the same tables in the same batches.

It does nothing else: no engine, no Agents, no payloads but constants. What it reaches is what the store, the disk and
the driver allow; everything Stepward does on top of it shows in the ratio.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.floor.loop import FloorEngine
from benchmarks.floor.postgres import PostgresFloor
from benchmarks.floor.sqlite import SqliteFloor
from stepward.clock import Environment
from stepward.store.address import is_postgres
from stepward.store.store_at_address import open_store

__all__ = ["FloorEngine", "floor"]


@asynccontextmanager
async def floor(address: str, *, app: str = "floor") -> AsyncIterator[FloorEngine]:
    """The tables of an application's store, made if need be, and a connection tuned like the store's own."""
    store = open_store(address, app=app, environment=Environment())
    await store.open()
    await store.close()
    opened = await PostgresFloor.opened(address, app) if is_postgres(address) else SqliteFloor(address)
    try:
        yield opened
    finally:
        await opened.close()
