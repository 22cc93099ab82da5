"""Asynchronous connections and ORM sessions of SQLAlchemy 2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlalchemy import Connection
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from sqlalchemy.orm import Session

from stepward.store.drivers.by_sqlalchemy import UNBOUND, caller_of, written
from stepward.store.drivers.dialogue import Ask, Awaited, Blocking, ExternalRows


def recognised(connection: object) -> Awaited | None:
    """How to ask it, if it is one. Raises Refused for a session that is bound to no one database."""
    given = connection() if isinstance(connection, async_scoped_session) else connection
    if isinstance(given, AsyncConnection):
        return Awaited(given.dialect.name, partial(_ask, given), partial(_run_blocking, given))
    if isinstance(given, AsyncSession):
        return Awaited(_database(given), partial(_ask, given), partial(_run_blocking, given))
    return None


def _database(session: AsyncSession) -> str:
    try:
        return session.get_bind().dialect.name
    except UnboundExecutionError:
        raise UNBOUND from None


async def _run_blocking(given: AsyncConnection | AsyncSession, work: Callable[[Blocking], None]) -> None:
    def run(below: Connection | Session) -> None:
        work(caller_of(below))

    await given.run_sync(run)


async def _ask(given: AsyncConnection | AsyncSession, ask: Ask) -> ExternalRows:
    connection = await given.connection() if isinstance(given, AsyncSession) else given
    found = await connection.execute(*written(ask))
    return [tuple(row) for row in found] if found.returns_rows else []
