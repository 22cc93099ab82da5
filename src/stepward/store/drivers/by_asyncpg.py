"""Connections of asyncpg, and those that its pool lends."""

from __future__ import annotations

from functools import partial
from typing import Any

import asyncpg

from stepward.store.drivers.dialogue import Ask, Awaited, ExternalRows


def recognised(connection: object) -> Awaited | None:
    """How to ask it, if it is one."""
    # Its metaclass has what a pool lends count as a connection.
    return Awaited("postgresql", partial(_ask, connection)) if isinstance(connection, asyncpg.Connection) else None


async def _ask(connection: asyncpg.Connection[Any], ask: Ask) -> ExternalRows:
    if ask.given is None:
        await connection.execute(ask.sql)
        return []
    return await connection.fetch(ask.written("$1"), ask.given)
