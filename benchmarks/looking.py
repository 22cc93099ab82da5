"""Looking into a store's file from outside, until a count is reached."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw

EVERY = 0.1


async def until(path: Path, query: str, wanted: int) -> None:
    """Wait until the query's one number is at least ``wanted``."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(1000)
    try:
        while connection.execute(query).get < wanted:  # noqa: ASYNC110  another process brings it about
            await asyncio.sleep(EVERY)
    finally:
        connection.close()
