"""Connections of Python's own sqlite3."""

from __future__ import annotations

import sqlite3
from functools import partial

from stepward.store.drivers.dialogue import Ask, Blocking, ExternalRows


def recognised(connection: object) -> Blocking | None:
    """How to ask it, if it is one."""
    if not isinstance(connection, sqlite3.Connection):
        return None
    return Blocking("sqlite", partial(_ask, connection), lambda: connection)


def _ask(connection: sqlite3.Connection, ask: Ask) -> ExternalRows:
    found = connection.execute(ask.written("?"), () if ask.given is None else (ask.given,))
    return [tuple(row) for row in found.fetchall()]
