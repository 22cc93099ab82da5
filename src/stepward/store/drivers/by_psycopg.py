"""Connections of psycopg 3, asynchronous and blocking."""

from __future__ import annotations

from functools import partial
from typing import Any

import psycopg
from psycopg import pq
from psycopg.rows import tuple_row

from stepward.errors import Refused
from stepward.store.drivers.dialogue import Ask, Awaited, Blocking, ExternalConnection, ExternalRows


def recognised(connection: object) -> ExternalConnection | None:
    """How to ask it, if it is one."""
    if isinstance(connection, psycopg.AsyncConnection):
        return Awaited("postgresql", partial(_ask, connection))
    if isinstance(connection, psycopg.Connection):
        return Blocking("postgresql", partial(_ask_blocking, connection))
    return None


async def _ask(connection: psycopg.AsyncConnection[Any], ask: Ask) -> ExternalRows:
    _refuse_pipeline(connection)
    # A cursor of our own making: the connection may be set to make others.
    async with psycopg.AsyncCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(*_written(ask))
        return await cursor.fetchall() if cursor.description else []


def _ask_blocking(connection: psycopg.Connection[Any], ask: Ask) -> ExternalRows:
    _refuse_pipeline(connection)
    with psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
        cursor.execute(*_written(ask))
        return cursor.fetchall() if cursor.description else []


def _refuse_pipeline(connection: psycopg.BaseConnection[Any]) -> None:
    if connection.pgconn.pipeline_status != pq.PipelineStatus.OFF:
        raise Refused(
            "transaction: expected a connection that answers each statement, found it in pipeline mode; leave the "
            "pipeline first"
        )


def _written(ask: Ask) -> tuple[bytes, tuple[str, ...] | None]:
    if ask.given is None:
        return ask.sql.encode(), None
    return ask.written("%s", lambda part: part.replace("%", "%%")).encode(), (ask.given,)
