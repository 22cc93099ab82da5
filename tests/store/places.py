"""SQLite stores for the tests of what is SQLite's own."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from stepward.clock import Environment
from stepward.store.sqlite import SqliteStore
from tests.store.conformance.world import HandClock


def environment(failpoint: Callable[[str], None] | None = None) -> Environment:
    more: dict[str, Any] = {} if failpoint is None else {"failpoint": failpoint}
    return Environment(clock=HandClock(), random=random.Random(7), **more)


def sqlite(path: Path, app: str = "shop", **fields: Any) -> SqliteStore:
    fields = {"environment": environment()} | fields
    return SqliteStore(str(path), app=app, **fields)


async def opened(path: Path, **fields: Any) -> SqliteStore:
    store = sqlite(path, **fields)
    await store.open()
    return store


def execute(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Run SQL on the file beside any store."""
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()
