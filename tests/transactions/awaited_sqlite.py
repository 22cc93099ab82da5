"""An asynchronous engine of SQLAlchemy on a file: its dialect for aiosqlite, over a stand-in with the same methods.

The stand-in calls sqlite3 in the event loop's thread, where aiosqlite has a thread for it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from sqlalchemy.dialects.sqlite.aiosqlite import AsyncAdapt_aiosqlite_dbapi
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine


def awaited(call: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def answer(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    return answer


class StandInCursor:
    """A cursor whose methods are awaited."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor
        for name in ("execute", "executemany", "fetchone", "fetchmany", "fetchall", "close"):
            setattr(self, name, awaited(getattr(cursor, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def __await__(self) -> Generator[Any, None, StandInCursor]:
        yield from ()
        return self

    async def __aenter__(self) -> StandInCursor:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._cursor.close()


class StandInConnection:
    """A connection that is awaited before its use."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._conn = self._connection = sqlite3.connect(*args, **kwargs)
        self._thread = SimpleNamespace()
        for name in ("commit", "rollback", "close", "create_function"):
            setattr(self, name, awaited(getattr(self._conn, name)))

    def __await__(self) -> Generator[Any, None, StandInConnection]:
        yield from ()
        return self

    def cursor(self) -> StandInCursor:
        return StandInCursor(self._conn.cursor())

    @property
    def in_transaction(self) -> bool:
        return bool(self._conn.in_transaction)

    @property
    def isolation_level(self) -> Any:
        return self._conn.isolation_level


def engine_on(file: Path) -> AsyncEngine:
    """An engine on that file."""
    stand_in: Any = ModuleType("aiosqlite")
    stand_in.__dict__.update({name: value for name, value in vars(sqlite3).items() if not name.startswith("_")})
    stand_in.Connection, stand_in.connect = StandInConnection, StandInConnection
    return create_async_engine(
        f"sqlite+aiosqlite:///{file}", module=AsyncAdapt_aiosqlite_dbapi(stand_in, sqlite3), poolclass=None
    )
